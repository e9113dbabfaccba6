"""How often gates are right on measured noise: equal servers that are called worse, and a slowdown that is found.

Series of runs are made of the noise of real equal runs (`real_noise.json`, or `--runs` with files of `bench/aa.py`):
what each was above or below the level of its series is drawn again in blocks of neighbours (`change_points.drawn`). The
sides take the runs by turns. Each gate is asked with equal sides, and with a B that is slower by `--slower`.

Two gates are asked, in the product's own code: `slob ab --until-decided`, with as many pairs as its time has room for,
and `slob compare --fail-if 'ops_per_s < -10%'`, with as many runs on each side as it advises from six equal runs, and
with the rounds of the workflow that the documentation has. What is undecided is neither called worse nor found.

    .venv/bin/python bench/gate.py [--quick] [--series 2000] [--seed 1] [--seconds-for 600] [--runs aa.jsonl …]
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from change_points import drawn, measured, residuals
from common import Bar, parse, parser, print_heading, start
from openslob.analyze.ci_gate import GateResult, check, parse_condition
from openslob.analyze.compare import compare
from openslob.analyze.curves.points import Run
from openslob.analyze.intervals import spread, starts_needed
from openslob.analyze.sequential import Boundary, Decision, decide, ratio_at
from openslob.kinds.ab.execute import BESIDE_S, DEFAULT_FOR_S, DEFAULT_RUN_S, DEFAULT_WARMUP_S, WITHIN_PCT
from openslob.kinds.ab.record import A, B
from openslob.kinds.ab.sides import order_of
from openslob.metrics import Better
from openslob.record import store

ROOT = Path(__file__).resolve().parents[1]
# Any record: a comparison looks at its rate alone.
MEASURED = ROOT / "tests" / "fixtures" / "records" / "v4" / "measured"
FIGURE, CONDITION = "ops_per_s", "ops_per_s < -10%"
ACTION = ROOT / "action.yml"
# Equal runs whose spread says how many are needed.
PILOT, FEWEST, MOST = 6, 5, 40
# Besides as many as there is room for: pairs of longer runs.
FEWER_PAIRS = (16, 8)
ALARMS, POWER = Bar(5, at_least=False), Bar(90)

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Outcomes:
    """How often a gate called B worse, how often different at all, and after how many pairs it did, if it has pairs."""

    worse: int
    different: int
    count: int
    pairs: float | None = None

    def text(self, bars: bool, slower: bool) -> str:
        """Return the shares, with the bar of either case."""
        worse = 100 * self.worse / self.count
        bar = f"   {(POWER if slower else ALARMS).judge(worse)}" if bars else ""
        more = "" if slower else f", different {100 * self.different / self.count:.1f} %"
        after = f", after {self.pairs:.0f} pairs in the median" if slower and self.pairs else ""
        return f"{'found' if slower else 'called worse'} {worse:5.1f} % of {self.count}{more}{after}{bar}"


def main() -> None:
    """Run the benchmark and print the results."""
    options = parser(__doc__, rounds=1)
    options.add_argument("--series", type=int, default=2000, help="how many of each kind (%(default)d)")
    options.add_argument("--seed", type=int, default=1, help="of the series (%(default)d)")
    options.add_argument("--slower", type=float, default=20.0, help="by how many %% B is slower (%(default)g)")
    options.add_argument("--seconds-for", type=float, default=DEFAULT_FOR_S, help="time of slob ab (%(default)g)")
    options.add_argument(
        "--runs", type=Path, nargs="+", default=[], help="files of bench/aa.py, instead of the kept runs"
    )
    args = parse(options)
    count, random = 50 if args.quick else args.series, np.random.default_rng(args.seed)
    room = int(args.seconds_for / (2 * (DEFAULT_RUN_S + DEFAULT_WARMUP_S + BESIDE_S)))
    for what, rates in measured(args.runs):
        apart = residuals(rates)
        print_heading(f"noise of {100 * float(apart.std(ddof=1)):.1f} %: {what}")
        for pairs in (room, *FEWER_PAIRS):
            _print(f"slob ab, {pairs} pairs", [
                ask_ab(series(apart, pairs, count, random), slower, pairs) for slower in (0.0, args.slower)
            ], bars=pairs == room)  # fmt: skip
        advised = _advised(apart, args.slower, random)
        for runs in dict.fromkeys((advised, _workflow_rounds())):
            _print(f"slob compare, {runs} runs a side", [
                ask_compare(series(apart, runs, count, random), slower, runs) for slower in (0.0, args.slower)
            ], bars=True)  # fmt: skip


def _workflow_rounds() -> int:
    """Return how many runs of each side the workflow makes: as many as the action by itself."""
    return int(re.findall(r"^  rounds: .*default: \"(\d+)\"", ACTION.read_text(encoding="utf-8"), re.MULTILINE)[0])


def _print(what: str, both: Sequence[Outcomes], bars: bool) -> None:
    for slower, outcomes in zip((False, True), both, strict=True):
        print(f"  {what if not slower else '':<28} {outcomes.text(bars, slower)}", flush=True)


def series(apart: Values, pairs: int, count: int, random: np.random.Generator) -> Values:
    """Return so many series of twice so many rates around 1000, in rows."""
    size = float(apart.std(ddof=1))
    return 1000 * np.maximum(1 + size * drawn(apart)(2 * pairs, count, random), 0.01)


def sides(rates: Sequence[float], slower_pct: float, number: int) -> list[tuple[float, float]]:
    """Return the pairs of a series: A and B in the order of `slob ab` with this seed, B being slower."""
    found = []
    for pair in range(len(rates) // 2):
        of = dict(zip(order_of(number, pair + 1), rates[2 * pair : 2 * pair + 2], strict=True))
        found.append((of[A], of[B] * (1 - slower_pct / 100)))
    return found


def ask_ab(rows: Values, slower_pct: float, most: int) -> Outcomes:
    """Let `slob ab --until-decided` decide each series; each pair takes the same time."""
    boundary = Boundary()
    distances = [boundary.look(pairs, pairs / most) for pairs in range(1, most + 1)]
    decisions, ends = [], []
    for number, row in enumerate(rows.tolist()):
        pairs = sides(row, slower_pct, number)
        decision, end = Decision.UNDECIDED, most
        for at, distance in enumerate(distances, 1):
            decision = decide(ratio_at(pairs[:at], distance), WITHIN_PCT, Better.MORE)
            if decision is not Decision.UNDECIDED:
                end = at
                break
        decisions.append(decision)
        ends.append(end)
    different = sum(each in (Decision.WORSE, Decision.BETTER) for each in decisions)
    return Outcomes(decisions.count(Decision.WORSE), different, len(rows), float(np.median(ends)))


def ask_compare(rows: Values, slower_pct: float, runs: int) -> Outcomes:
    """Let the gate of `slob compare` judge each series, whose sides are run by turns."""
    condition, template = parse_condition(CONDITION), store.load(MEASURED)
    template = template.model_copy(update={"latency": {}, "waits": (), "episodes": None})
    figure = template.summary[FIGURE]

    def run(rate: float, number: int) -> Run:
        summary = {FIGURE: figure.model_copy(update={"value": rate})}
        engine = {**template.engine, "server_started_at": f"2026-01-01 00:{number // 60:02}:{number % 60:02}"}
        return Run.of(template.model_copy(update={"summary": summary, "engine": engine}))

    worse = different = 0
    for row in rows.tolist():
        a = [run(rate, 2 * at) for at, rate in enumerate(row[: 2 * runs : 2])]
        b = [run(rate * (1 - slower_pct / 100), 2 * at + 1) for at, rate in enumerate(row[1 : 2 * runs : 2])]
        result = check(condition, compare(a, b)).result
        worse += result is GateResult.VIOLATED
        shown = compare(b, a) if result is not GateResult.VIOLATED else None
        different += result is GateResult.VIOLATED or check(condition, shown).result is GateResult.VIOLATED
    return Outcomes(worse, different, len(rows))


def _advised(apart: Values, see_pct: float, random: np.random.Generator) -> int:
    """Return how many runs a side `slob` advises in the median, from the spread of six equal runs."""
    rows = series(apart, PILOT // 2, 200, random).tolist()
    advised = [starts_needed(spread([[rate] for rate in row]), see_pct) or FEWEST for row in rows]
    return min(max(int(np.median(advised)), FEWEST), MOST)


if __name__ == "__main__":
    start(main)
