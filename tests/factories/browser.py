"""A headless Chromium that a test tells what to do, over the pipes of its debugging protocol."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
ANSWER_S = 60.0
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--remote-debugging-pipe",
    # Names lead nowhere; addresses of this host are reached.
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1 , EXCLUDE localhost",
)  # fmt: skip
_ENDS_OF_PIPES = 10
_SEEN = "document.body.innerText.slice(0, 2000)"


class Tab:
    """One page of the browser. ``requests`` are the addresses it asked for, ``complaints`` what went wrong in it."""

    def __init__(self, into: int, out: int) -> None:
        self._into, self._out = into, out
        self._buffer = b""
        self._number = 0
        self._session = ""
        self.requests: list[str] = []
        self.complaints: list[str] = []
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self._call(f"{domain}.enable")

    def open(self, url: str, width: int = 1400, height: int = 1000, dark: bool = False) -> None:
        """Open an address in a window of this size, in light or dark colours."""
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])
        self._call("Page.navigate", url=url)

    def ask(self, script: str) -> Any:
        """Return the value of an expression, or of what it promises."""
        found = self._call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in found:
            raise RuntimeError(json.dumps(found["exceptionDetails"])[:1000])
        return found["result"].get("value")

    def until(self, script: str, seconds: float = 60.0) -> Any:
        """Return the value of an expression once it is true."""
        end = time.monotonic() + seconds
        while not (value := self._asked_while_loading(script)):
            assert time.monotonic() < end, (script, self.complaints[:2], self._asked_while_loading(_SEEN))
            time.sleep(0.05)
        return value

    def _asked_while_loading(self, script: str) -> Any:
        with suppress(RuntimeError):
            return self.ask(script)
        return None

    def press(self, key: str) -> None:
        """Press and release a key."""
        text = {"text": key} if len(key) == 1 else {}
        self._call("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self._call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def screenshot(self, file: Path, whole: bool = True) -> None:
        """Write a picture of the page."""
        shot = self._call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        file.write_bytes(base64.b64decode(shot["data"]))

    def metrics(self) -> dict[str, float]:
        """Return the browser's own figures of the page, such as ``TaskDuration`` in seconds."""
        self._call("Performance.enable")
        return {each["name"]: each["value"] for each in self._call("Performance.getMetrics")["metrics"]}

    def _call(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        asked = {"id": self._number, "method": method, "params": params}
        if self._session:
            asked["sessionId"] = self._session
        os.write(self._into, json.dumps(asked).encode() + b"\0")
        for told in self._told():
            if told.get("id") == self._number:
                if "error" in told:
                    raise RuntimeError(f"{method}: {told['error']}")
                result: dict[str, Any] = told["result"]
                return result
            self._note(told.get("method", ""), told.get("params", {}))
        raise AssertionError(f"the browser did not answer {method}")

    def _note(self, method: str, params: dict[str, Any]) -> None:
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method in ("Runtime.exceptionThrown", "Log.entryAdded"):
            self.complaints.append(json.dumps(params)[:1000])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.complaints.append(json.dumps(params["args"])[:1000])

    def _told(self) -> Iterator[dict[str, Any]]:
        end = time.monotonic() + ANSWER_S
        while time.monotonic() < end:
            message, found, rest = self._buffer.partition(b"\0")
            if found:
                self._buffer = rest
                yield json.loads(message)
            elif select.select([self._out], [], [], 1.0)[0]:
                read = os.read(self._out, 1 << 20)
                assert read, "the browser has ended"
                self._buffer += read


@contextmanager
def tab() -> Iterator[Tab]:
    """Start a browser with a profile of its own, and end it."""
    with tempfile.TemporaryDirectory(prefix="slob-chromium-", ignore_cleanup_errors=True) as place:
        theirs_in, ours_in = _pipe()
        ours_out, theirs_out = _pipe()
        command = ["bash", "-c", f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}', "bash", str(CHROMIUM), *FLAGS]
        browser = subprocess.Popen(
            [*command, f"--user-data-dir={place}"], pass_fds=(theirs_in, theirs_out), stderr=subprocess.DEVNULL
        )
        os.close(theirs_in)
        os.close(theirs_out)
        try:
            yield Tab(ours_in, ours_out)
        finally:
            _end(browser, lambda: os.close(ours_in))
            os.close(ours_out)


def _end(browser: subprocess.Popen[bytes], ask: Callable[[], None]) -> None:
    ask()
    try:
        browser.wait(10)
    except subprocess.TimeoutExpired:
        browser.kill()
        browser.wait()


def _pipe() -> tuple[int, int]:
    """Return both ends of a pipe, with numbers that are not those that the browser reads and writes."""
    ends = os.pipe()
    high = tuple(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, _ENDS_OF_PIPES) for end in ends)
    for end in ends:
        os.close(end)
    return high[0], high[1]
