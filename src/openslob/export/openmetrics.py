"""Results as OpenMetrics text, for Prometheus and Grafana: a sample of each figure for each run, at the run's start.

https://github.com/prometheus/OpenMetrics/blob/main/specification/OpenMetrics.md; `promtool tsdb
create-blocks-from openmetrics` takes it in with its times.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from openslob.analyze.curves.points import LATENCIES, SESSIONS, Run, latency_of, varying
from openslob.metrics import METRICS
from openslob.record.model import Holds

_PREFIX = "openslob_"
Labels = Mapping[str, str]
Sample = tuple[Labels, float]


def openmetrics(runs: Sequence[Run]) -> str:
    """The text; a sample's labels are the run's id and name, its sessions, and the parameters that vary."""
    names = (SESSIONS, *varying(runs))
    labelled = [(run, _labels(run, names)) for run in runs]
    lines = [line for family in _families(labelled) for line in family]
    return "\n".join([*lines, "# EOF"]) + "\n"


def _families(labelled: Sequence[tuple[Run, Labels]]) -> Iterator[list[str]]:
    for metric in METRICS.values():
        figures = [(run, _figure(run, metric.name, labels)) for run, labels in labelled]
        yield _family(metric.name, f"{metric.definition} Unit: {metric.unit or 'none'}.", figures)
    latency = [(run, _latencies(run, labels)) for run, labels in labelled]
    yield _family("operation_latency_us", "Latency of operations, by kind and statistic. Unit: µs.", latency)
    verdicts = [(run, _verdicts(run, labels)) for run, labels in labelled]
    yield _family("verdict_holds", "1: the verdict holds; 0: it fails. No sample where it can't be told.", verdicts)


def _family(name: str, meaning: str, samples: Sequence[tuple[Run, Sequence[Sample]]]) -> list[str]:
    lines = [
        f"{_PREFIX}{name}{_braced(labels)} {value!r} {_epoch_s(run)}" for run, each in samples for labels, value in each
    ]
    return [f"# TYPE {_PREFIX}{name} gauge", f"# HELP {_PREFIX}{name} {_escaped(meaning)}", *lines] if lines else []


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
    known = {name: run.parameters.get(name) for name in names}
    told = {name: str(value) for name, value in known.items() if value is not None}
    return {"id": run.record.id, "name": run.record.name, **told}


def _braced(labels: Labels) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _epoch_s(run: Run) -> int:
    return int(datetime.fromisoformat(run.record.started_at.replace("Z", "+00:00")).timestamp())
