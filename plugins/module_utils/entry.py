"""What the modules' main() functions share: common parameters, secrets, and the run from connection to outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .cluster import Cluster
from .errors import KafkaModuleError
from .messages import LIBRARY, LIBRARY_ERROR
from .settings import CLIENT_OPTIONS, SECRET_OPTIONS, read_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ansible.module_utils.basic import AnsibleModule

    from .reconcile import Work

COMMON_SPEC: dict[str, dict[str, Any]] = {
    "bootstrap_servers": {"type": "list", "elements": "str"},
    # As a whole: Ansible logs a dict as Python writes it, and would not find a password with a backslash in that.
    "client": {"type": "dict", "options": CLIENT_OPTIONS, "no_log": True},
    "timeout_s": {"type": "float", "default": 30.0},
}
STRAYS_SPEC: dict[str, dict[str, Any]] = {
    "ignore_strays": {"type": "list", "elements": "str", "default": []},
    "remove_strays": {"type": "bool", "default": False},
}


def prepare(module: AnsibleModule, secrets: Iterable[str | None] = ()) -> None:
    """Fail if the library is missing; from here on hide the secrets alone.

    Ansible would hide every value below a parameter with no_log, so that a user's name became ******** everywhere.
    """
    if LIBRARY_ERROR:
        from ansible.module_utils.basic import missing_required_lib  # noqa: PLC0415 - only Ansible has it

        module.fail_json(msg=missing_required_lib(LIBRARY), exception=LIBRARY_ERROR)
    client = module.params["client"] or {}
    module.no_log_values = {text for text in (*(client.get(name) for name in SECRET_OPTIONS), *secrets) if text}


def connect(params: dict[str, Any]) -> Cluster:
    return Cluster(read_settings(params["bootstrap_servers"], params["client"]), timeout_s=params["timeout_s"])


def reconcile(
    module: AnsibleModule, plan_work: Callable[[Cluster, dict[str, Any]], Work], secrets: Iterable[str | None] = ()
) -> None:
    """A module for one kind of thing, from its parameters to its exit."""
    prepare(module, secrets)
    try:
        with connect(module.params) as cluster:
            outcome = plan_work(cluster, module.params).finish(check_mode=module.check_mode)
    except KafkaModuleError as error:
        module.fail_json(msg=str(error))
    for warning in outcome.warnings:
        module.warn(warning)
    module.exit_json(**outcome.result())
