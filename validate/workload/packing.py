"""How librdkafka packs a batch over TLS, and a client.id that makes it pack well (docs/adr/0099).

A batch is built in pieces of memory, each half as large as all before it. A value that finds no room in what is left of
a piece is not copied but pointed at, and the rest of the piece goes to the heads of the following records, whose values
are pointed at as well. Everything pointed at is a TLS record of its own, with a system call, and so is the head before
it. Where the pieces end depends on the length of the request's head, of which only client.id is ours to choose.
"""

from __future__ import annotations

SEGMENT = 4 * 72  # the least piece: librdkafka's struct rd_segment_s, four times
BATCH_HEAD = (8, 4, 4, 1, 4, 2, 4, 8, 8, 8, 2, 4, 4)  # from baseOffset to the number of records, each as it is written
WORTH_IT = 1 / 4  # of the values alone: below that nothing is gained that could be measured
WIDEST = 80  # bytes that a name may be made longer
FILL = "."


class _Pieces:
    def __init__(self) -> None:
        self.size = self.room = self.alone = 0

    def write(self, count: int) -> None:
        if count <= self.room:
            self.room -= count
            return
        lacking = count - self.room
        piece = max(SEGMENT, 2 * lacking, self.size // 2)
        self.size += piece
        self.room = piece - lacking

    def value(self, count: int) -> None:
        if self.room > count:
            self.room -= count
        else:
            self.size += count
            self.alone += 1


def alone(records: int, value_bytes: int, topic: str, client_id: str) -> int:
    """How many values of a batch go out each as a TLS record of its own. Records without keys and headers."""
    pieces = _Pieces()
    for count in (*_request_head(topic, client_id), *BATCH_HEAD):
        pieces.write(count)
    value_width = _zigzag(value_bytes)
    for place in range(records):
        place_width = _zigzag(place)
        whole = 4 + place_width + value_width + value_bytes  # attributes, time, no key, no headers: a byte each
        for count in (_zigzag(whole), 1, 1, place_width, 1, value_width):
            pieces.write(count)
        pieces.value(value_bytes)
        pieces.write(1)
    return pieces.alone


def _request_head(topic: str, client_id: str) -> tuple[int, ...]:
    """Length, key, version, number, client.id, tags; then no transactional.id, acks, time-out, topics, partitions."""
    named = len(topic.encode())
    return 4, 2, 2, 4, 2 + len(client_id.encode()), 1, 1, 2, 4, 1, _width(named + 1), named, 1, 4, 4


def name(plain: str, records: int, value_bytes: int, topics: list[str]) -> str:
    """`plain`, or that with the fewest dots behind it which lets the least values go alone."""

    def all_alone(client_id: str) -> int:
        return sum(alone(records, value_bytes, topic, client_id) for topic in sorted(set(topics)))

    if all_alone(plain) <= WORTH_IT * records * len(set(topics)):
        return plain
    return min((plain + FILL * more for more in range(WIDEST + 1)), key=all_alone)


def _width(number: int) -> int:
    """Bytes of an unsigned number, seven bits in each."""
    return max(1, -(-number.bit_length() // 7))


def _zigzag(number: int) -> int:
    return _width(2 * number)
