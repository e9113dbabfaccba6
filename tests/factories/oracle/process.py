"""The stand-in as a process of its own: it can be frozen and killed, and the driver does not share its interpreter."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

PROGRAM = Path(__file__).with_name("serve.py")


class StandInProcess:
    """Runs until it is left; ``url`` has its password. The arguments are those of `World`."""

    def __init__(self, **world: Any) -> None:
        command = [sys.executable, str(PROGRAM), json.dumps(world), "--until-input-ends"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.shown = self._process.stdout.readline().strip()
        self.url = self.shown.replace("://slob@", "://slob:slob@")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.send_signal(signal.SIGCONT)
        self._process.communicate()

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """It does nothing while this lasts; its host still accepts connections."""
        try:
            os.kill(self._process.pid, signal.SIGSTOP)
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """End it at once, as a crash of a server would."""
        self._process.kill()
