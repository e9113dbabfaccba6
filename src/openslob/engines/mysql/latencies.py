"""Latencies as the work loop hands them out, put into histograms by the bucket formula of `openslob.histogram`."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from openslob.histogram import BUCKETS, LINEAR_US, STEEPNESS, Histogram
from openslob.method import OpKind

# In the order of their numbers in slice.sql.
KINDS = (OpKind.SELECT, OpKind.UPDATE, OpKind.SCAN)
_KIND_STEPS = 4
# No operation, but how late the session woke up for one.
_WAKE_UP = 3


def buckets_of(us: NDArray[np.int64]) -> NDArray[np.int64]:
    """Bucket numbers of latencies in whole µs."""
    buckets: NDArray[np.float64] = np.floor(STEEPNESS * np.arcsinh(us / LINEAR_US))
    return buckets.clip(0, BUCKETS - 1).astype(np.int64)


class Latencies:
    """Histograms of one slice by kind: ``service`` from an operation's begin, ``response`` from when it was due.

    ``wake_ups`` is how late a paced session woke up for operations that it had been waiting for.
    """

    def __init__(self, paced: bool) -> None:
        self._paced = paced
        self.service = {kind: Histogram() for kind in KINDS}
        self.response = {kind: Histogram() for kind in KINDS} if paced else {}
        self.wake_ups = Histogram()

    def add(self, text: str) -> None:
        """Fold in one text of the work loop: numbers with commas behind them."""
        numbers = np.fromstring(text.rstrip(","), dtype=np.int64, sep=",") if text else np.empty(0, dtype=np.int64)
        coded, response = (numbers[::2], numbers[1::2]) if self._paced else (numbers, numbers)
        kinds, service = coded % _KIND_STEPS, coded // _KIND_STEPS
        for place, kind in enumerate(KINDS):
            chosen = kinds == place
            _add(self.service[kind], service[chosen])
            if self._paced:
                _add(self.response[kind], response[chosen])
        _add(self.wake_ups, service[kinds == _WAKE_UP])


def _add(histogram: Histogram, us: NDArray[np.int64]) -> None:
    if us.size:
        histogram.add(_counted(buckets_of(us)), float(us.sum()), float(us.max()))


def _counted(buckets: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    found, counts = np.unique(buckets, return_counts=True)
    return zip(found.tolist(), counts.tolist(), strict=True)
