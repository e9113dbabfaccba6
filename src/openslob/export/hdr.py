"""Latencies as an HdrHistogram log, for that project's viewers: one line for each second and kind of operation.

Log format 1.3 and histogram encoding V2 (https://github.com/HdrHistogram/HdrHistogram): values in ns with three
significant digits, maxima in ms, as its tools expect. Our buckets are 1.4 % wide; a value is its bucket's middle.

The library hdrhistogram reads this log in a test but does not write it: its writer has no tags and fails on the start
time, and it needs a C extension, pbr and setuptools at run time.
"""

from __future__ import annotations

import base64
import struct
import zlib
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from openslob.core.errors import SlobError
from openslob.core.histogram import middle_us
from openslob.metrics import Timed
from openslob.metrics.timed import SINGLE

_COOKIE = 0x1C849313
_COMPRESSED_COOKIE = 0x1C849314
_DIGITS = 3
# With three digits a bucket has 2,048 values; the lower half of them belongs to the buckets before it.
_SUB_BITS = 11
_LOWEST_NS = 1
_HIGHEST_NS = 3600 * 10**9
# Gets the second, the kind, the buckets and the counts of some latencies, in any order.
Give = Callable[[int, str, Sequence[int], Sequence[int]], None]
_NS_PER_US = 1000
_NS_PER_MS = 1e6


@dataclass(frozen=True)
class HdrRun:
    """A run to export: id, start in seconds since the epoch, and what reads its latencies.

    Each second that ``read`` gives is the first one of ``interval_s`` seconds.
    ``reservations`` are what must be known before any figure; the log begins with them. ``timed`` is what the latencies
    are of.
    """

    id: str
    start_s: float
    read: Callable[[Give], None]
    reservations: Sequence[str] = ()
    interval_s: int = 1
    timed: Timed = SINGLE


def hdr_log(runs: Sequence[HdrRun]) -> str:
    """Return the log. A line's tag is its kind of operation; with several runs the run's id and a slash precede it.

    The tag of batches says so, as does the head of the log.

    SlobError if no run has latencies.
    """
    base = min((run.start_s for run in runs), default=0.0)
    head = [
        "#[Latencies of openslob runs, in ns]",
        "#[Histogram log format version 1.3]",
        *(f"#[{run.id}: a latency is that of {run.timed.a()}]" for run in runs if run.timed.is_batch),
        *(f"#[{run.id}: {sentence}]" for run in runs for sentence in run.reservations),
        f"#[StartTime: {base:.3f} (seconds since epoch)]",
        '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"',
    ]
    lines = [
        _line(_tag(run, kind, len(runs) > 1), run.start_s - base + second, run.interval_s, counts)
        for run in runs
        for (second, kind), counts in _intervals(run)
    ]
    if not lines:
        raise SlobError("there is no latency over time in these records", "choose another format")
    return "\n".join([*head, *lines]) + "\n"


def _tag(run: HdrRun, kind: str, several: bool) -> str:
    """Return the tag of a line: the format allows no blanks in it."""
    name = run.timed.one(kind).replace(" ", "-")
    return f"{run.id}/{name}" if several else name


def encode_counts(counts: Mapping[int, int]) -> bytes:
    """Return a histogram (value in ns to count) in the compressed V2 encoding."""
    payload = b"".join(map(_zigzag, _runs(counts)))
    head = struct.pack(">iiiiqqd", _COOKIE, len(payload), 0, _DIGITS, _LOWEST_NS, _HIGHEST_NS, 1.0)
    compressed = zlib.compress(head + payload)
    return struct.pack(">ii", _COMPRESSED_COOKIE, len(compressed)) + compressed


def _intervals(run: HdrRun) -> Iterator[tuple[tuple[int, str], dict[int, int]]]:
    """Yield the latencies of each second and kind in their order, by value."""
    # Those of a week would fill the memory; compressed they don't.
    kept: dict[tuple[int, str], list[bytes]] = {}

    def give(second: int, kind: str, buckets: Sequence[int], counts: Sequence[int]) -> None:
        kept.setdefault((second, kind), []).append(zlib.compress(array("q", [*buckets, *counts]).tobytes(), 1))

    run.read(give)
    for key in sorted(kept):
        found: Counter[int] = Counter()
        for part in kept.pop(key):
            both = array("q", zlib.decompress(part))
            for bucket, count in zip(both[: len(both) // 2], both[len(both) // 2 :], strict=True):
                found[_value_ns(bucket)] += count
        yield key, found


@cache
def _value_ns(bucket: int) -> int:
    return min(round(middle_us(bucket) * _NS_PER_US), _HIGHEST_NS)


def _line(tag: str, start_s: float, interval_s: int, counts: Mapping[int, int]) -> str:
    text = base64.b64encode(encode_counts(counts)).decode("ascii")
    return f"Tag={tag},{start_s:.3f},{interval_s:.3f},{max(counts) / _NS_PER_MS:.3f},{text}"


def _runs(counts: Mapping[int, int]) -> Iterator[int]:
    """Yield the counts by ascending index, and each gap between them as its negative length."""
    by_index: Counter[int] = Counter()
    for value, count in counts.items():
        by_index[_index(value)] += count
    at = 0
    for index, count in sorted(by_index.items()):
        if index > at:
            yield at - index
        yield count
        at = index + 1


def _index(value: int) -> int:
    shift = max(value.bit_length() - _SUB_BITS, 0)
    return (shift << (_SUB_BITS - 1)) + (value >> shift)


def _zigzag(value: int) -> bytes:
    """Encode a signed number by ZigZag, then as 7 bits per byte, the lowest first."""
    rest, text = (value << 1) ^ (value >> 63), bytearray()
    while rest > 0x7F:
        text.append(rest & 0x7F | 0x80)
        rest >>= 7
    text.append(rest)
    return bytes(text)
