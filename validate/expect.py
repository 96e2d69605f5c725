"""The expectation: what a scenario knows beforehand about what will happen. The one place that turns verdicts by it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from pyspark.sql import functions as f

from common.errors import UsageError
from common.texts import TextError, from_yaml
from validate.checks.finding import VIOLATION
from validate.form import best, hint, mistakes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import DataFrame

SCHEMA_FILE = Path(__file__).with_name("expect.schema.json")


@dataclass(frozen=True)
class Rule:
    """What is expected of one anomaly: how many, with which verdict, in which topics (None: all)."""

    anomaly: str
    count: str = "any"
    verdict: str | None = None
    topics: tuple[str, ...] | None = None

    def covers(self, topic: str | None) -> bool:
        return self.topics is None or topic in self.topics

    def shortfall(self, seen: int) -> str | None:
        """What had to happen and did not."""
        least = self.at_least
        return f"{self.anomaly} was expected {self.count} times, seen {seen}" if seen < least else None

    def excess(self, seen: int) -> str | None:
        """What happened although it was forbidden."""
        if self.count.isdigit() and seen > int(self.count):
            return f"{self.anomaly} was to happen at most {self.count} times, seen {seen}"
        return None

    @property
    def at_least(self) -> int:
        if self.count.startswith(">="):
            return int(self.count[2:])
        return int(self.count[1:]) + 1 if self.count.startswith(">") else 0


@dataclass(frozen=True)
class Claim:
    """A group that must have read all of its topics, from the log's start or from its own first position."""

    group: str
    topics: tuple[str, ...]
    start: str


@dataclass(frozen=True)
class Expectation:
    """A checked EXPECT.yml. The empty one leaves every verdict as the table has it."""

    rules: tuple[Rule, ...] = ()
    claims: tuple[Claim, ...] = ()
    unclean: tuple[str, ...] = ()
    progress: dict[str, float] = field(default_factory=dict)
    outage: dict[str, Any] = field(default_factory=dict)

    def bound_s(self, witness: str, kind: str) -> float | None:
        """The longest outage this witness may see, if the scenario names one."""
        value = self.outage.get(witness, {}).get(f"{kind}_s")
        return None if value is None else float(value)

    @property
    def outage_topics(self) -> list[str] | None:
        topics = self.outage.get("topics")
        return None if topics is None else list(topics)


def load(path: Path) -> Expectation:
    """Read an expectation file; every mistake in it is a usage error that names the place."""
    try:
        content = from_yaml(path.read_text(encoding="utf-8"), _StrictLoader)
    except OSError as error:
        raise UsageError(
            f"The expectation {str(path)!r} cannot be read.", details=str(error), resolution="Name a readable file."
        ) from error
    except (TextError, UnicodeDecodeError) as error:
        raise UsageError(
            f"The expectation {str(path)!r} is no YAML.",
            details=str(error),
            resolution="Mend it or leave --expect out.",
        ) from error
    return parse({} if content is None else content, name=str(path))


def parse(content: Any, *, name: str = "the expectation") -> Expectation:
    """Check against the schema, then for what can never be met."""
    errors = mistakes(content, SCHEMA_FILE)
    if errors:
        error = best(errors)
        where = "/".join(map(str, error.absolute_path)) or "at the top"
        raise UsageError(
            f"Wrong in {name}: {where}.",
            details=error.message,
            resolution=f"{hint(error)}What may stand there is in validate/{SCHEMA_FILE.name}.",
        )
    expectation = Expectation(
        rules=tuple(_rule(anomaly, rule or {}) for anomaly, rule in (content.get("anomalies") or {}).items()),
        claims=tuple(
            Claim(group, tuple(claim["topics"]), claim.get("from", "earliest"))
            for group, claim in (content.get("groups") or {}).items()
        ),
        unclean=tuple(content.get("unclean") or ()),
        progress=dict(content.get("progress") or {}),
        outage=dict(content.get("outage") or {}),
    )
    _refuse_the_impossible(expectation, name)
    return expectation


def _rule(anomaly: str, rule: dict[str, Any]) -> Rule:
    topics = rule.get("topics")
    count = re.sub(r"\s", "", str(rule.get("count", "any")))
    return Rule(anomaly, count, rule.get("verdict"), None if topics is None else tuple(topics))


def _refuse_the_impossible(expectation: Expectation, name: str) -> None:
    for rule in expectation.rules:
        if rule.at_least == 0:
            continue
        reason = None
        if rule.verdict == VIOLATION:
            reason = "it must happen, and every one of them fails the run"
        elif rule.topics is not None and not rule.topics:
            reason = "it must happen, in no topic at all"
        elif rule.anomaly == "unseen" and not any(map(rule.covers, _claimed(expectation))):
            reason = "no group claims these topics, so nothing can be unseen there"
        elif rule.anomaly == "stuck" and not (expectation.outage.get("fresh") or expectation.outage.get("running")):
            reason = "without a bound under outage: nothing counts as stuck"
        if reason:
            raise UsageError(
                f"Wrong in {name}: anomalies/{rule.anomaly} can never be met.",
                details=f"count {rule.count!r}: {reason}.",
                resolution="Change its count, verdict or topics, or add what is lacking.",
            )


def _claimed(expectation: Expectation) -> Iterable[str]:
    return (topic for claim in expectation.claims for topic in claim.topics)


def turn(found: DataFrame, expectation: Expectation) -> DataFrame:
    """Replace the table's verdicts by the expectation's, in its topics."""
    turned = f.col("verdict")
    for rule in expectation.rules:
        if rule.verdict is None:
            continue
        here = f.col("anomaly") == rule.anomaly
        if rule.topics is not None:
            here = here & f.col("topic").isin(*rule.topics)
        turned = f.when(here, rule.verdict).otherwise(turned)
    return found.withColumn("verdict", turned)


def merge_verdicts(verdicts: Iterable[str]) -> str:
    """The worst of several: failed, then unknown, then passed."""
    order = ("passed", "unknown", "failed")
    return reduce(lambda a, b: max(a, b, key=order.index), verdicts, "passed")


class _StrictLoader(yaml.SafeLoader):
    """Refuses a key that stands twice: the second would silently win."""


def _mapping_without_repeats(loader: _StrictLoader, node: yaml.MappingNode) -> dict[Any, Any]:
    seen = set()
    for key_node, _ in node.value:
        key = loader.construct_object(key_node)
        if key in seen:
            raise yaml.constructor.ConstructorError(None, None, f"the key {key!r} stands twice", key_node.start_mark)
        seen.add(key)
    return loader.construct_mapping(node, deep=True)


_StrictLoader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping_without_repeats)
