"""A page as one HTML file: the template filled in, the library and the specifications of the pictures put into it."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files
from typing import Any

import vl_convert
from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from openslob.report.charts.picture import VEGA_LITE, page_specs
from openslob.report.html.page import Page

# What of the bundle the page's own script uses.
_GLOBALS = "window.vegaEmbed = vegaEmbed; window.vega = vega;"
_PACKAGE = "openslob.report.html"


def render_page(page: Page) -> str:
    """The whole file. Every text of the page is escaped; nothing in it refers to anything outside of it."""
    specs: list[dict[str, Any]] = []
    pictures = []
    for picture in page.pictures:
        own = page_specs(picture)
        pictures.append({
            "name": picture.name, "title": picture.title, "description": picture.description, "notes": picture.notes,
            "table": picture.table, "specs": range(len(specs), len(specs) + len(own)),
        })  # fmt: skip
        specs += own
    return _template().render(
        page=page,
        pictures=pictures,
        specs=_json(specs),
        library=_library() if specs else "",
        style=Markup(_file("style.css")),
        script=Markup(_file("draw.js")),
    )


def _json(data: object) -> Markup:
    """JSON that can stand in a script element: without "<" nothing in it can end that element."""
    return Markup(json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c"))


@cache
def _library() -> Markup:
    """Vega, Vega-Lite and vega-embed as one script."""
    # A string or pattern of the library with "</script" in it would end the element; "<\/script" is the same text.
    return Markup(
        re.sub("</(script)", r"<\\/\1", vl_convert.javascript_bundle(_GLOBALS, VEGA_LITE), flags=re.IGNORECASE)
    )


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader(_PACKAGE, ""), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    return environment.get_template("template.html.j2")


def _file(name: str) -> str:
    return (files(_PACKAGE) / name).read_text(encoding="utf-8")
