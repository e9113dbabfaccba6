"""Rehearsals: less data and time, on every way in which a size or a time reaches a command."""

from __future__ import annotations

import pytest

from factories.tables import table
from openslob.cli.common_options import at_least, parse_block_size, parse_cache
from openslob.config.grid import resolve_grid
from openslob.config.resolve import resolve
from openslob.config.server_parameters import server_grid
from openslob.core import rehearsal
from openslob.core.errors import UsageError
from openslob.core.units import GIB, KIB, MIB
from openslob.engines import registry
from openslob.kinds.sweep import demo


@pytest.fixture
def a_tenth(monkeypatch, tmp_path):
    monkeypatch.setenv(rehearsal.VARIABLE, "10")
    monkeypatch.chdir(tmp_path)


def test_without_the_variable_nothing_changes():
    assert rehearsal.amount(12345) == 12345
    assert rehearsal.seconds(0.25) == 0.25
    assert rehearsal.notices() == ()
    assert "rehearsal" not in " ".join(resolve({"scale": "2G"}, None, {}).notices)


def test_tables_of_client_programs_have_fewer_units(a_tenth):
    assert [rehearsal.units(count) for count in (1, 10, 100)] == [1, 1, 10]


def test_a_workload_is_smaller_and_says_so(a_tenth):
    resolved = resolve({"scale": "2G", "run_time": "60"}, None, {})
    assert str(resolved.workload.scale) == "204M"
    assert resolved.workload.run_time == 6
    assert "SLOB_REHEARSE" in resolved.notices[0]


def test_blocks_are_fewer_and_small_data_stay(a_tenth):
    assert resolve({"scale": "10000"}, None, {}).workload.scale.amount == 1000
    assert resolve({"scale": "100"}, None, {}).workload.scale.amount == 100
    assert str(resolve({"scale": "512K"}, None, {}).workload.scale) == "512K"


def test_caches_files_and_times_are_smaller_and_block_sizes_are_not(a_tenth):
    assert parse_cache("1G") == 102 * MIB
    assert parse_cache("32M") == rehearsal.LEAST_CACHE
    assert at_least(0.5)("20") == 2
    assert at_least(0.5)("2") == 0.5
    assert parse_block_size("8k") == 8 * KIB


def test_what_commands_choose_themselves_is_smaller(a_tenth):
    assert registry.default_spec("any").cache_bytes < 32 * MIB
    assert demo.sizes(100 * GIB, 64 * GIB).cache == demo.SMALLEST_CACHE
    size = demo.sizes(100 * GIB, 64 * GIB)
    assert {run.run_time for run in demo.cached_runs(size, 2).values()} == {1.0}
    assert demo.physical_sweep(size).workload["run_time"] == 1.0


def test_a_sweep_has_the_ends_of_its_values_and_no_repeats(a_tenth):
    assert resolve_grid({"sessions": ["1", "2", "4", "8"]}, None, {}).values == {"sessions": (1, 8)}
    assert server_grid({"cache": ["64M", "128M", "1G"]}) == {"cache_bytes": (rehearsal.LEAST_CACHE, 102 * MIB)}
    assert rehearsal.repeats(5) == 1


@table("text", ["0", "-1", "ten", "1.5", "10001"])
def test_other_texts_are_refused(text):
    with pytest.MonkeyPatch.context() as patch, pytest.raises(UsageError, match="whole number"):
        patch.setenv(rehearsal.VARIABLE, text)
        rehearsal.divisor()
