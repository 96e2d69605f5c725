"""A headless Chromium, spoken to over a pipe in its DevTools protocol: no driver, no port, no package."""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from pathlib import Path

ANSWER_TIMEOUT_S = 60
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars",
    "--remote-debugging-pipe",
)  # fmt: skip
_READS, _WRITES = 3, 4  # the descriptors that Chromium expects


class Browser:
    """One page at a time. What it asked the network for and what it complained about is kept."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self._profile = tempfile.mkdtemp(prefix="kastellan-chromium-")
        to_child, self._out = _high(*os.pipe())
        self._in, from_child = _high(*os.pipe())

        def place() -> None:
            os.dup2(to_child, _READS)
            os.dup2(from_child, _WRITES)

        self._process = subprocess.Popen(
            ["chromium", *FLAGS, f"--user-data-dir={self._profile}", "about:blank"],
            preexec_fn=place,  # noqa: PLW1509  the test starts no threads
            pass_fds=(_READS, _WRITES),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_child)
        os.close(from_child)
        self._rest = b""
        self._last = 0
        self._session: str | None = None

    def __enter__(self) -> Self:
        pages = self.ask("Target.getTargets")["targetInfos"]
        target = next(x["targetId"] for x in pages if x["type"] == "page")
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for descriptor in (self._in, self._out):
            os.close(descriptor)
        shutil.rmtree(self._profile, ignore_errors=True)

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Send one command and wait for its answer; what happens meanwhile is noted."""
        self._last += 1
        message: dict[str, Any] = {"id": self._last, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            got = self._next()
            if got.get("id") == self._last:
                if "error" in got:
                    raise RuntimeError(f"{method}: {got['error']}")
                return dict(got["result"])
            self._note(got)

    def open(self, page: Path) -> None:
        """Open a file and wait until it and its scripts are done."""
        self.ask("Page.navigate", url=page.resolve().as_uri())
        deadline_s = time.monotonic() + ANSWER_TIMEOUT_S
        while self.script("document.readyState") != "complete":
            assert time.monotonic() < deadline_s, "the page was never complete"

    def script(self, code: str) -> Any:
        got = self.ask("Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in got, got["exceptionDetails"]
        return got["result"].get("value")

    def key(self, name: str, code: int) -> None:
        for kind in ("keyDown", "keyUp"):
            self.ask("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code)

    def show(self, *, width: int = 1280, scheme: str = "light", media: str = "") -> None:
        """How wide the window is, and what the user's system asks pages to look like."""
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.ask("Emulation.setEmulatedMedia", media=media, features=features)

    def picture(self, path: Path, selector: str = "body", most: int = 4000) -> None:
        box = self.script(
            f"(() => {{ const b = document.querySelector({selector!r}).getBoundingClientRect();"
            " return [b.x + scrollX, b.y + scrollY, b.width, b.height]; })()"
        )
        clip = {"x": box[0], "y": box[1], "width": box[2], "height": min(box[3], most), "scale": 1}
        got = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        path.write_bytes(base64.b64decode(got["data"]))

    def pdf(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.ask("Page.printToPDF", printBackground=True)["data"]))

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._in], [], [], ANSWER_TIMEOUT_S)
            assert ready, f"Chromium said nothing for {ANSWER_TIMEOUT_S} s"
            got = os.read(self._in, 1 << 20)
            assert got, "Chromium ended"
            self._rest += got
        message, _, self._rest = self._rest.partition(b"\0")
        return dict(json.loads(message))

    def _note(self, event: dict[str, Any]) -> None:
        method, params = event.get("method"), event.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(str(params["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled":
            self.complaints.append(f"{params['type']}: {params['args']}")
        elif method == "Log.entryAdded":
            with contextlib.suppress(KeyError):
                self.complaints.append(f"{params['entry']['level']}: {params['entry']['text']}")


def _high(*descriptors: int) -> list[int]:
    """The same descriptors, out of the way of those the child is to have."""
    moved = [fcntl.fcntl(x, fcntl.F_DUPFD_CLOEXEC, 10) for x in descriptors]
    for x in descriptors:
        os.close(x)
    return moved
