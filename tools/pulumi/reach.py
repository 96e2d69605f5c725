"""Whether somebody answers at all where Pulumi fetches a plugin from.

Pulumi itself asks three addresses five times and gives each a minute: a network that swallows what is sent, in place of
refusing it, costs a quarter of an hour.
"""

from __future__ import annotations

import functools
import http.client
import os
import platform
import queue
import ssl
import threading
import time
import urllib.error
import urllib.request
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# A far site answers in two seconds; resolvers that ask a second server do so after five.
BOUND_S = 10
# The user's own mirrors for plugins, which Pulumi asks in place of its own addresses.
OVERRIDES = "PULUMI_PLUGIN_DOWNLOAD_URL_OVERRIDES"
MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}


def addresses(name: str, version: str) -> list[str]:
    """The file itself, where Pulumi looks for it: what is allowed may end before the place that a site refers to."""
    file = f"pulumi-resource-{name}-v{version}-linux-{MACHINES.get(platform.machine(), platform.machine())}.tar.gz"
    return [
        f"https://github.com/pulumi/pulumi-{name}/releases/download/v{version}/{file}",
        f"https://get.pulumi.com/releases/plugins/{file}",
    ]


def is_reached(urls: Sequence[str], *, bound_s: float = BOUND_S) -> bool:
    """One that answers, whatever it says, is enough: Pulumi then hears it as soon."""
    if os.environ.get(OVERRIDES):
        return True
    return _any_of([functools.partial(_answers, url, bound_s) for url in urls], bound_s)


def _any_of(questions: Sequence[Callable[[], bool]], bound_s: float) -> bool:
    """In threads that nobody waits for: a resolver keeps to no bound of ours."""
    heard: queue.SimpleQueue[bool] = queue.SimpleQueue()
    for question in questions:
        threading.Thread(target=_hand_in, args=(question, heard), daemon=True).start()
    deadline_s = time.monotonic() + bound_s
    try:
        return any(heard.get(timeout=max(deadline_s - time.monotonic(), 0)) for _ in questions)
    except queue.Empty:
        return False


def _hand_in(question: Callable[[], bool], heard: queue.SimpleQueue[bool]) -> None:
    heard.put(question())


def _answers(url: str, bound_s: float) -> bool:
    """Over the user's proxy, if one is set, as Pulumi does."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, method="HEAD"), timeout=bound_s):  # noqa: S310 - ours
            return True
    except (urllib.error.HTTPError, http.client.HTTPException):
        return True
    except urllib.error.URLError as error:
        return isinstance(error.reason, ssl.SSLError)  # an authority that Python does not know, but Pulumi may
    except (OSError, ValueError):
        return False
