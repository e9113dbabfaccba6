"""Parameters that are taken from what is loaded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openslob.config.grid import resolve_grid
from openslob.config.layers import data_text, describe_taken, loaded_layer
from openslob.config.resolve import resolve
from openslob.core.units import MIB
from openslob.core.workload import DataSpec, Workload

BLOCK = 8192
BIG = DataSpec(schemas=8, scale_blocks=262_144, scan_blocks=128, obfuscate=True)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


def found(spec=BIG, environment=None, **flags: str):
    return resolve(flags, None, environment or {}).with_loaded(loaded_layer(spec, BLOCK))


@given(
    st.builds(DataSpec, st.integers(1, 8192), st.integers(1, 2**31), st.integers(1, 2**31), st.booleans()),
    st.sampled_from([4096, 8192, 16384, 65536]),
)
def test_the_workload_of_what_is_loaded_loads_the_same(spec, block_size):
    layer = loaded_layer(spec, block_size)
    assert Workload.model_validate({name: one.value for name, one in layer.items()}).data(block_size) == spec


def test_what_is_loaded_is_weaker_than_what_is_given_and_stronger_than_the_default():
    taken = found()
    assert (taken.workload.schemas, str(taken.workload.scale), taken.workload.obfuscate_columns) == (8, "2G", True)
    assert taken.workload.total_sessions == 8
    names = ("schemas", "scale", "scan_table_sz", "obfuscate_columns", "seed")
    assert [taken.sources[name] for name in names] == ["loaded"] * 4 + ["default"]
    given_one = found(environment={"SLOB_SCALE": "1G"}, schemas="2")
    assert (given_one.workload.schemas, str(given_one.workload.scale)) == (2, "1G")
    assert (given_one.sources["schemas"], given_one.sources["scale"]) == ("flag", "environment")
    assert given_one.given == ["schemas"]


def test_only_what_a_grid_varies_replaces_what_is_loaded():
    grid = resolve_grid({"scale": ["1G", "2G"]}, None, {}, loaded_layer(BIG, BLOCK))
    assert grid.workload.schemas == 8
    assert grid.values == {"scale": ("1G", "2G")}
    assert grid.sources["schemas"] == "loaded"


def test_a_damaged_manifest_gives_nothing():
    assert loaded_layer(DataSpec(0, -5, 1, False), BLOCK) == {}


def test_odd_sizes_stay_blocks():
    layer = loaded_layer(DataSpec(1, 10_000, 20, False), BLOCK)
    assert (layer["scale"].value, layer["scan_table_sz"].value) == ("10000", "20")


def test_words():
    assert data_text(BIG, BLOCK) == "8 schemas x 2 GB, incompressible"
    assert data_text(DataSpec(1, MIB // BLOCK, 1, False), BLOCK) == "1 schema x 1 MB"
    assert describe_taken(["scale"], BIG, BLOCK) == "SCALE=2G"
