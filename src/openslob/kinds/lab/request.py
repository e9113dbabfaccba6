"""What a lab asks for, from the command line or from Python, and the plan that it comes to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from openslob.analyze.intervals import LEAST_STARTS
from openslob.core import rehearsal
from openslob.core.errors import UsageError
from openslob.core.units import Price
from openslob.engines import registry
from openslob.host.environment import environment
from openslob.kinds.lab.loads import DEFAULT_CACHE, NAMES, LoadSize, lab_load, require_known
from openslob.kinds.lab.plan import arms_of, missing_ready, questions, with_nothing_changed
from openslob.kinds.lab.record import LabFolder, LabRecord
from openslob.kinds.lab.servers import template
from openslob.kinds.run.context import Context
from openslob.record.store import new_head, say_nothing

DEFAULT_FOR_S = 1800.0
DEFAULT_SESSIONS = 8
# Storage drifts within seconds: more pairs of short runs say more than few long ones. Below 3 s counters of the host
# span too much more time than the load.
DEFAULT_RUN_S, WARMUP_S = 3.0, 0.5
PRECISION_PCT = 3.0


@dataclass(frozen=True)
class LabRequest:
    """A lab: settings as ``NAME=V1,V2`` or ``NAME``, ready ones, and how they are compared.

    Without settings and ready ones, all ready ones are. ``loads`` are those of every setting instead of its own.
    Every comparison is to have time for ``pairs`` pairs: of fewer than six, nothing is settled.
    With ``resume``, the folder of a lab, it is the rest of that, for ``limit_s`` more if that is given.
    """

    name: str
    settings: tuple[str, ...] = ()
    ready: tuple[str, ...] = ()
    loads: tuple[str, ...] = ()
    limit_s: float | None = None
    precision_pct: float = PRECISION_PCT
    cache_bytes: int = DEFAULT_CACHE
    sessions: int = DEFAULT_SESSIONS
    run_s: float = DEFAULT_RUN_S
    seed: int = 1
    price: Price | None = None
    resume: Path | None = None
    pairs: int = LEAST_STARTS

    def record(self, target: str, tell: Callable[[str], None] = say_nothing) -> LabRecord:
        """Return the record of a lab that begins, after asking servers like the target what they take.

        Nothing is changed on the target. ``tell`` gets what takes a moment. UsageError if there is nothing to compare.
        """
        require_known(self.loads)
        spec = template(target, self.cache_bytes)
        asked = questions(spec.engine, self.settings, self.ready, self.loads)
        tell("asking which settings such a server takes")
        with registry.managed(spec).known_settings() as known:
            found = arms_of(asked, spec, known)
        left_out = (*found.left_out, *missing_ready(spec.engine, self.ready))
        if not found.arms:
            why = "; ".join(f"{each.what}: {each.why}" for each in left_out) or "no setting is given"
            raise UsageError(f"there is nothing to compare: {why}", "name a setting, such as NAME=VALUE")
        arms = tuple(with_nothing_changed(found.arms))
        used = [name for name in NAMES if any(name in arm.every_load for arm in arms)]
        size = LoadSize(self.cache_bytes, self.sessions, self.run_s, WARMUP_S)
        return LabRecord(
            **new_head(self.name), target=target, server=spec.to_record(), environment=environment(None),
            loads=tuple(lab_load(name, size, self.price) for name in used), arms=arms, left_out=left_out,
            seed=self.seed, precision_pct=self.precision_pct, limit_s=self.limit_s or DEFAULT_FOR_S,
            notes=rehearsal.notices(),
        )  # fmt: skip


@dataclass(frozen=True)
class LabPlan:
    """A lab that begins with time for ``pairs``, or the one in ``folder``, which goes on, for ``more_s`` if given."""

    record: LabRecord
    folder: Path | None = None
    more_s: float | None = None
    pairs: int = 1


def plan(request: LabRequest, context: Context) -> LabPlan:
    """Return what is to be compared. UsageError if there is nothing."""
    if request.resume:
        return LabPlan(LabFolder.load(request.resume), request.resume, request.limit_s)
    with context.stopping():
        return LabPlan(request.record(context.address, context.tell), pairs=rehearsal.repeats(request.pairs))
