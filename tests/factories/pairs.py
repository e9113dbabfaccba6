"""Made-up comparisons in pairs, made by the code that makes real ones; servers, runs and the clock are made up."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np

from factories.contexts import context_in
from factories.records import physical
from openslob.core.errors import SlobError
from openslob.core.interrupt import Interrupt
from openslob.core.secrets import Address
from openslob.core.workload import Workload
from openslob.kinds.ab.execute import AbExecution, AbPlan
from openslob.kinds.ab.record import AbFolder, AbRecord
from openslob.kinds.ab.sides import Side
from openslob.kinds.run import loading, runner
from openslob.kinds.run.runner import FinishedRun
from openslob.record.model import Figure, Holds, Verdict
from openslob.record.store import new_head

START_S, RUN_S = 1.0, 4.5
BUSY = "too busy for a rate"


class Host:
    """Servers that start, runs, and a clock that both move on. B does so many times the operations of A.

    Runs with the numbers in ``lost`` lose their window, those in ``failing`` fail; ``fails`` are verdicts that fail.
    """

    def __init__(
        self, ratio=1.0, noise=0.01, drift=0.0, second=1.0, lost=(), failing=(), fails=(), restarts=True, stop_at=None
    ):
        self.ratio, self.noise, self.drift, self.second = ratio, noise, drift, second
        self.lost, self.failing, self.fails, self.restarts = set(lost), set(failing), fails, restarts
        self.now_s, self.side, self.stop_at = 0.0, "", stop_at
        self.started, self.requests = [], []
        self.random = np.random.default_rng(4)
        self.interrupt = Interrupt()

    def start(self, side):
        """Start a side's server."""
        self.now_s += START_S
        self.side = side.text
        self.started.append(side.text)
        facts = SimpleNamespace(product="P", version="1", block_size=8192)
        return SimpleNamespace(follow=lambda _: None, facts=lambda: facts), None

    def run(self, _engine, request, *_):
        """Make a run, in the place of `runner.run`."""
        self.now_s += RUN_S
        self.requests.append(request)
        number = len(self.requests)
        if self.stop_at == number:
            self.interrupt.request()
            raise SlobError("stopped")
        if number in self.failing:
            raise SlobError("a session was lost")
        level = (self.ratio if request.name == "B" else 1.0) * (self.second if number % 2 == 0 else 1.0)
        level *= math.exp(self.drift * number) * float(self.random.lognormal(0, self.noise))
        folder = request.results / f"20260301-1200{number:02}-{request.name}"
        folder.mkdir()
        record = self._record(number, level).model_copy(update={"id": folder.name})
        (folder / "run.json").write_text(record.model_dump_json())
        return FinishedRun(record, folder)

    def _record(self, number, level):
        record = physical()
        given = {"ops_per_s": 1000.0 * level, "pio_read_per_s": 64_000.0 * level, "engine_read_latency_us": 170 / level}
        summary = {name: Figure(value=value, unit=record.summary[name].unit) for name, value in given.items()}
        changes = {}
        if number in self.lost:
            summary["ops_per_s"] = Figure(value=None, unit="1/s", why=BUSY)
        failed = [Verdict(name=name, verdict=Holds.FAILS, why="So.") for name in self.fails]
        started = f"2026-03-01 12:00:{len(self.started) if self.restarts else 0}"
        changes |= {"summary": {**record.summary, **summary}, "engine": {**record.engine, "server_started_at": started}}
        return record.model_copy(update={**changes, "verdicts": (*record.verdicts, *failed)})

    def compare(self, results: Path, **changes) -> AbRecord:
        """Make a comparison with these fields of the record, and return its record."""
        sides = (Side("as-is", Address.parse("q1")), Side("jit=off", Address.parse("q1")))
        record = AbRecord(
            **{**new_head("ab", 1_772_366_400 * 10**9), "openslob_version": "1"},
            workload=Workload(sessions=4, run_time=3, warmup=1).to_record(),
            sides=tuple(each.to_record() for each in sides),
            **{"figure": "ops_per_s", "within_pct": 5.0, "until_decided": True, "limit_s": 600.0, **changes},
        )  # fmt: skip
        context = context_in(results, "q1", interrupt=self.interrupt)
        with AbFolder.begin(results, record) as folder:
            AbExecution(folder, context, AbPlan(record, sides, 1), self, lambda: self.now_s).execute()
        return folder.record


def ab_record(results: Path, host: Host | None = None, **changes) -> AbRecord:
    """Return the record of a made-up comparison, whose runs are on disk."""
    host = host or Host()
    with patch.object(runner, "run", host.run), patch.object(loading, "load", lambda *_: None):
        return host.compare(results, **changes)
