"""How often change points are seen where there is none, and how often a step is found where it is.

The runs of made-up series differ by a normal noise, whose neighbours are correlated or not. Series with real noise are
made of runs that were measured one after the other (`real_noise.json`, or `--runs` with files of `bench/aa.py`): what
each was above or below the level of its series is drawn again in blocks of neighbours, so that what runs keep of the
ones before them stays (a circular block bootstrap: D. N. Politis and J. P. Romano, 1992). A step counts as placed if a
change is found at most one run beside it. The place that least squares give is shown, too: no method knows it better if
the noise is normal and independent.

    .venv/bin/python bench/change_points.py [--quick] [--series 200] [--seed 1] [--runs aa.jsonl …]
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from common import Bar, parse, parser, print_figure, print_heading, start
from openslob.analyze.change_points import LEAST_PART, change_points

Values = NDArray[np.float64]
Noise = Callable[[int, np.random.Generator], Values]

MEASURED = Path(__file__).with_name("real_noise.json")
# Runs of this side of `bench/aa.py` are slower on purpose.
SLOWED = "B"
RUNS = (20, 30, 100)
CORRELATED = (0.0, 0.3, 0.5)
STEP_PCT, STEP_RUNS = 5.0, 30
NOISE_PCT = (1.0, 1.5, 2.0, 2.5)
# Neighbours that are drawn together.
BLOCK = 5
MOST_FALSE_PCT, LEAST_PLACED_PCT = 5.0, 95.0
# With more noise, nothing can place the step so often; of real runs, neighbours are alike, which blurs it earlier.
PLACED_TO_PCT, REAL_PLACED_TO_PCT = 1.5, 1.0


def main() -> None:
    """Run the benchmark and print the results."""
    options = parser(__doc__, rounds=1)
    options.add_argument("--series", type=int, default=200, help="how many of each kind (%(default)d)")
    options.add_argument("--seed", type=int, default=1, help="of the series (%(default)d)")
    options.add_argument(
        "--runs", type=Path, nargs="+", default=[], help="files of bench/aa.py, instead of the kept runs"
    )
    args = parse(options)
    random, count = np.random.default_rng(args.seed), 20 if args.quick else args.series
    print_heading("changes seen where there is none")
    for runs in RUNS:
        for kept in CORRELATED:
            bars = [] if kept else [Bar(MOST_FALSE_PCT, at_least=False)]
            _print_false(f"{runs} runs, correlation {kept:g}", made_up(kept), runs, count, random, bars)
    print_heading(f"a step of {STEP_PCT:g} % in {STEP_RUNS} runs, placed within one run")
    for noise_pct in NOISE_PCT:
        bars = [Bar(LEAST_PLACED_PCT)] if noise_pct <= PLACED_TO_PCT else []
        _print_placed(f"noise of {noise_pct:g} %", made_up(0.0), noise_pct, count, random, bars)
    for what, rates in measured(args.runs):
        _print_real(what, rates, count, random)


def _print_real(what: str, rates: Values, count: int, random: np.random.Generator) -> None:
    apart = residuals(rates)
    found, kept = 100 * float(apart.std(ddof=1)), float(np.corrcoef(apart[1:], apart[:-1])[0, 1])
    print_heading(f"real noise of {len(rates)} runs, {found:.1f} % from run to run, correlation {kept:.2f}: {what}")
    noise = drawn(apart)
    _print_false(f"changes seen in {STEP_RUNS} runs where there is none", noise, STEP_RUNS, count, random, [])
    for noise_pct in sorted({*NOISE_PCT, round(found, 2)}):
        bars = [Bar(LEAST_PLACED_PCT)] if noise_pct <= REAL_PLACED_TO_PCT else []
        own = "as measured" if noise_pct == round(found, 2) else f"scaled to {noise_pct:g} %"
        _print_placed(f"step placed, noise {own}", noise, noise_pct, count, random, bars)


def _print_false(
    what: str, noise: Noise, runs: int, count: int, random: np.random.Generator, bars: Sequence[Bar]
) -> None:
    seen = [bool(change_points((100 + 2 * noise(runs, random)).tolist())) for _ in range(count)]
    print_figure(what, [100 * sum(seen) / count], "%", *bars)


def _print_placed(
    what: str, noise: Noise, noise_pct: float, count: int, random: np.random.Generator, bars: Sequence[Bar]
) -> None:
    placed, by_squares = zip(*(_placed(noise, noise_pct, random) for _ in range(count)), strict=True)
    print_figure(what, [100 * sum(placed) / count], "%", *bars)
    print_figure("  by least squares, if it is known that there is one", [100 * sum(by_squares) / count], "%")


def made_up(kept: float) -> Noise:
    """Return a normal noise of size 1; ``kept`` is the correlation of neighbours."""

    def noise(runs: int, random: np.random.Generator) -> Values:
        values, last = np.zeros(runs), float(random.standard_normal())
        for at in range(runs):
            last = kept * last + np.sqrt(1 - kept**2) * float(random.standard_normal())
            values[at] = last
        return values

    return noise


def drawn(apart: Values) -> Noise:
    """Return the noise of size 1 that draws measured deviations again, in blocks of neighbours."""
    scaled = apart / apart.std(ddof=1)

    def noise(runs: int, random: np.random.Generator) -> Values:
        begins = random.integers(0, len(scaled), -(-runs // BLOCK))
        return np.concatenate([scaled[(begin + np.arange(BLOCK)) % len(scaled)] for begin in begins])[:runs]

    return noise


def residuals(rates: Values) -> Values:
    """Return by how much each rate is above or below their mean, as a share of it."""
    return rates / rates.mean() - 1


def measured(files: Sequence[Path]) -> list[tuple[str, Values]]:
    """Return series of rates of equal runs in the order of time, each with what it is of."""
    if files:
        return [(file.name, np.array(_rates(file))) for file in files]
    kept = json.loads(MEASURED.read_text(encoding="utf-8"))
    return [(each["what"], np.array(each["ops_per_s"])) for each in kept["series"]]


def _rates(file: Path) -> list[float]:
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()[1:]]
    equal = [row["record"] for row in rows if row["task"]["side"] != SLOWED]
    return [each["summary"]["ops_per_s"]["value"] for each in sorted(equal, key=lambda each: each["started_at"])]


def _placed(noise: Noise, noise_pct: float, random: np.random.Generator) -> tuple[bool, bool]:
    series, at = 100 + noise_pct * noise(STEP_RUNS, random), int(random.integers(8, 23))
    series[at:] *= 1 - STEP_PCT / 100
    ends = range(LEAST_PART, len(series) - LEAST_PART + 1)
    squares = [series[:end].var() * end + series[end:].var() * (len(series) - end) for end in ends]
    found = [each.at for each in change_points(series.tolist())]
    return any(abs(each - at) <= 1 for each in found), abs(ends[int(np.argmin(squares))] - at) <= 1


if __name__ == "__main__":
    start(main)
