"""Brokers within the test's own process: librdkafka brings them along, Python's binding does not hand them out."""

from __future__ import annotations

import contextlib
import ctypes
from pathlib import Path
from typing import TYPE_CHECKING

import confluent_kafka

if TYPE_CHECKING:
    from collections.abc import Iterator

PRODUCER = 0  # a kind of client
PRODUCE = 0  # a kind of request


class MockBrokers:
    """Numbered from 1; of every topic each leads one partition."""

    def __init__(self, library: ctypes.CDLL, cluster: ctypes.c_void_p, count: int) -> None:
        self._library, self._cluster, self.count = library, cluster, count
        library.rd_kafka_mock_cluster_bootstraps.restype = ctypes.c_char_p
        self.bootstrap = library.rd_kafka_mock_cluster_bootstraps(cluster).decode()

    def make_topic(self, name: str) -> None:
        assert self._library.rd_kafka_mock_topic_create(self._cluster, name.encode(), self.count, self.count) == 0
        for partition in range(self.count):
            self._library.rd_kafka_mock_partition_set_leader(self._cluster, name.encode(), partition, partition + 1)

    def answer_produce(self, *errors: int) -> None:
        """By these, one after the other; then as usual again."""
        array = (ctypes.c_int32 * len(errors))(*errors)
        self._library.rd_kafka_mock_push_request_errors_array(
            self._cluster, ctypes.c_int16(PRODUCE), ctypes.c_size_t(len(errors)), array
        )

    def kill(self, broker: int) -> None:
        assert self._library.rd_kafka_mock_broker_set_down(self._cluster, broker) == 0


@contextlib.contextmanager
def mock_brokers(count: int) -> Iterator[MockBrokers]:
    (file,) = (Path(confluent_kafka.__file__).parent.parent / "confluent_kafka.libs").glob("librdkafka-*")
    library = ctypes.CDLL(str(file))
    for function in ("rd_kafka_conf_new", "rd_kafka_new", "rd_kafka_mock_cluster_new"):
        getattr(library, function).restype = ctypes.c_void_p
    said = ctypes.create_string_buffer(512)
    conf = ctypes.c_void_p(library.rd_kafka_conf_new())
    library.rd_kafka_conf_set(conf, b"log_level", b"0", said, 512)
    client = ctypes.c_void_p(library.rd_kafka_new(PRODUCER, conf, said, 512))
    assert client, said.value.decode()
    cluster = ctypes.c_void_p(library.rd_kafka_mock_cluster_new(client, count))
    try:
        yield MockBrokers(library, cluster, count)
    finally:
        library.rd_kafka_mock_cluster_destroy(cluster)
        library.rd_kafka_destroy(client)
