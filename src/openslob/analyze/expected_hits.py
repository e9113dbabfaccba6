"""The share of block visits that a cache should serve, by the law of the keys and the way in which it evicts blocks.

Visits are taken as independent of each other. In a cache that evicts the block that was used longest ago, a block that
is visited r times in an operation is then found with probability 1 - exp(-r T). T is the same for all blocks, and such
that the probabilities add up to the size of the cache (Che, Tung and Wang: Hierarchical web caching systems, IEEE JSAC
20(7), 2002; why that is as accurate as it is: Fricker, Robert and Roberts, ITC 24, 2012).

In a cache that is a clock with use counts the hand passes each block once in T operations. It takes 1 from the block's
count, or evicts the block if the count is 0. A block comes with a count of 1, and each use adds 1, up to a limit. How
many passes a block lives through follows from its rate, and T again from the size of the cache (Nicola, Dan and Dias:
Analysis of the generalized clock buffer replacement scheme, ACM SIGMETRICS 1992).

The blocks of indexes are visited so often that they are taken as cached, and take their room.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from openslob.core.access import KeyLaw
from openslob.core.workload import BlockPath, Workload
from openslob.metrics.quantity import Quantity

# Bytes of indexes for a row: an entry of the index on the key, and in engines that place rows by a key of their own one
# that leads to the row.
_INDEX_BYTES = 32
# The ranks that are taken one by one, and the groups of the others, which are narrow enough for one rate each.
_ALONE, _GROUPS = 1000, 400
# Where an operation visits several rows, each row has a rate of its own: so many are 32 MB.
_MOST_ROWS = 2**22
# Where the hand comes so late, a block that is visited once in that time is as good as never evicted.
_LONGEST = 60.0
# Halvings of a range of 34 powers of 10.
_ROUNDS = 60
Array = NDArray[np.float64]


def expected_hit_pct(
    load: Workload, block_size: int, cache_bytes: int | None, use_limit: int | None = None, caches: int = 1
) -> Quantity:
    """Return the share of the load's block visits that the server's cache should serve, in %, or why it is not known.

    ``use_limit`` is the highest use count of a cache that is a clock, above 1; None for one that evicts what was used
    longest ago. ``caches``: instances of a cluster have one each.
    """
    if cache_bytes is None:
        return Quantity.missing("the size of the cache is not known")
    if load.classes or load.block_path is BlockPath.LOCAL or caches > 1:
        several = "classes of sessions visit blocks in several ways"
        return Quantity.missing(several if load.classes else "the sessions do not share one cache")
    if load.scan_pct and load.update_pct < 100:
        return Quantity.missing("scans go through the cache, too")
    if load.has_hotspot or load.hot_schema_frequency:
        return Quantity.missing("no hits are predicted of a hot spot or a hot schema")
    scale, tables = load.scale.blocks(block_size), load.active_tables
    units = _units(load)
    if units[-1][0] > 1 and scale > _MOST_ROWS:
        return Quantity.missing(f"an operation visits several rows, of more than {_MOST_ROWS:,}: use WORK_UNIT=1")
    blocks = cache_bytes // block_size - math.ceil(tables * scale * _INDEX_BYTES / block_size)
    return Quantity(100 * _hit_share(load.key_law(scale), scale, units, tables, blocks, use_limit))


def _units(load: Workload) -> tuple[tuple[int, float], ...]:
    """Return how many rows an operation visits, with the share of such operations."""
    updates = load.update_pct / 100
    shares = {load.work_unit: 1 - updates}
    shares[load.rows_per_update] = shares.get(load.rows_per_update, 0.0) + updates
    return tuple((unit, share) for unit, share in sorted(shares.items()) if share)


@cache
def _hit_share(
    law: KeyLaw, scale: int, units: Sequence[tuple[int, float]], tables: int, blocks: int, use_limit: int | None
) -> float:
    """Return the share of visits that find their block, of tables that are visited alike, in a cache of ``blocks``."""
    rates, numbers = _rates_by_row(law, scale, units) if units[-1][0] > 1 else _rates_by_rank(law)
    rates, numbers = rates / tables, numbers * tables
    if blocks >= numbers.sum():
        return 1.0
    if blocks <= 0:
        return 0.0
    found = _find_lru if use_limit is None else lambda visits: _find_clock(visits, use_limit)
    passed = _solve(lambda operations: float(numbers @ found(rates * operations)), blocks, float(rates.max()))
    return float(numbers * rates @ found(rates * passed) / (numbers @ rates))


def _solve(filled: Callable[[float], float], blocks: int, highest_rate: float) -> float:
    """Return the T for which the cache is filled, by halving the range of its logarithm."""
    low, high = math.log(1e-9 / highest_rate), math.log(1e25 / highest_rate)
    for _ in range(_ROUNDS):
        middle = (low + high) / 2
        low, high = (middle, high) if filled(math.exp(middle)) < blocks else (low, middle)
    return math.exp(low)


def _find_lru(visits: Array) -> Array:
    """Return the probability to find a block, by how often it is visited in T."""
    return -np.expm1(-visits)


def _find_clock(visits: Array, use_limit: int) -> Array:
    """Return the probability to find a block, by how often it is visited between two passes of the hand.

    Down from a count, a block goes by one at a time, in a pass before which it is not visited. ``passes[n]`` is how
    many it takes from n to n - 1, or to be evicted from 0: one, and those that lead back from each count to which
    visits raised it before.
    """
    visits, one = np.minimum(visits, _LONGEST), np.ones_like(visits)
    # The probabilities of n visits between two passes, and of at least n.
    terms, least = [np.exp(-visits)], [one, -np.expm1(-visits)]
    for number in range(1, use_limit):
        terms.append(terms[-1] * visits / number)
        least.append(np.maximum(least[-1] - terms[-1], 0.0))
    passes: dict[int, Array] = {}
    for count in range(use_limit - 1, -1, -1):
        above = range(count + 1, use_limit)
        passes[count] = sum((passes[at] * least[at + 1 - count] for at in above), one) / terms[0]
    lives = (passes[0] + passes[1]) * visits
    return lives / (lives + 1)


def _group_ends(ranks: int) -> NDArray[np.int64]:
    some = np.geomspace(_ALONE, max(ranks, _ALONE), _GROUPS).round().astype(np.int64)
    return np.unique(np.minimum(np.concatenate([np.arange(_ALONE), some]), ranks))


def _rates_by_rank(law: KeyLaw) -> tuple[Array, Array]:
    """Return the visits an operation makes to a block, and the number of such blocks, by groups of ranks."""
    ends = _group_ends(law.keys)
    shares, numbers = np.diff([law.share_of_first(int(end)) for end in ends]), np.diff(ends).astype(np.float64)
    return shares / numbers, numbers


def _rates_by_row(law: KeyLaw, scale: int, units: Sequence[tuple[int, float]]) -> tuple[Array, Array]:
    """Return the same where an operation visits the rows from its key on: a row is visited for each key before it."""
    ranks = np.arange(law.keys + 1, dtype=np.float64) + 0.5
    integral = np.log(ranks) if law.exponent == 1 else ranks ** (1 - law.exponent)
    integral[0] = law.low
    before = np.zeros(law.keys + 1)
    before[1 + np.arange(law.keys) * law.step % law.keys] = np.diff(integral) / law.width
    before = before.cumsum()
    rows = np.arange(1, scale + 1)
    rates = np.zeros(scale)
    for unit, share in units:
        rates += share * (before[np.minimum(rows, law.keys)] - before[np.clip(rows - unit, 0, law.keys)])
    ends = _group_ends(scale)
    numbers = np.diff(ends).astype(np.float64)
    return np.add.reduceat(np.sort(rates)[::-1], ends[:-1]) / numbers, numbers
