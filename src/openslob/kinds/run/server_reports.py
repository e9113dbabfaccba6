"""The server's own reports on a run: whether they can be made, the snapshots around the window, their files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from openslob.core.errors import SlobError
from openslob.core.measurement import ServerReport
from openslob.core.workload import StatisticsType
from openslob.engines.base import Engine
from openslob.engines.capabilities import require
from openslob.engines.facts import Finding
from openslob.engines.patience import Patience
from openslob.kinds.run.progress import ProgressSink, RunProgress

_PARAMETER = "DATABASE_STATISTICS_TYPE"
# A setting of slob.toml; other files with line numbers were written for SLOB.
_TOML = re.compile(r"\.toml:\d+$", re.IGNORECASE)


class ServerReports:
    """The reports of one kind that a server makes of its own statistics.

    ``consented`` names the licensed capabilities that may be used. ``source`` is where the kind was asked for: what
    can't be had prevents the run if the user asked for it here. A slob.conf that was written for another server does
    not prevent it, nor does a sweep, whose points have no sources.
    """

    def __init__(self, engine: Engine, kind: StatisticsType, consented: frozenset[str], source: str = "") -> None:
        self._engine = engine
        self._kind = kind
        self._consented = consented
        self._is_demanded = bool(source) and (":" not in source or bool(_TOML.search(source)))
        self._texts: dict[str, str] = {}

    def findings(self) -> Iterator[Finding]:
        """Yield why no reports can be made, if they were asked for; then none are."""
        if self._kind is StatisticsType.NONE:
            return
        try:
            self._require()
        except SlobError as error:
            why = f"{_PARAMETER}={self._kind} is not possible: {error.what}"
            instead = f"{_PARAMETER}={StatisticsType.NONE} runs without"
            remedy = f"{error.remedy.rstrip(';')}; {instead}" if error.remedy else instead
            yield Finding("report", why, remedy, blocking=self._is_demanded)
            self._kind = StatisticsType.NONE

    def _require(self) -> None:
        offered = self._engine.capabilities()
        if all(each.name != self._kind for each in offered):
            raise SlobError("this kind of server makes no such report")
        require(offered, self._kind, self._consented)

    @contextmanager
    def around(
        self,
        attach: Callable[[str, str | bytes], None],
        notes: list[str],
        show: ProgressSink,
        patience: Patience,
    ) -> Iterator[None]:
        """Take snapshots before and after the block, and attach the reports.

        The measurement does not depend on them: an error is noted, and the run goes on. After a run that was cut short,
        whose end ``patience`` limits, nobody waits for a snapshot.
        """
        with ExitStack() as stack:
            snapshots = None
            try:
                snapshots = self._engine.open_snapshots(self._kind, self._consented)
                if snapshots:
                    stack.callback(snapshots.close)
                    show(RunProgress("snapshot"))
                    snapshots.begin()
            except SlobError as error:
                notes.append(f"the server took no snapshots: {error}")
                snapshots = None
            yield
            if snapshots is None:
                return
            if patience.is_limited:
                notes.append("the run was cut short: the server took no second snapshot, and made no report")
                return
            show(RunProgress("snapshot and report"))
            try:
                for name, content in snapshots.end().items():
                    attach(name, content)
                    self._texts[name] = content if isinstance(content, str) else ""
            except SlobError as error:
                notes.append(f"the server made no report: {error}")

    def read(self, instances: int, notes: list[str]) -> ServerReport | None:
        """Return the report on what the counters counted: one instance, or all ``instances`` of a cluster.

        None if there is none; one that can't be read is noted.
        """
        if not self._texts:
            return None
        # Takes a moment to import, and few runs have reports.
        from openslob.awr.model import ReportKind, run_totals  # noqa: PLC0415
        from openslob.awr.parse import read_bytes  # noqa: PLC0415
        from openslob.awr.source import ForeignFileError, ReportError  # noqa: PLC0415

        for name, text in self._texts.items():
            try:
                report = read_bytes(text.encode(), name)
            except ForeignFileError:
                continue
            except ReportError as error:
                notes.append(f"the server's report can't be read: {error}")
                continue
            spans = report.elapsed_s
            if (report.kind is ReportKind.AWR_GLOBAL) == (instances > 1) and spans is not None:
                return ServerReport(name, spans.value, spans.step, run_totals(report))
        return None
