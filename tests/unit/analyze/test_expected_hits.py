"""Expected hits against caches that are simulated block by block, with the same law and other random numbers."""

import random
from collections import OrderedDict
from functools import cache

import pytest

from factories.tables import table
from openslob.analyze.expected_hits import expected_hit_pct
from openslob.core.workload import Workload

pytestmark = pytest.mark.any_python

BLOCK, ROWS = 8192, 2000
# Bytes of the indexes, in blocks.
INDEXES = -(-ROWS * 32 // BLOCK)
VISITS = 40_000


class Lru:
    """Evicts the block that was used longest ago."""

    def __init__(self, blocks):
        self.blocks, self.held = blocks, OrderedDict()

    def use(self, row):
        """Return whether the row's block was there; it is then."""
        if row in self.held:
            self.held.move_to_end(row)
            return True
        if len(self.held) >= self.blocks:
            self.held.popitem(last=False)
        self.held[row] = None
        return False


class Clock:
    """Counts uses, and evicts the block that the hand finds with none left."""

    def __init__(self, blocks, limit=5):
        self.rows, self.uses, self.place, self.hand = [None] * blocks, [0] * blocks, {}, 0
        self.limit = limit

    def use(self, row):
        """Return whether the row's block was there; it is then."""
        if (at := self.place.get(row)) is not None:
            self.uses[at] = min(self.uses[at] + 1, self.limit)
            return True
        at = self.hand
        while self.uses[at]:
            self.uses[at] -= 1
            at = (at + 1) % len(self.rows)
        self.place.pop(self.rows[at], None)
        self.rows[at], self.uses[at], self.place[row] = row, 1, at
        self.hand = (at + 1) % len(self.rows)
        return False


@cache
def keys(access, unit):
    """The first keys of operations, for as many visits as fill the cache and as many again."""
    law, chance = Workload(schemas=1, scale=str(ROWS), access=access, work_unit=unit).key_law(ROWS), random.Random(7)
    return [law.key_of(law.rank_at(chance.random())) for _ in range(2 * VISITS // unit)]


def simulated(cache, workload):
    """Return the share of hits in %, once the cache is full."""
    hits = 0
    for number, first in enumerate(keys(workload.access, workload.work_unit)):
        found = sum(cache.use(row) for row in range(first, first + workload.work_unit))
        hits += found if number >= VISITS // workload.work_unit else 0
    return 100 * hits / (VISITS // workload.work_unit * workload.work_unit)


@pytest.mark.parametrize(("kind", "limit"), [(Lru, None), (Clock, 5)], ids=["longest ago", "clock"])
@pytest.mark.parametrize(
    ("access", "unit", "share"),
    [
        ("zipf:0.99", 1, 0.05), ("zipf:0.99", 1, 0.3), ("zipf:0.99", 1, 0.7), ("zipf:1", 1, 0.2), ("zipf:0.6", 1, 0.2),
        ("zipf:1.3", 1, 0.1), ("zipf:0.99", 5, 0.2), ("zipf:1", 40, 0.4),
    ],
)  # fmt: skip
def test_expected_hits_are_those_of_a_simulated_cache(kind, limit, access, unit, share):
    blocks = round(share * ROWS)
    workload = Workload(schemas=1, scale=str(ROWS), access=access, work_unit=unit)
    expected = expected_hit_pct(workload, BLOCK, (blocks + INDEXES) * BLOCK, limit).value
    assert expected == pytest.approx(simulated(kind(blocks), workload), abs=1.5)


def hits(cache_blocks, limit=None, **load):
    workload = Workload(**{"schemas": 1, "scale": str(ROWS), "access": "zipf:0.99", "work_unit": 1, **load})
    return expected_hit_pct(workload, BLOCK, cache_blocks * BLOCK, limit)


@table("limit", [None, 5])
def test_more_cache_makes_more_hits_up_to_all(limit):
    found = [hits(blocks, limit).value for blocks in (0, INDEXES, 100, 500, 1000, 1900, ROWS + INDEXES, 10 * ROWS)]
    assert found == sorted(found)
    assert found[:2] == [0, 0]
    assert found[-2:] == [100, 100]


def test_keys_that_are_alike_are_hit_as_often_as_cache_is_there_for_data():
    assert hits(ROWS // 4 + INDEXES, access="uniform").value == pytest.approx(25, abs=0.1)
    assert hits(ROWS // 4 + INDEXES, 5, access="uniform").value == pytest.approx(25, abs=0.1)


def test_tables_share_the_cache():
    alone, four = hits(500), hits(4 * 500, schemas=4, sessions=4)
    assert four.value == pytest.approx(alone.value, abs=0.5)


def test_updates_of_as_many_rows_change_nothing_and_of_more_they_do():
    assert hits(500, update_pct=30).value == pytest.approx(hits(500).value)
    assert hits(500, update_pct=30, update_work_unit=20).value < hits(500).value - 5


@table("rows", [10_000_000, 4_000_000_000])
def test_large_tables_take_no_longer(rows):
    assert 0 < hits(rows // 10, scale=str(rows)).value < 100


@table(
    ("load", "why"),
    [
        ({"scan_pct": 5}, "scans go through the cache"),
        ({"access": "hotspot"}, "hot spot"),
        ({"block_path": "local"}, "do not share one cache"),
        ({"scale": "5000000", "work_unit": 2}, "use WORK_UNIT=1"),
    ],
)
def test_what_can_not_be_predicted_is_unknown(load, why):
    found = hits(500, **load)
    assert found.value is None
    assert why in found.why


def test_a_cluster_and_a_cache_of_unknown_size_are_unknown():
    workload = Workload(access="zipf:0.99")
    assert expected_hit_pct(workload, BLOCK, None).why == "the size of the cache is not known"
    assert expected_hit_pct(workload, BLOCK, 2**30, None, 2).why == "the sessions do not share one cache"
