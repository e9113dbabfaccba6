"""Faults of the commands that observe, watch, look, measure storage."""

from __future__ import annotations

import shutil
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from factories.paths import FIXTURES
from faults.fault import NO_SERVER, POSTGRESQL, Fault, Left
from faults.pausing import IMPATIENT
from faults.scene import Command, Outcome, Scene

ONE = (POSTGRESQL,)
RAW = ("--size", "16M", "--run-time", "0.5", "--io-engine", "psync", "--repeats", "1")


# --- observe


def observing(*command: str) -> Callable[[Scene], Outcome]:
    def strike(scene: Scene) -> Outcome:
        return scene.to_end(*scene.words("observe"), "--", *command)

    return strike


# A command that goes on until a test says so.
UNTIL = "while [ ! -e {} ]; do sleep 0.1; done"


@contextmanager
def observed(scene: Scene, before: str = "") -> Iterator[tuple[Command, Path]]:
    """An observation that has read its counters more than once, and the file at which its command ends."""
    go = scene.place / "end"
    words = [*scene.words("observe"), "--", "sh", "-c", UNTIL.format(go)]
    with scene.begun(*words, before=before) as observe:
        observe.wait(lambda: scene.has_rows("engine.csv"))
        try:
            yield observe, go
        finally:
            go.touch()


def observe_signalled(*numbers: signal.Signals) -> Callable[[Scene], Outcome]:
    def strike(scene: Scene) -> Outcome:
        with observed(scene) as (observe, _):
            observe.send(*numbers)
            return observe.end()

    return strike


def observe_server_killed(scene: Scene) -> Outcome:
    with observed(scene) as (observe, go):
        scene.kill_server()
        observe.wait_until_said("server")
        go.touch()
        return observe.end()


def observe_server_hangs(scene: Scene) -> Outcome:
    with observed(scene, IMPATIENT) as (observe, go), scene.hanging():
        go.touch()
        return observe.end()


def no_rights_to_observe(scene: Scene) -> Outcome:
    with scene.db.of_user() as url:
        return scene.to_end(*scene.words("observe", url, **{"for": "1s"}))


def no_rights_to_watch(scene: Scene) -> Outcome:
    with scene.db.of_user() as url:
        return scene.to_end(*scene.words("watch", url, count=1, interval=1))


# --- watch


@contextmanager
def watching(scene: Scene, before: str = "") -> Iterator[Command]:
    """A watch that has shown an interval."""
    with scene.begun(*scene.words("watch", record=True, results=scene.results), before=before) as watch:
        watch.wait(lambda: scene.has_rows("engine.csv"))
        yield watch


def watch_signalled(*numbers: signal.Signals) -> Callable[[Scene], Outcome]:
    def strike(scene: Scene) -> Outcome:
        with watching(scene) as watch:
            watch.send(*numbers)
            return watch.end()

    return strike


def watch_server_killed(scene: Scene) -> Outcome:
    with watching(scene) as watch:
        scene.kill_server()
        time.sleep(1.5)
        scene.db.server.start()
        time.sleep(1.5)
        watch.send(signal.SIGINT)
        return watch.end()


def watch_server_hangs(scene: Scene) -> Outcome:
    with watching(scene, IMPATIENT) as watch, scene.hanging():
        time.sleep(1.5)
        watch.send(signal.SIGINT)
        return watch.end()


def watch_no_server(scene: Scene) -> Outcome:
    return scene.to_end("watch", "--target", "postgresql://127.0.0.1:1/slob?user=slob", "--count", 1)


def watch_reader_gone(scene: Scene) -> Outcome:
    with scene.begun(*scene.words("watch")) as watch:
        watch.process.stdout.close()
        watch.process.stdout = None
        return watch.end()


# --- live


def a_record(scene: Scene) -> Path:
    return Path(shutil.copytree(FIXTURES / "records" / "v3/measured", scene.results / "20270101-000000-x"))


def live_port_taken(scene: Scene) -> Outcome:
    a_record(scene)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        return scene.to_end("live", "latest", "--web", "--port", port, "--results", scene.results)


