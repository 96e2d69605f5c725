"""What lies in the log and should not, or not like that: phantom, of unknown outcome, corrupt, misrouted."""

from __future__ import annotations

from typing import Any

from tests.spark.histories.book import History, allowed, history, violation
from tests.spark.histories.writer import checksum

FIRST: dict[str, Any] = {"topic": "orders", "partition": 0, "producer": "p", "seq": 0, "attempt": 0}
SECOND: dict[str, Any] = {**FIRST, "seq": 1}

# -- phantom -------------------------------------------------------------------------------------------------------


@history("our marks, but nobody sent it", violation("phantom", **{**SECOND, "offset": 1}))
def phantom(h: History) -> None:
    h.kept("orders", 0, 1)
    h.in_log("orders", 0, offset=1, seq=1)


@history("a producer nobody knows", violation("phantom", producer="ghost", seq=0))
def phantom_producer(h: History) -> None:
    h.kept("orders", 0, 1)
    h.in_log("orders", 0, offset=1, seq=0, producer="ghost")


@history("sent elsewhere is not sent here", violation("phantom", topic="orders", partition=1, seq=0))
def phantom_partition(h: History) -> None:
    h.kept("orders", 0, 1)
    h.in_log("orders", 1, offset=0, seq=0)


@history("an attempt nobody made", violation("phantom", seq=0, attempt=1), allowed("resent", None, attempt=1))
def phantom_attempt(h: History) -> None:
    h.kept("orders", 0, 1)
    h.in_log("orders", 0, offset=1, seq=0, attempt=1)


@history("several copies are one finding, and no duplicate", violation("phantom", **SECOND))
def phantom_copies(h: History) -> None:
    h.kept("orders", 0, 1)
    h.in_log("orders", 0, offset=1, seq=1)
    h.in_log("orders", 0, offset=2, seq=1)


@history("two phantoms are two findings", violation("phantom", seq=1), violation("phantom", seq=2))
def phantoms(h: History) -> None:
    h.kept("orders", 0, 1)
    h.in_log("orders", 0, offset=1, seq=1)
    h.in_log("orders", 0, offset=2, seq=2)


@history("strangers, and other runs of ours, are foreign", foreign=3)
def foreign(h: History) -> None:
    h.kept("orders", 0, 1)
    h.foreign("orders", 0, offset=1)
    h.in_log("orders", 0, offset=2, seq=1, run_id="20250101T000000Z-s1")
    h.foreign("orders", 0, offset=3, key=b"k")


@history("a null value nobody sent is foreign", foreign=1)
def foreign_tombstone(h: History) -> None:
    h.kept("orders", 0, 1)
    h.tombstone_in_log("orders", 0, 1, key=b"k")


@history("refused but sent: no phantom, yet it may not be read", violation("aborted-read", **SECOND))
def refused_is_no_phantom(h: History) -> None:
    h.kept("orders", 0, 1)
    h.refused("orders", 0, seq=1)
    h.in_log("orders", 0, offset=1, seq=1)


# -- reserved ------------------------------------------------------------------------------------------------------


@history("reserved from this seq on: covered", allowed("unacked-read", **SECOND))
def reserved_first(h: History) -> None:
    h.kept("orders", 0, 1)
    h.reserve("orders", 0, 1, 3)
    h.in_log("orders", 0, offset=1, seq=1)


@history("the last reserved seq: covered", allowed("unacked-read", seq=2))
def reserved_last(h: History) -> None:
    h.kept("orders", 0, 2)
    h.reserve("orders", 0, 1, 3)
    h.in_log("orders", 0, offset=2, seq=2)


@history("the end of a reservation is exclusive", violation("phantom", seq=3))
def reserved_end(h: History) -> None:
    h.kept("orders", 0, 3)
    h.reserve("orders", 0, 1, 3)
    h.in_log("orders", 0, offset=3, seq=3)


@history("below a reservation nothing is covered", violation("phantom", seq=0, attempt=1), allowed("resent", None))
def reserved_before(h: History) -> None:
    h.kept("orders", 0, 1)
    h.reserve("orders", 0, 1, 3)
    h.in_log("orders", 0, offset=1, seq=0, attempt=1)


