"""Where a fault strikes: a server with loaded tables, a folder for records, and commands in processes of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import psutil

from factories.paths import ROOT
from factories.running import COMMAND, slob
from faults.database import Database
from faults.pausing import AT, GO, PHASES
from openslob.core.errors import SlobError
from openslob.engines import registry
from openslob.record import store
from openslob.record.model import RunRecord

# No command takes as long, on however busy a host.
LONG_S = 300
# As long as any test lasts.
ENDLESS_S = 3600
DATA = {"schemas": 2, "scale": 400, "scan-table-sz": 20}
# Rests between operations leave the CPUs to the tests beside this one.
LOAD = {"sessions": 2, "update-pct": 20, "work-unit": 8, "think-tm-frequency": 1, "think-tm-min": 0.005,
        "think-tm-max": 0.005}  # fmt: skip
# In the environment of every process that a test starts: what still has it afterwards was left behind.
MARK = "OPENSLOB_FAULT"


class Outcome(NamedTuple):
    """How a command ended."""

    code: int
    stdout: str
    stderr: str


class Scene:
    """What a row's `strike` works with. ``place`` is a folder of the test's own, below which is all that it writes."""

    def __init__(self, engine: str, database: Database | None, place: Path) -> None:
        self.engine = engine
        self.given = database
        self.place = place
        self.results = place / "results"
        self.mark = str(place)

    @property
    def db(self) -> Database:
        """The server; rows without one do not ask."""
        assert self.given
        return self.given

    def words(self, command: str, url: str | None = None, **flags: object) -> list[str]:
        """The words of a command on the server, for `DATA` and, of a run, `LOAD`, unless ``flags`` say otherwise."""
        first, *more = command.split()
        given: dict[str, object] = {"target": url or self.db.url}
        if first in ("run", "sweep"):
            given |= {**DATA, **LOAD, "warmup": 0, "run-time": ENDLESS_S, "results": self.results}
        if first == "load":
            given |= DATA
        if first == "observe":
            given |= {"results": self.results}
        given |= {name.replace("_", "-"): value for name, value in flags.items()}
        switches = [f"--{name}" for name, value in given.items() if value is True]
        values = {name: value for name, value in given.items() if value is not True}
        options = [*switches, *(text for name, value in values.items() for text in (f"--{name}", str(value)))]
        return [first, *options, *more]

    def to_end(self, *words: object, env: dict[str, str] | None = None, cwd: Path | None = None) -> Outcome:
        """Run a command to its end, within this process; for what needs neither a signal nor a kill."""
        done = slob(*words, env={**os.environ, **(env or {})}, cwd=cwd)
        return Outcome(done.returncode, done.stdout, done.stderr)

    def run(self, **flags: object) -> Outcome:
        """`slob run` to its end, for a second."""
        return self.to_end(*self.words("run", **{"run_time": 1, **flags}))

    @contextmanager
    def begun(
        self,
        *words: object,
        before: str = "",
        at: tuple[str, str] | None = None,
        then: str = "",
        env: dict[str, str] | None = None,
    ) -> Iterator[Command]:
        """Begin a command in a process of its own, after the code ``before``.

        It waits before the function ``at``, and executes the code ``then`` when it goes on.
        """
        code = [before]
        if at:
            code += ["from faults.pausing import pause_before", f"pause_before(*{at!r}, {str(self.place)!r}, {then!r})"]
        program = [*COMMAND[:-1], "\n".join([*code, COMMAND[-1]]), *map(str, words)]
        paths = [str(ROOT / "tests"), *filter(None, [os.environ.get("PYTHONPATH")])]
        own = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), MARK: self.mark, **(env or {})}
        errors = self.place / f"stderr{len(list(self.place.glob('stderr*')))}"
        with errors.open("w") as stderr:
            process = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=stderr, text=True, env=own)
        try:
            yield Command(process, self, errors)
        finally:
            process.kill()
            process.communicate()

    @contextmanager
    def running(self, then: str = "", url: str | None = None, **flags: object) -> Iterator[Command]:
        """`slob run` that has executed ``then`` in its window, has measured something, and goes on for long."""
        with self.begun(*self.words("run", url, **flags), at=PHASES["window"], then=then) as command:
            command.wait_until_paused()
            command.go_on()
            command.wait(self.has_measured)
            yield command

    @contextmanager
    def hanging(self) -> Iterator[None]:
        """No process of the server does anything."""
        pid = self.db.server.status().pid
        assert pid
        pids = [pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))]
        try:
            for each in pids:
                with suppress(ProcessLookupError):
                    os.kill(each, signal.SIGSTOP)
            yield
        finally:
            for each in pids:
                with suppress(ProcessLookupError):
                    os.kill(each, signal.SIGCONT)

    def kill_server(self) -> None:
        """Kill the server's main process."""
        pid = self.db.server.status().pid
        assert pid
        os.kill(pid, signal.SIGKILL)

    def folders(self) -> list[Path]:
        """The folders of the records."""
        return [found.path for found in store.find(self.results)] if self.results.exists() else []

    def record(self) -> RunRecord:
        """The record of the only run."""
        (folder,) = self.folders()
        return store.load(folder)

    def phases(self) -> str:
        """The phases that the record of a run has begun."""
        files = [folder / "events.csv" for folder in self.folders()]
        return " ".join(file.read_text() for file in files if file.exists())

    def has_rows(self, name: str, least: int = 1) -> bool:
        """Whether a raw file of the first record has so many rows, and its heading."""
        files = [folder / name for folder in self.folders()]
        return bool(files) and files[0].exists() and files[0].read_text().count("\n") > least

    def has_measured(self) -> bool:
        """Whether a slice is in the raw file of the first run."""
        return self.has_rows("slices.csv")

    def is_free(self) -> bool:
        """Whether no session is left in the server, and the next run could begin."""
        try:
            engine = registry.engine_for(self.db.url)
            with engine.exclusive("test"):
                return engine.sessions_left() == 0
        except SlobError:
            return False

    def processes(self) -> list[str]:
        """What is left of the processes that this test began, but for the server itself."""
        server = self.given.server.status().pid if self.given else None
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if process.pid != os.getpid() and process.environ().get(MARK) == self.mark and process.pid != server:
                    found.append(" ".join(process.cmdline())[:120])
        return found


