"""Results as OpenMetrics text, for Prometheus and Grafana: one sample for each figure and run, at the run's start.

Also the figures of a run in progress, for Prometheus to scrape.

``promtool tsdb create-blocks-from openmetrics`` imports it with its times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.openmetrics.exposition import generate_latest
from prometheus_client.registry import Collector

from openslob.analyze.curves.points import LATENCIES, SESSIONS, Run, varying
from openslob.analyze.load_kinds import timed_of
from openslob.metrics import METRICS, Timed
from openslob.metrics.cost import CURRENCY
from openslob.metrics.model import RunMetric
from openslob.metrics.run_metrics import latency_of
from openslob.metrics.timed import SINGLE
from openslob.record.model import Figure, Holds, Verdict

_PREFIX = "openslob_"
_LATENCY = 'Latency of operations, or of what the label "of" says, by kind and statistic. Unit: µs.'
Labels = Mapping[str, str]
Sample = tuple[Labels, float, int | None]


def openmetrics(runs: Sequence[Run]) -> str:
    """Return the text; the labels of a sample are the run's id and name, its sessions, and the parameters that vary."""
    registry = CollectorRegistry()
    names = (SESSIONS, *varying(runs))
    registry.register(_Families(lambda: _families([_of_run(run, names) for run in runs])))
    text: bytes = generate_latest(registry)  # type: ignore[no-untyped-call]
    return text.decode()


@dataclass(frozen=True)
class Samples:
    """The samples of one run.

    ``latency`` has the figures of `LATENCIES` by kind of operation, ``timed`` is what these are of. Without their time,
    ``at_s``, they are of the moment of the scrape, at which the run may be ``running``.
    """

    labels: Labels
    figures: Mapping[str, Figure]
    latency: Mapping[str, Mapping[str, float]]
    verdicts: Sequence[Verdict]
    timed: Timed = SINGLE
    at_s: int | None = None
    running: bool = False


def exposition(now: Samples, accept: str) -> tuple[bytes, str]:
    """Return what Prometheus scrapes, by the names of `openmetrics`, and its media type, for this header ``Accept``."""
    encode, media_type = choose_encoder(accept)
    registry = CollectorRegistry()
    registry.register(_Families(lambda: [*_families([now]), _running(now)]))
    return encode(registry), media_type


def _running(now: Samples) -> Metric:
    return _family(
        "running",
        "1: the run is in progress; 0: it has ended, and its figures are those of the result.",
        [(now.labels, float(now.running), None)],
    )


class _Families(Collector):
    """Metric families; those without a sample are left out."""

    def __init__(self, families: Callable[[], Iterable[Metric]]) -> None:
        self._families = families

    def collect(self) -> Iterator[Metric]:
        return (family for family in self._families() if family.samples)


def _of_run(run: Run, names: Sequence[str]) -> Samples:
    record = run.record
    latency = {
        kind: {name: value for name in LATENCIES if (value := latency_of(record, kind, name)) is not None}
        for kind in record.latency
    }
    return Samples(_labels(run, names), record.summary, latency, record.verdicts, timed_of(record), _epoch_s(run))


def _families(runs: Sequence[Samples]) -> Iterator[Metric]:
    for metric in METRICS.values():
        values = [(run, figure.value) for run in runs if (figure := run.figures.get(metric.name))]
        definition = f"{metric.definition} Unit: {metric.unit or 'none'}."
        yield _family(
            metric.name,
            definition,
            [(_of_figure(run, metric), float(value), run.at_s) for run, value in values if value is not None],
        )
    latency = [
        ({**run.labels, **_batch(run), "kind": kind, "statistic": name.removesuffix("_us")}, value, run.at_s)
        for run in runs
        for kind, values in run.latency.items()
        for name, value in values.items()
    ]
    yield _family("operation_latency_us", _LATENCY, latency)
    verdicts = [
        ({**run.labels, "verdict": verdict.name}, float(verdict.verdict is Holds.HOLDS), run.at_s)
        for run in runs
        for verdict in run.verdicts
        if verdict.verdict is not Holds.UNKNOWN
    ]
    yield _family("verdict_holds", "1: the verdict holds; 0: it fails. No sample where it is not known.", verdicts)


def _batch(run: Samples) -> Labels:
    """Return the label that tells what latencies are of, where that is not an operation."""
    return {"of": run.timed.one()} if run.timed.is_batch else {}


def _of_figure(run: Samples, metric: RunMetric) -> Labels:
    """Return the labels of a figure: one that is in a currency has that, too."""
    return {**run.labels, CURRENCY: run.figures[metric.name].unit} if metric.unit == CURRENCY else run.labels


def _family(name: str, definition: str, samples: Sequence[Sample]) -> Metric:
    family = GaugeMetricFamily(_PREFIX + name, definition)
    for labels, value, at_s in samples:
        family.add_sample(family.name, dict(labels), value, timestamp=at_s)
    return family


def _labels(run: Run, names: Sequence[str]) -> Labels:
    values = {name: run.parameters.get(name) for name in names}
    known = {name: str(value) for name, value in values.items() if value is not None}
    return {"id": run.record.id, "name": run.record.name, **known}


def _epoch_s(run: Run) -> int:
    return int(datetime.fromisoformat(run.record.started_at.replace("Z", "+00:00")).timestamp())
