"""Many histories in one ledger, so that one judgement tests them all.

What happens in one topic says nothing about another, and every history has topics, producers, groups and transactions
of its own: each one's share of the findings is what the findings about its topics say.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from tests.spark.histories.book import History, Story, wanted_checked, wanted_classes

if TYPE_CHECKING:
    from collections.abc import Iterable


def together(parts: Iterable[History]) -> History:
    """All rows and all claims of histories that were written with different prefixes."""
    whole = History()
    for part in parts:
        for folder, rows in part.rows.items():
            whole.rows[folder].extend(rows)
        whole.bounds_given.update(part.bounds_given)
        whole.unbounded |= part.unbounded
        if "groups" in part.expect:
            whole.expect.setdefault("groups", {}).update(part.expect["groups"])
        if "unclean" in part.expect:
            whole.expect.setdefault("unclean", []).extend(part.expect["unclean"])
    return whole


def share(story: Story, findings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [finding for finding in findings if str(finding["topic"] or "").startswith(story.prefix)]


def wanted_totals(stories: list[Story]) -> tuple[dict[str, int], dict[str, int]]:
    """Classes and numbers of the whole batch: sums over its histories."""
    classes: Counter[str] = Counter()
    checked: Counter[str] = Counter()
    for story in stories:
        h = story.history()
        classes.update(wanted_classes(story, h))
        checked.update(wanted_checked(story, h))
    return dict(classes), dict(checked)
