"""Results as OpenMetrics text, for Prometheus and Grafana: one sample for each figure and run, at the run's start.

``promtool tsdb create-blocks-from openmetrics`` imports it with its times.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.openmetrics.exposition import generate_latest
from prometheus_client.registry import Collector

from openslob.analyze.curves.points import LATENCIES, SESSIONS, Run, latency_of, varying
from openslob.metrics import METRICS
from openslob.record.model import Holds

_PREFIX = "openslob_"
Labels = Mapping[str, str]
Sample = tuple[Labels, float]


def openmetrics(runs: Sequence[Run]) -> str:
    """Return the text; the labels of a sample are the run's id and name, its sessions, and the parameters that vary."""
    registry = CollectorRegistry()
    registry.register(_Runs(runs))
    text: bytes = generate_latest(registry)  # type: ignore[no-untyped-call]
    return text.decode()


class _Runs(Collector):
    """The metric families of runs; those without a sample are left out."""

    def __init__(self, runs: Sequence[Run]) -> None:
        names = (SESSIONS, *varying(runs))
        self._labelled = [(run, _labels(run, names)) for run in runs]

    def collect(self) -> Iterator[Metric]:
        return (family for family in self._families() if family.samples)

    def _families(self) -> Iterator[Metric]:
        for metric in METRICS.values():
            figures = [(run, _figure(run, metric.name, labels)) for run, labels in self._labelled]
            yield _family(metric.name, f"{metric.definition} Unit: {metric.unit or 'none'}.", figures)
        latency = [(run, _latencies(run, labels)) for run, labels in self._labelled]
        yield _family("operation_latency_us", "Latency of operations, by kind and statistic. Unit: µs.", latency)
        verdicts = [(run, _verdicts(run, labels)) for run, labels in self._labelled]
        yield _family("verdict_holds", "1: the verdict holds; 0: it fails. No sample where it is not known.", verdicts)


def _family(name: str, definition: str, samples: Sequence[tuple[Run, Sequence[Sample]]]) -> Metric:
    family = GaugeMetricFamily(_PREFIX + name, definition)
    for run, run_samples in samples:
        for labels, value in run_samples:
            family.add_sample(family.name, dict(labels), value, timestamp=_epoch_s(run))
    return family


def _figure(run: Run, name: str, labels: Labels) -> list[Sample]:
    figure = run.record.summary.get(name)
    return [] if figure is None or figure.value is None else [(labels, float(figure.value))]


def _latencies(run: Run, labels: Labels) -> list[Sample]:
    return [
        ({**labels, "kind": kind, "statistic": name.removesuffix("_us")}, value)
        for kind in run.record.latency
        for name in LATENCIES
        if (value := latency_of(run.record, kind, name)) is not None
    ]


def _verdicts(run: Run, labels: Labels) -> list[Sample]:
    return [
        ({**labels, "verdict": verdict.name}, float(verdict.verdict is Holds.HOLDS))
        for verdict in run.record.verdicts
        if verdict.verdict is not Holds.UNKNOWN
    ]


def _labels(run: Run, names: Sequence[str]) -> Labels:
    values = {name: run.parameters.get(name) for name in names}
    known = {name: str(value) for name, value in values.items() if value is not None}
    return {"id": run.record.id, "name": run.record.name, **known}


def _epoch_s(run: Run) -> int:
    return int(datetime.fromisoformat(run.record.started_at.replace("Z", "+00:00")).timestamp())
