"""The petals: latency over IOPS and over MB/s, a line for each series of runs with a growing number of sessions.

Each line is drawn in order of the session count, so that it bends back where the platform can no more, and each
point bears its count. One definition gives an HTML page that needs no network, SVG and PNG.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

import altair as alt

from openslob.errors import UsageError

# Okabe and Ito: colours that colour-blind people tell apart; olive for their yellow, which is faint on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#999933")
DASHES = ((1, 0), (6, 3))  # with the second, sixteen lines can be told apart
FORMATS = (".html", ".svg", ".png")
_WIDTH, _HEIGHT = 560, 420
_SCALE = 2.0  # pixels of a PNG per point: sharp in print


class PetalPoint(Protocol):
    """A run: the line it belongs to, its sessions, and what came out. MB of 2^20 bytes."""

    @property
    def series(self) -> str: ...
    @property
    def sessions(self) -> int | None: ...
    @property
    def iops(self) -> float: ...
    @property
    def mb_per_s(self) -> float | None: ...
    @property
    def latency_us(self) -> float: ...


@dataclass(frozen=True, slots=True)
class _Line:
    """How the lines are told apart."""

    colour: alt.Color
    dash: alt.StrokeDash
    label_colour: alt.Color


def petals(points: Sequence[PetalPoint], title: str = "") -> alt.HConcatChart:
    """The picture of ``points``, drawn in their order: a panel over IOPS and one over MB/s."""
    rows = [_row(at, point) for at, point in enumerate(points)]
    line = _told_apart(list(dict.fromkeys(point.series for point in points)))
    by_iops = _panel(rows, "iops", "IOPS", line)
    by_size = _panel([row for row in rows if row["mb_per_s"] is not None], "mb_per_s", "MB/s (2^20 bytes)", line)
    axis = alt.AxisConfig(gridColor="#e6e6e6", labelFontSize=12, titleFontSize=13)
    legend = alt.LegendConfig(symbolStrokeWidth=2.5, symbolSize=300, labelFontSize=12, labelLimit=320)
    return alt.HConcatChart(
        hconcat=[by_iops, by_size],
        title=title or alt.Undefined,
        spacing=24,
        config=alt.Config(axis=axis, legend=legend),
    )


def check_format(path: Path) -> None:
    """UsageError when the ending of ``path`` is of no picture that can be drawn."""
    if path.suffix.lower() not in FORMATS:
        raise UsageError(f"{path}: a picture is one of {', '.join(FORMATS)}")


def save(points: Sequence[PetalPoint], path: Path, title: str = "") -> None:
    """Draw ``points`` into ``path``: .html (works offline), .svg or .png; UsageError for any other ending."""
    check_format(path)
    form = path.suffix.lower()
    picture = petals(points, title)
    if form == ".html":
        picture.save(str(path), format="html", inline=True)
    else:
        kind: Literal["svg", "png"] = "svg" if form == ".svg" else "png"
        picture.save(str(path), format=kind, scale_factor=_SCALE if kind == "png" else 1.0)


def _row(at: int, point: PetalPoint) -> dict[str, str | float | None]:
    return {
        "order": at,
        "series": point.series,
        "sessions": point.sessions,
        "label": "" if point.sessions is None else str(point.sessions),
        "iops": point.iops,
        "mb_per_s": point.mb_per_s,
        "latency_us": point.latency_us,
    }


def _told_apart(names: list[str]) -> _Line:
    """Colour first, then dashes, so that the first eight lines need no dashes."""
    colours = [COLOURS[at % len(COLOURS)] for at in range(len(names))]
    dashes = [list(DASHES[at // len(COLOURS) % len(DASHES)]) for at in range(len(names))]
    legend = alt.Legend(title=None, orient="bottom", columns=4, symbolType="stroke") if len(names) > 1 else None
    scale = alt.Scale(domain=names, range=colours)
    return _Line(
        alt.Color("series:N", scale=scale, legend=legend),
        alt.StrokeDash("series:N", scale=alt.Scale(domain=names, range=dashes), legend=legend),
        alt.Color("series:N", scale=scale, legend=None),
    )


def _panel(rows: list[dict[str, str | float | None]], field: str, heading: str, line: _Line) -> alt.LayerChart:
    base = alt.Chart(alt.InlineData(values=rows), width=_WIDTH, height=_HEIGHT).encode(
        x=alt.X(f"{field}:Q", title=heading, scale=alt.Scale(zero=True, nice=True)),
        y=alt.Y("latency_us:Q", title="latency (µs)", scale=alt.Scale(zero=True, nice=True)),
    )
    tooltip = [
        alt.Tooltip("series:N"),
        alt.Tooltip("sessions:Q"),
        alt.Tooltip("iops:Q", format=",.0f"),
        alt.Tooltip("mb_per_s:Q", format=",.1f"),
        alt.Tooltip("latency_us:Q", format=",.0f"),
    ]
    lines = base.mark_line(strokeWidth=1.8, opacity=0.85).encode(
        color=line.colour, strokeDash=line.dash, order="order:Q", detail="series:N"
    )
    dots = base.mark_point(filled=True, size=34, opacity=1).encode(color=line.colour, tooltip=tooltip)
    labels = base.mark_text(align="left", dx=5, dy=-6, fontSize=10).encode(text="label:N", color=line.label_colour)
    return alt.LayerChart(layer=[lines, dots, labels])
