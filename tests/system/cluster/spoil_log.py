"""Runs on a broker's host, by the system's Python: `flip|mend|cut LOG`; prints the first offset that it hits.

It goes by the heads of the batches to the middle one, for a first batch may hold most of a log. `flip` turns one bit of
a value, `mend` does so and makes the batch's checksum fit again, `cut` ends the log before that batch.
"""

import pathlib
import sys

OFFSET, LENGTH, HEAD, CRC, CRC_FROM = 0, 8, 12, 17, 21
POLYNOMIAL = 0x82F63B78  # CRC-32C, the least significant bit first


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (POLYNOMIAL if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def starts(content: bytes) -> list[int]:
    at, found = 0, []
    while at + HEAD <= len(content) and content[at + CRC : at + CRC_FROM] != bytes(4):
        found.append(at)
        at += HEAD + int.from_bytes(content[at + LENGTH : at + HEAD], "big")
    return [*found, at]


how, path = sys.argv[1:]
with pathlib.Path(path).open("r+b") as log:
    content = bytearray(log.read())
    found = starts(bytes(content))
    assert len(found) > 3, found
    begin, end = found[len(found) // 2], found[len(found) // 2 + 1]
    if how == "cut":
        log.truncate(begin)
    else:
        content[end - 2] ^= 1  # behind the value comes the count of headers, one byte
        if how == "mend":
            content[begin + CRC : begin + CRC_FROM] = crc32c(bytes(content[begin + CRC_FROM : end])).to_bytes(4, "big")
        log.seek(begin)
        log.write(content[begin:end])
    print(int.from_bytes(content[begin + OFFSET : begin + LENGTH], "big"))
