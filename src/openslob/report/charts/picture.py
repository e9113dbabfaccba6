"""A picture: its panels, its words, its table; and how it becomes SVG, PNG or the specifications of a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import altair as alt
import vl_convert

from openslob.errors import SlobError
from openslob.report.charts.theme import CONFIG, HEIGHT, WIDTH

Spec = dict[str, Any]
Panel = alt.LayerChart | alt.Chart | alt.FacetChart
# Pixels of a PNG per unit of the drawing: sharp when printed over the width of a page.
PNG_SCALE = 2.0
# The Vega-Lite that the specifications are written for, as major and minor number.
VEGA_LITE = ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])


@dataclass(frozen=True)
class DataTable:
    """The figures of a picture as text: a heading for each column, and rows of as many cells."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Picture:
    """One picture. ``name`` is that of its files; ``description`` tells someone who can't see it what there is to see.

    ``panels`` stand one above the other. ``notes`` are read below the picture.
    """

    name: str
    title: str
    description: str
    panels: tuple[Panel, ...]
    notes: tuple[str, ...] = ()
    table: DataTable | None = None
    heights: Mapping[int, int] | None = None


def page_specs(picture: Picture) -> list[Spec]:
    """A Vega-Lite specification for each panel, as wide as the element that it is put into."""
    return [
        _spec(panel.properties(width="container", height=_height(picture, at)), picture)
        | {"autosize": {"type": "fit-x", "contains": "padding"}}
        for at, panel in enumerate(picture.panels)
    ]


def whole_spec(picture: Picture) -> Spec:
    """The Vega-Lite specification of the whole picture, with its title and a size of its own."""
    sized = [panel.properties(width=WIDTH, height=_height(picture, at)) for at, panel in enumerate(picture.panels)]
    title = alt.TitleParams(picture.title, anchor="start", subtitle=list(picture.notes), offset=12)
    if len(sized) == 1:
        return _spec(sized[0].properties(title=title), picture)
    # Each panel has its own legends: without this all of them would gather at the foot of the picture.
    stacked = alt.vconcat(*sized, spacing=14, title=title).resolve_scale(
        color="independent", shape="independent", strokeDash="independent"
    )
    return _spec(stacked, picture)


def svg(picture: Picture) -> str:
    """The picture as SVG."""
    return vl_convert.vegalite_to_svg(whole_spec(picture), vl_version=VEGA_LITE)


def png(picture: Picture) -> bytes:
    """The picture as PNG."""
    return vl_convert.vegalite_to_png(whole_spec(picture), vl_version=VEGA_LITE, scale=PNG_SCALE)


def save_all(pictures: Sequence[Picture], folder: Path, ending: str) -> list[Path]:
    """Draw every picture into ``folder``, which is made; ``ending`` is ``svg`` or ``png``. SlobError if it can't be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return [_save(picture, folder / f"{picture.name}.{ending}") for picture in pictures]
    except OSError as error:
        raise SlobError(f"the pictures can't be written into {folder}: {error.strerror}") from error


def draw(picture: Picture, ending: str) -> bytes:
    """The picture as a file: ``ending`` is ``.svg`` or ``.png``."""
    return png(picture) if ending == ".png" else svg(picture).encode()


def _save(picture: Picture, path: Path) -> Path:
    path.write_bytes(draw(picture, path.suffix))
    return path


def _height(picture: Picture, at: int) -> int:
    return (picture.heights or {}).get(at, HEIGHT)


def _spec(chart: Panel | alt.VConcatChart, picture: Picture) -> Spec:
    # Not validated here, which would take longer than drawing: tests validate every picture.
    spec: Spec = chart.properties(description=picture.description).to_dict(validate=False)
    return spec | {"config": CONFIG}
