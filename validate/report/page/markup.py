"""HTML by construction: whatever is not marked as HTML is escaped, so no text of a run can become markup."""

from __future__ import annotations

from html import escape
from typing import Any

VOID = {"meta", "link", "input", "img", "br", "hr", "line", "rect", "path", "circle", "use"}


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def text(child: Any) -> Html:
    """One child as HTML; None is nothing, a list is its members."""
    if child is None:
        return Html("")
    if isinstance(child, Html):
        return child
    if isinstance(child, (list, tuple)):
        return Html("".join(map(text, child)))
    return Html(escape(str(child), quote=True))


def el(name: str, /, *children: Any, **attributes: Any) -> Html:
    """An element. `class_` is class, `_` in names is `-`; True is a bare attribute, None and False are left out."""
    said = "".join(_attribute(key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items())
    if name in VOID and not children:
        return Html(f"<{name}{said}>" if name in ("meta", "link", "input", "img", "br", "hr") else f"<{name}{said}/>")
    return Html(f"<{name}{said}>{text(children)}</{name}>")


def _attribute(name: str, value: Any) -> str:
    if value is None or value is False:
        return ""
    return f" {name}" if value is True else f' {name}="{escape(str(value), quote=True)}"'


def table(
    heads: list[str], rows: list[list[Any]], *, caption: str | None = None, numbers: set[int] | None = None, **more: Any
) -> Html:
    """A table that scrolls in a box of its own where the page is narrow; columns in `numbers` are set right."""
    right = numbers or set()
    head = el("tr", [el("th", x, scope="col", class_="n" if i in right else None) for i, x in enumerate(heads)])
    body = [el("tr", [el("td", x, class_="n" if i in right else None) for i, x in enumerate(row)]) for row in rows]
    whole = el("table", el("caption", caption) if caption else None, el("thead", head), el("tbody", body), **more)
    return el("div", whole, class_="wide", tabindex="0", role="region", aria_label=caption or "table")


def listed(items: list[Any], **more: Any) -> Html | None:
    return el("ul", [el("li", x) for x in items], **more) if items else None


def paragraphs(words: str | None) -> list[Html]:
    """Text of a scenario's file, which is broken into lines for its editor: an empty line begins a new paragraph."""
    return [el("p", " ".join(part.split())) for part in (words or "").split("\n\n") if part.strip()]
