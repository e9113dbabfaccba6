"""Intervals as plain lines: one of main figures, and below it wait events and I/O by object."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from openslob.core.cpu_figures import FOREGROUND_CPU
from openslob.core.measurement import ObjectIo
from openslob.core.units import MIB, NANOS, format_bytes
from openslob.metrics import METRICS
from openslob.metrics.run_metrics import BELOW_CLOCK, NO_CPU, NO_READS, NO_SYNCS, SYNCS_UNTIMED
from openslob.report.format import MISSING, shorten, wrap
from openslob.watch.interval import NO_DEVICE_READS, NO_DEVICE_WRITES, EventRate, Selection, WatchedInterval

_TIME_WIDTH = 8
_LEAST = 0.01
_STEPS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
_TIMES = ((1e6, "s"), (1e3, "ms"))
# Why a figure of one interval is not known, although it will be known of others.
_PASSING = frozenset({NO_READS, BELOW_CLOCK, NO_CPU, NO_SYNCS, SYNCS_UNTIMED, NO_DEVICE_READS, NO_DEVICE_WRITES})


def short(value: float | None) -> str:
    """Format a number in at most five characters: three digits and a letter. What is not nothing is never `0`."""
    if value is None:
        return MISSING
    if 0 < value < _LEAST:
        return f"<{_LEAST}"
    scale, sign = next((step for step in _STEPS if abs(value) >= 0.9995 * step[0]), (1.0, ""))
    if scale == 1e3 and abs(value) < 9999.5:
        return f"{value:.0f}"
    return f"{_three_digits(value / scale)}{sign}"


def short_time(us: float | None) -> str:
    """Format a duration in at most six characters."""
    if us is None:
        return MISSING
    scale, unit = next((step for step in _TIMES if us >= 0.9995 * step[0]), (1.0, "µs"))
    return f"{_three_digits(us / scale)}{unit}"


def _three_digits(value: float) -> str:
    if not value:
        return "0"
    size = abs(value)
    text = f"{value:.{0 if size >= 99.95 else 1 if size >= 9.995 else 2}f}"
    return text.rstrip("0").rstrip(".") if "." in text and size < 0.995 else text


def _share(value: float | None) -> str:
    return MISSING if value is None else f"{value:.0f}%"


@dataclass(frozen=True)
class _Column:
    """A column of the line of main figures: its heading in two lines, its width, and the figure that it shows."""

    above: str
    below: str
    width: int
    figure: str
    form: Callable[[float | None], str] = short

    def text(self, interval: WatchedInterval) -> str:
        figure = interval.figures.get(self.figure)
        return f"{self.form(figure.value if figure else None):>{self.width}}"


_SERVER_CPU = _Column("server", "CPUs", 7, "db_cpu_per_s")
_SESSIONS_CPU = _Column("sess.", "CPUs", 7, FOREGROUND_CPU.name)  # where the other can't be known
# As many as there is room for, in this order; the first eleven make 80 columns.
_COLUMNS = (
    _Column("trans", "/s", 6, "transactions_per_s"),
    _Column("logical", "reads/s", 8, "lio_per_s"),
    _Column("reads", "/s", 6, "pio_read_per_s"),
    _Column("read", "time", 7, "engine_read_latency_us", short_time),
    _Column("writes", "/s", 7, "pio_write_per_s"),
    _Column("log", "MB/s", 6, "redo_mb_per_s"),
    _Column("syncs", "/s", 6, "log_syncs_per_s"),
    _Column("sync", "time", 7, "log_sync_latency_us", short_time),
    _SERVER_CPU,
    _Column("host", "CPU", 5, "host_cpu_busy_pct", _share),
    _Column("device", "busy", 7, "dev_busy_pct", _share),
    _Column("reads", "/s", 6, "dev_read_per_s"),
    _Column("read", "MB/s", 6, "dev_read_mb_per_s"),
    _Column("read", "time", 7, "dev_read_latency_us", short_time),
    _Column("writes", "/s", 7, "dev_write_per_s"),
    _Column("write", "MB/s", 6, "dev_write_mb_per_s"),
    _Column("write", "time", 7, "dev_write_latency_us", short_time),
)
# Kinds of CPU time that are shown, by their names on the screen.
_CPU_KINDS = ("user", "nice", "system", "irq", "softirq", "iowait", "steal")


_HIDDEN = "! this user may not see what all sessions do: waits that are sampled are of some of them only"


class Lines:
    """The lines of one watch, in at most ``width`` columns (None: as wide as they need to be).

    The headings come again after ``screen`` lines. ``top`` limits the wait events of an interval.
    """

    def __init__(self, selection: Selection, top: int, width: int | None, screen: int) -> None:
        self._selection = selection
        self._top = top
        self._width = width
        self._screen = screen
        self._since_head = screen
        self._explained: set[str] = set()
        self._columns = [
            column
            for number, column in enumerate(_COLUMNS)
            if width is None or _TIME_WIDTH + sum(each.width for each in _COLUMNS[: number + 1]) <= width
        ]

    def of(self, interval: WatchedInterval) -> list[str]:
        """Return the lines of an interval, after the headings where it is time for them."""
        self._choose_cpu(interval)
        at = datetime.fromtimestamp(interval.end_ns / NANOS).astimezone().strftime("%H:%M:%S")
        lines = [*self._remarks(interval), self._main(at, interval)]
        lines += self._below(interval)
        for number, part in enumerate(interval.by_instance.values(), 1):
            lines.append(self._main(f"{f'#{number}':>{_TIME_WIDTH}}", part))
            lines += self._below(part)
        head = self._head() if self._since_head + len(lines) > self._screen else []
        self._since_head = len(lines) + (len(head) or self._since_head)
        return [*head, *lines]

    def _choose_cpu(self, interval: WatchedInterval) -> None:
        """Show the CPU of the server's sessions from now on, if that of the whole server can't be known."""
        whole, sessions = (interval.figures.get(each.figure) for each in (_SERVER_CPU, _SESSIONS_CPU))
        lasts = whole is not None and whole.value is None and whole.why not in _PASSING
        if lasts and _SERVER_CPU in self._columns and sessions is not None and sessions.value is not None:
            self._columns = [_SESSIONS_CPU if each is _SERVER_CPU else each for each in self._columns]
            self._since_head = self._screen

    def _head(self) -> list[str]:
        above = "".join(f"{column.above:>{column.width}}" for column in self._columns)
        below = "".join(f"{column.below:>{column.width}}" for column in self._columns)
        return [f"{'':{_TIME_WIDTH}}{above}", f"{'time':{_TIME_WIDTH}}{below}"]

    def _main(self, label: str, interval: WatchedInterval) -> str:
        return label + "".join(column.text(interval) for column in self._columns)

    def _below(self, interval: WatchedInterval) -> list[str]:
        """Return the rows of waits, I/O and host; a long name is cut, and all that is running text is wrapped."""
        rows = [*self._waits(interval), *_io(interval), *_host(interval)]
        return rows if self._width is None else [shorten(row, self._width) for row in rows]

    def _wrap(self, text: str, indent: int = 2) -> list[str]:
        return [text] if self._width is None else wrap(text, "", " " * indent, self._width)

    def _remarks(self, interval: WatchedInterval) -> list[str]:
        """Return what must be known of this interval, and why figures are not known, each reason once."""
        found = []
        if interval.missed:
            readings = "reading was" if interval.missed == 1 else "readings were"
            found.append(f"! {interval.missed} {readings} missed: these are means over {interval.seconds:.1f} s")
        if interval.hidden and _HIDDEN not in self._explained:
            self._explained.add(_HIDDEN)
            found.append(_HIDDEN)
        if interval.fault:
            found.append(f"! {interval.fault}")
        reasons: dict[str, list[str]] = {}
        replaced = [_SERVER_CPU] if _SESSIONS_CPU in self._columns else []
        for column in () if interval.fault else [*self._columns, *replaced]:
            figure = interval.figures.get(column.figure)
            if figure and figure.value is None and figure.why not in _PASSING and column.figure not in self._explained:
                reasons.setdefault(figure.why or "", []).append(_label(column.figure))
                self._explained.add(column.figure)
        found += [f"{MISSING} {', '.join(names)}: {why}" for why, names in reasons.items()]
        return [line for text in found for line in self._wrap(text)]

    def _waits(self, interval: WatchedInterval) -> list[str]:
        if not self._top:
            return []
        found = self._selection.of(interval.waits)
        lines = [_wait(each, interval.hidden) for each in found[: self._top]]
        if len(found) > self._top:
            lines.append(f"  wait  ({len(found) - self._top} more; --top {len(found)} shows them)")
        if found:
            return lines
        if interval.waits:
            there = ", ".join(sorted(each.event for each in interval.waits))
            return self._wrap(f"  wait  none matches; there are {there}", 8)
        if not interval.samples:
            return ["  wait  not sampled"]
        seen = "no session that this user may see" if interval.hidden else "no session"
        return [f"  wait  {seen} was at work in {interval.samples} samples"]


def _label(name: str) -> str:
    return METRICS[name].label.lower() if name in METRICS else "device"


def _wait(wait: EventRate, hidden: bool) -> str:
    how = "timed" if wait.timed else "seen in part" if hidden else "sampled"
    count = f"{short(wait.per_s)}/s" if wait.per_s is not None else MISSING
    return f"  wait {short(wait.sessions):>5} sessions {count:>8} {short_time(wait.mean_us):>7}  {how:8} {wait.event}"


def _io(interval: WatchedInterval) -> list[str]:
    lines = []
    for kind, io in interval.io.items():
        if any((io.read_requests, io.write_requests)):
            rates = rates_of(io, interval.seconds)
            parts = [
                f"{short(rates['reads_per_s']):>5} reads/s",
                f"{short(rates['read_mb_per_s']):>5} MB/s",
                f"{short_time(rates['read_latency_us']):>7}",
                f"{short(rates['writes_per_s']):>5} writes/s",
            ]
            lines.append(f"  io   {' '.join(parts)}  {kind}")
    return lines


def rates_of(io: ObjectIo, seconds: float) -> dict[str, float | None]:
    """Return the I/O of one kind of object per second, and the mean time of a read."""

    def per_s(value: float | None, factor: float = 1.0) -> float | None:
        return None if value is None or not seconds else value * factor / seconds

    timed = io.read_time_us is not None and io.read_requests
    return {
        "reads_per_s": per_s(io.read_requests),
        "read_mb_per_s": per_s(io.read_bytes, 1 / MIB),
        "read_latency_us": (io.read_time_us or 0.0) / (io.read_requests or 1.0) if timed else None,
        "writes_per_s": per_s(io.write_requests),
    }


def _host(interval: WatchedInterval) -> list[str]:
    cache = interval.figures.get("page_cache_bytes")
    parts = [f"page cache {format_bytes(cache.value)}"] if cache and cache.value is not None else []
    parts += [f"{kind} {each:.0f} %" for kind in _CPU_KINDS if (each := interval.cpu.get(kind, 0.0)) >= 0.5]
    return [f"  host  {', '.join(parts)}"] if parts else []
