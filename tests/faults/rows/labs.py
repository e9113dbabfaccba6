"""A lab that is stopped or killed: its servers, and what goes on with it."""

from __future__ import annotations

from collections.abc import Callable
from signal import SIGKILL, SIGTERM, Signals

from faults.fault import POSTGRESQL, Fault, Left
from faults.scene import Outcome, Scene
from openslob.engines import registry

ONE = (POSTGRESQL,)


def servers_left() -> list[str]:
    return [name for name in registry.list_known() if name == "lab" or name.startswith("lab-")]


def lab_signalled(number: Signals) -> Callable[[Scene], Outcome]:
    """A signal in the window of its first run."""

    def strike(scene: Scene) -> Outcome:
        words = ("lab", "full_page_writes=off", "--loads", "commit", "--cache", "16M", "--run-time", "60s")
        with scene.begun(*words, "--results", scene.results) as lab:
            lab.wait(lambda: measured(scene))
            lab.send(number)
            done = lab.end()
        if number is SIGKILL:
            assert servers_left() == ["lab"]
            gone = scene.to_end("server", "destroy", "lab")
            assert gone.code == 0, gone
        assert servers_left() == []
        return done

    return strike


def measured(scene: Scene) -> bool:
    """Whether a slice of the first run is in its raw file."""
    files = list(scene.results.glob("*/*/slices.csv"))
    return bool(files) and files[0].read_text().count("\n") > 1


LABS: tuple[Fault, ...] = (
    Fault("SIGTERM", "window", "lab", "ends, and destroys what it made; says how to go on", lab_signalled(SIGTERM),
          "the lab was stopped before its end; slob lab --resume", left=Left.STOPPED, engines=ONE),
    Fault("SIGKILL", "window", "lab", "the next lab removes the servers; `slob server destroy` does, too",
          lab_signalled(SIGKILL), code=-9, left=Left.STOPPED, engines=ONE),
)  # fmt: skip
