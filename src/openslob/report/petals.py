"""The petals: latency over IOPS and over MB/s, a line for each series of runs with a growing number of sessions.

Each line is drawn in order of the session count, so that it bends back where the platform can no more, and each
point bears its count. One definition gives an HTML page that needs no network, SVG and PNG.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from openslob.errors import UsageError

if TYPE_CHECKING:
    import altair

# Okabe and Ito: eight colours that colour-blind people tell apart; yellow, faint on white, is left to the last.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#F0E442")
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


def petals(points: Sequence[PetalPoint], title: str = "") -> altair.HConcatChart:
    """The picture of ``points``, drawn in their order: a panel over IOPS and one over MB/s."""
    import altair  # noqa: PLC0415 - slow to import, needed for pictures only

    rows = [_row(at, point) for at, point in enumerate(points)]
    names = list(dict.fromkeys(point.series for point in points))
    colour, dash = _told_apart(altair, names)
    panels = [
        _panel(altair, [row for row in rows if row[field] is not None], field, heading, colour, dash)
        for field, heading in (("iops", "IOPS"), ("mb_per_s", "MB/s (2^20 bytes)"))
    ]
    picture = altair.hconcat(*panels, title=title or altair.Undefined, spacing=24)
    return picture.configure_axis(gridColor="#e6e6e6", labelFontSize=12, titleFontSize=13).configure_legend(
        symbolStrokeWidth=2.5, symbolSize=300, labelFontSize=12, labelLimit=320, titleFontSize=12
    )


def save(points: Sequence[PetalPoint], path: Path, title: str = "") -> None:
    """Draw ``points`` into ``path``: .html (works offline), .svg or .png; UsageError for any other ending."""
    if path.suffix.lower() not in FORMATS:
        raise UsageError(f"{path}: a picture is one of {', '.join(FORMATS)}")
    picture = petals(points, title)
    if path.suffix.lower() == ".html":
        picture.save(str(path), format="html", inline=True)
    else:
        picture.save(str(path), format=path.suffix.lower()[1:], scale_factor=_SCALE)


def _row(at: int, point: PetalPoint) -> dict[str, Any]:
    return {
        "order": at,
        "series": point.series,
        "sessions": point.sessions,
        "label": "" if point.sessions is None else str(point.sessions),
        "iops": point.iops,
        "mb_per_s": point.mb_per_s,
        "latency_us": point.latency_us,
    }


def _told_apart(alt: Any, names: Sequence[str]) -> tuple[Any, Any]:
    """Colour first, then dashes: line by line, so that the first eight need no dashes."""
    colours = [COLOURS[at % len(COLOURS)] for at in range(len(names))]
    dashes = [list(DASHES[at // len(COLOURS) % len(DASHES)]) for at in range(len(names))]
    legend = alt.Legend(title=None, orient="bottom", columns=4) if len(names) > 1 else None
    scale = {"domain": list(names)}
    return (
        alt.Color("series:N", scale=alt.Scale(**scale, range=colours), legend=legend),
        alt.StrokeDash("series:N", scale=alt.Scale(**scale, range=dashes), legend=legend),
    )


def _panel(alt: Any, rows: Iterable[dict[str, Any]], field: str, heading: str, colour: Any, dash: Any) -> Any:
    base = alt.Chart(alt.Data(values=list(rows)), width=_WIDTH, height=_HEIGHT).encode(
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
        color=colour, strokeDash=dash, order="order:Q", detail="series:N"
    )
    dots = base.mark_point(filled=True, size=34, opacity=1).encode(color=colour, tooltip=tooltip)
    labels = base.mark_text(align="left", dx=5, dy=-6, fontSize=10).encode(
        text="label:N", color=alt.Color("series:N", scale=colour.scale, legend=None)
    )
    return lines + dots + labels