class Command:
    """A command in a process of its own."""

    def __init__(self, process: subprocess.Popen[str], scene: Scene, errors: Path) -> None:
        self.process = process
        self._scene = scene
        self._errors = errors

    def said(self) -> str:
        """What it has written on standard error so far."""
        return self._errors.read_text(errors="replace")

    def wait_until_said(self, words: str) -> None:
        """Wait until it has written words on standard error."""
        self.wait(lambda: words in self.said())

    def wait(self, true) -> None:
        """Wait for something to come true while the command is at work."""
        deadline = time.monotonic() + LONG_S
        while not true():
            assert self.process.poll() is None, (self.process.returncode, self.said())
            assert time.monotonic() < deadline, "it did not come so far"
            time.sleep(0.05)

    def wait_until_paused(self) -> None:
        """Wait until the command stands still where it was told to."""
        self.wait((self._scene.place / AT).exists)

    def go_on(self) -> None:
        """Let it go on."""
        (self._scene.place / GO).touch()

    def send(self, *numbers: signal.Signals) -> None:
        """Send signals."""
        for number in numbers:
            self.process.send_signal(number)
            time.sleep(0.2 if len(numbers) > 1 else 0)

    def end(self) -> Outcome:
        """Wait for its end. A command that does not end fails the test here."""
        stdout, _ = self.process.communicate(timeout=LONG_S)
        return Outcome(self.process.returncode, stdout or "", self.said())


def told(outcome: Outcome) -> str:
    """The last line on standard error."""
    lines: Sequence[str] = outcome.stderr.strip().splitlines()
    return lines[-1] if lines else ""
