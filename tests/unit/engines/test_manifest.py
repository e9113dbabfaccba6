"""The one rule on whether loaded data can still be used, and its sentence."""

from __future__ import annotations

from factories.tables import table
from openslob.core.workload import DataSpec, Workload
from openslob.engines.common_checks import check_data
from openslob.engines.facts import ServerFacts
from openslob.engines.manifest import LoadManifest

SPEC = DataSpec(schemas=1, scale_blocks=1000, scan_blocks=100, obfuscate=False)
LOADED = {"cf1_1": 1000, "cf2_1": 100}


def manifest(now, **overrides):
    return LoadManifest(
        SPEC, **{"verified": True, "loaded_at": "then", "blocks": LOADED, "blocks_now": now, **overrides}
    )


@table(
    ("now", "overrides", "fault"),
    [
        ({}, {}, ""),
        ({"cf1_1": 1010, "cf2_1": 99}, {}, ""),
        ({"cf1_1": 1011}, {}, "the table cf1_1 has grown from 1,000 to 1,011 blocks since the load; 990 to 1,010 are"),
        ({"cf2_1": 98}, {}, "the table cf2_1 has shrunk from 100 to 98 blocks since the load; 99 to 101 are allowed"),
        ({"cf2_1": 98}, {"slack_blocks": 1}, ""),
        ({"cf1_1": 2020}, {"growth": 2}, ""),
        ({"cf1_1": 2021}, {"growth": 2}, "990 to 2,020 are allowed"),
        ({"cf1_1": None}, {}, "the table cf1_1 is no longer there"),
        ({}, {"verified": False}, "the last load did not finish"),
    ],
)
def test_data_can_be_used_as_long_as_every_table_is_as_it_was_loaded(now, overrides, fault):
    blocks = {name: count for name, count in {**LOADED, **now}.items() if count is not None}
    found = manifest(blocks, **overrides)
    assert (found.fault == "") == (fault == "") == found.is_whole
    assert fault in found.fault
    refusals = [
        each.why for each in check_data(Workload(schemas=1, scale="1000"), FACTS, found.data_state()) if each.blocking
    ]
    assert refusals == [found.fault] * (not found.is_whole)


@table(
    ("now", "overrides", "grown"),
    [
        ({"cf1_1": 1011}, {}, True),
        ({"cf1_1": 1011, "cf2_1": 200}, {}, True),
        ({}, {}, False),
        ({"cf1_1": 1011, "cf2_1": 98}, {}, False),
        ({"cf1_1": 1011, "cf2_1": None}, {}, False),
        ({"cf1_1": 1011}, {"verified": False}, False),
        ({"cf1_1": 1011}, {"altered": {"cf1_1": "an index was added"}}, False),
    ],
)
def test_what_goes_on_with_a_load_may_find_tables_that_it_made_grow(now, overrides, grown):
    blocks = {name: count for name, count in {**LOADED, **now}.items() if count is not None}
    found = manifest(blocks, **overrides)
    assert found.has_grown is grown
    refusals = [
        each for each in check_data(Workload(schemas=1, scale="1000"), FACTS, found.data_state()) if each.blocking
    ]
    assert [each.by_load for each in refusals] == [grown] * (not found.is_whole)


FACTS = ServerFacts(
    product="p", version="1", block_size=8192, cache_bytes=0, free_connections=9, settings={}, direct_io=None
)
