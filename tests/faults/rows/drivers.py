"""Many drivers: one dies, hangs, is late or is another openslob, or what connects them is gone."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from signal import SIGCONT, SIGINT, SIGKILL, SIGSTOP, Signals

import psutil

import openslob
from faults.fault import POSTGRESQL, Fault, Left
from faults.scene import LONG_S, MARK, Command, Outcome, Scene

ONE = (POSTGRESQL,)  # the line to the drivers is the same for all engines
TWO = {"drivers": "local:2"}
# A driver that gives no answer is given up soon.
HASTY = "from openslob.fleet import channel, dask; channel.ANSWER_S = dask.ANSWER_S = 3.0"


def driver(run: Command, number: int) -> psutil.Process:
    """The process of a driver on this host."""
    for process in psutil.Process(run.process.pid).children(recursive=True):
        words = process.cmdline()
        if "--name" in words and words[words.index("--name") + 1] == str(number):
            return process
    raise AssertionError("no such driver")


def signalled(number: Signals, then: str = "") -> Callable[[Scene], Outcome]:
    """The second driver gets a signal in the window."""

    def strike(scene: Scene) -> Outcome:
        with scene.running(then, **TWO) as run:
            driver(run, 2).send_signal(number)
            return run.end()

    return strike


def stopped_for_a_while(scene: Scene) -> Outcome:
    """The second driver is stopped in the window, and goes on."""
    with scene.running(**TWO) as run:
        slow = driver(run, 2)
        slow.send_signal(SIGSTOP)
        time.sleep(5)
        slow.send_signal(SIGCONT)
        time.sleep(2)
        run.send(SIGINT)
        outcome = run.end()
    still = rf"driver 2 \(.*, pid {slow.pid}\) stood still for (\d+\.\d) s, "
    found = [match for note in scene.record().notes if (match := re.match(still, note))]
    assert [float(each[1]) >= 4 for each in found] == [True], scene.record().notes
    return outcome


def late(scene: Scene) -> Outcome:
    """The second driver stands still when it should hand out the common start, which comes soon."""
    soon = "from openslob.fleet.crew import FleetCrew; FleetCrew.lead_s = 0.1"
    words = scene.words("run", **TWO)
    with scene.begun(*words, before=soon, at=("openslob.fleet.crew", "FleetCrew.give")) as run:
        run.wait_until_paused()
        slow = driver(run, 2)
        slow.send_signal(SIGSTOP)
        run.go_on()
        time.sleep(3)
        slow.send_signal(SIGCONT)
        return run.end()


def stopped(*numbers: Signals) -> Callable[[Scene], Outcome]:
    def strike(scene: Scene) -> Outcome:
        with scene.running(**TWO) as run:
            run.send(*numbers)
            return run.end()

    return strike


@contextmanager
def process(scene: Scene, *words: str, code: Path | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """A command of Dask; ``code`` is where it finds another openslob."""
    paths = os.pathsep.join(filter(None, [code and str(code), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, MARK: scene.mark, "PYTHONPATH": paths}
    command = [sys.executable, "-m", f"distributed.cli.dask_{words[0]}", "--no-dashboard", *words[1:]]
    with (scene.place / f"{words[0]}.log").open("ab") as log:
        started = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment)
    try:
        yield started
    finally:
        started.kill()
        started.wait()


@contextmanager
def scheduler(scene: Scene, *codes: Path | None) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """A scheduler with a worker for each of ``codes``; its process and its address."""
    from distributed import Client  # noqa: PLC0415 - half a second that the page's generator need not spend

    with ExitStack() as stack:
        where = scene.place / "scheduler.json"
        options = ("--host", "tcp://127.0.0.1", "--port", "0", "--scheduler-file", str(where))
        leader = stack.enter_context(process(scene, "scheduler", *options))
        deadline = time.monotonic() + LONG_S
        while not where.exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        for code in codes:
            calm = ("--nthreads", "1", "--no-nanny", "--local-directory", str(scene.place))
            stack.enter_context(process(scene, "worker", "--scheduler-file", str(where), *calm, code=code))
        with Client(scheduler_file=str(where), set_as_default=False) as client:
            client.wait_for_workers(len(codes), timeout=LONG_S)
            address = client.scheduler.address
        yield leader, address


def scheduler_killed(scene: Scene) -> Outcome:
    with scheduler(scene, None, None) as (leader, address), scene.running(drivers=address) as run:
        leader.send_signal(SIGKILL)
        return run.end()


def another_version(scene: Scene) -> Outcome:
    """The code of the second worker is that of the release before."""
    code = scene.place / "code"
    shutil.copytree(Path(openslob.__file__).parent, code / "openslob", ignore=shutil.ignore_patterns("__pycache__"))
    (code / "openslob/_version.py").write_text('__version__ = "0.0.9"\n')
    with scheduler(scene, None, code) as (_, address):
        return scene.run(drivers=address)


DRIVERS: tuple[Fault, ...] = (
    Fault("one of many drivers is killed", "window", "run", "ends; all that the others did is kept", signalled(SIGKILL),
          r"driver 2 \(.*\) is gone: its process ended, or its host can't be reached; ", left=Left.KEPT, engines=ONE),
    Fault("one of many drivers hangs", "window", "run", "ends after a minute; what the others did is kept",
          signalled(SIGSTOP, HASTY), r"driver 2 \(.*\) is gone: it gave no answer for ", left=Left.KEPT, engines=ONE),
    Fault("one of many drivers is late for the start", "window", "run", "ends and names it", late,
          r"late for the common start: .*driver 2 \(.*\) had given the order to 0 ", left=Left.FAILED, engines=ONE),
    Fault("the scheduler of the drivers is killed", "window", "run", "ends; what was reported is kept",
          scheduler_killed, r"driver \d \(.*\) can't be reached: the Dask scheduler, ", left=Left.KEPT, engines=ONE),
    Fault("one of many drivers is stopped for five seconds, then Ctrl-C", "window", "run",
          "goes on, and names it with what it did then", stopped_for_a_while, "the run was stopped before its end",
          left=Left.STOPPED_KEPT, engines=ONE),
    Fault("one of many drivers has another openslob", "check", "run", "does not begin", another_version,
          r"driver \d \(.*\) has openslob 0\.0\.9 \(\w+\), and this host has ", engines=ONE),
    Fault("Ctrl-C, with many drivers", "window", "run", "ends, shows the report", stopped(SIGINT),
          "the run was stopped before its end", left=Left.STOPPED_KEPT, engines=ONE),
    Fault("kill -9, with many drivers", "window", "run", "ends; the drivers end, too", stopped(SIGKILL),
          code=-9, left=Left.FAILED, engines=ONE),
)  # fmt: skip