@history("another producer's reservation covers nothing", violation("phantom", producer="p", seq=1))
def reserved_by_other(h: History) -> None:
    h.kept("orders", 0, 1)
    h.reserve("orders", 0, 0, 9, producer="q")
    h.in_log("orders", 0, offset=1, seq=1)


@history("nor does another partition's or topic's", violation("phantom", producer="p", seq=1))
def reserved_elsewhere(h: History) -> None:
    h.kept("orders", 0, 1)
    h.reserve("orders", 1, 0, 9)
    h.reserve("bills", 0, 0, 9)
    h.in_log("orders", 0, offset=1, seq=1)


@history("reserved, neither reported nor found: nothing")
def reserved_only(h: History) -> None:
    h.reserve("orders", 0, 0, 9)
    h.kept("orders", 0, 1)


@history("reserved and acked is simply acked")
def reserved_and_acked(h: History) -> None:
    h.reserve("orders", 0, 0, 2)
    h.kept("orders", 0, 2)


# -- of unknown outcome --------------------------------------------------------------------------------------------


@history("unknown and there, unknown and not", allowed("unacked-read", **FIRST), allowed("unacked-absent", **SECOND))
def unacked(h: History) -> None:
    h.unknown("orders", 0, seq=0)
    h.unknown("orders", 0, seq=1)
    h.in_log("orders", 0, offset=0, seq=0)


@history("one per attempt", allowed("unacked-absent", attempt=0), allowed("unacked-absent", attempt=1))
def unacked_attempts(h: History) -> None:
    h.unknown("orders", 0, seq=0)
    h.unknown("orders", 0, seq=0, attempt=1)
    h.keep("orders", 0, seq=0, attempt=2, offset=0)


@history("unknown inside an aborted transaction and absent", allowed("unacked-absent", **FIRST))
def unacked_aborted(h: History) -> None:
    h.txn("tx#0", "aborted")
    h.unknown("orders", 0, seq=0, txn="tx#0")
    h.keep("orders", 0, seq=1, offset=0)


@history("not enough replicas after the append is unknown: it was written", allowed("unacked-read", **FIRST))
def not_enough_replicas_after_append(h: History) -> None:
    h.unknown("orders", 0, seq=0, error="NOT_ENOUGH_REPLICAS_AFTER_APPEND", done=5)
    h.in_log("orders", 0, offset=0, seq=0)


# -- corrupt -------------------------------------------------------------------------------------------------------


@history("the bytes read are not those sent", violation("corrupt", **FIRST))
def corrupt_value(h: History) -> None:
    h.acked("orders", 0, seq=0, offset=0)
    h.in_log("orders", 0, offset=0, seq=0, value_crc=5)


@history("the checksum written in the value is another", violation("corrupt", **FIRST))
def corrupt_payload(h: History) -> None:
    h.acked("orders", 0, seq=0, offset=0)
    h.in_log("orders", 0, offset=0, seq=0, payload_crc=5)


@history("both checksums fit each other but not what was sent", violation("corrupt", **FIRST))
def corrupt_whole(h: History) -> None:
    h.acked("orders", 0, seq=0, offset=0)
    h.in_log("orders", 0, offset=0, seq=0, payload_crc=5, value_crc=5)


@history("what was sent is not known: not compared with it")
def unknown_checksum(h: History) -> None:
    h.acked("orders", 0, seq=0, offset=0, value_crc=None)
    h.in_log("orders", 0, offset=0, seq=0)


@history("but the value is still compared with itself", violation("corrupt", **FIRST))
def unknown_checksum_but_corrupt(h: History) -> None:
    h.acked("orders", 0, seq=0, offset=0, value_crc=None)
    h.in_log("orders", 0, offset=0, seq=0, value_crc=5)


@history("another key", violation("corrupt", **FIRST))
def corrupt_key(h: History) -> None:
    h.acked("orders", 0, seq=0, offset=0, key=b"a")
    h.in_log("orders", 0, offset=0, seq=0, key=b"b")


@history("a key that got lost: null is compared", violation("corrupt", **FIRST))
def corrupt_key_lost(h: History) -> None:
    h.acked("orders", 0, seq=0, offset=0, key=b"a")
    h.in_log("orders", 0, offset=0, seq=0, key=None)


