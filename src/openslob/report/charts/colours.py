"""Colours of the pictures, on a light and on a dark ground.

Charts are defined in the light colours. `paint` replaces each by its counterpart: the dark one in a file, a variable
of the style sheet in a page, which follows the colours of the reader's system and is light in print.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any


class Theme(StrEnum):
    """The ground that pictures are drawn on."""

    LIGHT = "light"
    DARK = "dark"


def ending_of(theme: Theme, themes: Sequence[Theme]) -> str:
    """Return the end of the name of a picture in ``theme``, which is drawn in all of ``themes``."""
    return "-dark" if len(themes) > 1 and theme is Theme.DARK else ""


# Name of each role, its light and its dark colour. The series' colours follow Okabe and Ito (2008), changed so that
# they stand out from both grounds; the steps of maps go from rare to frequent, away from the ground.
ROLES: Mapping[str, tuple[str, str]] = {
    "ground": ("#ffffff", "#16181b"),
    "ink": ("#1c1c1c", "#e8e6e3"),
    "soft": ("#5c5c5c", "#a9a7a3"),
    "grid": ("#e4e4e4", "#33363a"),
    "quiet": ("#8c8c8c", "#8d8d8d"),
    "faint": ("#c6c6c6", "#4c4f52"),
    "warning": ("#c62828", "#ff8a80"),
    "map-ground": ("#f6f6f4", "#1f2226"),
    "bad": ("#b3261e", "#ff8a80"),
    "good": ("#1b6e3c", "#7fd29b"),
    "unsure": ("#7a5b00", "#e6c35c"),
    "series-1": ("#0448ac", "#4f82f0"),
    "series-2": ("#b5390b", "#f9622b"),
    "series-3": ("#03a58c", "#4fdcc0"),
    "series-4": ("#64082f", "#a3678a"),
    "series-5": ("#a17a33", "#f2c14b"),
    "series-6": ("#4078aa", "#8bb9ee"),
    "series-7": ("#9c75f2", "#846dbd"),
    "series-8": ("#6f6d68", "#a8a8a8"),
    "band-p50": ("#0b4f79", "#d5ecf9"),
    "band-p90": ("#4a9cc9", "#4793bf"),
    "band-p99": ("#a9d0e6", "#1f5878"),
    "map-1": ("#efdc4b", "#35507f"),
    "map-2": ("#cbb965", "#596584"),
    "map-3": ("#a59c74", "#7f7c75"),
    "map-4": ("#7f7c75", "#a59c74"),
    "map-5": ("#575d6d", "#cbb965"),
    "map-6": ("#2a406e", "#efdc4b"),
    "map-7": ("#00224e", "#fff6bd"),
}


def _light(prefix: str) -> tuple[str, ...]:
    return tuple(light for role, (light, _) in ROLES.items() if role.startswith(prefix))


GROUND, INK, SOFT, GRID = (ROLES[role][0] for role in ("ground", "ink", "soft", "grid"))
# Colours of secondary marks and of warnings.
FAINT, QUIET, WARNING = ROLES["faint"][0], ROLES["quiet"][0], ROLES["warning"][0]
MAP_GROUND = ROLES["map-ground"][0]
SERIES, BANDS, MAP_STEPS = _light("series-"), _light("band-"), _light("map-")[1:]


def paint(spec: Any, colours: Mapping[str, str]) -> Any:  # noqa: ANN401
    """Return a specification in which each light colour is replaced; data are left as they are."""
    if isinstance(spec, dict):
        return {name: each if name == "datasets" else paint(each, colours) for name, each in spec.items()}
    if isinstance(spec, list):
        return [paint(each, colours) for each in spec]
    return colours.get(spec, spec) if isinstance(spec, str) else spec


def colours_of(theme: Theme) -> Mapping[str, str]:
    """Return the colours of a theme by light colour."""
    return {light: dark if theme is Theme.DARK else light for light, dark in ROLES.values()}


def page_variables() -> Mapping[str, str]:
    """Return references to the variables of the style sheet by light colour."""
    return {light: f"var(--{role})" for role, (light, _) in ROLES.items()}


def declarations(theme: Theme) -> str:
    """Return the variables of a theme as declarations of a style sheet."""
    return " ".join(f"--{role}: {dark if theme is Theme.DARK else light};" for role, (light, dark) in ROLES.items())
