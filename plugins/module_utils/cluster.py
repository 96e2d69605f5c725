"""A cluster as the modules see it: any broker for questions, the right one for orders, errors that say what to do."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from . import messages
from .connection import Connection, check_answer
from .errors import LoginError, UnreachableError
from .messages import NOT_CONTROLLER, UNKNOWN_TOPIC_OR_PARTITION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from .settings import Settings

DESCRIBE_QUORUM = 55
POLL_S = 0.1
TOPIC_RESOURCE = 2
# DescribeConfigs: where a value comes from.
DYNAMIC_TOPIC_CONFIG = 1


@dataclass(frozen=True)
class Entry:
    """One setting of a resource as the cluster has it."""

    value: str | None
    source: int
    kind: int

    @property
    def of_topic(self) -> bool:
        """Set on the topic itself, not inherited from the cluster's or Kafka's defaults."""
        return self.source == DYNAMIC_TOPIC_CONFIG


class Cluster:
    """Connects at first use; use it in `with`."""

    def __init__(self, settings: Settings, *, timeout_s: float) -> None:
        self.settings = settings
        self.timeout_s = timeout_s
        self._any: Connection | None = None
        self._controller: Connection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.disconnect()

    def disconnect(self) -> None:
        """The next call connects anew."""
        for connection in (self._any, self._controller):
            if connection:
                connection.close()
        self._any = self._controller = None

    @property
    def server(self) -> tuple[str, int]:
        """The one that answers, of those that are named."""
        return self._broker().server

    @property
    def has_quorum(self) -> bool:
        """KRaft. Brokers of a ZooKeeper cluster do not offer the question."""
        return DESCRIBE_QUORUM in self._broker().versions

    @property
    def features(self) -> dict[str, int]:
        return self._broker().features

    def ask(self, request: Any) -> Any:
        """A question that any broker can answer."""
        return self._broker().call(request)

    def order(self, make: Callable[[], Any], codes: Callable[[Any], Iterable[int]]) -> Any:
        """A change. Brokers of KRaft pass it on to the controller, those of ZooKeeper do not, so it is sent there.

        `make` makes the request (anew for each attempt), `codes` reads the error codes out of the answer.
        """
        deadline_s = time.monotonic() + self.timeout_s
        while True:
            answer = (self._broker() if self.has_quorum else self._controller_broker()).call(make())
            found = set(codes(answer))
            if NOT_CONTROLLER not in found or time.monotonic() > deadline_s:
                return answer
            # Nothing of the request was done, so all of it goes to the new controller.
            self.disconnect()
            time.sleep(POLL_S)

    def metadata(self, topics: Sequence[str] | None = None) -> Any:
        """All topics without `topics`; none with an empty list."""
        wanted = (
            None if topics is None else [messages.MetadataRequest.MetadataRequestTopic(name=name) for name in topics]
        )
        return self.ask(messages.MetadataRequest(topics=wanted, allow_auto_topic_creation=False))

    def topic_configs(self, topics: Sequence[str], inherited: Sequence[str] = ()) -> dict[str, dict[str, Entry]]:
        """What is set on these topics, and of what is not, the effective values of `inherited`.

        A topic that vanished meanwhile is left out.
        """
        return self._configs(topics, None, inherited)

    def effective(self, topics: Sequence[str], key: str) -> dict[str, str]:
        """One setting as it is in force on each of these topics."""
        found = self._configs(topics, [key], [key])
        return {topic: entries[key].value or "" for topic, entries in found.items() if key in entries}

    def _configs(
        self, topics: Sequence[str], keys: list[str] | None, inherited: Sequence[str]
    ) -> dict[str, dict[str, Entry]]:
        if not topics:
            return {}
        resources = [(TOPIC_RESOURCE, name, keys) for name in topics]
        answer = self.ask(messages.DescribeConfigsRequest(resources=resources, include_synonyms=False))
        found: dict[str, dict[str, Entry]] = {}
        for result in answer.results:
            if result.error_code == UNKNOWN_TOPIC_OR_PARTITION:
                continue
            check_answer(f"the settings of topic {result.resource_name}", result.error_code, result.error_message)
            # Thousands of topics have dozens of inherited settings each: only what is asked for becomes an object.
            found[result.resource_name] = {
                item.name: Entry(item.value, item.config_source, item.config_type)
                for item in result.configs
                if item.config_source == DYNAMIC_TOPIC_CONFIG or item.name in inherited
            }
        return found

    def quorum(self) -> Any:
        """The voters of the metadata log and how far they are; only with KRaft."""
        answer = self.ask(messages.DescribeQuorumRequest(topics=[("__cluster_metadata", [(0,)])]))
        check_answer("the state of the quorum", answer.error_code, answer.error_message)
        partition = answer.topics[0].partitions[0]
        check_answer("the state of the quorum", partition.error_code, partition.error_message)
        return partition

    def _broker(self) -> Connection:
        if self._any is None:
            self._any = self._first(self.settings.servers)
        return self._any

    def _controller_broker(self) -> Connection:
        """ZooKeeper mode: the broker that is the controller now."""
        deadline_s = time.monotonic() + self.timeout_s
        while self._controller is None:
            metadata = self.metadata([])
            places = {broker.node_id: (broker.host, broker.port) for broker in metadata.brokers}
            if metadata.controller_id in places:
                self._controller = self._connect(places[metadata.controller_id])
            elif time.monotonic() > deadline_s:
                raise UnreachableError("The cluster has no controller.", resolution="Look at its brokers' logs.")
            else:
                time.sleep(POLL_S)
        return self._controller

    def _first(self, servers: Iterable[tuple[str, int]]) -> Connection:
        failures = []
        for server in servers:
            try:
                return self._connect(server)
            except LoginError:
                raise  # another broker would say the same
            except UnreachableError as error:
                failures.append(str(error))
        raise UnreachableError(
            "No broker can be reached.",
            details="\n".join(failures),
            resolution="Check bootstrap_servers and security.protocol, and that the brokers run.",
        )

    def _connect(self, server: tuple[str, int]) -> Connection:
        connection = Connection(server, self.settings, timeout_s=self.timeout_s)
        try:
            connection.start(self.settings.login)
        except BaseException:
            connection.close()
            raise
        return connection


def chunks(items: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
