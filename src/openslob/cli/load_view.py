"""How a load is shown: a bar with rate and time left on a terminal, a line now and then elsewhere; and its result."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from openslob.engines.facts import LoadProgress, LoadResult
from openslob.units import format_bytes

# Without a terminal a line is kept, so there are fewer of them.
QUIET_INTERVAL_S = 5.0


class LoadView:
    """Shows `LoadProgress` on stderr. A context manager: the bar goes away at its end."""

    def __init__(self, block_size: int) -> None:
        self._block_size = block_size
        self._terminal = sys.stderr.isatty()
        self._begun: float | None = None
        self._shown_at = 0.0
        self._phase = ""
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("blocks  {task.fields[rate]}"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
            disable=not self._terminal,
        )
        self._task = self._bar.add_task("loading", total=None, rate="")

    def __enter__(self) -> LoadView:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def __call__(self, progress: LoadProgress) -> None:
        """Show how far the load is."""
        rate = self._rate(progress)
        if self._terminal:
            done, total = progress.blocks_done, progress.blocks_total
            self._bar.update(self._task, completed=done, total=total, description=progress.phase, rate=rate)
        elif progress.phase != self._phase or time.monotonic() - self._shown_at >= QUIET_INTERVAL_S:
            self._shown_at = time.monotonic()
            print(self._line(progress, rate), file=sys.stderr, flush=True)
        self._phase = progress.phase

    def _elapsed(self) -> float:
        """Seconds since the first event, which comes when the first table begins."""
        self._begun = self._begun or time.monotonic()
        return time.monotonic() - self._begun

    def _rate(self, progress: LoadProgress) -> str:
        elapsed = self._elapsed()
        if not progress.blocks_done or not elapsed:
            return ""
        return f"{format_bytes(progress.blocks_done * self._block_size / elapsed)}/s"

    def _line(self, progress: LoadProgress, rate: str) -> str:
        done, total = progress.blocks_done, progress.blocks_total
        left = f", {self._elapsed() * (total - done) / done:.0f} s left" if 0 < done < total else ""
        return f"{progress.phase}: {done:,} of {total:,} blocks" + (f", {rate}{left}" if rate else "")


def result_text(result: LoadResult) -> str:
    """A finished load in a few lines: what, how fast, and every check with its figure."""
    spec = result.spec
    fill = "incompressible" if spec.obfuscate else "constant"
    lines = [
        f"{spec.schemas} x {spec.scale_blocks:,} blocks (cf1) + {spec.scan_blocks:,} (cf2), {fill} fill",
        "already there and verified, nothing to do" if result.reused else _speed(result),
    ]
    width = max(map(len, result.checks), default=0)
    return "\n".join([*lines, *(f"  {name:<{width}}  {figure}" for name, figure in result.checks.items())])


def _speed(result: LoadResult) -> str:
    rate = f", {format_bytes(result.bytes / result.seconds)}/s" if result.seconds > 0 else ""
    return f"loaded and verified in {result.seconds:.1f} s: {format_bytes(result.bytes)}{rate}"


def result_json(result: LoadResult) -> str:
    """All of a finished load; seconds, blocks and bytes as numbers."""
    return json.dumps(
        asdict(result) | {"spec": result.spec.to_record(), "fingerprint": result.spec.fingerprint()}, indent=1
    )
