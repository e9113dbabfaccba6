"""Runs for tests: within this process, and as the command line in one of its own."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from queue import SimpleQueue
from unittest.mock import patch

import psutil
import psycopg

from openslob import cli
from openslob.core.errors import SlobError
from openslob.core.interrupt import Interrupt
from openslob.core.workload import Workload
from openslob.engines import registry
from openslob.kinds.run import loading, runner
from openslob.kinds.run.crew import local_crew
from openslob.kinds.run.plan import Phase
from openslob.record import store
from openslob.record.model import Holds
from openslob.report.format import micros
from openslob.report.headline import headline
from openslob.report.text import render

SCHEMAS = 2
SCALE = 4000
SCAN_ROWS = 20
DATA = {"schemas": SCHEMAS, "scale": str(SCALE), "scan_table_sz": str(SCAN_ROWS)}
# What takes longer hangs: nothing does on a host that other work keeps busy.
LONG_S = 300
# Sessions that rest between operations leave the CPUs to the tests beside them, whose runs would be judged unsteady.
EASY = {"think_tm_frequency": 1, "think_tm_min": 0.005, "think_tm_max": 0.005}
# What is proved of the load itself: as many operations as the server makes.
FULL_SPEED = {"think_tm_frequency": 0}


def ignore(_):
    """A progress sink."""


def load(server):
    """`DATA` on a managed server; returns its engine."""
    engine, _ = registry.resolve(server.name)
    loading.load(engine, server, Workload(**DATA), ignore, lambda: False, ignore)
    return engine


def measured(engine, results, interrupt=None, hire=local_crew, **parameters):
    """A run to its end; returns what it finished with."""
    workload = Workload(**{**DATA, **EASY, "run_time": 2, "warmup": 0, **parameters})
    request = runner.RunRequest(workload, "test", results, hire=hire)
    return runner.run(engine, request, interrupt or Interrupt(), ignore, render)


def eventually(true, seconds=LONG_S):
    """Whether ``true()`` comes true within so many seconds."""
    return any(true() or time.sleep(0.1) for _ in range(seconds * 10))


@dataclass
class Stall:
    """How long it took, once it is over."""

    seconds: float = 0.0


@contextmanager
def stopped(main_pid):
    """A process and all of its children, such as a server, stand still within the block."""
    main = psutil.Process(main_pid)
    processes = [main, *main.children(recursive=True)]
    stall, begun = Stall(), time.monotonic()
    try:
        for process in processes:
            os.kill(process.pid, signal.SIGSTOP)
        yield stall
    finally:
        for process in reversed(processes):
            os.kill(process.pid, signal.SIGCONT)
    stall.seconds = time.monotonic() - begun


def stalled(server, engine, results, seconds, **parameters):
    """A run whose server stands still for so long, from 0.3 s after the window's begin; and how long it really did."""
    begins = SimpleQueue()

    def phase(name, begin_ns, *rest):
        begins.put(begin_ns)
        return Phase(name, begin_ns, *rest)

    with patch.object(runner, "Phase", phase), ThreadPoolExecutor() as pool:
        # At full speed every session is in an operation when the server stops.
        ran = pool.submit(measured, engine, results, **{**FULL_SPEED, **parameters})
        time.sleep(max(0.0, begins.get(timeout=LONG_S) / 1e9 - time.time()) + 0.3)
        with stopped(server.status().pid) as stall:
            time.sleep(seconds)
        return ran.result(LONG_S).record, stall.seconds


def overran(record, hung_s):
    """Verdicts, latency and headline say that the server stood still for so long in a run of one second."""
    found = verdicts_of(record)
    longest_us = max(latency["max_us"] for latency in record.latency.values())
    assert longest_us > hung_s * 1e6 - 100_000
    for name, why in (("planned_time", "; 1 s were planned: the longest operation"), ("no_stalls", "1 s or more")):
        assert found[name].verdict is Holds.FAILS, found[name].why
        assert why in found[name].why
        assert found[name].figures["longest_us"] == longest_us
    # On a busy host the counters of so short a run may be read too late for a rate.
    assert f", longest {micros(longest_us)}" in headline(record) or record.summary["ops_per_s"].value is None


def rows_of(folder, name):
    """A raw file of a record."""
    with (folder / name).open(newline="") as file:
        return list(csv.DictReader(file))


def total(rows, column):
    """Sum of a column."""
    return sum(int(row[column]) for row in rows)


def verdicts_of(record):
    """Verdict by name."""
    return {verdict.name: verdict for verdict in record.verdicts}


# What verdicts and figures say when the counters of the server could not be read in time.
_TOO_BUSY = "too busy"


def too_busy(record):
    """Whether the record says that this host had no CPU at a moment that counts. Then it must publish no rate."""
    if not any(_TOO_BUSY in verdict.why for verdict in record.verdicts):
        return False
    assert verdicts_of(record)["window"].verdict is not Holds.HOLDS
    assert record.summary["ops_per_s"].value is None
    return True


