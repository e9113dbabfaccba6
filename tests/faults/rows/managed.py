"""Servers that slob makes, starts and stops itself, in places that do not suit them."""

from __future__ import annotations

import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from factories.disks import small_disk
from faults.fault import NO_SERVER, Fault, Left
from faults.scene import Outcome, Scene


@contextmanager
def home() -> Iterator[Path]:
    """A home of its own, short enough for sockets, with no server left in it."""
    place = Path(tempfile.mkdtemp(prefix="slob-h-"))
    place.chmod(0o755)
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def starting(scene: Scene, *options: object, env: dict[str, str] | None = None) -> Outcome:
    """`slob server start`, which must fail and leave neither a process nor half a server."""
    with home() as place:
        words = ("server", "start", "x", "--engine", scene.engine, *options)
        done = scene.to_end(*words, env={"OPENSLOB_HOME": str(place), **(env or {})})
        left = [path.name for path in place.rglob("*") if path.name in ("postmaster.pid", "slob.pid")]
        if done.code:
            assert not left
        scene.to_end("server", "destroy", "x", env={"OPENSLOB_HOME": str(place)})
        return done


def start(*options: object, env: dict[str, str] | None = None) -> Callable[[Scene], Outcome]:
    return lambda scene: starting(scene, *options, env=env)


def start_signalled(*numbers: signal.Signals) -> Callable[[Scene], Outcome]:
    """A server that is being made; the next start finishes it."""

    def strike(scene: Scene) -> Outcome:
        with home() as place:
            env = {"OPENSLOB_HOME": str(place)}
            words = ("server", "start", "x", "--engine", scene.engine, "--cache", "16M", "--log-size", "256M")
            with scene.begun(*words, env=env) as command:
                command.wait(lambda: any((place / "servers" / "x").glob("data*")))
                command.send(*numbers)
                done = command.end()
            for more in (words, ("server", "destroy", "x")):
                next_one = scene.to_end(*more, env=env)
                assert next_one.code == 0, next_one.stderr
            return done

    return strike


def start_in(folder: str) -> Callable[[Scene], Outcome]:
    def strike(scene: Scene) -> Outcome:
        return scene.to_end("server", "start", "x", "--engine", scene.engine, env={"OPENSLOB_HOME": folder})

    return strike


def damaged_server(scene: Scene) -> Outcome:
    with home() as place:
        (place / "servers" / "x").mkdir(parents=True)
        (place / "servers" / "x" / "server.json").write_text('{"name"')
        return scene.to_end("server", "start", "x", env={"OPENSLOB_HOME": str(place)})


def home_read_only(scene: Scene) -> Outcome:
    with home() as place, small_disk(place, "16m"):
        subprocess.run(["mount", "-o", "remount,ro", place], check=True)
        return scene.to_end("server", "start", "x", "--engine", scene.engine, env={"OPENSLOB_HOME": str(place)})


def home_full(scene: Scene) -> Outcome:
    with home() as place, small_disk(place, "16m"):
        return scene.to_end("server", "start", "x", "--engine", scene.engine, env={"OPENSLOB_HOME": str(place)})


def stop_in_use(scene: Scene) -> Outcome:
    with scene.running() as run:
        done = scene.to_end("server", "stop", scene.db.server.name)
        run.process.kill()
        run.end()
    return done


def stop_hanging(scene: Scene) -> Outcome:
    before = "from openslob.engines.managed import server; server.STOP_PATIENCE_S = 1"
    with scene.hanging(), scene.begun("server", "stop", scene.db.server.name, before=before) as stop:
        return stop.end()


MANAGED: tuple[Fault, ...] = (
    Fault("the programs are not there", "create", "server start", "names the folder", start("--bin-dir",
          "/nonexistent"),
          "/nonexistent; name", code=2),
    Fault("the cache is larger than the memory", "start", "server start",
          "quotes the server's log, and says where it is",
          start("--cache", "7T"), "did not start: .*; its log is"),
    Fault("there is no such CPU", "start", "server start", "says which there are", start("--cpus", "4095"), "4095",
          code=2),
    Fault("the home can't be made", "create", "server start", "names the folder", start_in("/proc/nothing"),
          "/proc/nothing.*; set OPENSLOB_HOME"),
    Fault("the home is a file", "create", "server start", "names it", start_in("/etc/passwd"),
          "/etc/passwd.*; set OPENSLOB_HOME"),
    Fault("the home is read-only", "create", "server start", "names the folder", home_read_only, "Read-only"),
    Fault("the disk of the home is too small", "create", "server start", "says how much is needed and free", home_full,
          "needs .* in reserve"),
    Fault("SIGINT", "create", "server start", "ends; the next start finishes it", start_signalled(signal.SIGINT),
          "stopped"),
    Fault("SIGTERM", "create", "server start", "ends; the next start finishes it", start_signalled(signal.SIGTERM),
          code=-15),
    Fault("SIGKILL", "create", "server start", "the next start finishes it", start_signalled(signal.SIGKILL), code=-9),
    Fault("the server's file is damaged", "start", "server start", "names the file, and how the server is removed",
          damaged_server, "is damaged: .*; restore it, or `slob server destroy", engines=NO_SERVER),
    Fault("a run is at work", "stop", "server stop", "names it; the run goes on", stop_in_use, "in use: run by pid",
          left=Left.FAILED),
    Fault("the server hangs", "stop", "server stop", "stops it by force, and says so", stop_hanging,
          "was killed; it recovers",
          code=0),
)  # fmt: skip
