"""Watermarks and commits that fall."""

from __future__ import annotations

from tests.spark.histories.book import History, expected, history, violation


@history("a watermark that only grows, or stands still")
def watermark_clean(h: History) -> None:
    h.kept("orders", 0, 3)
    for value in (3, 3, 5):
        h.watermark("orders", 0, value)


@history("one witness saw it fall", violation("watermark-backwards", topic="orders", partition=0))
def watermark(h: History) -> None:
    for value in (5, 4):
        h.watermark("orders", 0, value)


@history("against the value just before: one finding per fall", violation("watermark-backwards", 2))
def watermark_falls_twice(h: History) -> None:
    for value in (5, 3, 4, 2):
        h.watermark("orders", 0, value)


@history("climbing below the highest is no second fall", violation("watermark-backwards"))
def watermark_climbs_again(h: History) -> None:
    for value in (5, 2, 3, 4):
        h.watermark("orders", 0, value)


@history("two witnesses need not agree")
def watermark_two_witnesses(h: History) -> None:
    h.kept("orders", 0, 3)
    h.watermark("orders", 0, 5, witness="a")
    h.watermark("orders", 0, 3, witness="b")
    h.watermark("orders", 0, 6, witness="a")
    h.watermark("orders", 0, 4, witness="b")


@history("two partitions and two topics have their own")
def watermark_two_places(h: History) -> None:
    h.kept("orders", 0, 3)
    h.watermark("orders", 0, 5)
    h.watermark("orders", 1, 3)
    h.watermark("bills", 0, 1)


@history("time is its order, not the order of rows")
def watermark_by_time(h: History) -> None:
    h.kept("orders", 0, 3)
    h.watermark("orders", 0, 5, at=200)
    h.watermark("orders", 0, 3, at=100)


@history(
    "an unclean topic's watermark may fall, its neighbour's may not",
    expected("watermark-backwards", topic="orders"),
    violation("watermark-backwards", topic="bills"),
)
def watermark_unclean(h: History) -> None:
    for topic in ("orders", "bills"):
        h.watermark(topic, 0, 5)
        h.watermark(topic, 0, 4)
    h.unclean("orders")


@history("weak records make no watermark weak", violation("watermark-backwards"))
def watermark_of_weak_records(h: History) -> None:
    h.kept("orders", 0, 5, acks="1", idempotent=False)
    h.watermark("orders", 0, 5)
    h.watermark("orders", 0, 4)


# -- commits -------------------------------------------------------------------------------------------------------


def commits(h: History, *offsets: int) -> None:
    h.kept("orders", 0, 9)
    h.took("readers", "orders", 0, *range(9))
    for offset in offsets:
        h.commit("readers", "orders", 0, offset)


@history("commits that grow or stand still")
def commit_clean(h: History) -> None:
    commits(h, 3, 3, 9)


@history("a commit fell within one assignment", violation("commit-backwards", topic="orders", partition=0))
def commit(h: History) -> None:
    commits(h, 5, 4)


@history("against the one just before: one finding per fall", violation("commit-backwards", 2))
def commit_falls_twice(h: History) -> None:
    commits(h, 5, 3, 4, 2)


@history("climbing below the highest is no second fall", violation("commit-backwards"))
def commit_climbs_again(h: History) -> None:
    commits(h, 5, 2, 3, 4)


@history("an unclean topic excuses no commit", violation("commit-backwards"))
def commit_unclean(h: History) -> None:
    commits(h, 5, 4)
    h.unclean("orders")


@history("another assignment, member, group, partition may commit lower")
def commit_elsewhere(h: History) -> None:
    commits(h, 9)
    h.kept("orders", 1, 2)
    h.commit("readers", "orders", 0, 8, assignment=1)
    h.commit("readers", "orders", 0, 7, member="m1")
    h.commit("others", "orders", 0, 0)
    h.commit("readers", "orders", 1, 0)


@history("only acked commits are compared: one of unknown outcome hides no fall", violation("commit-backwards"))
def commit_unknown_between(h: History) -> None:
    commits(h, 5)
    h.commit("readers", "orders", 0, 3, outcome="unknown")
    h.commit("readers", "orders", 0, 4)


@history("and makes none")
def commit_unknown_above(h: History) -> None:
    commits(h, 3)
    h.commit("readers", "orders", 0, 9, outcome="unknown")
    h.commit("readers", "orders", 0, 5)


@history("without a member or an assignment nothing is compared")
def commit_by_nobody(h: History) -> None:
    commits(h)
    h.commit("readers", "orders", 0, 5, member=None)
    h.commit("readers", "orders", 0, 4, member=None)
    h.commit("readers", "orders", 0, 5, assignment=None)
    h.commit("readers", "orders", 0, 4, assignment=None)


@history("the time of the commit is its order")
def commit_by_time(h: History) -> None:
    commits(h)
    h.commit("readers", "orders", 0, 5, at=2000)
    h.commit("readers", "orders", 0, 4, at=1000)
