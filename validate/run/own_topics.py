"""Topics that a run made for itself, on the disk: those of a run that died are removed by the next, or by `heal`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from common.errors import UsageError
from common.files import write_whole
from validate.workplace import Workplace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from validate.cluster import Cluster

FILE = "open-topics.json"


class OwnTopics:
    """Of one scenario at a time, so of one user."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.path = cluster.state_dir / FILE

    def open(self, user: str, names: Sequence[str]) -> None:
        if names:
            write_whole(self.path, json.dumps({"user": user, "topics": list(names)}) + "\n", mode=0o600)

    def close(self) -> None:
        self.path.unlink(missing_ok=True)

    def remove(self) -> list[str]:
        """What a run that died left; returns the names."""
        try:
            told = json.loads(self.path.read_text(encoding="utf-8"))
            user, names = str(told["user"]), [str(name) for name in told["topics"]]
        except FileNotFoundError:
            return []
        except (ValueError, TypeError, KeyError) as error:
            raise UsageError(
                f"The record of a run's topics {self.path} is broken.",
                details=str(error),
                resolution="Remove it, and topics whose names begin with kastellan- that nobody else made.",
            ) from error
        Workplace(self._cluster, user).remove(names)
        self.close()
        return names
