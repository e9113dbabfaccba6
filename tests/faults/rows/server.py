"""What happens in the server, or between slob and the server, while a run is at work."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from faults.fault import Fault, Left
from faults.pausing import IMPATIENT, PHASES
from faults.relay import Relay, relayed
from faults.scene import Outcome, Scene

# This limit holds from before the place where a read-out stands still.
SOON_READ_OUT = "from openslob.kinds.run import runner; runner.ANSWER_S = 3.0"
NO_ANSWER = "does not answer|timeout expired|timed out|no answer came"


def session_ended(scene: Scene) -> Outcome:
    with scene.running() as run:
        scene.db.end(scene.db.sessions("run/%")[0])
        return run.end()


def ended(purpose: str) -> Callable[[Scene], Outcome]:
    """All of slob's connections for a purpose are ended while a run goes on."""

    def strike(scene: Scene) -> Outcome:
        with scene.running() as run:
            scene.db.end_all(purpose)
            return run.end()

    return strike


def ended_early(purpose: str) -> Callable[[Scene], Outcome]:
    """The same in a run that goes on to its planned end."""

    def strike(scene: Scene) -> Outcome:
        with scene.begun(*scene.words("run", run_time=1), at=PHASES["window"]) as run:
            run.wait_until_paused()
            scene.db.end_all(purpose)
            run.go_on()
            return run.end()

    return strike


def lock_ended(scene: Scene) -> Outcome:
    with scene.running() as run:
        scene.db.end_lock()
        return run.end()


def server_killed(scene: Scene) -> Outcome:
    with scene.running() as run:
        scene.kill_server()
        return run.end()


def killed_in(phase: str) -> Callable[[Scene], Outcome]:
    def strike(scene: Scene) -> Outcome:
        with scene.begun(*scene.words("run", run_time=1), at=PHASES[phase]) as run:
            run.wait_until_paused()
            scene.kill_server()
            run.go_on()
            return run.end()

    return strike


def hangs_in(phase: str) -> Callable[[Scene], Outcome]:
    def strike(scene: Scene) -> Outcome:
        words = scene.words("run", run_time=1)
        with scene.begun(*words, before=SOON_READ_OUT, at=PHASES[phase], then=IMPATIENT) as run:
            run.wait_until_paused()
            with scene.hanging():
                run.go_on()
                return run.end()

    return strike


def hangs_in_window(scene: Scene) -> Outcome:
    with scene.running(IMPATIENT, run_time=6) as run, scene.hanging():
        return run.end()


def hangs_for_a_moment(scene: Scene) -> Outcome:
    with scene.running(run_time=2) as run:
        with scene.hanging():
            time.sleep(1.2)
        return run.end()


def locked_before(scene: Scene) -> Outcome:
    with scene.db.locked(), scene.begun(*scene.words("run"), before=IMPATIENT) as run:
        return run.end()


def locked_in_connect(scene: Scene) -> Outcome:
    with scene.begun(*scene.words("run"), at=PHASES["connect"], then=IMPATIENT) as run:
        run.wait_until_paused()
        with scene.db.locked():
            run.go_on()
            return run.end()


def locked_in_window(scene: Scene) -> Outcome:
    with scene.running(IMPATIENT, run_time=6) as run, scene.db.locked():
        return run.end()


def tables_dropped(scene: Scene) -> Outcome:
    with scene.running() as run:
        scene.db.ask("DROP TABLE slob.cf1_2")
        return run.end()


@contextmanager
def near(scene: Scene) -> Iterator[tuple[Relay, str]]:
    """A relay to the server, and the URL through it."""
    folder = tempfile.mkdtemp(prefix="slob-r-")  # a socket's path is short
    try:
        name, url = scene.db.through(folder)
        with relayed(Path(folder) / name, scene.db.socket) as relay:
            yield relay, url
    finally:
        shutil.rmtree(folder)


def connections_cut(stays: bool) -> Callable[[Scene], Outcome]:
    """All connections are reset; the network works again at once, or not at all."""

    def strike(scene: Scene) -> Outcome:
        with near(scene) as (relay, url), scene.running(url=url) as run:
            relay.accepts = not stays
            relay.cut()
            return run.end()

    return strike