@history("a key that was never sent: null is compared", violation("corrupt", **FIRST))
def corrupt_key_new(h: History) -> None:
    h.acked("orders", 0, seq=0, offset=0, key=None)
    h.in_log("orders", 0, offset=0, seq=0, key=b"a")


@history("null is not the empty key", violation("corrupt", **FIRST))
def corrupt_key_empty(h: History) -> None:
    h.acked("orders", 0, seq=0, offset=0, key=None)
    h.in_log("orders", 0, offset=0, seq=0, key=b"")


@history("equal keys, among them none and the empty one")
def keys_clean(h: History) -> None:
    for seq, key in enumerate((b"a", b"", None)):
        h.keep("orders", 0, seq=seq, offset=seq, key=key)


@history(
    "one finding per record and attempt, naming the first bad row",
    violation("corrupt", **{**FIRST, "offset": 1}),
    violation("duplicated", 2, seq=0),
)
def corrupt_copies(h: History) -> None:
    h.acked("orders", 0, seq=0, offset=0)
    h.in_log("orders", 0, offset=0, seq=0)
    h.in_log("orders", 0, offset=1, seq=0, value_crc=5)
    h.in_log("orders", 0, offset=2, seq=0, value_crc=6)


@history("each attempt is compared with itself, and its own checksum", allowed("resent", attempt=1))
def attempts_differ(h: History) -> None:
    h.kept("orders", 0, 1)
    h.keep("orders", 0, seq=0, attempt=1, offset=1)


@history("an attempt with the bytes of another", violation("corrupt", seq=0, attempt=1), allowed("resent", attempt=1))
def attempt_with_other_bytes(h: History) -> None:
    h.kept("orders", 0, 1)
    h.acked("orders", 0, seq=0, attempt=1, offset=1)
    h.in_log("orders", 0, offset=1, seq=0, attempt=1, value_crc=checksum(0, 0), payload_crc=checksum(0, 0))


@history("of unknown outcome, still to be whole", violation("corrupt", **FIRST), allowed("unacked-read", **FIRST))
def corrupt_unknown(h: History) -> None:
    h.unknown("orders", 0, seq=0)
    h.in_log("orders", 0, offset=0, seq=0, value_crc=5)


@history("weak or not, what is there must be whole", violation("corrupt", **FIRST))
def corrupt_weak(h: History) -> None:
    h.acked("orders", 0, seq=0, offset=0, acks="1", idempotent=False)
    h.in_log("orders", 0, offset=0, seq=0, value_crc=5)
    h.unclean("orders")


@history("foreign records have no checksums of ours", foreign=1)
def foreign_checksums(h: History) -> None:
    h.kept("orders", 0, 1)
    h.foreign("orders", 0, offset=1, payload_crc=1, value_crc=2)


# -- misrouted -----------------------------------------------------------------------------------------------------


@history(
    "meant for another partition, yet found",
    violation("misrouted", producer="p", seq=0),
    allowed("gap", partition=0, detail="unexplained"),
)
def misrouted_partition(h: History) -> None:
    h.acked("orders", 0, seq=0, offset=0)
    h.in_log("orders", 1, offset=0, seq=0, intended=("orders", 0))
    h.bounds("orders", 0, end=1)


@history(
    "meant for another topic, yet found",
    violation("misrouted", producer="p", seq=0),
    allowed("gap", topic="orders", detail="unexplained"),
)
def misrouted_topic(h: History) -> None:
    h.acked("orders", 0, seq=0, offset=0)
    h.in_log("bills", 0, offset=0, seq=0, intended=("orders", 0))
    h.bounds("orders", 0, end=1)


@history("an unclean topic excuses no wrong address", violation("misrouted", seq=0))
def misrouted_unclean(h: History) -> None:
    h.acked("orders", 0, seq=0, offset=None)
    h.in_log("orders", 1, offset=0, seq=0, intended=("orders", 0))
    h.unclean("orders")


@history("no mismatch of offsets is told of a record in a wrong partition", violation("misrouted", seq=0))
def misrouted_other_offset(h: History) -> None:
    h.acked("orders", 0, seq=0, offset=0)
    h.in_log("orders", 1, offset=4, seq=0, intended=("orders", 0))
    h.bounds("orders", 1, start=4)
