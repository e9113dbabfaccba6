"""What may be believed of a test: that its requests went everywhere, and that they reached a device."""

from __future__ import annotations

from collections.abc import Sequence

from openslob.analyze.verdicts.outcome import count, settled, unknown
from openslob.record.model import Verdict
from openslob.storage.orion.measured import ZONES, CoverageCheck, OrionResult, PointResult

# Requests in flight at either end of a point are counted by one side only, and the counters are read just outside of
# the time fio counts, which can only add: less than this did not come from a device.
_MOST_SHARE_LOST = 0.05
# The even share of a tenth is Poisson distributed: five standard deviations below it are no chance.
_SIGMAS = 5


def verdicts(outcome: OrionResult, direct: bool) -> tuple[Verdict, ...]:
    """All verdicts on a test."""
    return (*(_covered(proof) for proof in outcome.proofs), _reached(outcome.points, direct))


def _covered(proof: CoverageCheck) -> Verdict:
    """Random requests did not re-read one small set of blocks."""
    found = proof.coverage
    allowed = 1 - _SIGMAS / (found.requests / ZONES) ** 0.5
    why = (
        f"{count(found.requests)} {proof.kind} requests at {proof.point} went to {count(found.distinct)} different "
        f"blocks of {count(found.blocks)} ({100 * found.share:.1f} %); {count(found.expected)} are expected. The least "
        f"visited tenth of the volume got {100 * proof.thinnest:.0f} % of an even share."
    )
    return settled(
        f"{proof.kind}_coverage", found.holds and proof.thinnest >= allowed, why,
        requests=found.requests, distinct=found.distinct, blocks=found.blocks, expected=found.expected,
        thinnest_tenth=proof.thinnest,
    )  # fmt: skip


def _reached(points: Sequence[PointResult], direct: bool) -> Verdict:
    """The devices completed as many bytes as fio moved: no page cache answered."""
    name = "reached_device"
    missing = [each.device.why for each in points if each.device.read is None]
    if missing or not points:
        return unknown(name, f"Can't be told: {missing[0] if missing else 'no point was measured'}.")
    shares = [(share, each) for each in points if (share := _device_share(each)) is not None]
    worst, where = min(shares, key=lambda pair: pair[0])
    why = f"The devices moved at least {100 * worst:.1f} % of the bytes that fio moved, at each of {len(points)} points"
    how = "" if direct else "; the page cache was in use, as --buffered asks"
    return settled(name, worst >= 1 - _MOST_SHARE_LOST, f"{why}{how}.", least_share=worst, at=str(where.point))


def _device_share(measured: PointResult) -> float | None:
    """The smaller of the shares of reads and of writes."""
    device = measured.device
    pairs = ((device.read, measured.read_bytes), (device.written, measured.written_bytes))
    return min((moved / asked for moved, asked in pairs if asked and moved is not None), default=None)
