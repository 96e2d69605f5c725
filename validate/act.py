"""What clients do in a scenario of kind `clients`: members are started, end or are killed, and are waited for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from common.errors import UsageError
from common.names import nearest

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

VERBS = ("start", "kill", "stop", "await", "mark", "quota")
NAMES = ("start", "kill", "stop", "mark", "of", "since", "at")
AWAITED = ("died", "done", "delivered", "owns", "caught-up", "holds", "keys")
NO_MEMBERS = ("producer", "pipeline")


@dataclass(frozen=True)
class Act:
    """One line of `acts`. `who` is the member that it is about; for caught-up the group's suffix."""

    verb: str
    who: str
    kind: str = "consumer"
    group: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    what: str = ""
    count: int = 0
    at: str | None = None
    """The mark whose moment it begins at."""
    since: str | None = None
    """Whose end the time is counted from, for the report."""
    round: str = ""
    """Of one that is not played in every mode: its name."""
    modes: tuple[str, ...] = ()
    """In which modes of the cluster it is played; empty: in all."""

    def played_in(self, mode: str) -> bool:
        return not self.modes or mode in self.modes


def parse(entries: Sequence[dict[str, Any]], place: str) -> tuple[Act, ...]:
    """Each entry has the schema's form; here it is asked whether it makes sense in its place."""
    acts = tuple(_act(entry) for entry in entries)
    marks: set[str] = set()
    living: set[str] = set()
    ever: set[str] = set()
    owners: dict[tuple[str, Any], str] = {}
    for number, act in enumerate(acts, 1):
        _check(act, living, ever, f"{place}: act {number}")
        if act.verb == "mark":
            marks.add(act.who)
        elif act.at is not None and act.at not in marks:
            raise UsageError(f"Wrong in {place}: act {number}: there was no mark {act.at}.", resolution="mark: NAME")
        if act.verb == "start":
            _own(act, living, owners, f"{place}: act {number}")
            living.add(act.who)
            ever.add(act.who)
        elif act.verb in {"kill", "stop"} or act.what in {"died", "done"}:
            living.discard(act.who)
    return acts


def _own(act: Act, living: Collection[str], owners: dict[tuple[str, Any], str], place: str) -> None:
    """A static member's id belongs to one living process: the group would push the other out."""
    instance = act.settings.get("instance_id")
    if instance is None:
        return
    owner = owners.get((act.group, instance))
    if owner in living:
        raise UsageError(
            f"Wrong in {place}: {act.who} has the instance id {instance!r} of {owner}, which is alive.",
            details="Of two owners of a static member, the group pushes one out.",
            resolution=f"Let {owner} end first, or give {act.who} an id of its own.",
        )
    owners[act.group, instance] = act.who


def repeated(rounds: dict[str, Any] | None) -> list[dict[str, Any]]:
    """The acts of `rounds`, as often as it says; each time by processes of other names."""
    if rounds is None:
        return []
    each = rounds.get("each") or {str(number): {} for number in range(1, rounds["times"] + 1)}
    modes = rounds.get("modes", {})
    return [
        _of_round(entry, name, settings, apart="each" in rounds)
        | ({"round": name, "modes": modes[name]} if name in modes else {})
        for name, settings in each.items()
        for entry in rounds["acts"]
    ]


def check_rounds(rounds: dict[str, Any] | None, place: str) -> None:
    """A mode that is said of no round would leave a round where it cannot exist."""
    each = (rounds or {}).get("each", {})
    for name in (rounds or {}).get("modes", {}):
        if name not in each:
            raise UsageError(
                f"Wrong in {place}: there is no round {name}.", resolution=nearest(name, each).capitalize()
            )


def _of_round(entry: dict[str, Any], name: str, settings: dict[str, Any], *, apart: bool) -> dict[str, Any]:
    """`apart`: in a group of its own, with the round's settings."""
    kept = ("of",) if entry.get("await") in {"holds", "keys"} else ()  # a topic
    made: dict[str, Any] = {k: f"{v}-{name}" if k in NAMES and k not in kept else v for k, v in entry.items()}
    made |= {"group": name} if apart else {}
    return made | ({"settings": {**settings, **made.get("settings", {})}} if "start" in made else {})


def _act(entry: dict[str, Any]) -> Act:
    verb = next(verb for verb in VERBS if verb in entry)
    of_round: dict[str, Any] = {"round": entry.get("round", ""), "modes": tuple(entry.get("modes", ()))}
    if verb == "await":
        return Act(
            verb, entry.get("of", ""), what=entry["await"], count=entry.get("count", 0), since=entry.get("since"),
            group=entry.get("group", ""), **of_round,
        )  # fmt: skip
    return Act(
        verb,
        entry[verb],
        kind=entry.get("kind", "consumer"),
        group=entry.get("group", ""),
        settings=dict(entry.get("settings", {})),
        at=entry.get("at"),
        count=entry.get("bytes_per_s", 0),
        **of_round,
    )


def _check(act: Act, living: Collection[str], ever: Collection[str], place: str) -> None:
    if act.verb == "start":
        if act.who in ever:
            raise UsageError(
                f"Wrong in {place}: {act.who} was started before.",
                details="A name belongs to one life of one process.",
                resolution=f"Take another name, e.g. {act.who}-2.",
            )
        return
    if act.verb in {"mark", "quota"} or act.what in {"caught-up", "holds", "keys"}:
        return
    if act.who not in living:
        raise UsageError(
            f"Wrong in {place}: {act.who or 'nobody'} is not alive there.",
            resolution=nearest(act.who, ever).capitalize(),
        )
    if act.since is not None and act.since not in ever:
        raise UsageError(
            f"Wrong in {place}: there was no {act.since}.", resolution=nearest(act.since, ever).capitalize()
        )


def groups(acts: Sequence[Act]) -> list[str]:
    """The suffixes of all groups that members are in."""
    return list(dict.fromkeys(act.group for act in acts if act.verb == "start" and act.kind not in NO_MEMBERS))


def claiming(acts: Sequence[Act], shared: dict[str, Any]) -> list[str]:
    """Those groups that have to read everything: no member of theirs chooses for itself."""
    choosing = {act.group for act in acts if act.verb == "start" and {**shared, **act.settings}.get("places")}
    return [group for group in groups(acts) if group not in choosing]
