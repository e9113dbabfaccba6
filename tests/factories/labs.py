"""Made-up records of labs."""

from __future__ import annotations

import numpy as np

from openslob.core.units import MIB
from openslob.kinds.lab.figures import P99, PER_CPU, PER_FOREGROUND_CPU, RATE, with_results
from openslob.kinds.lab.loads import LoadSize, lab_load
from openslob.kinds.lab.record import LabArm, LabRecord, LabRun, LeftOut
from openslob.record.model import Status

LEVELS = {"cached": 400_000.0, "physical": 9_000.0, "scan": 300.0, "commit": 1_500.0, "update": 700.0}
SERVER = {
    "engine": "postgresql", "name": "lab", "version": "18", "bin_dir": None, "data_dir": None, "cache_bytes": 64 * MIB,
    "log_bytes": 64 * MIB, "io": "direct", "cpus": None, "max_sessions": 320,
}  # fmt: skip
PAGES_OFF = LabArm(
    setting="full_page_writes", value="off", here="on", effect="restart", loads=("update",),
    settings={"full_page_writes": "off"},
)  # fmt: skip
METHOD = LabArm(
    setting="io_method", value="sync", here="worker", effect="restart", loads=("scan",), controls=("physical",),
    settings={"io_method": "sync"},
)  # fmt: skip
SUMS_OFF = LabArm(
    setting="data_checksums", value="off", here="on", effect="new server", loads=("physical",),
    settings={"data_checksums": "off"},
)  # fmt: skip


def lab_record(
    *arms: tuple[LabArm, float], rounds: int = 8, noise: float = 0.01, seed: int = 3, precision_pct: float = 3.0
) -> LabRecord:
    """Return a record in which each arm's rates are so many times those without it, under all loads but controls."""
    random = np.random.default_rng(seed)
    names = [name for name in LEVELS if any(name in arm.every_load for arm, _ in arms)]
    size = LoadSize(64 * MIB, 8, 4.0, 1.0)
    runs: list[LabRun] = []
    for number in range(1, rounds + 1):
        for setting in dict.fromkeys(arm.setting for arm, _ in arms):
            own = [(arm, factor) for arm, factor in arms if arm.setting == setting]
            level = float(random.lognormal(0, 0.2))
            for load in dict.fromkeys(load for arm, _ in own for load in arm.every_load):
                sides = [
                    (None, 1.0),
                    *((a.value, 1.0 if load in a.controls else f) for a, f in own if load in a.every_load),
                ]
                for value, factor in sides:
                    rate = LEVELS[load] * level * factor * float(random.lognormal(0, noise))
                    runs.append(
                        LabRun(
                            round=number, setting=setting, value=value, load=load, run=f"run-{len(runs)}",
                            figures={RATE: rate, PER_CPU: rate * 0.8, P99: 1e6 / rate},
                        )
                    )  # fmt: skip
    record = LabRecord(
        id="20260301-120000-lab", name="lab", status=Status.COMPLETE, started_at="2026-03-01T12:00:00Z",
        openslob_version="1", target="embedded", server=SERVER, product="PostgreSQL 18.4",
        loads=tuple(lab_load(name, size) for name in names), arms=tuple(arm for arm, _ in arms), seed=1,
        precision_pct=precision_pct, limit_s=1800.0, spent_s=900.0, runs=tuple(runs),
        left_out=(LeftOut(what="huge_pages", why="no huge pages are free"),),
    )  # fmt: skip
    return with_results(record)


def foreground_only(record: LabRecord) -> LabRecord:
    """Return the record as of a pluggable database, where the CPU of the whole server can't be known."""
    runs = [
        run.model_copy(update={"figures": {**run.figures, PER_CPU: None, PER_FOREGROUND_CPU: run.figures[PER_CPU]}})
        for run in record.runs
    ]
    return with_results(record.model_copy(update={"runs": tuple(runs)}))