def live_without_terminal(scene: Scene) -> Outcome:
    a_record(scene)
    return scene.to_end("live", "latest", "--results", scene.results)


@contextmanager
def page(scene: Scene) -> Iterator[Command]:
    """The page of the latest record, whose address was told."""
    with scene.begun("live", "latest", "--web", "--results", scene.results) as live:
        live.wait_until_said("Ctrl-C ends the page")
        yield live


def live_signalled(number: signal.Signals) -> Callable[[Scene], Outcome]:
    def strike(scene: Scene) -> Outcome:
        a_record(scene)
        with page(scene) as live:
            live.send(number)
            return live.end()

    return strike


def live_record_removed(scene: Scene) -> Outcome:
    folder = a_record(scene)
    with page(scene) as live:
        shutil.rmtree(folder)
        time.sleep(1)
        live.send(signal.SIGINT)
        return live.end()


def viewer_killed(scene: Scene) -> Outcome:
    with scene.running(run_time=6) as run:
        with page(scene) as live:
            live.send(signal.SIGKILL)
            live.end()
        return run.end()


# --- raw


@contextmanager
def calibrating(scene: Scene) -> Iterator[Command]:
    """A calibration whose first step is measured; nothing of it stays on the disk but its record."""
    folder = scene.place / "disk"
    folder.mkdir()
    words = ["raw", "calibrate", folder, *RAW, "--run-time", "3", "--results", scene.results]
    with scene.begun(*words) as raw:
        raw.wait_until_said("1. ")
        raw.wait(lambda: bool(fio_of(raw)))
        yield raw
    assert list(folder.iterdir()) == []


def raw_signalled(*numbers: signal.Signals) -> Callable[[Scene], Outcome]:
    def strike(scene: Scene) -> Outcome:
        with calibrating(scene) as raw:
            raw.send(*numbers)
            return raw.end()

    return strike


def fio_killed(scene: Scene) -> Outcome:
    with calibrating(scene) as raw:
        for each in fio_of(raw):
            each.kill()
        return raw.end()


def fio_of(raw: Command) -> list[psutil.Process]:
    return [each for each in psutil.Process(raw.process.pid).children(recursive=True) if each.name() == "fio"]


def raw_on(folder: str) -> Callable[[Scene], Outcome]:
    def strike(scene: Scene) -> Outcome:
        return scene.to_end("raw", "calibrate", folder, *RAW, "--results", scene.results)

    return strike


def raw_without_fio(scene: Scene) -> Outcome:
    return scene.to_end("raw", "calibrate", scene.place, *RAW, "--results", scene.results, env={"PATH": "/nonexistent"})


def raw_too_large(scene: Scene) -> Outcome:
    return scene.to_end("raw", "calibrate", scene.place, *RAW, "--size", "900T", "--results", scene.results)


