"""slob's own host: disks, folders, limits, clocks, terminals, environment."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from signal import SIGINT

import psutil

from factories.disks import small_disk
from factories.running import COMMAND, stopped
from faults.fault import POSTGRESQL, Fault, Left
from faults.pausing import PHASES
from faults.scene import LONG_S, Outcome, Scene

ONE = (POSTGRESQL,)  # what no engine has a part in


@contextmanager
def disk(scene: Scene) -> Iterator[None]:
    """A small file system of its own for the records, which are there afterwards, too."""
    scene.results.mkdir()
    kept = scene.place / "kept"
    with small_disk(scene.results, "64m"):
        yield
        shutil.copytree(scene.results, kept, ignore=shutil.ignore_patterns("others"))
    shutil.copytree(kept, scene.results, dirs_exist_ok=True)


def fill(folder: Path) -> None:
    """Write until nothing more fits."""
    handle = os.open(folder / "others", os.O_CREAT | os.O_WRONLY)
    try:
        for size in (1 << 20, 1 << 12, 1):
            with suppress(OSError):
                while os.write(handle, bytes(size)):
                    pass
    finally:
        os.close(handle)


def disk_full(scene: Scene) -> Outcome:
    with disk(scene), scene.running() as run:
        fill(scene.results)
        return run.end()


def disk_full_before(scene: Scene) -> Outcome:
    with disk(scene):
        fill(scene.results)
        return scene.run()


def disk_read_only(scene: Scene) -> Outcome:
    with disk(scene):
        subprocess.run(["mount", "-o", "remount,ro", scene.results], check=True)
        return scene.run()


def file_too_large(scene: Scene) -> Outcome:
    full = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, resource.RLIM_INFINITY))"
    with scene.begun(*scene.words("run", think_tm_frequency=0), before=full) as run:
        return run.end()


def folder_removed(scene: Scene) -> Outcome:
    with scene.running() as run:
        shutil.rmtree(scene.results)
        run.send(SIGINT)
        return run.end()


def folder_in_proc(scene: Scene) -> Outcome:
    return scene.run(results="/proc/results")


def folder_is_a_file(scene: Scene) -> Outcome:
    scene.results.touch()
    done = scene.run()
    scene.results.unlink()
    return done


def few_files(scene: Scene) -> Outcome:
    limit = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (24, 24))"
    with scene.begun(*scene.words("run", sessions=8), before=limit) as run:
        return run.end()


def no_more_files(scene: Scene) -> Outcome:
    with scene.running() as run:
        resource.prlimit(run.process.pid, resource.RLIMIT_NOFILE, (8, 8))
        run.send(SIGINT)
        return run.end()


def no_memory_for_threads(scene: Scene) -> Outcome:
    with scene.begun(*scene.words("run", sessions=8), at=PHASES["connect"]) as run:
        run.wait_until_paused()
        limit = psutil.Process(run.process.pid).memory_info().vms + (20 << 20)
        resource.prlimit(run.process.pid, resource.RLIMIT_AS, (limit, limit))
        run.go_on()
        return run.end()


def clock(jump_s: int) -> Callable[[Scene], Outcome]:
    """The clock of slob's host is set while a run is at work, and the server's is not."""

    def strike(scene: Scene) -> Outcome:
        mark = scene.place / "jump"
        before = f"""
import os, time
real_ns, real = time.time_ns, time.time
def jumped(): return {jump_s} if os.path.exists({str(mark)!r}) else 0
time.time_ns = lambda: real_ns() + jumped() * 10**9
time.time = lambda: real() + jumped()
"""
        with scene.begun(*scene.words("run", run_time=2), before=before, at=PHASES["window"]) as run:
            run.wait_until_paused()
            mark.touch()
            run.go_on()
            return run.end()

    return strike


def standing_still(scene: Scene) -> Outcome:
    with scene.running(run_time=3) as run:
        with stopped(run.process.pid):
            time.sleep(1.5)
        return run.end()


# Standard error is a pipe that is full, and nobody reads it.
FULL_PIPE = """
import os
_, end = os.pipe()
os.set_blocking(end, False)
try:
    while True: os.write(end, bytes(4096))
except BlockingIOError:
    os.set_blocking(end, True)
