"""The whole model of a report as plain data, for JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass

from openslob.awr.model import Report
from openslob.awr.numbers import Number


def plain_model(report: Report) -> dict[str, object]:
    """Return the model with numbers as they are; figures that the report does not print are None."""
    found = _plain(report)
    assert isinstance(found, dict)
    return found | {"elapsed_s": _plain(report.elapsed_s)}


def _plain(value: object) -> object:
    if isinstance(value, Number):
        return value.value
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(found) for key, found in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(found) for found in value]
    return value
