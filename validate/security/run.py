"""All checks one after the other: each has a bound, a crash is unknown, and what was made for them goes away again."""

from __future__ import annotations

import threading
import time
import traceback
from typing import TYPE_CHECKING, Any

from common.errors import KastellanError
from validate.security import (
    authentication,
    authorization,
    authorization_rules,
    controller,
    controller_zookeeper,
    host,
    software,
    transport,
    transport_certificates,
)
from validate.security.registry import (
    CHECKS,
    FAILED,
    NOT_APPLICABLE,
    UNKNOWN,
    WAIVED,
    Check,
    Evidence,
    NotApplicable,
)
from validate.security.scene import Scene
from validate.security.waivers import apply, waivers
from validate.security.wire import NoAnswer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from validate.cluster import Cluster

MODULES = (
    transport, transport_certificates, authentication, authorization, authorization_rules, controller,
    controller_zookeeper, host, software,
)  # fmt: skip
# Those that take moments and break first: part of suite smoke.
SMOKE = (2, 17, 21, 29, 57)
NO_CONSENT = "it loads or disturbs the cluster: say --intrusive, or faults_allowed in cluster.json"


def numbers_of(suite: str | None) -> tuple[int, ...]:
    """The checks of a suite, in their order."""
    return {"smoke": SMOKE, "security": tuple(sorted(CHECKS)), "all": tuple(sorted(CHECKS))}.get(suite or "", ())


def suites_of(number: int) -> list[str]:
    return [suite for suite in ("smoke", "security") if number in numbers_of(suite)]


def run_checks(
    cluster: Cluster,
    numbers: Sequence[int],
    results: list[dict[str, Any]],
    *,
    intrusive: bool,
    say: Callable[[str], None],
) -> None:
    """Fills `results` with what run.json and the report hold of each; what an interruption leaves out is unknown."""
    consent, waived = intrusive or cluster.faults_allowed, waivers(cluster)
    results += [_told(CHECKS[number], UNKNOWN, ["it was not run to its end"], 0.0) for number in numbers]
    staged, scene = 0, Scene(cluster)
    try:
        for place, number in enumerate(numbers):
            result = results[place] = run_check(CHECKS[number], scene, consent=consent)
            apply(result, waived.get(number))
            say(f"  {number:2} {result['verdict']:14} {result['title']} ({result['duration_s']:.1f} s)")
            if result["verdict"] in {FAILED, UNKNOWN, WAIVED}:
                say(f"     because {result['seen'][0]}")
            staged = staged if scene.touched else place + 1
    finally:
        if left := scene.close():
            # Told with the check that was the first to need it.
            _left_over(results[min(staged, len(results) - 1)], left, say)


def _left_over(result: dict[str, Any], left: str, say: Callable[[str], None]) -> None:
    told = f"what the proof made was not all cleared away: {left}"
    say(f"  {result['number']:2} {told}")
    if result["verdict"] == FAILED:
        result["seen"] = [*result["seen"], told]
    else:
        result.update(verdict=UNKNOWN, seen=[told, *result["seen"]])


def run_check(one: Check, scene: Scene, *, consent: bool) -> dict[str, Any]:
    began_s = time.monotonic()
    if scene.cluster.mode not in one.modes:
        told = f"it is for mode {' or '.join(one.modes)}, this is {scene.cluster.mode}"
        verdict, seen = NOT_APPLICABLE, [told]
    elif one.intrusive and not consent:
        verdict, seen = NOT_APPLICABLE, [NO_CONSENT]
    else:
        verdict, seen = _bounded(one, scene)
    return _told(one, verdict, seen, time.monotonic() - began_s)


def _told(one: Check, verdict: str, seen: list[str], took_s: float) -> dict[str, Any]:
    return {
        "number": one.number,
        "family": one.family,
        "title": one.title,
        "verdict": verdict,
        "tried": one.tried,
        "where": one.where,
        "expected": one.expected,
        "seen": seen,
        "fix": one.fix,
        "duration_s": round(took_s, 3),
    }


def _bounded(one: Check, scene: Scene) -> tuple[str, list[str]]:
    evidence, ended, refused = Evidence(), threading.Event(), []

    def go() -> None:
        try:
            one.run(scene, evidence)
        except NotApplicable as reason:
            refused.append(str(reason))
        except (KastellanError, NoAnswer) as reason:  # said on purpose: there is no way to look, and why
            evidence.unknown(" ".join(str(reason).split()))
        except OSError as error:
            evidence.unknown(f"nobody was reached: {' '.join(str(error).split()) or type(error).__name__}")
        except Exception as error:  # noqa: BLE001  a crash is unknown, never passed
            place = traceback.extract_tb(error.__traceback__)[-1]
            told = " ".join(str(error).split()) or "no words"
            evidence.unknown(f"the check crashed: {type(error).__name__}: {told} ({place.name}:{place.lineno})")
        ended.set()

    # In a thread that can be left behind: nothing that a cluster does may keep the proof waiting.
    thread = threading.Thread(target=go, daemon=True, name=f"check-{one.number}")
    thread.start()
    if not ended.wait(one.bound_s):
        scene.leave_behind(thread)
        lines = evidence.lines if evidence.bad else []
        return (FAILED if evidence.bad else UNKNOWN), [*lines, f"it had no end after {one.bound_s:.0f} s"]
    # What was seen to be wrong, or could not be seen, counts whatever else does not apply.
    if refused and not evidence.bad and not evidence.unsure:
        return NOT_APPLICABLE, refused
    return evidence.verdict, evidence.lines
