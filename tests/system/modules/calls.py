"""Fixtures of the modules' tests: brokers on loopback, and the modules as Ansible calls them."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
from typing import TYPE_CHECKING, Any

import pytest
from ansible.module_utils.testing import patch_module_args

if TYPE_CHECKING:
    from tests.system.kafka_processes import Processes


class Modules:
    """Calls a module's main() with a task's parameters, and gives what it answers."""

    def __init__(self, brokers: Processes, **connection: Any) -> None:
        self.brokers = brokers
        self._connection = connection or {"bootstrap_servers": brokers.servers(), "client": brokers.client()}

    def call(self, name: str, *, check: bool = False, **params: Any) -> dict[str, Any]:
        module = importlib.import_module(f"plugins.modules.{name}")
        arguments = {**self._connection, **params, "_ansible_check_mode": check, "_ansible_diff": True}
        output = io.StringIO()
        with patch_module_args(arguments), contextlib.redirect_stdout(output), pytest.raises(SystemExit):
            module.main()
        return dict(json.loads(output.getvalue()))

    def done(self, name: str, *, check: bool = False, **params: Any) -> dict[str, Any]:
        """The answer of a call that must not fail."""
        answer = self.call(name, check=check, **params)
        assert not answer.get("failed"), answer["msg"]
        return answer

    def refused(self, name: str, *, check: bool = False, **params: Any) -> str:
        answer = self.call(name, check=check, **params)
        assert answer.get("failed"), answer
        return str(answer["msg"])

    def steady(self, name: str, **params: Any) -> list[str]:
        """Check mode foretells, the run does the same, the next one has nothing left: what was planned."""
        foretold = self.done(name, check=True, **params)
        did = self.done(name, **params)
        assert foretold["plan"] == did["plan"]
        assert foretold["diff"] == did["diff"]
        again = self.done(name, **params)
        assert not again["changed"], again["plan"]
        assert not again["plan"]
        return list(did["plan"])