OTHERS: tuple[Fault, ...] = (
    Fault("the command is not there", "start", "observe", "says so; exits as a shell does", observing("nosuchprogram"),
          "is not found", code=127, engines=ONE),
    Fault("the command fails", "window", "observe", "reports what was observed; exits as the command does",
          observing("sh", "-c", "sleep 1; exit 7"), "ended with exit code 7; its record says failed", code=7,
          left=Left.FAILED, engines=ONE),
    Fault("the command is killed", "window", "observe", "reports what was observed; exits as a shell does",
          observing("sh", "-c", "sleep 1; kill -9 $$"), "ended with signal SIGKILL; its record says failed", code=137,
          left=Left.FAILED, engines=ONE),
    Fault("SIGINT", "window", "observe", "the command gets it, too; its exit code is shown",
          observe_signalled(signal.SIGINT), "the command was stopped", code=130, left=Left.STOPPED),
    Fault("SIGTERM", "window", "observe", "the command gets it, too; its exit code is shown",
          observe_signalled(signal.SIGTERM), "the command was stopped", code=143, left=Left.STOPPED),
    Fault("SIGKILL", "window", "observe", "the command, which is yours, goes on; the raw files are there",
          observe_signalled(signal.SIGKILL), code=-9, left=Left.FAILED),
    Fault("the server is killed", "window", "observe", "says so; the command goes on to its end", observe_server_killed,
          "the record says failed", left=Left.FAILED),
    Fault("the server hangs", "window", "observe", "says so; the command goes on to its end", observe_server_hangs,
          "the record says failed", left=Left.FAILED),
    Fault("the user has no rights", "window", "observe", "shows what it may see; the rest is unknown, with the reason",
          no_rights_to_observe, code=0, left=Left.COMPLETE),
    Fault("SIGINT", "window", "watch", "ends: that is how a watch ends", watch_signalled(signal.SIGINT), code=0,
          left=Left.COMPLETE),
    Fault("SIGTERM", "window", "watch", "ends: that is how a watch ends", watch_signalled(signal.SIGTERM), code=0,
          left=Left.COMPLETE),
    Fault("the server is killed and started again", "window", "watch", "says so, and goes on with the new one",
          watch_server_killed, code=0, left=Left.NOT_ASKED),
    Fault("the server hangs", "window", "watch", "says so, and waits for it", watch_server_hangs, code=0,
          left=Left.NOT_ASKED),
    Fault("the user has no rights", "start", "watch", "shows what it may see", no_rights_to_watch, code=0),
    Fault("no server listens there", "start", "watch", "says so", watch_no_server, "127.0.0.1:1.*; check",
          engines=NO_SERVER),
    Fault("the reader of standard output has gone", "window", "watch", "ends", watch_reader_gone, code=141,
          engines=ONE),
    Fault("the port is taken", "start", "live", "says so", live_port_taken, "port .*can't be used: .*; choose another",
          engines=NO_SERVER, left=Left.AS_IT_WAS),
    Fault("there is no terminal", "start", "live", "says which command needs none", live_without_terminal,
          "needs a terminal: .*; `slob show`", engines=NO_SERVER, left=Left.AS_IT_WAS),
    Fault("SIGINT", "page", "live", "ends: that is how a page ends", live_signalled(signal.SIGINT), code=0,
          engines=NO_SERVER, left=Left.AS_IT_WAS),
    Fault("SIGTERM", "page", "live", "ends: that is how a page ends", live_signalled(signal.SIGTERM), code=0,
          engines=NO_SERVER, left=Left.AS_IT_WAS),
    Fault("the record is removed", "page", "live", "goes on until it is ended", live_record_removed, code=0,
          engines=NO_SERVER, left=Left.NOT_ASKED),
    Fault("a viewer is killed", "window", "run", "goes on", viewer_killed, code=0, engines=ONE, left=Left.COMPLETE),
    Fault("SIGINT", "step", "raw calibrate", "removes its file; the record has the steps so far",
          raw_signalled(signal.SIGINT), "interrupted", engines=NO_SERVER, left=Left.NOT_ASKED),
    Fault("SIGKILL", "step", "raw calibrate",
          "fio ends its step; its file has no name and is gone, its folder goes at the next start",
          raw_signalled(signal.SIGKILL), code=-9, engines=NO_SERVER, left=Left.NOT_ASKED),
    Fault("fio is killed", "step", "raw calibrate", "says so; the record has the steps so far", fio_killed,
          "fio failed: it was ended by SIGKILL", engines=NO_SERVER, left=Left.NOT_ASKED),
    Fault("fio is not installed", "start", "raw calibrate", "says which package has it", raw_without_fio,
          "fio is not installed; install", engines=NO_SERVER),
    Fault("the folder does not exist", "start", "raw calibrate", "says so", raw_on("/nonexistent/x"),
          "/nonexistent/x does not exist", engines=NO_SERVER),
    Fault("the folder can't be written", "start", "raw calibrate", "says so", raw_on("/proc"), "/proc",
          engines=NO_SERVER),
    Fault("the test file is larger than the disk", "start", "raw calibrate", "says how much is needed and free",
          raw_too_large, "the test file needs", engines=NO_SERVER),
)  # fmt: skip
