"""A picture with its texts and table, and its rendering as SVG, PNG or specifications for a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import Any, Literal

import altair as alt
import vl_convert

from openslob.core.disk import write_atomically
from openslob.core.errors import SlobError
from openslob.report.charts.colours import Theme, colours_of, ending_of, page_variables, paint
from openslob.report.charts.theme import CONFIG, HEIGHT, LEGEND_ROOM, WIDTH
from openslob.report.document import TextTable

Spec = dict[str, Any]
# A chart, or layers as a specification.
Panel = alt.LayerChart | alt.Chart | Spec
Chart = alt.Chart | alt.LayerChart | alt.VConcatChart
# Pixels of a PNG per unit of the drawing: enough for print at page width.
PNG_SCALE = 2.0
# Letters in a line over a picture.
TITLE_WIDTH, NOTE_WIDTH = 70, 110
# Version of Vega-Lite that the specifications are written for: major and minor number.
VEGA_LITE = ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
# Keeps the legends of panels one below the other with their panels; by default Vega-Lite collects them at the bottom.
_STACK: Spec = {"spacing": 14, "resolve": {"scale": dict.fromkeys(("color", "shape", "strokeDash"), "independent")}}
# A page has its own background and margins.
_IN_PAGE: Spec = CONFIG | {"background": "transparent", "padding": 5}


@dataclass(frozen=True)
class Picture:
    """One picture.

    ``name`` is the stem of its file names. ``description`` is its text alternative. ``panels`` are stacked vertically;
    ``heights`` has the heights of panels that differ from `HEIGHT`. ``notes`` are shown with the picture. One without a
    ``title`` is drawn without both: what it is in has them.
    """

    name: str
    title: str
    description: str
    panels: tuple[Panel, ...]
    notes: tuple[str, ...] = ()
    table: TextTable | None = None
    heights: Mapping[int, int] | None = None


def layer_charts(*charts: alt.Chart, params: Sequence[alt.Parameter] = (), **properties: Any) -> Spec:  # noqa: ANN401
    """Return a panel of charts one over the other, with ``params`` and with properties as Vega-Lite names them.

    Altair would copy all layers several times over, and again for the specification: most of the time that a page
    takes. It only makes the parameters of the first layer those of the panel.
    """
    context: Spec = {"top_level": False, "datasets": {}, "data": charts[0].data}
    named: Spec = {}
    if params:
        view: Any = alt.LayerChart() + charts[0].add_params(*params)
        named["name"] = view.layer[0].name
        properties["params"] = [param.to_dict(validate=False) for param in view.params]
    if all(chart.data is charts[0].data for chart in charts):
        properties |= alt.Chart(charts[0].data).to_dict(validate=False, context=context)
        charts = tuple(_without_data(chart) for chart in charts)
    first, *others = (chart.to_dict(validate=False, context=context) for chart in charts)
    return {"layer": [first | named, *others], "datasets": context["datasets"], **properties}


def combine(panels: Sequence[Panel], how: Literal["layer", "vconcat"]) -> Spec:
    """Return the panels as one. Their data, and the selections in their layers, are the whole's."""
    specs = [_document(panel) for panel in panels]
    return {
        "datasets": {name: rows for spec in specs for name, rows in spec.get("datasets", {}).items()},
        "params": [param for spec in specs for param in spec.get("params", ()) if _of_layers(param)],
        how: [_view(spec) for spec in specs],
    }


def page_specs(picture: Picture) -> list[Spec]:
    """Return a Vega-Lite specification for each panel, as wide as its element in the page."""
    colours = page_variables()
    return [
        paint(_complete(_document(panel) | _size(picture, at, "container"), picture, _IN_PAGE), colours)
        | {"autosize": {"type": "fit-x", "contains": "padding"}}
        for at, panel in enumerate(picture.panels)
    ]


def whole_spec(picture: Picture, theme: Theme = Theme.LIGHT) -> Spec:
    """Return the Vega-Lite specification of the whole picture, with its title, a fixed size and its own background."""
    spec: Spec = paint(_whole(picture), colours_of(theme))
    return spec


