"""Durations: one parser for flags, environment, files and grids; the record keeps seconds."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factories.tables import table
from openslob.config.grid import resolve_grid
from openslob.config.parameters import parameters
from openslob.config.resolve import resolve
from openslob.core.errors import UsageError
from openslob.core.units import parse_duration

DURATIONS = [name for name, one in parameters().items() if one.is_duration]
UNITS = {"d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1000, "ms": 1}


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def run_time(*, config: Path | None = None, environment=None, **flags: str) -> float:
    return resolve(flags, config, environment or {}).workload.run_time


@given(st.lists(st.integers(0, 999), min_size=5, max_size=5).filter(any), st.sampled_from(["", " "]), st.booleans())
def test_a_duration_is_the_sum_of_its_parts(amounts, blank, capitals):
    parts = [f"{amount}{blank}{unit}" for amount, unit in zip(amounts, UNITS, strict=True) if amount]
    text = blank.join(parts)
    total_ms = sum(amount * ms for amount, ms in zip(amounts, UNITS.values(), strict=True))
    assert parse_duration(text.upper() if capitals else text) == total_ms / 1000


@given(st.floats(0, 1e9))
def test_a_plain_number_is_seconds(seconds):
    assert parse_duration(str(seconds)) == seconds


@given(st.text())
def test_any_text_is_a_duration_or_refused(text):
    try:
        assert parse_duration(text) == parse_duration(f" {text} ")
    except ValueError as error:
        assert "such as 90, 90s" in str(error)


@table(
    "text",
    ["", " ", "s", "m", "1s1m", "1m1m", "1x", "nan", "inf", "-1m", "1m-5s", "1:30", "1m30", "1_0", "1e400", "9" * 400],
)
def test_what_is_no_duration_is_refused(text):
    with pytest.raises(ValueError, match="not a duration"):
        parse_duration(text)


def test_every_source_takes_a_duration():
    conf, toml = Path("my.conf"), Path("my.toml")
    conf.write_text("RUN_TIME=1m30s\n")
    toml.write_text('run_time = "1m30s"\nwarmup = 3\n')
    found = [
        run_time(run_time="1m30s"),
        run_time(environment={"SLOB_RUN_TIME": "1.5m"}),
        run_time(config=conf),
        run_time(config=toml),
    ]
    assert found == [90.0] * 4
    assert resolve({"think_tm_min": "5ms"}, None, {}).workload.to_record()["think_tm_min"] == 0.005


def test_a_grid_of_durations_has_each_length_once_and_in_seconds():
    grid = resolve_grid({"run_time": ["30s", "1m", "60"]}, None, {})
    assert grid.values == {"run_time": (30.0, 60.0)}


def test_all_times_of_a_workload_are_durations():
    assert DURATIONS == ["run_time", "warmup", "think_tm_min", "think_tm_max"]


@table("name", DURATIONS)
def test_a_refusal_says_what_a_duration_is(name):
    with pytest.raises(UsageError, match=r"is not allowed; allowed is a duration from 0 to \d+ s, such as 90, 90s or"):
        resolve({name: "1m30"}, None, {})
