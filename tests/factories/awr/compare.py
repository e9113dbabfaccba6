"""What a report says, by its place in the model, and how that differs from what was written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from itertools import accumulate

from factories.awr.printing import Figure
from factories.awr.sheet import Place, Written
from openslob.awr import Number, Report

_FIGURES = ("header", "load_profile", "time_model_s", "activity", "io_profile", "iostat_functions",
            "iostat_filetypes", "os_stats", "host_cpu", "parameters", "efficiency_pct", "thread_activity",
            "tablespaces", "files", "global_cache", "per_instance", "instance_events")  # fmt: skip


def read_from(report: Report) -> dict[Place, object]:
    """Every figure and name of a report by its place. What it does not print is left out."""
    found = {name: getattr(report, name) for name in _FIGURES}
    for name, listed in (("events", report.events), ("wait_classes", report.wait_classes)):
        found[name] = {str(one.scope): [same for same in listed if same.scope is one.scope] for one in listed}
    found["histograms"] = {one.name: {"waits": one.waits, "cut": one.cut} for one in report.histograms}
    places = dict(_walk((), found))
    for one in report.histograms:
        below = accumulate(bucket.share_pct for bucket in one.buckets)
        for bucket, share in zip(one.buckets[:-1], below, strict=False):
            places["histograms", one.name, "below", bucket.high_us] = share
    return places


def _walk(place: Place, value: object) -> Iterator[tuple[Place, object]]:
    if value is None or value == "" or isinstance(value, Number | str | int | float):
        if value is not None and value != "":
            yield place, value
    elif is_dataclass(value):
        for field in fields(value):
            if field.name not in ("origin", "scope") and (field.name, getattr(value, field.name)) != ("idle", False):
                yield from _walk((*place, field.name), getattr(value, field.name))
    elif isinstance(value, Mapping):
        for key, one in value.items():
            yield from _walk((*place, key), one)
    else:
        assert isinstance(value, tuple | list)
        for at, one in enumerate(value):
            yield from _walk((*place, at), one)


def differences(written: Mapping[Place, Written], report: Report) -> list[str]:
    """Return how the report differs from what was written: figures lost, made up, or off by more than is printed."""
    read = read_from(report)
    lost = [f"not read: {place}: {written[place]}" for place in written if place not in read]
    made_up = [f"not written: {place}: {value}" for place, value in read.items() if place not in written]
    wrong = [
        f"{place}: {written[place]} was written, {value} is read"
        for place, value in read.items()
        if place in written and not _is_the_same(written[place], value)
    ]
    return [*lost, *made_up, *wrong]


def _is_the_same(written: Written, read: object) -> bool:
    if not isinstance(written, Figure):
        return written == read and isinstance(read, bool) == isinstance(written, bool)
    if written.value is None:
        return False
    value = read.value if isinstance(read, Number) else read
    if isinstance(read, Number) and abs(read.step - written.step) > 1e-9 * written.step:
        return False
    assert isinstance(value, float | int)
    return abs(value - written.value) <= written.step / 2 + 1e-9 * max(written.step, abs(written.value))
