"""One existing host, as recorded."""

from __future__ import annotations

from infra.providers.base import Difference, Part, Props

INPUTS = ("name", "address", "host_key")


class Host(Part):
    """Inputs: see INPUTS. No outputs besides."""

    def diff(self, *, old: Props, new: Props) -> Difference:
        return Difference(changes=any(old.get(name) != new[name] for name in INPUTS))

    def create(self, props: Props) -> tuple[str, Props]:
        return f"static/{props['name']}", _outs(props)

    def read(self, ident: str, props: Props) -> Props | None:
        return _outs(props)

    def update(self, ident: str, *, old: Props, new: Props) -> Props:
        return _outs(new)

    def delete(self, ident: str, props: Props) -> None:
        """It was not made here, so it stays."""


def _outs(props: Props) -> Props:
    return {name: props[name] for name in INPUTS}
