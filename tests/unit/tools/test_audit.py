"""The audit bites: on a pin that is affected, on a reason that is missing or left over, and not on the calendar."""

from __future__ import annotations

import datetime as dt
import json
from typing import TYPE_CHECKING, Any

import pytest

from common.errors import KastellanError, UsageError
from tools.audit import __main__ as audit
from tools.audit.data import FILE, Accepted, Advisory, Data, holds, load, numbers
from tools.audit.pins import ROOT, Pin, all_pins, jar_pins, python_pins
from validate.security.software import past_the_gates

if TYPE_CHECKING:
    from pathlib import Path

TODAY = dt.date(2026, 11, 19)
PIN = Pin("jar", "org.example:thing", "2.18.6", "tools/kafka/locks/1.lock")
HOLE = Advisory(
    "CVE-1", "jar", "org.example:thing", (">=2.10,<2.18.8", ">=2.19,<2.21.4"), "high", "It breaks.", "there"
)
REASON = Accepted(("CVE-1",), "org.example:thing", "2.18.6", "It is not used.")


def asked(*accepted: Accepted, pins: tuple[Pin, ...] = (PIN,), today: dt.date = TODAY) -> tuple[list[str], int]:
    return audit.report(Data(TODAY, (HOLE,), accepted), list(pins), today)


def test_what_is_pinned_here_is_affected_by_nothing_that_nobody_answered_for() -> None:
    lines, code = audit.report(load(), all_pins(), TODAY)
    assert code == 0, "\n".join(line for line in lines if not line.startswith("accepted"))


def test_an_affected_pin_is_red_and_told() -> None:
    lines, code = asked()
    assert code == 1
    assert lines[0] == "AFFECTED  org.example:thing 2.18.6 (tools/kafka/locks/1.lock): CVE-1"
    assert "high: It breaks. (affected: >=2.10,<2.18.8 or >=2.19,<2.21.4)" in lines[1]


def test_a_reason_counts_as_accepted_and_is_told() -> None:
    lines, code = asked(REASON)
    assert code == 0
    assert lines[0].startswith("accepted  org.example:thing 2.18.6")
    assert lines[0].endswith("CVE-1: It is not used.")
    assert "0 affected, 1 accepted" in lines[-1]


def test_a_reason_holds_for_one_version_and_not_for_the_next() -> None:
    lines, code = asked(REASON, pins=(Pin("jar", PIN.package, "2.18.7", PIN.where),))
    assert code == 1
    assert lines[0].startswith("AFFECTED")
    assert "LEFT OVER accepted, and nothing has it: org.example:thing 2.18.6: CVE-1" in lines


def test_a_mended_pin_is_fine_and_its_old_reason_is_left_over() -> None:
    mended = Pin("jar", PIN.package, "2.18.8", PIN.where)
    assert asked(pins=(mended,))[1] == 0
    assert asked(REASON, pins=(mended,))[1] == 1


def test_a_jar_without_a_group_is_known_by_its_artifact_and_another_kind_is_not() -> None:
    assert asked(pins=(Pin("jar", "thing", "2.18.6", "pyspark's own jars"),))[1] == 1
    assert asked(pins=(Pin("jar", "other:thing", "2.18.6", "x"),))[1] == 0
    assert asked(pins=(Pin("python", "thing", "2.18.6", "x"),))[1] == 0


def test_old_data_is_told_and_breaks_nothing() -> None:
    lines, code = asked(pins=(), today=TODAY + dt.timedelta(days=audit.OLD_DAYS + 1))
    assert code == 0
    assert "The data is 91 days old" in "\n".join(lines)


def test_old_data_fails_only_who_asks_for_fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    old = Data(dt.date(2020, 1, 1), (HOLE,), ())
    monkeypatch.setattr(audit, "load", lambda _: old)
    monkeypatch.setattr(audit, "all_pins", list)
    assert audit.main([]) == 0
    assert audit.main(["--fresh"]) == 2


