"""Topics that runs made for themselves, on the disk: what is left of them is removed later, by a run or by `heal`."""

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
    """Each with the user that made it."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.path = cluster.state_dir / FILE

    def open(self, user: str, names: Sequence[str]) -> None:
        self._keep(self.left() | dict.fromkeys(names, user))

    def close(self, names: Sequence[str]) -> None:
        """They are gone."""
        self._keep({name: user for name, user in self.left().items() if name not in names})

    def left(self) -> dict[str, str]:
        """Name and user of each that is on record."""
        try:
            told = json.loads(self.path.read_text(encoding="utf-8"))
            return {str(name): str(user) for name, user in dict(told["topics"]).items()}
        except FileNotFoundError:
            return {}
        except (ValueError, TypeError, KeyError) as error:
            raise UsageError(
                f"The record of a run's topics {self.path} is broken.",
                details=str(error),
                resolution="Remove it, and topics whose names begin with kastellan- that nobody else made.",
            ) from error

    def remove(self) -> list[str]:
        """All that is on record; returns the names."""
        left = self.left()
        for user in dict.fromkeys(left.values()):
            names = [name for name in left if left[name] == user]
            Workplace(self._cluster, user).remove(names)
            self.close(names)
        return list(left)

    def _keep(self, topics: dict[str, str]) -> None:
        if topics:
            write_whole(self.path, json.dumps({"topics": topics}) + "\n", mode=0o600)
        else:
            self.path.unlink(missing_ok=True)