def judged(record, name, expected=Holds.HOLDS):
    """Whether a verdict is as expected. Nothing else passes but that it is unknown, because the host was too busy."""
    verdict = verdicts_of(record)[name]
    if verdict.verdict is Holds.UNKNOWN and too_busy(record):
        return False
    assert verdict.verdict is expected, f"{name} {verdict.verdict}: {verdict.why}"
    return True


COMMAND = [sys.executable, "-c", "from openslob.__main__ import main; main()"]


def once(arguments):
    """The words of a command; a run is made once, whatever a busy host does to it: a test asks for one record."""
    words = [*map(str, arguments)]
    is_run = words[:1] == ["run"] and not {"--retries", "--help", "--help-all"} & {*words}
    return [*words[:1], "--retries", "0", *words[1:]] if is_run else words


def slob(*arguments, env=None, cwd=None):
    """The command line to its end, as `slob_apart` but within this process, which saves a second of imports.

    For what is answered, done and recorded. Signals, kills and locks that lapse with a process need one of their own.
    """
    given = ["slob", *once(arguments)]
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    environment = patch.dict(os.environ, env or {}, clear=env is not None)
    streams = redirect_stdout(out), redirect_stderr(err)
    with patch.object(sys, "argv", given), environment, chdir(cwd or "."), streams[0], streams[1]:
        try:
            cli.main()
            code: int | str = 0
        except SystemExit as end:
            code = end.code or 0
    return subprocess.CompletedProcess(given, code, *(stream.buffer.getvalue().decode() for stream in (out, err)))


def slob_apart(*arguments):
    """The command line to its end, in a process of its own."""
    command = [*COMMAND, *once(arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=LONG_S)


def complaint(code, stderr, expected=1):
    """The one line that says what went wrong."""
    assert code == expected, stderr
    assert "Traceback" not in stderr
    lines = stderr.strip().splitlines()
    assert lines[-1].startswith("slob: ")
    return lines[-1]


def kept(record, status):
    """A record with this status that keeps what was measured."""
    assert record.status is status
    assert record.summary["ops_total"].value > 0
    assert record.latency["select"]["count"] == record.summary["selects_total"].value
    return record


class Target:
    """A loaded server as the command line's target, with a results folder of its own."""

    def __init__(self, url, results):
        self.url = url
        self.results = results
        self.engine = registry.engine_for(url)

    def ask(self, statement, *values):
        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(statement, values or None)
            return cursor.fetchall() if cursor.description else []

    def arguments(self, flags, url=None):
        given = {
            "target": url or self.url,
            "results": self.results,
            "warmup": 0,
            "run-time": LONG_S,
            **DATA,
            **EASY,
            **flags,
        }
        return [text for name, value in given.items() for text in (f"--{name.replace('_', '-')}", str(value))]

    def run(self, url=None, **flags):
        """`slob run` to its end."""
        return slob("run", *self.arguments(flags, url))

    def has_measured(self, slices=2):
        """Whether so many slices are in the raw file of its first run."""
        files = [folder / "slices.csv" for folder in self.folders()]
        return bool(files) and files[0].exists() and len(files[0].read_text().splitlines()) > slices

    @contextmanager
    def running(self, before="", **flags):
        """`slob run` in the background, after the code ``before``; killed at the end if it should still be there."""
        program = f"{before}; {COMMAND[-1]}" if before else COMMAND[-1]
        command = [*COMMAND[:-1], program, *once(["run", *self.arguments(flags)])]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ)
        try:
            yield Running(process, self)
        finally:
            process.kill()
            process.communicate()

    def folders(self):
        return [found.path for found in store.find(self.results)]

    def record(self):
        """The only record there is."""
        (found,) = store.find(self.results)
        assert found.pid is None
        return found.record

    def document(self):
        (folder,) = self.folders()
        return json.loads((folder / "run.json").read_text())

    def is_free(self):
        """No session is left in the server, and the next run could begin."""
        try:
            with self.engine.exclusive("test"):
                return self.engine.sessions_left() == 0
        except SlobError:
            return False


class Running:
    """A run in the background."""

    def __init__(self, process, target):
        self.process = process
        self.target = target

    def wait_until(self, true):
        """Wait for something to come true while the run is going on."""
        deadline = time.monotonic() + LONG_S
        while not (found := true()):
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.05)
        return found

    def wait_until_measured(self, slices=2):
        """Wait until so many slices are in the raw file."""
        self.wait_until(lambda: self.target.has_measured(slices))

    def interrupt(self, number=signal.SIGINT):
        self.process.send_signal(number)

    def end(self):
        """Its exit code, stdout and stderr."""
        stdout, stderr = self.process.communicate(timeout=LONG_S)
        return self.process.returncode, stdout, stderr
