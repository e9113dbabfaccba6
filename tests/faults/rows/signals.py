"""A signal to slob itself, in each phase: what was measured is kept, and nothing goes on without it."""

from __future__ import annotations

from collections.abc import Callable
from signal import SIGHUP, SIGINT, SIGKILL, SIGTERM, Signals

from faults.fault import Fault, Left
from faults.pausing import IMPATIENT, PHASES
from faults.scene import Outcome, Scene

THINKING = {"think_tm_min": 60, "think_tm_max": 60}


def at_phase(phase: str, *numbers: Signals) -> Callable[[Scene], Outcome]:
    def strike(scene: Scene) -> Outcome:
        with scene.begun(*scene.words("run", run_time=1), at=PHASES[phase]) as run:
            run.wait_until_paused()
            run.send(*numbers)
            if SIGKILL not in numbers:
                run.go_on()
            return run.end()

    return strike


def in_window(*numbers: Signals) -> Callable[[Scene], Outcome]:
    def strike(scene: Scene) -> Outcome:
        with scene.running() as run:
            run.send(*numbers)
            return run.end()

    return strike


def once_in(phase: str, *numbers: Signals, **flags: object) -> Callable[[Scene], Outcome]:
    """Once the record says that the phase has begun."""

    def strike(scene: Scene) -> Outcome:
        with scene.begun(*scene.words("run", **flags)) as run:
            run.wait(lambda: phase in scene.phases())
            run.send(*numbers)
            return run.end()

    return strike


def stopped_while_locked(scene: Scene) -> Outcome:
    with scene.running(IMPATIENT) as run, scene.db.locked():
        run.send(SIGINT)
        return run.end()


def stopped_twice_while_locked(scene: Scene) -> Outcome:
    """The first request lets the session that waits go on, for longer than any test lasts; the second does not."""
    with scene.running("from openslob.kinds.run import session_pool; session_pool.PATIENCE_S = 600") as run:
        with scene.db.locked():
            run.send(SIGINT, SIGINT)
            done = run.end()
        assert any("cancelled within a slice" in note for note in scene.record().notes)
        return done


def killed_in_window(scene: Scene) -> Outcome:
    with scene.running() as run:
        run.send(SIGKILL)
        done = run.end()
    shown = scene.to_end("show", "--results", scene.results)
    assert (shown.code, "failed" in shown.stdout.lower()) == (0, True)
    return done


def stopped_while_it_hangs(scene: Scene) -> Outcome:
    with scene.running() as run, scene.hanging():
        run.send(SIGINT, SIGINT)
        return run.end()


def check_while_it_hangs(scene: Scene) -> Outcome:
    with scene.begun(*scene.words("check"), at=("openslob.kinds.run.preflight", "server_reports")) as check:
        check.wait_until_paused()
        with scene.hanging():
            check.go_on()
            check.send(SIGINT)
            return check.end()


def in_sweep(*numbers: Signals) -> Callable[[Scene], Outcome]:
    def strike(scene: Scene) -> Outcome:
        with scene.begun(*scene.words("sweep", sessions="1,2")) as sweep:
            sweep.wait(scene.has_measured)
            sweep.send(*numbers)
            return sweep.end()

    return strike


