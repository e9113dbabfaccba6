"""Skewed keys: whether each engine's own SQL draws by the law that is stated, what that costs, and the hits it makes.

draws     10,000,000 draws over 1,000,000 keys by the expression of the work loop, for three seeds: chi-square of
          the counts against the law's own probabilities, ranks beyond 64 in bins
cost      cached, 2 sessions, WORK_UNIT=1: operations/s with zipf:0.001, which draws nearly all keys alike, compared
          with uniform
hits      three sizes of the cache: the share of block visits that were hits, beside the expected one

  .venv/bin/python bench/skew.py [--engine postgresql|mariadb] [--quick] [--seconds 60] [--rounds 5]
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import psycopg
import pymysql
from numpy.typing import NDArray
from scipy import stats

from common import Bar, Bench, Pair, bench, figure, notify, parse, parser, print_heading, print_pairs, start
from openslob.core.access import KeyLaw
from openslob.core.units import MIB
from openslob.core.workload import Workload
from openslob.engines.mysql import connection as mysql
from openslob.engines.mysql.session import seeds
from openslob.engines.postgresql.slice_procedure import PACKAGE
from openslob.engines.slice_io import key_statement, law_parameters
from openslob.engines.sql import read_statements

KEYS, DRAWS, QUICK_DRAWS = 1_000_000, 10_000_000, 200_000
EXPONENTS, SEEDS, ALONE = (0.99, 1.0), (1, 2, 3), 64
LEAST_P = 0.01
COST_BAR = Bar(0.9)
DATA_MB, QUICK_DATA_MB, CACHE_SHARES = 448, 224, (0.15, 0.3, 0.6)
MOST_POINTS = 2.0
Counts = Sequence[tuple[int, int]]


def main() -> None:
    """Run the benchmark and print the results."""
    options = parser(__doc__, seconds=60, rounds=5)
    options.add_argument("--engine", choices=sorted(_DRAWING), default="postgresql")
    args = parse(options)
    data_mb = QUICK_DATA_MB if args.quick else DATA_MB
    with bench("skew", engine=args.engine, cache_bytes=2 * data_mb * MIB) as target:
        print_heading(f"{args.engine}: draws")
        check_draws(target, args.engine, QUICK_DRAWS if args.quick else DRAWS)
        target.load(_workload(data_mb))
        print_heading(f"{args.engine}: cached, 2 sessions, WORK_UNIT=1", pairs=True)
        measure_cost(target, data_mb, min(args.seconds, 8.0), args.rounds)
        print_heading(f"{args.engine}: hits of zipf:0.99")
        for share in CACHE_SHARES:
            measure_hits(target, data_mb, share, args.seconds)


def _workload(data_mb: int, **more: object) -> Workload:
    shape = {"schemas": 1, "sessions": 2, "scale": f"{data_mb}M", "work_unit": 1, **more}
    return Workload.model_validate(shape)


def check_draws(target: Bench, engine: str, draws: int) -> None:
    """Print, for each law and seed, how well the counts of the draws fit the law."""
    for exponent in EXPONENTS:
        law = KeyLaw(exponent, KEYS)
        for seed in SEEDS:
            p = fit(law, _DRAWING[engine](target, law, draws, seed))
            verdict = "holds" if p > LEAST_P else "FAILS"
            print(f"zipf:{exponent:g}, seed {seed}: {draws:,} draws, chi-square p = {p:.3f} > {LEAST_P:g} {verdict}")


def fit(law: KeyLaw, counts: Counts) -> float:
    """Return the probability of counts, by key, that fit the law no better."""
    drawn = np.zeros(law.keys + 1)
    keys, times = np.array(counts, dtype=np.int64).T
    back = pow(law.step, -1, law.keys)
    drawn[1 + (keys - 1) * back % law.keys] = times
    beyond: NDArray[np.int64] = np.geomspace(ALONE, law.keys, 200).astype(np.int64)
    ends = np.unique(np.concatenate([np.arange(ALONE), beyond]))
    expected = np.diff([law.share_of_first(int(rank)) for rank in ends]) * drawn.sum()
    return float(stats.chisquare(np.diff(drawn.cumsum()[ends]), expected).pvalue)


def _expression(package: str, law: KeyLaw) -> str:
    """Return what the work loop draws a key with, with the constants of the law in it."""
    name = key_statement(Workload.model_validate({"access": f"zipf:{law.exponent:g}"}))
    text, constants = read_statements(package, "slice")[name], law_parameters(law)
    return re.sub(r"zipf_\w+", lambda found: f"({constants[found[0]]!r})", text)


def _draw_in_postgresql(target: Bench, law: KeyLaw, draws: int, seed: int) -> Counts:
    drawn = f"SELECT {_expression(PACKAGE, law)} AS key FROM generate_series(1, {draws})"
    with psycopg.connect(target.url, autocommit=True) as connection:
        connection.execute("SELECT setseed(%s)", (seed / 100,))
        return connection.execute(f"SELECT key, count(*) FROM ({drawn}) AS drawn GROUP BY key").fetchall()


def _draw_in_mariadb(target: Bench, law: KeyLaw, draws: int, seed: int) -> Counts:
    # The LIMIT keeps the server from computing the expression once for the group and once for the result.
    drawn = f"SELECT {_expression(mysql.PACKAGE, law)} AS k FROM seq_1_to_{draws} LIMIT {draws}"
    arguments: Mapping[str, Any] = mysql.parse(target.url).arguments
    with pymysql.connect(**{**arguments, "database": "mysql"}) as connection, connection.cursor() as cursor:
        cursor.execute("SET rand_seed1 = %(first)s, rand_seed2 = %(second)s", seeds(seed))
        # A million groups, in memory.
        cursor.execute("SET max_heap_table_size = 2147483648, tmp_table_size = 2147483648")
        cursor.execute(f"SELECT k, COUNT(*) FROM ({drawn}) AS drawn GROUP BY k")
        return [(int(key), int(times)) for key, times in cursor.fetchall()]


_DRAWING = {"postgresql": _draw_in_postgresql, "mariadb": _draw_in_mariadb}


def measure_cost(target: Bench, data_mb: int, seconds: float, rounds: int) -> None:
    """Print operations/s of a law that takes as long to draw as any, and reads what uniform keys read."""
    pairs = []
    for number in range(rounds):
        notify(f"round {number + 1} of {rounds}")
        order = ("zipf:0.001", "uniform") if number % 2 else ("uniform", "zipf:0.001")
        found = {}
        for access in order:
            load = _workload(data_mb, access=access, run_time=seconds, warmup=1, mode="lio")
            found[access] = figure(target.run(**load.to_record()), "ops_per_s")
        pairs.append(Pair(found["zipf:0.001"], found["uniform"]))
    print_pairs("zipf:0.001, operations/s, uniform", pairs, COST_BAR)


def measure_hits(target: Bench, data_mb: int, share: float, seconds: float) -> None:
    """Print the measured and the expected share of hits with a cache of this share of the data."""
    cache = math.ceil(share * data_mb)
    target.restart(cache_bytes=cache * MIB)
    load = _workload(data_mb, access="zipf:0.99", sessions=8, run_time=seconds, warmup=2 * seconds)
    record = target.run(**load.to_record())
    found = next(verdict.figures for verdict in record.verdicts if verdict.name == "hits_as_expected")
    hit, expected = (float(found[name] or "nan") for name in ("hit_pct", "expected_hit_pct"))
    verdict = "holds" if abs(hit - expected) <= MOST_POINTS else "FAILS"
    print(
        f"cache {cache} MB of {data_mb} MB: {hit:.1f} % hits, {expected:.1f} % expected, "
        f"{hit - expected:+.1f} points, {MOST_POINTS:g} allowed: {verdict}"
    )


if __name__ == "__main__":
    start(main)
