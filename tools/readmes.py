"""`python -m tools.readmes`: write roles/*/README.md from the roles' argument specifications."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

ROLES = Path(__file__).resolve().parent.parent / "roles"
HEAD = "<!-- Made by: python -m tools.readmes. Change meta/argument_specs.yml instead. -->"


def readme(role: Path) -> str:
    spec = yaml.safe_load((role / "meta" / "argument_specs.yml").read_text(encoding="utf-8"))["argument_specs"]["main"]
    lines = [HEAD, f"# Role `kastellan.kafka.{role.name}`", "", f"{spec['short_description']}."]
    lines += ["", *_texts(spec["description"])] if "description" in spec else []
    lines += ["", "| variable | type | default | |", "|---|---|---|---|"]
    for name, option in spec.get("options", {}).items():
        lines.append(f"| `{name}` | {_type(option)} | {_default(option)} | {' '.join(_texts(option['description']))} |")
        for inner, part in option.get("options", {}).items():
            lines.append(
                f"| `{name}[].{inner}` | {_type(part)} | {_default(part)} | {' '.join(_texts(part['description']))} |"
            )
    return "\n".join([*lines, ""])


def _texts(description: str | list[str]) -> list[str]:
    """Ansible's marks C(...), V(...), O(...) as Markdown has them."""
    texts = [description] if isinstance(description, str) else description
    return [_marks(text.strip()) for text in texts]


def _marks(text: str) -> str:
    for mark in ("C(", "V(", "O("):
        while mark in text:
            before, _, rest = text.partition(mark)
            inner, _, after = rest.partition(")")
            text = f"{before}`{inner}`{after}"
    return text.replace("|", "\\|")


def _type(option: dict[str, Any]) -> str:
    if "choices" in option:
        return " or ".join(f"`{choice}`" for choice in option["choices"])
    return f"list of {option['elements']}" if "elements" in option else str(option["type"])


def _default(option: dict[str, Any]) -> str:
    if "default" not in option:
        return "required" if option.get("required") else ""
    value = option["default"]
    shown = value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)
    return f"`{shown}`".replace("|", "\\|")


def roles() -> list[Path]:
    return sorted(path for path in ROLES.iterdir() if (path / "meta" / "argument_specs.yml").is_file())


if __name__ == "__main__":
    for found in roles():
        (found / "README.md").write_text(readme(found), encoding="utf-8")