KILLED = "the server ends its sessions; the record says that the run did not finish, and has the raw files"
STOPPED, SAYS = "stopped before the start", "the run was stopped before its end; its record says interrupted"
SIGNALS: tuple[Fault, ...] = (
    Fault("SIGINT", "check", "run", "ends before the start", at_phase("check", SIGINT), STOPPED),
    Fault("SIGTERM", "check", "run", "ends before the start", at_phase("check", SIGTERM), STOPPED),
    Fault("SIGHUP", "check", "run", "ends before the start", at_phase("check", SIGHUP), STOPPED),
    Fault("SIGKILL", "check", "run", "leaves nothing", at_phase("check", SIGKILL), code=-9),
    Fault("SIGINT", "settle", "run", "ends before the start", at_phase("settle", SIGINT), STOPPED, left=Left.STOPPED),
    Fault("SIGTERM", "settle", "run", "ends before the start", at_phase("settle", SIGTERM), STOPPED, left=Left.STOPPED),
    Fault("SIGKILL", "settle", "run", KILLED, at_phase("settle", SIGKILL), code=-9, left=Left.FAILED),
    Fault("SIGINT", "connect", "run", "ends before the start", at_phase("connect", SIGINT), STOPPED, left=Left.STOPPED),
    Fault("SIGKILL", "connect", "run", KILLED, at_phase("connect", SIGKILL), code=-9, left=Left.FAILED),
    Fault("SIGINT", "warm-up", "run", "ends; says that nothing was measured", once_in("warm-up", SIGINT, warmup=60),
          "nothing was measured", left=Left.STOPPED),
    Fault("SIGTERM", "warm-up", "run", "ends; says that nothing was measured", once_in("warm-up", SIGTERM, warmup=60),
          "nothing was measured", left=Left.STOPPED),
    Fault("SIGHUP", "warm-up", "run", "ends; says that nothing was measured", once_in("warm-up", SIGHUP, warmup=60),
          "nothing was measured", left=Left.STOPPED),
    Fault("SIGKILL", "warm-up", "run", KILLED, once_in("warm-up", SIGKILL, warmup=60), code=-9, left=Left.FAILED),
    Fault("SIGINT", "window", "run", "ends, and reports what was measured", in_window(SIGINT), SAYS,
          left=Left.STOPPED_KEPT),
    Fault("SIGTERM", "window", "run", "ends, and reports what was measured", in_window(SIGTERM), SAYS,
          left=Left.STOPPED_KEPT),
    Fault("SIGHUP", "window", "run", "ends, and reports what was measured", in_window(SIGHUP), SAYS,
          left=Left.STOPPED_KEPT),
    Fault("SIGINT twice", "window", "run", "ends at once, and reports what was measured", in_window(SIGINT, SIGINT),
          SAYS,
          left=Left.STOPPED_KEPT),
    Fault("SIGKILL", "window", "run", KILLED, killed_in_window, code=-9, left=Left.FAILED),
    Fault("SIGINT while sessions think for a minute", "window", "run", "ends at once",
          once_in("window", SIGINT, **THINKING), SAYS, left=Left.STOPPED),
    Fault("SIGKILL while sessions think for a minute", "window", "run", KILLED, once_in("window", SIGKILL, **THINKING),
          code=-9, left=Left.FAILED),
    Fault("SIGINT while somebody has locked a table", "window", "run", "cancels the session that waits",
          stopped_while_locked, SAYS, left=Left.STOPPED_KEPT),
    Fault("SIGINT twice while somebody has locked a table", "window", "run", "cancels the session that waits at once",
          stopped_twice_while_locked, SAYS, left=Left.STOPPED_KEPT),
    Fault("SIGINT twice while the server hangs", "window", "run", "leaves its sessions, and ends",
          stopped_while_it_hangs,
          SAYS, left=Left.STOPPED_KEPT),
    Fault("SIGINT", "read-out", "run", "reads out, and reports what was measured", at_phase("read-out", SIGINT), SAYS,
          left=Left.STOPPED_KEPT),
    Fault("SIGKILL", "read-out", "run", KILLED, at_phase("read-out", SIGKILL), code=-9, left=Left.FAILED),
    Fault("SIGINT", "report", "run", "goes on: all is measured", at_phase("report", SIGINT), code=0,
          left=Left.COMPLETE),
    Fault("SIGTERM", "report", "run", "goes on: all is measured", at_phase("report", SIGTERM), code=0,
          left=Left.COMPLETE),
    Fault("SIGKILL", "report", "run", KILLED, at_phase("report", SIGKILL), code=-9, left=Left.FAILED),
    Fault("SIGINT while the server hangs", "check", "check", "ends", check_while_it_hangs, "stopped"),
    Fault("SIGTERM", "a point's window", "sweep", "ends; says how to resume it", in_sweep(SIGTERM), "--resume",
          left=Left.STOPPED),
    Fault("SIGKILL", "a point's window", "sweep", "the same command resumes it", in_sweep(SIGKILL), code=-9,
          left=Left.FAILED),
)  # fmt: skip
