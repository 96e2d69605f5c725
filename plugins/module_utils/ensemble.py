"""An ensemble of ZooKeeper: who leads, who follows, may one be stopped. Pure functions but for `look`."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from . import zookeeper_client

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LEADING = ("leader", "standalone")
SERVING = (*LEADING, "follower", "observer")
ASKED_AT_ONCE = 16


@dataclass(frozen=True)
class Member:
    name: str
    address: str
    mode: str = ""
    """leader, follower, standalone; empty while it does not serve. A follower serves only once it is in sync."""
    zxid: str = ""
    version: str = ""
    problem: str = ""
    certificate_days: int | None = None

    @property
    def serving(self) -> bool:
        return self.mode in SERVING


def look(members: Sequence[Mapping[str, str]], port: int, login: zookeeper_client.Login) -> list[Member]:
    def ask(member: Mapping[str, str]) -> Member:
        name, address = member["name"], member["address"]
        try:
            told, days = zookeeper_client.srvr(address, port, login)
        except zookeeper_client.ZooKeeperError as error:
            return Member(name, address, problem=str(error))
        version = told.get("Zookeeper version", "").split("-")[0]
        return Member(name, address, told["Mode"], told.get("Zxid", ""), version, "", days)

    with ThreadPoolExecutor(ASKED_AT_ONCE) as pool:
        return list(pool.map(ask, members))


def result(members: Sequence[Member]) -> dict[str, Any]:
    return {
        "leader": next((member.name for member in members if member.mode in LEADING), ""),
        "followers": [member.name for member in members if member.mode == "follower"],
        "members": [asdict(member) for member in members],
    }


def not_whole(members: Sequence[Member]) -> list[str]:
    told = [f"{member.name} does not serve: {member.problem}" for member in members if not member.serving]
    leaders = [member.name for member in members if member.mode in LEADING]
    if not leaders:
        told.append("the ensemble has no leader")
    if len(leaders) > 1:
        told.append(f"several believe that they lead: {', '.join(leaders)}")
    return told


def no_majority(members: Sequence[Member]) -> list[str]:
    """Why nothing could be written now; empty if it could."""
    serving = [member for member in members if member.serving]
    if len(serving) > len(members) // 2 and any(member.mode in LEADING for member in serving):
        return []
    return [f"Only {len(serving)} of {len(members)} ZooKeepers serve.", *not_whole(members)]


def may_stop(members: Sequence[Member], name: str) -> tuple[list[str], list[str]]:
    """Reasons why not, and warnings of what no waiting would make better."""
    count = len(members)
    majority = count // 2 + 1
    if any(member.name == name and not member.serving for member in members):
        return [], []  # nothing is taken away, and its restart may be the cure
    if count - 1 < majority:
        return [], [f"An ensemble of {count} cannot keep a majority through any restart: Kafka waits meanwhile."]
    staying = [member for member in members if member.serving and member.name != name]
    if len(staying) >= majority:
        return [], []
    away = [member.name for member in members if not member.serving and member.name != name]
    named = f" (not serving: {', '.join(away)})" if away else ""
    return [f"The ensemble would keep {len(staying)} of {count} members; a majority needs {majority}{named}."], []


def had_majority(members: Sequence[Mapping[str, Any]]) -> bool:
    """Of members as a look told them: whether the ensemble served."""
    return sum(member["mode"] in SERVING for member in members) > len(members) // 2


def emptied(looks: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Servers without data that could outvote those that have some: they would elect an empty tree and spread it."""
    empty = sorted(name for name, look in looks.items() if not look["transactions"])
    full = sorted(looks.keys() - set(empty))
    if not full or len(empty) <= len(looks) // 2:
        return []
    return [
        (
            f"{', '.join(empty)} without data would be a majority beside {', '.join(full)} with data, and all that "
            "Kafka keeps there would be lost: restore their disks, or add so few servers at a time that they stay a "
            "minority."
        )
    ]


def restart_order(members: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[str]:
    """Who does not serve first, since nobody else may stop before; the leader last, so it moves only once."""

    def rank(member: Mapping[str, Any]) -> tuple[bool, bool, str]:
        return member["mode"] in LEADING, member["mode"] in SERVING, member["name"]

    return [str(member["name"]) for member in sorted(members, key=rank) if member["name"] in names]
