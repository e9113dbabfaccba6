"""Whether a run ends when its server hangs: the server is frozen (SIGSTOP) in each phase of a run in turn.

The time counts from the moment at which the run should have noticed: its planned end and the grace after it in the
window, the longest wait for an answer before. Afterwards the server goes on, and nothing of the run may be left in it.

.venv/bin/python bench/hung.py [--quick] [--rounds 20] [--engine postgresql]
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from common import Bar, Bench, bench, notify, parse, parser, print_figure, print_heading, scratch_folder, start
from openslob.core.errors import SlobError
from openslob.core.units import MIB
from openslob.core.workload import Workload
from openslob.engines import registry
from openslob.engines.patience import ANSWER_S
from openslob.kinds.run.ending import GRACE_S
from openslob.kinds.run.session_pool import CONNECT_PATIENCE_S

IN_TIME_S = 30.0
RUN_S = 12.0
SHAPE = {"schemas": 2, "scale": "16M", "sessions": 4, "warmup": 0, "run_time": RUN_S}
# The first word of the driver's line about each phase, and how long a run may last from then on.
PHASES = {"check": ANSWER_S, "settle": ANSWER_S, "connect": CONNECT_PATIENCE_S, "window": RUN_S + GRACE_S}
GIVE_UP_S = 300.0
GONE_S = 10.0


def main() -> None:
    """Run the benchmark and print the results."""
    options = parser(__doc__, rounds=20)
    options.add_argument("--engine", default=registry.default_engine(), help="engine of the server (%(default)s)")
    args = parse(options)
    with bench("hung", engine=args.engine, cache_bytes=64 * MIB) as target, scratch_folder() as results:
        target.load(Workload.model_validate(SHAPE))
        print_heading(f"{args.rounds} runs on a server that hangs, {args.engine}")
        phases = [list(PHASES)[number % len(PHASES)] for number in range(args.rounds)]
        late = [_ended(target, phase, results) for phase in phases]
        print_figure("s from the deadline to the end of the process", late, "s")
        in_time = sum(each <= IN_TIME_S for each in late)
        print_figure(f"ended within {IN_TIME_S:.0f} s of it, nothing left", [in_time], "runs", Bar(args.rounds))


def _ended(target: Bench, phase: str, results: Path) -> float:
    """Freeze the server in this phase of a run; return how long after its deadline it ended (GIVE_UP_S: it did not)."""
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in SHAPE.items()]
    command = [sys.executable, "-m", "openslob", "run", f"--target={target.url}", f"--results={results}", *flags]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        if not any(line.startswith(phase) for line in process.stderr):
            raise SlobError(f"the run ended before its phase {phase}: exit code {process.wait()}")
        try:
            with _frozen(target):
                begun = time.monotonic()
                process.wait(GIVE_UP_S)
                late_s = time.monotonic() - begun - PHASES[phase]
        except subprocess.TimeoutExpired:
            process.kill()
            late_s = GIVE_UP_S
        said = process.stderr.read().strip().splitlines()
    left = not _is_free(target)
    notify(
        f"{phase}: {late_s:+.1f} s, exit code {process.returncode}{', sessions or the lock are left' if left else ''}"
    )
    notify(f"  {said[-1] if said else 'it said nothing'}")
    return GIVE_UP_S if left or process.returncode != 1 else late_s


@contextmanager
def _frozen(target: Bench) -> Iterator[None]:
    """Stop every process of the server for the block."""
    main_process = psutil.Process(target.server.status().pid)
    pids = [main_process.pid, *(child.pid for child in main_process.children(recursive=True))]
    try:
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        yield
    finally:
        for pid in pids:
            if psutil.pid_exists(pid):
                os.kill(pid, signal.SIGCONT)


def _is_free(target: Bench) -> bool:
    """Return whether the server has neither sessions nor the lock of the run, at the latest after `GONE_S`."""
    deadline = time.monotonic() + GONE_S
    while time.monotonic() < deadline:
        try:
            with target.engine.exclusive("bench"):
                if not target.engine.sessions_left():
                    return True
        except SlobError:
            time.sleep(0.2)
    return False


if __name__ == "__main__":
    start(main)
