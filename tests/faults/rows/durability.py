"""Commands that crash servers and wait for hours: the proof of durability, tests of failover, endurance runs."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from signal import SIGKILL, SIGTERM, Signals

import psutil

from faults.fault import POSTGRESQL, Fault, Left
from faults.pausing import IMPATIENT
from faults.rows.driver import disk, fill
from faults.scene import DATA, LOAD, Command, Outcome, Scene
from openslob.engines import registry

ONE = (POSTGRESQL,)
CRASH, RECOVER = ("openslob.kinds.crash.rig", "Rig.crash"), ("openslob.kinds.crash.rig", "Rig.recover")
COMPARE = ("openslob.kinds.crash.execute", "account")
TAKE_OVER = ("openslob.kinds.failover.servers", "ManagedPair.take_over")
PAIR = ("failover-a", "failover-b")
# A file without which no server starts.
NEEDED = {"postgresql": "global/pg_control", "mariadb": "ibdata1"}


def crash_words(scene: Scene) -> list[str]:
    name = scene.db.server.name
    return ["crash", "--server", name, "--cycles", "2", "--sessions", "2", "--results", str(scene.results)]


def crash_signalled(at: tuple[str, str], *numbers: Signals) -> Callable[[Scene], Outcome]:
    """The next proof on the same server finds everything, and removes the tables."""

    def strike(scene: Scene) -> Outcome:
        with scene.begun(*crash_words(scene), at=at) as crash:
            crash.wait_until_paused()
            crash.send(*numbers)
            if SIGKILL not in numbers:
                crash.go_on()
            done = crash.end()
        if SIGKILL in numbers:
            next_one = scene.to_end(*crash_words(scene), "--results", scene.place / "next")
            assert next_one.code == 0, next_one
        left = "SELECT count(*) FROM information_schema.tables WHERE table_name LIKE 'ledger%'"
        assert int(scene.db.ask(left)[0][0]) == 0
        return done

    return strike


def ledger_disk_full(scene: Scene) -> Outcome:
    with disk(scene), scene.begun(*crash_words(scene), at=CRASH) as crash:
        crash.wait_until_paused()
        fill(scene.results)
        crash.go_on()
        return crash.end()


def does_not_come_back(scene: Scene) -> Outcome:
    needed = scene.db.server.status().data_directory / NEEDED[scene.engine]
    try:
        with scene.begun(*crash_words(scene), at=RECOVER) as crash:
            crash.wait_until_paused()
            needed.rename(needed.with_suffix(".away"))
            crash.go_on()
            return crash.end()
    finally:
        needed.with_suffix(".away").rename(needed)


def hangs_in_load(scene: Scene) -> Outcome:
    """All processes of the server stand still when it is to be killed, as they do anyway at that moment."""
    with scene.begun(*crash_words(scene), at=CRASH) as crash:
        crash.wait_until_paused()
        with scene.hanging():
            crash.go_on()
            return crash.end()


@contextmanager
def failing_over(scene: Scene, at: tuple[str, str] | None = None, then: str = "") -> Iterator[Command]:
    """`slob failover` on a pair of its own, of which nothing may be left."""
    words = ["failover", "--engine", scene.engine, "--before", "3s", "--recovery", "2s", "--sessions", "2"]
    with scene.begun(*words, "--results", scene.results, at=at, then=then) as command:
        yield command


def none_left() -> None:
    assert [name for name in PAIR if registry.find(name)] == []


def failover_stopped_in_load(scene: Scene) -> Outcome:
    with failing_over(scene) as command:
        command.wait_until_said("load for")
        command.send(SIGTERM)
        done = command.end()
    none_left()
    return done


def failover_stopped_in_outage(scene: Scene) -> Outcome:
    with failing_over(scene, TAKE_OVER) as command:
        command.wait_until_paused()
        command.send(SIGTERM)
        command.go_on()
        done = command.end()
    none_left()
    return done


def failover_killed_in_outage(scene: Scene) -> Outcome:
    """What it made is there, and each server can be destroyed by its name, as the next test does."""
    with failing_over(scene, TAKE_OVER) as command:
        command.wait_until_paused()
        command.send(SIGKILL)
        done = command.end()
    for name in reversed(PAIR):
        gone = scene.to_end("server", "destroy", name)
        assert gone.code == 0, gone
    none_left()
    return done


def standby(number: Signals) -> Callable[[Scene], Outcome]:
    """A signal to all processes of the standby when it should take over."""

    def strike(scene: Scene) -> Outcome:
        with failing_over(scene, TAKE_OVER, IMPATIENT) as command:
            command.wait_until_paused()
            server = registry.find(PAIR[1])
            main = psutil.Process(server.status().pid if server else None)
            for process in (main, *main.children(recursive=True)):
                with suppress(psutil.NoSuchProcess):
                    process.send_signal(number)
            command.go_on()
            done = command.end()
        none_left()
        return done

    return strike


def endure_words(scene: Scene) -> list[str]:
    return scene.words("endure", **{"for": "1h", "warmup": 0, "results": scene.results, **DATA, **LOAD})


def measured(scene: Scene) -> bool:
    """Whether a slice of the segment is in its raw file."""
    files = list(scene.results.glob("*/*-segment-1/slices.csv"))
    return bool(files) and files[0].read_text().count("\n") > 1


@contextmanager
def enduring(scene: Scene) -> Iterator[Command]:
    with scene.begun(*endure_words(scene)) as command:
        command.wait(lambda: measured(scene))
        yield command


def endure_signalled(number: Signals) -> Callable[[Scene], Outcome]:
    def strike(scene: Scene) -> Outcome:
        with enduring(scene) as command:
            command.send(number)
            return command.end()

    return strike


def endure_disk_full(scene: Scene) -> Outcome:
    with disk(scene), enduring(scene) as command:
        fill(scene.results)
        return command.end()


def endure_server_killed(scene: Scene) -> Outcome:
    with enduring(scene) as command:
        scene.kill_server()
        return command.end()


def endure_server_hangs(scene: Scene) -> Outcome:
    with scene.begun(*endure_words(scene), before=IMPATIENT) as command:
        command.wait(lambda: measured(scene))
        with scene.hanging():
            command.send(SIGTERM)
            return command.end()


def results_in_proc(command: str) -> Callable[[Scene], Outcome]:
    def strike(scene: Scene) -> Outcome:
        words = {"crash": crash_words, "endure": endure_words}[command](scene)
        return scene.to_end(*[Path("/proc/results") if each == str(scene.results) else each for each in words])

    return strike


STOPPED = "the proof was stopped before its end; its record says interrupted"
NEXT = "the next proof on the server finds everything, and removes the tables of this one"
DURABILITY: tuple[Fault, ...] = (
    Fault("SIGTERM", "load", "crash", "ends after the cycle", crash_signalled(CRASH, SIGTERM), STOPPED,
          left=Left.STOPPED),
    Fault("SIGTERM", "recovery", "crash", "ends after the cycle", crash_signalled(RECOVER, SIGTERM), STOPPED,
          left=Left.STOPPED, engines=ONE),
    Fault("SIGTERM", "comparison", "crash", "ends after the cycle", crash_signalled(COMPARE, SIGTERM), STOPPED,
          left=Left.STOPPED, engines=ONE),
    Fault("SIGKILL", "load", "crash", NEXT, crash_signalled(CRASH, SIGKILL), code=-9, left=Left.FAILED),
    Fault("SIGKILL", "recovery", "crash", NEXT, crash_signalled(RECOVER, SIGKILL), code=-9, left=Left.FAILED,
          engines=ONE),
    Fault("the disk of the ledger is full", "load", "crash", "ends: what can't be written down is not sent",
          ledger_disk_full, "can't be written: No space left", left=Left.FAILED, engines=ONE),
    Fault("the server does not come back", "recovery", "crash", "says so: that is what was to be found out",
          does_not_come_back, "no_acked_commit_lost fails: .*the server did not recover", code=3, left=Left.COMPLETE),
    Fault("the server hangs", "load", "crash", "kills it all the same, and goes on", hangs_in_load, code=0,
          left=Left.COMPLETE, engines=ONE),
    Fault("the folder of the records can't be made", "check", "crash", "names the folder, and crashes nothing",
          results_in_proc("crash"), "/proc/results", engines=ONE),
    Fault("SIGTERM", "load", "failover", "ends, and destroys what it made", failover_stopped_in_load,
          "the test was stopped", left=Left.STOPPED, engines=ONE),
    Fault("SIGTERM", "outage", "failover", "ends, and destroys what it made", failover_stopped_in_outage,
          "the test was stopped", left=Left.STOPPED, engines=ONE),
    Fault("SIGKILL", "outage", "failover", "the next test removes the servers; `slob server destroy` does, too",
          failover_killed_in_outage, code=-9, left=Left.FAILED, engines=ONE),
    Fault("the standby hangs", "outage", "failover", "waits for no answer without end, and destroys what it made",
          standby(signal.SIGSTOP), "failover-b can't be promoted: .*hangs or is stopped", left=Left.FAILED),
    Fault("the standby dies, too", "outage", "failover", "says so, and destroys what it made", standby(SIGKILL),
          "failover-b can't be promoted", left=Left.FAILED, engines=ONE),
    Fault("SIGTERM", "window", "endure", "ends, and reports what was measured; says how to resume it",
          endure_signalled(SIGTERM), "--resume", left=Left.STOPPED),
    Fault("SIGKILL", "window", "endure", "the record says so, and can be resumed", endure_signalled(SIGKILL), code=-9,
          left=Left.STOPPED),
    Fault("the disk of the records is full", "window", "endure", "ends; it can be resumed", endure_disk_full,
          "No space left", left=Left.STOPPED, engines=ONE),
    Fault("the server is killed", "window", "endure", "ends; what was measured is kept, and it can be resumed",
          endure_server_killed, "--resume", left=Left.FAILED),
    Fault("SIGTERM while the server hangs", "window", "endure", "leaves its sessions, and ends", endure_server_hangs,
          "--resume", left=Left.STOPPED, engines=ONE),
    Fault("the folder of the records can't be made", "check", "endure", "names the folder",
          results_in_proc("endure"), "/proc/results", engines=ONE),
)  # fmt: skip
