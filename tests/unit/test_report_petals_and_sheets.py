"""Pictures and sheets, for whatever has series, sessions, rates and latencies."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from openslob.report import sheets
from openslob.report.petals import COLOURS, DASHES, petals


@dataclass(frozen=True)
class Run:
    series: str
    sessions: int | None
    iops: float
    mb_per_s: float | None
    latency_us: float


RUNS = [Run(f"line {line}", 2**n, 1000.0 * n, 8.0 * n, 100.0 + line) for line in range(16) for n in range(4)]


def test_sixteen_lines_are_told_apart():
    scales = petals(RUNS).to_dict()["hconcat"][0]["layer"][0]["encoding"]
    looks = zip(scales["color"]["scale"]["range"], map(tuple, scales["strokeDash"]["scale"]["range"]), strict=True)
    assert len(set(looks)) == 16
    assert len(set(COLOURS)) * len(DASHES) == 16


def test_a_line_is_drawn_in_the_order_of_its_points_with_their_sessions_as_labels():
    document = petals(RUNS).to_dict()
    first, second = document["hconcat"]
    values = next(iter(document["datasets"].values()))
    assert [row["label"] for row in values[:4]] == ["1", "2", "4", "8"]
    assert first["layer"][0]["encoding"]["order"]["field"] == "order"
    assert first["layer"][0]["encoding"]["x"]["field"] == "iops"
    assert second["layer"][0]["encoding"]["x"]["field"] == "mb_per_s"


def test_a_run_without_throughput_is_in_the_first_panel_only():
    document = petals([Run("a", 1, 10.0, None, 5.0), Run("a", None, 20.0, 1.0, 6.0)]).to_dict()
    assert sorted(len(values) for values in document["datasets"].values()) == [1, 2]


def test_a_missing_cell_is_empty_and_never_0():
    assert sheets.as_csv(["a", "b", "c"], [[None, 0, True]]) == "a,b,c\n,0,yes\n"


def test_csv_keeps_figures_and_quotes_words():
    assert sheets.as_csv(["a", "b"], [[1234567.25, 'x, "y"']]) == 'a,b\n1234567.25,"x, ""y"""\n'


def test_json_lets_no_nan_through():
    assert json.loads(sheets.as_json({"µ": None})) == {"µ": None}
    with pytest.raises(ValueError, match="not JSON compliant"):
        sheets.as_json({"x": float("nan")})
