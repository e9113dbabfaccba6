"""The picture of a sweep on the page: its points, the one in progress, and when it is drawn again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from factories.views import point, sweep_view
from openslob.kinds.view import PetalPoint
from openslob.live.web.pictures import Petals
from openslob.record.model import Figure
from openslob.report.charts.petals import NOW, SOUND, UNTRUE
from openslob.report.record_view import FigureNames

NAMES = FigureNames()
POINTS = sweep_view().points


def drawn(points: tuple[PetalPoint, ...]) -> list[dict[str, object]]:
    spec = Petals().update(points, NAMES)["spec"]
    rows: list[dict[str, object]] = max(spec["datasets"].values(), key=lambda each: "order" in each[0])
    return rows


def test_points_that_are_done_are_lines_and_the_one_in_progress_comes_as_data() -> None:
    patch = Petals().update(sweep_view().points, NAMES)
    rows = drawn(sweep_view().points)
    assert [(row["line"], row["sessions"], row["x"], row["y"]) for row in rows] == [
        ("0 % updates", 1, 4_100.0, 240.0),
        ("0 % updates", 8, 21_000.0, 371.0),
        ("0 % updates", 32, 32_500.0, 960.0),
        ("20 % updates", 1, 3_300.0, 290.0),
    ]
    [now] = patch["now"]
    assert (now["line"], now["sessions"], now["x"], now["fails"]) == ("20 % updates", 8, 12_345.0, "none")
    assert patch["text"] == (
        "Physical read requests, by sessions. "
        "0 % updates: at most 32,500/s with 32; 20 % updates: at most 3,300/s with 1."
    )


def test_a_drawing_that_is_made_between_two_points_has_a_place_for_the_next_one() -> None:
    """Also for a point of a line that has none yet."""
    between = tuple(replace(each, state="pending", figures={}) if each.number > 3 else each for each in POINTS)
    petals = Petals()
    spec = petals.update(between, NAMES)["spec"]
    assert [layer["data"] for layer in spec["layer"] if layer.get("data", {}).get("name") == NOW] == [{"name": NOW}] * 2
    [colours] = {tuple(each) for each in domains(spec)}
    assert colours[:2] == ("0 % updates", "20 % updates")
    begun = tuple(
        point(4, "20 % updates", 1, "running", 5_000.0, 290.0) if each.number == 4 else each for each in between
    )
    patch = petals.update(begun, NAMES)
    assert "spec" not in patch
    assert [each["sessions"] for each in patch["now"]] == [1]


def domains(spec: dict[str, Any]) -> Iterator[list[str]]:
    for layer in spec["layer"]:
        if "color" in layer["encoding"]:
            yield layer["encoding"]["color"]["scale"]["domain"]


def test_the_point_in_progress_moves_without_a_new_drawing_until_it_leaves_the_axes() -> None:
    petals, points = Petals(), sweep_view().points
    assert "spec" in petals.update(points, NAMES)
    assert petals.update(points, NAMES) == {}
    moved = tuple(
        point(5, "20 % updates", 8, "running", 12_400.0, 510.0) if each.number == 5 else each for each in points
    )
    patch = petals.update(moved, NAMES)
    assert "spec" not in patch
    assert patch["now"][0]["x"] == 12_400
    assert petals.whole()["spec"]
    assert petals.whole()["now"] == patch["now"]
    away = tuple(
        point(5, "20 % updates", 8, "running", 99_000.0, 510.0) if each.number == 5 else each for each in points
    )
    assert "spec" in petals.update(away, NAMES)


def test_a_point_whose_figures_are_not_what_they_claim_to_be_is_marked() -> None:
    points = tuple(replace(each, fails=("mode",)) if each.number == 2 else each for each in sweep_view().points)
    assert [row["doubt"] for row in drawn(points)] == [SOUND, UNTRUE.name, SOUND, SOUND]
    assert [row["fails"] for row in drawn(points)][1] == "mode"


def test_points_from_the_cache_are_drawn_over_logical_reads() -> None:
    cached = {"lio_per_s": Figure(value=5e5, unit="blocks/s"), "op_mean_us": Figure(value=80.0, unit="µs")}
    points = tuple(
        replace(each, figures={**each.figures, **cached}) for each in sweep_view().points if each.state == "done"
    )
    rows = drawn(points)
    assert [(row["x"], row["y"]) for row in rows] == [(5e5, 80.0)] * 4


def test_nothing_is_drawn_before_the_first_point() -> None:
    waiting = tuple(replace(each, state="pending", figures={}) for each in sweep_view().points)
    petals = Petals()
    assert petals.update(waiting, NAMES) == {}
    assert petals.whole() == {}


def test_a_point_that_came_to_nothing_is_gone() -> None:
    running = (point(1, "0 % updates", 1, "running", 5_000.0, 290.0), point(2, "0 % updates", 8, "pending", None, None))
    petals = Petals()
    assert petals.update(running, NAMES)["text"] == "No point is done yet."
    done = (point(1, "0 % updates", 1, "done", None, None), running[1])
    patch = petals.update(done, NAMES)
    assert (patch["now"], patch["text"]) == ([], "No point that is done has both figures.")
    assert petals.whole() == {}
    assert petals.update(done, NAMES) == {}