@pytest.mark.parametrize(
    ("version", "bound", "held"),
    [
        ("9.4.57.v20241219", "<9.4.60", True),
        ("4.1.105.Final", ">=4.1.91", True),
        ("4.1.105.Final", "<4.1.118", True),
        ("10.16.1.1", "<10.16.1.2", True),
        ("1.5.6-10", "<1.5.6-9", False),
        ("3.30.2-GA", "<=3.30.2", True),
        ("2.21", "<2.21.0", False),
        ("2.21", "==2.21.0", True),
        ("2.9", "<2.10", True),
        ("33.4.0-jre", ">33.3", True),
    ],
)
def test_versions_are_compared_by_the_numbers_that_lead_them(version: str, bound: str, *, held: bool) -> None:
    assert holds(bound, version) is held


def test_trailing_words_do_not_count() -> None:
    assert numbers("4.1.105.Final") == (4, 1, 105)
    assert numbers("1.0.1.post0") == (1, 0, 1)


ENTRY: dict[str, Any] = {
    "id": "CVE-1", "kind": "jar", "package": "a:b", "affected": ["<2"], "severity": "high", "means": "m", "source": "s",
}  # fmt: skip
WAIVED: dict[str, Any] = {"ids": ["CVE-1"], "package": "a:b", "version": "1", "why": "w"}


@pytest.mark.parametrize(
    ("entry", "accepted", "said"),
    [
        ({**ENTRY, "affected": ["below 2"]}, WAIVED, "'below 2' is no bound of versions"),
        ({**ENTRY, "affected": []}, WAIVED, "affected is empty"),
        ({**ENTRY, "severity": "bad"}, WAIVED, "severity one of"),
        ({**ENTRY, "package": "b"}, WAIVED, "a jar is named group:artifact"),
        ({**ENTRY, "extra": 1}, WAIVED, "the fields must be"),
        (ENTRY, {**WAIVED, "why": ""}, "why is empty"),
        (ENTRY, {**WAIVED, "why": "  "}, "accepted without a reason"),
        (ENTRY, {**WAIVED, "ids": ["CVE-2"]}, "CVE-2 is no advisory that lies here"),
    ],
)
def test_a_wrong_entry_is_refused(tmp_path: Path, entry: dict[str, Any], accepted: dict[str, Any], said: str) -> None:
    path = tmp_path / "advisories.json"
    path.write_text(json.dumps({"as_of": "2026-11-19", "advisories": [entry], "accepted": [accepted]}))
    with pytest.raises(UsageError) as told:
        load(path)
    assert said in told.value.details


def test_data_that_is_no_json_is_refused(tmp_path: Path) -> None:
    (tmp_path / "advisories.json").write_text("{")
    with pytest.raises(UsageError, match="The advisories cannot be used"):
        load(tmp_path / "advisories.json")


def test_every_lock_is_looked_at() -> None:
    where = {pin.where for pin in (*python_pins(ROOT), *jar_pins(ROOT))}
    locks = {str(path.relative_to(ROOT)) for path in (*ROOT.glob("*.lock"), *ROOT.glob("tools/**/*.lock"))}
    assert where == locks


def test_locks_that_were_moved_are_an_error_and_no_clean_audit(tmp_path: Path) -> None:
    with pytest.raises(KastellanError, match="No pins of Python"):
        python_pins(tmp_path)


@pytest.mark.parametrize("advisory", [one for one in load().advisories if one.package.startswith("org.apache.kafka:")])
def test_the_gates_of_check_67_keep_out_what_the_advisories_name(advisory: Advisory) -> None:
    """From the oldest line that Kastellan knows to the newest."""
    versions = [
        f"{major}.{minor}.{patch}" for major, minor in ((3, 7), (3, 8), (3, 9), (4, 0), (4, 1)) for patch in range(3)
    ]
    assert not [version for version in versions if advisory.covers(version) and past_the_gates(version)]


def test_advisories_are_sorted_so_that_changes_are_seen() -> None:
    content = json.loads(FILE.read_text(encoding="utf-8"))
    keys = [(one["kind"], one["package"], one["id"]) for one in content["advisories"]]
    assert keys == sorted(keys)
    assert len(set(keys)) == len(keys)