def network_silent(scene: Scene) -> Outcome:
    with near(scene) as (relay, url), scene.running(IMPATIENT, url=url, run_time=6) as run:
        relay.stall()
        done = run.end()
        relay.flow()
        return done


def network_silent_for_a_moment(scene: Scene) -> Outcome:
    with near(scene) as (relay, url), scene.running(url=url, run_time=3) as run:
        relay.stall()
        time.sleep(0.7)
        relay.flow()
        return run.end()


GONE = "server.log"
LOST = r"(session \d+|the lock of .*) was lost: .*; "
SERVER: tuple[Fault, ...] = (
    Fault("the administrator ends a session", "window", "run", "says which session was lost, and why", session_ended,
          LOST,
          left=Left.KEPT),
    Fault("the administrator ends all sessions", "window", "run", "says which session was lost first", ended("run/%"),
          LOST, left=Left.KEPT),
    Fault("the connection that reads counters is ended", "window", "run",
          "ends at once: without counters there are no figures", ended("counters"), "the counters can't be read",
          left=Left.KEPT),
    Fault("the connection that samples waits is ended", "window", "run",
          "goes on; what sessions waited for is unknown, with the reason", ended_early("waits"), code=0,
          left=Left.COMPLETE),
    Fault("the connection of the stop signal is ended", "window", "run", "goes on to its planned end",
          ended_early("stop"),
          code=0, left=Left.COMPLETE),
    Fault("the connection that holds the target's lock is ended", "window", "run",
          "ends at once: another run could begin beside it", lock_ended, "the lock of .* was lost", left=Left.KEPT),
    Fault("the server is killed", "check", "run", "says that it is gone, and where its log is", killed_in("check"),
          GONE),
    Fault("the server is killed", "settle", "run", "says that it is gone, and where its log is", killed_in("settle"),
          GONE,
          left=Left.FAILED),
    Fault("the server is killed", "connect", "run", "says that it is gone, and where its log is", killed_in("connect"),
          GONE,
          left=Left.FAILED),
    Fault("the server is killed", "window", "run", "says that it is gone, and where its log is", server_killed, GONE,
          left=Left.KEPT),
    Fault("the server is killed", "read-out", "run", "says that it is gone; figures of the server are unknown",
          killed_in("read-out"), GONE, left=Left.KEPT),
    Fault("the server hangs", "check", "run", "says so in time", hangs_in("check"), NO_ANSWER),
    Fault("the server hangs", "settle", "run", "says so in time", hangs_in("settle"), NO_ANSWER, left=Left.FAILED),
    Fault("the server hangs", "connect", "run", "says so in time", hangs_in("connect"), NO_ANSWER, left=Left.FAILED),
    Fault("the server hangs", "window", "run", "says so 30 s after the planned end", hangs_in_window,
          "did not end within .*does not answer", left=Left.KEPT),
    Fault("the server hangs", "read-out", "run", "says so in time", hangs_in("read-out"), NO_ANSWER, left=Left.KEPT),
    Fault("the server hangs for a moment", "window", "run", "goes on; the stall is in the latencies and in a verdict",
          hangs_for_a_moment, code=0, left=Left.COMPLETE),
    Fault("somebody has locked a table", "check", "run", "says who", locked_before, "waits for a lock",
          left=Left.NOT_ASKED),
    Fault("somebody locks a table", "connect", "run", "says who", locked_in_connect,
          "1 of 2 sessions could not be connected: session 0 .*waits for a lock", left=Left.FAILED),
    Fault("somebody locks a table", "window", "run", "says who, 30 s after the planned end", locked_in_window,
          "waits for a lock", left=Left.KEPT),
    Fault("somebody drops a table", "window", "run", "says so", tables_dropped, "there are no data; run `slob load`",
          left=Left.KEPT),
    Fault("all connections are reset", "window", "run", "says which session was lost first",
          connections_cut(stays=False),
          LOST, left=Left.KEPT),
    Fault("the network is cut", "window", "run", "says which session was lost first", connections_cut(stays=True), LOST,
          left=Left.KEPT),
    Fault("the network loses everything that is sent", "window", "run", "says so 30 s after the planned end",
          network_silent, NO_ANSWER, left=Left.KEPT),
    Fault("the network stalls for a moment", "window", "run", "goes on; the stall is in the latencies",
          network_silent_for_a_moment, code=0, left=Left.COMPLETE),
)  # fmt: skip
