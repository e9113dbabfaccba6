"""Colours: told apart by colour-blind readers, and legible on the light and on the dark ground."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from itertools import combinations

import pytest

from factories.sweeps import points_of, sweep
from factories.tables import table
from openslob.report.charts.colours import ROLES, SERIES, Theme, colours_of, declarations
from openslob.report.charts.petals import petals
from openslob.report.charts.picture import Picture, chart, page_specs, whole_spec

# Machado, Oliveira and Fernandes (2009): linear RGB as people without one kind of cone see it.
SIGHTS = {
    "normal": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    "protanopia": ((0.1523, 1.0526, -0.2049), (0.1145, 0.7863, 0.0992), (-0.0039, -0.0481, 1.0520)),
    "deuteranopia": ((0.3673, 0.8606, -0.2280), (0.2801, 0.6725, 0.0474), (-0.0118, 0.0429, 0.9689)),
    "tritanopia": ((1.2555, -0.0767, -0.1788), (-0.0784, 0.9308, 0.1476), (0.0047, 0.6914, 0.3039)),
}
# Distances in Oklab, times 100. About 2 is the least that is seen.
LEAST_OF_EIGHT, LEAST_OF_FOUR = 7.0, 14.0
TEXTS = ("ink", "soft", "warning", "bad", "good", "unsure")
GROUNDS = ("ground", "map-ground")
MARKS = (*(role for role in ROLES if role.startswith("series-")), "quiet")
by_theme = pytest.mark.parametrize("theme", Theme)


@pytest.fixture(scope="module")
def picture() -> Picture:
    return petals(points_of(sweep(counts=(2, 8), update_pcts=(0, 20), repeats=1)), "pio_read_per_s")


@by_theme
@pytest.mark.parametrize("sight", SIGHTS)
def test_series_are_told_apart_by_everybody(theme: Theme, sight: str) -> None:
    seen = [_oklab(_seen(colours_of(theme)[colour], sight)) for colour in SERIES]
    assert min(100 * math.dist(*pair) for pair in combinations(seen, 2)) >= LEAST_OF_EIGHT
    assert min(100 * math.dist(*pair) for pair in combinations(seen[:4], 2)) >= LEAST_OF_FOUR


@by_theme
@table(("roles", "least"), [(TEXTS, 4.5), (MARKS, 3.0)])
def test_texts_and_marks_stand_out_from_the_ground(theme: Theme, roles: tuple[str, ...], least: float) -> None:
    for role in roles:
        for ground in GROUNDS if role in TEXTS else GROUNDS[:1]:
            assert _contrast(_colour(role, theme), _colour(ground, theme)) >= least, (role, ground)


@by_theme
def test_the_steps_of_a_map_go_away_from_the_ground(theme: Theme) -> None:
    steps = [_contrast(_colour(f"map-{step}", theme), _colour("map-ground", theme)) for step in range(1, 8)]
    assert steps == sorted(steps)


def test_each_light_colour_has_one_role() -> None:
    lights = [light for light, _ in ROLES.values()]
    assert len(set(lights)) == len(lights)


def test_a_picture_has_its_own_background_and_no_colour_of_the_other_theme(picture: Picture) -> None:
    texts = {theme: json.dumps(whole_spec(picture, theme)) for theme in Theme}
    for theme, text in texts.items():
        assert whole_spec(picture, theme)["config"]["background"] == _colour("ground", theme)
        other = {_colour(role, each) for role in ROLES for each in Theme if each is not theme}
        own = {_colour(role, theme) for role in ROLES}
        assert not [colour for colour in other - own if colour in text]
    assert chart(picture, Theme.DARK).to_dict()["config"]["background"] == _colour("ground", Theme.DARK)


def test_a_page_takes_every_colour_from_its_style_sheet(picture: Picture) -> None:
    text = json.dumps(page_specs(picture))
    assert "var(--series-1)" in text
    assert not [light for light, _ in ROLES.values() if light in text]
    assert "--series-1: #0448ac;" in declarations(Theme.LIGHT)


def test_names_of_runs_are_not_taken_for_colours(picture: Picture) -> None:
    (spec,) = page_specs(picture)
    assert spec["datasets"] == whole_spec(picture, Theme.DARK)["datasets"]


def _colour(role: str, theme: Theme) -> str:
    return ROLES[role][list(Theme).index(theme)]


def _linear(colour: str) -> list[float]:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def _seen(colour: str, sight: str) -> list[float]:
    linear = _linear(colour)
    return [min(max(_dot(row, linear), 0.0), 1.0) for row in SIGHTS[sight]]


def _oklab(linear: list[float]) -> tuple[float, ...]:
    cones = ((0.4122, 0.5363, 0.0514), (0.2119, 0.6807, 0.1074), (0.0883, 0.2817, 0.6300))
    roots = [(_dot(row, linear)) ** (1 / 3) for row in cones]
    axes = ((0.2105, 0.7936, -0.0041), (1.9780, -2.4286, 0.4506), (0.0259, 0.7828, -0.8087))
    return tuple(_dot(row, roots) for row in axes)


def _contrast(one: str, other: str) -> float:
    """Return the contrast as WCAG defines it."""
    light, dark = sorted((_dot((0.2126, 0.7152, 0.0722), _linear(each)) for each in (one, other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _dot(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))
