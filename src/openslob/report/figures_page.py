"""The page that documents every figure; docs/figures.md is its output, written by scripts/figures."""

from __future__ import annotations

from collections.abc import Iterator

from openslob.metrics import METRICS, Better

_HEAD = """# Figures

Every figure of a record's `summary`, of the report and of comparisons: its name in `run.json`, how the report heads it,
its unit, which way is better, and its definition. This page is made from the code by `scripts/figures`; a test fails
when it is stale. How to judge them is in [reading a result](reading-a-result.md).

A figure that is not known is `null` in the record, with the reason beside it, and a dash in the report; it is never 0.
"""
_BETTER = {Better.MORE: "more", Better.LESS: "less", Better.NEITHER: "–"}


def figures_page() -> str:
    """The page, in Markdown."""
    return "\n".join([_HEAD, *_rows(), ""])


def _rows() -> Iterator[str]:
    yield "| name | heading | unit | better | definition |"
    yield "| --- | --- | --- | --- | --- |"
    for one in METRICS.values():
        yield f"| `{one.name}` | {one.label} | {one.unit or '–'} | {_BETTER[one.better]} | {one.definition} |"