def chart(picture: Picture, theme: Theme = Theme.LIGHT) -> Chart:
    """Return the whole picture as an Altair chart, to be changed or displayed in a notebook."""
    spec = whole_spec(picture, theme)
    # Altair accepts only what is in Vega-Lite's schema, which lacks the layout of legends.
    legend = {name: each for name, each in spec["config"]["legend"].items() if name != "layout"}
    rows = spec.pop("datasets")
    # Altair finds out the class by validating the picture as each of them, rows and all, which takes a second.
    kind = alt.VConcatChart if "vconcat" in spec else alt.LayerChart if "layer" in spec else alt.Chart
    drawn: Chart = kind.from_dict(spec | {"config": spec["config"] | {"legend": legend}}, validate=False)
    drawn["datasets"] = rows
    return drawn


def _whole(picture: Picture) -> Spec:
    notes = [line for note in picture.notes for line in wrap(note, NOTE_WIDTH)]
    title = {"text": wrap(picture.title, TITLE_WIDTH), "anchor": "start", "subtitle": notes, "offset": 12}
    panels = [_document(panel) | _size(picture, at) for at, panel in enumerate(picture.panels)]
    whole = panels[0] if len(panels) == 1 else _document(combine(panels, "vconcat")) | _STACK
    return _complete(whole, picture, CONFIG) | ({"title": title} if picture.title else {})


def _view(panel: Spec) -> Spec:
    view = {name: each for name, each in panel.items() if name not in ("$schema", "config", "datasets", "params")}
    own = [param for param in panel.get("params", ()) if not _of_layers(param)]
    return view | ({"params": own} if own else {})


def _of_layers(param: Spec) -> bool:
    return "views" in param


def svg(picture: Picture, theme: Theme = Theme.LIGHT) -> str:
    """Render the picture as SVG."""
    return vl_convert.vegalite_to_svg(whole_spec(picture, theme), vl_version=VEGA_LITE)


def png(picture: Picture, theme: Theme = Theme.LIGHT) -> bytes:
    """Render the picture as PNG."""
    return vl_convert.vegalite_to_png(whole_spec(picture, theme), vl_version=VEGA_LITE, scale=PNG_SCALE)


def save_all(
    pictures: Sequence[Picture], folder: Path, ending: str, themes: Sequence[Theme] = (Theme.LIGHT,)
) -> list[Path]:
    """Write every picture into ``folder``, creating it; ``ending`` is ``svg`` or ``png``. SlobError on failure.

    With several ``themes``, the names of dark pictures end in ``-dark``.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return [
            _save(picture, folder / f"{picture.name}{ending_of(theme, themes)}.{ending}", theme)
            for picture in pictures
            for theme in themes
        ]
    except OSError as error:
        raise SlobError(f"the pictures can't be written into {folder}: {error.strerror}") from error


def draw(picture: Picture, ending: str, theme: Theme = Theme.LIGHT) -> bytes:
    """Return the content of the picture's file; ``ending`` is ``.svg`` or ``.png``."""
    return png(picture, theme) if ending == ".png" else svg(picture, theme).encode()


def _save(picture: Picture, path: Path, theme: Theme) -> Path:
    write_atomically(path, draw(picture, path.suffix, theme))
    return path


def _size(picture: Picture, at: int, width: int | str = WIDTH) -> Spec:
    return {"width": width, "height": (picture.heights or {}).get(at, HEIGHT)}


def _without_data(chart: alt.Chart) -> alt.Chart:
    bare = chart.copy(deep=False)
    bare.data = alt.Undefined
    return bare


def _document(panel: Panel) -> Spec:
    # Validation would take longer than drawing; tests validate every picture.
    spec: Spec = panel if isinstance(panel, dict) else panel.to_dict(validate=False)
    datasets = {name: list(rows) for name, rows in spec.get("datasets", {}).items()}
    # Without data, the page has them.
    return {"$schema": alt.SCHEMA_URL} | spec | ({"datasets": datasets} if datasets else {})


def _complete(drawn: Spec, picture: Picture, config: Spec) -> Spec:
    room = {"name": LEGEND_ROOM, "value": WIDTH}
    return drawn | {"description": picture.description, "config": config, "params": [*drawn.get("params", ()), room]}