os.dup2(end, 2)
from openslob.cli import console
console.MESSAGE_PATIENCE_S = 0.1
"""


def messages_unread(scene: Scene) -> Outcome:
    with scene.begun(*scene.words("run", run_time=1), before=FULL_PIPE) as run:
        return run.end()


def output_to(path: str) -> Callable[[Scene], Outcome]:
    def strike(scene: Scene) -> Outcome:
        words = [*COMMAND, *map(str, scene.words("run", run_time=1))]
        with Path(path).open("w") as out:
            done = subprocess.run(words, stdout=out, stderr=subprocess.PIPE, text=True, check=False, timeout=LONG_S)
        return Outcome(done.returncode, "", done.stderr)

    return strike


def reader_gone(scene: Scene) -> Outcome:
    words = [*COMMAND, *map(str, scene.words("run", run_time=1))]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        run.stdout.close()
        run.stdout = None
        _, stderr = run.communicate(timeout=LONG_S)
    return Outcome(run.returncode, "", stderr)


def streams_closed(scene: Scene) -> Outcome:
    words = [*COMMAND, *map(str, scene.words("run", run_time=1))]
    done = subprocess.run(["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *words], check=False, timeout=LONG_S)
    return Outcome(done.returncode, "", "")


def environment(**values: str) -> Callable[[Scene], Outcome]:
    def strike(scene: Scene) -> Outcome:
        with scene.begun(*scene.words("run", run_time=1), env=values) as run:
            return run.end()

    return strike


DRIVER: tuple[Fault, ...] = (
    Fault("the disk of the records fills up", "window", "run", "ends; what was written so far is kept", disk_full,
          "can't be written: No space left on device; ", left=Left.FAILED, engines=ONE),
    Fault("the disk of the records is full", "check", "run", "does not begin", disk_full_before,
          "can't be written: No space left", engines=ONE),
    Fault("the disk of the records is read-only", "check", "run", "does not begin", disk_read_only,
          "can't be written: Read-only", engines=ONE),
    Fault("the folder of the records is a file", "check", "run", "does not begin", folder_is_a_file, "can't be written",
          engines=ONE),
    Fault("the folder of the records can't be made", "check", "run", "does not begin", folder_in_proc,
          "/proc/results.*can't be written", engines=ONE),
    Fault("a raw file reaches the limit of a file's size", "window", "run", "ends; what was written so far is kept",
          file_too_large, "can't be written: File too large; free space", left=Left.KEPT),
    Fault("the folder of the records is removed", "window", "run", "prints the report on standard output",
          folder_removed,
          "the report on standard output", engines=ONE),
    Fault("too few open files are allowed", "connect", "run", "says so", few_files,
          "sessions could not be connected|Too many open files; raise", left=Left.NOT_ASKED),
    Fault("no more open files are allowed; SIGINT", "window", "run", "says so", no_more_files,
          "Too many open files; raise the limit", left=Left.STOPPED, engines=ONE),
    Fault("there is no memory for threads", "connect", "run", "says so", no_memory_for_threads,
          "no more threads|memory", left=Left.FAILED),
    Fault("slob's clock is set an hour ahead", "window", "run", "goes on: slices end by the server's clock",
          clock(3600),
          code=0, left=Left.COMPLETE),
    Fault("slob's clock is set an hour back", "window", "run", "goes on: slices end by the server's clock",
          clock(-3600),
          code=0, left=Left.COMPLETE),
    Fault("slob stands still for a moment", "window", "run", "goes on; a verdict says that the sessions were idle",
          standing_still, code=0, left=Left.COMPLETE, engines=ONE),
    Fault("nobody reads its messages, and the pipe is full", "window", "run", "goes on, and drops messages",
          messages_unread, code=0, left=Left.COMPLETE, engines=ONE),
    Fault("standard output is a full disk", "report", "run", "says where the result is", output_to("/dev/full"),
          "standard output can't be written: No space left on device; the result is in", left=Left.COMPLETE,
          engines=ONE),
    Fault("the reader of standard output has gone", "report", "run", "keeps the record", reader_gone, code=141,
          left=Left.COMPLETE, engines=ONE),
    Fault("all standard streams are closed", "start", "run", "keeps the record", streams_closed, left=Left.COMPLETE,
          engines=ONE),
    Fault("the locale does not exist", "start", "run", "goes on",
          environment(LC_ALL="xx_YY.UTF-8", LANG="nonsense"), code=0, left=Left.COMPLETE, engines=ONE),
    Fault("the locale has no sign but ASCII", "start", "run", "prints plain signs",
          environment(LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0"), code=0, left=Left.COMPLETE, engines=ONE),
    Fault("the time zone does not exist", "start", "run", "goes on: times are UTC",
          environment(TZ="Nowhere/Else", PGTZ="Asia/Tokyo"), code=0, left=Left.COMPLETE),
    Fault("the home can't be written", "start", "run", "goes on",
          environment(HOME="/proc/nothing", XDG_CONFIG_HOME="/proc/nothing", XDG_CACHE_HOME="/proc/nothing"), code=0,
          left=Left.COMPLETE, engines=ONE),
    Fault("the folder for temporary files does not exist", "start", "run", "goes on",
          environment(TMPDIR="/nonexistent"),
          code=0, left=Left.COMPLETE, engines=ONE),
    Fault("the terminal is of an unknown kind", "start", "run", "goes on",
          environment(TERM="nonsense", COLUMNS="-3", LINES="x"), code=0, left=Left.COMPLETE, engines=ONE),
)  # fmt: skip
