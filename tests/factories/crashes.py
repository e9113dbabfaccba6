"""Made-up proofs of durability: clean crashes, one with a loss, one that left the server down."""

from __future__ import annotations

from openslob.kinds.crash import figures as analysis
from openslob.kinds.crash.record import CrashCycle, CrashMethod, CrashRecord, LostCommit
from openslob.record.model import Status

CLEAN = CrashCycle(
    number=1, kind=CrashMethod.KILL, load_s=1.0, acked=1200, in_doubt=8, doubtful_there=3, recovery_s=0.5, compared=True
)  # fmt: skip
LOST = CLEAN.model_copy(
    update={
        "number": 2, "kind": CrashMethod.CUT, "lost": 2, "oldest_lost_ms": 41.5, "ledger": "ledgers/cycle-2.csv",
        "lost_operations": (LostCommit(session=3, number=77, key=1, age_ms=41.5),),
    }
)  # fmt: skip
DOWN = CrashCycle(number=3, kind=CrashMethod.KILL, load_s=1.0, acked=10, why="it did not start; its log is /x")


def record(*cycles, control=None, status=Status.COMPLETE):
    return CrashRecord(
        id="20260301-120000-proof", name="proof", status=status, started_at="2026-03-01T12:00:00Z",
        openslob_version="0", asked={"cycles": 3, "sessions": 8, "rows": 16}, environment={"host": "vm"},
        server={"name": "crash-x", "product": "Database", "version": "1", "settings": {"sync": "on"}},
        guards=("checksums",), control=control, cycles=cycles, summary=analysis.summary(cycles),
        verdicts=analysis.verdicts(cycles, control),
    )  # fmt: skip
