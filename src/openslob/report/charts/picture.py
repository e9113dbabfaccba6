"""A picture with its texts and table, and its rendering as SVG, PNG or specifications for a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import altair as alt
import vl_convert

from openslob.disk import write_atomically
from openslob.errors import SlobError
from openslob.report.charts.theme import CONFIG, HEIGHT, WIDTH

Spec = dict[str, Any]
Panel = alt.LayerChart | alt.Chart | alt.FacetChart
# Pixels of a PNG per unit of the drawing: enough for print at page width.
PNG_SCALE = 2.0
# Version of Vega-Lite that the specifications are written for: major and minor number.
VEGA_LITE = ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])


@dataclass(frozen=True)
class DataTable:
    """A table of text cells with column headings, such as the figures of a picture."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Picture:
    """One picture.

    ``name`` is the stem of its file names. ``description`` is its text alternative. ``panels`` are stacked vertically;
    ``heights`` has the heights of panels that differ from `HEIGHT`. ``notes`` are shown with the picture.
    """

    name: str
    title: str
    description: str
    panels: tuple[Panel, ...]
    notes: tuple[str, ...] = ()
    table: DataTable | None = None
    heights: Mapping[int, int] | None = None


def page_specs(picture: Picture) -> list[Spec]:
    """Return a Vega-Lite specification for each panel, as wide as its element in the page."""
    return [
        _spec(panel.properties(width="container", height=_height(picture, at)), picture)
        | {"autosize": {"type": "fit-x", "contains": "padding"}}
        for at, panel in enumerate(picture.panels)
    ]


def whole_spec(picture: Picture) -> Spec:
    """Return the Vega-Lite specification of the whole picture, with its title and a fixed size."""
    sized = [panel.properties(width=WIDTH, height=_height(picture, at)) for at, panel in enumerate(picture.panels)]
    title = alt.TitleParams(picture.title, anchor="start", subtitle=list(picture.notes), offset=12)
    if len(sized) == 1:
        return _spec(sized[0].properties(title=title), picture)
    # Keeps the legends with their panels; by default Vega-Lite collects them below the picture.
    stacked = alt.vconcat(*sized, spacing=14, title=title).resolve_scale(
        color="independent", shape="independent", strokeDash="independent"
    )
    return _spec(stacked, picture)


def svg(picture: Picture) -> str:
    """Render the picture as SVG."""
    return vl_convert.vegalite_to_svg(whole_spec(picture), vl_version=VEGA_LITE)


def png(picture: Picture) -> bytes:
    """Render the picture as PNG."""
    return vl_convert.vegalite_to_png(whole_spec(picture), vl_version=VEGA_LITE, scale=PNG_SCALE)


def save_all(pictures: Sequence[Picture], folder: Path, ending: str) -> list[Path]:
    """Write every picture into ``folder``, creating it; ``ending`` is ``svg`` or ``png``. SlobError on failure."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return [_save(picture, folder / f"{picture.name}.{ending}") for picture in pictures]
    except OSError as error:
        raise SlobError(f"the pictures can't be written into {folder}: {error.strerror}") from error


def draw(picture: Picture, ending: str) -> bytes:
    """Return the content of the picture's file; ``ending`` is ``.svg`` or ``.png``."""
    return png(picture) if ending == ".png" else svg(picture).encode()


def _save(picture: Picture, path: Path) -> Path:
    write_atomically(path, draw(picture, path.suffix))
    return path


def _height(picture: Picture, at: int) -> int:
    return (picture.heights or {}).get(at, HEIGHT)


def _spec(chart: Panel | alt.VConcatChart, picture: Picture) -> Spec:
    # Validation would take longer than drawing; tests validate every picture.
    spec: Spec = chart.properties(description=picture.description).to_dict(validate=False)
    return spec | {"config": CONFIG}
