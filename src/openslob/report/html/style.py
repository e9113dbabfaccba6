"""The style sheet of all pages; it needs nothing that draws."""

from __future__ import annotations

from importlib.resources import files

from openslob.report.charts.colours import Theme, declarations


def style() -> str:
    """Return the style sheet. Its colours are variables: those of the reader's system, and the light ones in print."""
    light, dark = (f":root {{ {declarations(theme)} }}" for theme in Theme)
    sheet = (files("openslob.report.html") / "style.css").read_text(encoding="utf-8")
    return f"{light}\n@media screen and (prefers-color-scheme: dark) {{ {dark} }}\n{sheet}"
