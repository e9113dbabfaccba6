"""A load that goes wrong: one line of error, and nothing left that counts as loaded."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from signal import SIGHUP, SIGINT, SIGKILL, SIGTERM, Signals

from faults.fault import MARIADB, Fault
from faults.pausing import IMPATIENT
from faults.rows.server import NO_ANSWER, near
from faults.scene import Command, Outcome, Scene
from openslob.engines import registry

LARGE = {"scale": 20_000, "load_parallel_degree": 2}
CANCELLED = "the load was cancelled; nothing of it is left"


@contextmanager
def loading(scene: Scene, then: str = "", url: str | None = None) -> Iterator[Command]:
    """A load that is filling tables; it has executed the code ``then``."""
    with scene.begun(
        *scene.words("load", url, **LARGE), at=("openslob.engines.load", "DataLoad.watch"), then=then
    ) as load:
        load.wait_until_paused()
        load.go_on()
        load.wait(lambda: bool(scene.db.filling()))
        yield load


def unloaded(scene: Scene, outcome: Outcome) -> Outcome:
    """Nothing of the load counts as loaded."""
    state = registry.engine_for(scene.db.url).data.state()
    assert state is None or not state.verified, state
    return outcome


def signalled(*numbers: Signals) -> Callable[[Scene], Outcome]:
    def strike(scene: Scene) -> Outcome:
        with loading(scene) as load:
            load.send(*numbers)
            return unloaded(scene, load.end())

    return strike


def session_ended(scene: Scene) -> Outcome:
    with loading(scene) as load:
        for number in scene.db.filling():
            scene.db.end(number)
        return unloaded(scene, load.end())


def server_killed(scene: Scene) -> Outcome:
    with loading(scene) as load:
        scene.kill_server()
        return unloaded(scene, load.end())


def server_hangs(scene: Scene) -> Outcome:
    with loading(scene, IMPATIENT) as load:
        with scene.hanging():
            done = load.end()
        return unloaded(scene, done)


def stopped_while_it_hangs(scene: Scene) -> Outcome:
    with loading(scene) as load:
        with scene.hanging():
            load.send(SIGINT, SIGINT)
            done = load.end()
        return unloaded(scene, done)


def network_cut(scene: Scene) -> Outcome:
    with near(scene) as (relay, url), loading(scene, url=url) as load:
        relay.accepts = False
        relay.cut()
        return unloaded(scene, load.end())


def load_locked(scene: Scene) -> Outcome:
    """The check of a load may wait for the lock, and gives up; its first DROP waits for as long as it takes."""
    with scene.db.locked(), scene.begun(*scene.words("load", scale=100), before=IMPATIENT) as load:
        load.wait_until_said("waits for a lock")
        if scene.engine == MARIADB:
            load.send(SIGINT)
        return load.end()


def drop_locked(scene: Scene) -> Outcome:
    with scene.db.locked(), scene.begun(*scene.words("drop"), before=IMPATIENT) as drop:
        drop.wait_until_said("waits for a lock")
        drop.send(SIGINT)
        return drop.end()


def in_use(command: str) -> Callable[[Scene], Outcome]:
    def strike(scene: Scene) -> Outcome:
        with registry.engine_for(scene.db.url).exclusive("test"):
            return scene.to_end(*scene.words(command))

    return strike


def of_size(scale: object) -> Callable[[Scene], Outcome]:
    return lambda scene: scene.to_end(*scene.words("load", scale=scale))


def server_down_at_drop(scene: Scene) -> Outcome:
    url = scene.db.url
    scene.kill_server()
    time.sleep(0.2)
    return scene.to_end("drop", "--target", url)


LOADS: tuple[Fault, ...] = (
    Fault("SIGINT", "fill", "load", "removes what it wrote", signalled(SIGINT), CANCELLED),
    Fault("SIGTERM", "fill", "load", "removes what it wrote", signalled(SIGTERM), CANCELLED),
    Fault("SIGHUP", "fill", "load", "removes what it wrote", signalled(SIGHUP), CANCELLED),
    Fault("SIGKILL", "fill", "load", "what it wrote does not count as loaded; the next load removes it",
          signalled(SIGKILL), code=-9),
    Fault("its sessions are ended", "fill", "load", "says so; removes what it wrote", session_ended,
          "the load .*failed"),
    Fault("the server is killed", "fill", "load",
          "says where the server's log is; what it wrote does not count as loaded",
          server_killed, "server.log"),
    Fault("the server hangs", "fill", "load", "ends in time; what it wrote does not count as loaded", server_hangs,
          NO_ANSWER),
    Fault("SIGINT twice while the server hangs", "fill", "load", "ends at once; what it wrote does not count as loaded",
          stopped_while_it_hangs, "the load was cancelled|stopped at once"),
    Fault("the network is cut", "fill", "load", "ends; what it wrote does not count as loaded", network_cut,
          "could not be removed|can't connect"),
    Fault("somebody has locked a table that it replaces", "begin", "load", "says who; ends in time, or by SIGINT",
          load_locked, "waits for a lock|stopped"),
    Fault("another command has the target", "begin", "load", "names it", in_use("load"), "in use: test by pid"),
    Fault("a size of nothing", "begin", "load", "says so", of_size(0), "SCALE", code=2),
    Fault("more data than the disk takes", "begin", "load", "says how much is needed and how much is free",
          of_size("30T"), "the load needs .* in reserve"),
    Fault("another command has the target", "begin", "drop", "names it", in_use("drop"), "in use: test by pid"),
    Fault("the server is killed", "begin", "drop", "says so", server_down_at_drop, "can't connect"),
    Fault("somebody has locked a table; SIGINT", "drop", "drop", "says who; ends, and drops nothing later", drop_locked,
          "waits for a lock|stopped"),
)  # fmt: skip
