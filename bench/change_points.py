"""How often change points are seen where there is none, and how often a step is found where it is.

Runs of made-up series keep a share of the run before them (a first-order autoregression). What comes new with each is
normal, has heavy tails on both sides (Student's t with 2 degrees of freedom) or on one (lognormal). Two runs in a row
are out of the way, at a random place and by 10 standard deviations, or the second half varies twice as much. The
standard deviation of noise without one is taken to be half of the range of its middle 68 %.

Series with real noise are made of runs that were measured one after the other (`real_noise.json`, or `--runs` with
files of `bench/aa.py`): what each was above or below the level of its series is drawn again in blocks of neighbours, so
that what runs keep of the ones before them stays (a circular block bootstrap: D. N. Politis and J. P. Romano, 1992). A
step counts as placed if a change is found at most one run beside it. The place that least squares give is shown, too:
no method knows it better if the noise is normal and independent.

    .venv/bin/python bench/change_points.py [--quick] [--series 500] [--seed 1] [--runs aa.jsonl …]
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from common import Bar, parse, parser, print_figure, print_heading, start
from openslob.analyze.change_points import LEAST_PART, change_points, course_to_the_last

Values = NDArray[np.float64]
# Of so many runs, for so many series: a row for each.
Noise = Callable[[int, int, np.random.Generator], Values]

MEASURED = Path(__file__).with_name("real_noise.json")
# Runs of this side of `bench/aa.py` are slower on purpose.
SLOWED = "B"
CORRELATED = (0.0, 0.3, 0.6, 0.9)
# What comes new with each run, around its median.
NEW: Mapping[str, Callable[[np.random.Generator, tuple[int, int]], Values]] = {
    "normal": lambda random, shape: random.standard_normal(shape),
    "t(2)": lambda random, shape: random.standard_t(2, shape),
    "lognormal": lambda random, shape: random.lognormal(size=shape) - 1,
}
SPOILED = ("", "two runs out of the way", "spread doubled")
FAR_OUT, SPREAD_TIMES = 10.0, 2.0
# Histories of these lengths, besides the usual one.
RUNS = (20, 100)
USUAL_NOISE_PCT = 2.0
# Runs before the first one that is taken, so that what it keeps is as usual.
BEFORE = 60
STEP_PCT, STEP_RUNS = 5.0, 30
STEPS_PCT = (5.0, 10.0, 20.0)
# The last runs that have a new level in a history that is too short to be sure.
LATE_RUNS = 4
LONG_RUNS, MOST_S = (100, 300, 1000), 1.0
NOISE_PCT = (1.0, 1.5, 2.0, 2.5)
# Neighbours that are drawn together.
BLOCK = 5
MOST_FALSE_PCT, LEAST_PLACED_PCT, LEAST_REAL_PCT = 5.0, 95.0, 85.0
# With more noise, nothing can place the step so often; of real runs, neighbours are alike, which blurs it earlier.
PLACED_TO_PCT, REAL_PLACED_TO_PCT = 1.0, 1.0


def main() -> None:
    """Run the benchmark and print the results."""
    options = parser(__doc__, rounds=1)
    options.add_argument("--series", type=int, default=500, help="how many of each kind (%(default)d)")
    options.add_argument("--seed", type=int, default=1, help="of the series (%(default)d)")
    options.add_argument(
        "--runs", type=Path, nargs="+", default=[], help="files of bench/aa.py, instead of the kept runs"
    )
    args = parse(options)
    random, count = np.random.default_rng(args.seed), 20 if args.quick else args.series
    _print_alarms(count, random)
    _print_steps(count, random)
    for what, rates in measured(args.runs):
        _print_real(what, rates, count, random)
    print_heading("CPU of the first history of its length, with a step and noise of 2 %")
    for runs in LONG_RUNS:
        _print_seconds(runs, random)


def _print_alarms(count: int, random: np.random.Generator) -> None:
    bar = [Bar(MOST_FALSE_PCT, at_least=False)]
    print_heading(f"changes seen in {STEP_RUNS} runs where there is none")
    for kept, new, spoiled in product(CORRELATED, NEW, SPOILED):
        what = f"correlation {kept:g}, {new}{spoiled and f', {spoiled}'}"
        _print_false(what, spoil(made_up(kept, new), spoiled), STEP_RUNS, count, random, bar)
    print_heading("the same in shorter and longer histories")
    for runs, kept in product(RUNS, CORRELATED):
        _print_false(f"{runs} runs, correlation {kept:g}", made_up(kept), runs, count, random, bar)


def _print_steps(count: int, random: np.random.Generator) -> None:
    print_heading(f"steps found in {STEP_RUNS} runs with noise of {USUAL_NOISE_PCT:g} %")
    for kept, new, step_pct in product(CORRELATED, NEW, STEPS_PCT):
        _print_found(f"{step_pct:g} %, correlation {kept:g}, {new}", made_up(kept, new), step_pct, count, random)
    print_heading(f"a step of {STEP_PCT:g} % in {STEP_RUNS} runs, placed within one run")
    for noise_pct in NOISE_PCT:
        bars = [Bar(LEAST_PLACED_PCT)] if noise_pct <= PLACED_TO_PCT else []
        _print_placed(f"noise of {noise_pct:g} %", made_up(0.0), noise_pct, count, random, bars)
    print_heading(f"a step of {STEP_PCT:g} % in the last {LATE_RUNS} of {STEP_RUNS} runs")
    for noise_pct in NOISE_PCT:
        _print_late(noise_pct, STEP_PCT, count, random)
    print_heading("the same without a step")
    _print_late(USUAL_NOISE_PCT, 0.0, count, random)


def _print_real(what: str, rates: Values, count: int, random: np.random.Generator) -> None:
    apart = residuals(rates)
    found, kept = 100 * float(apart.std(ddof=1)), float(np.corrcoef(apart[1:], apart[:-1])[0, 1])
    print_heading(f"real noise of {len(rates)} runs, {found:.1f} % from run to run, correlation {kept:.2f}: {what}")
    noise = drawn(apart)
    _print_false(f"changes seen in {STEP_RUNS} runs where there is none", noise, STEP_RUNS, count, random, [])
    for noise_pct in sorted({*NOISE_PCT, round(found, 2)}):
        bars = [Bar(LEAST_REAL_PCT)] if noise_pct <= REAL_PLACED_TO_PCT else []
        own = "as measured" if noise_pct == round(found, 2) else f"scaled to {noise_pct:g} %"
        _print_placed(f"step placed, noise {own}", noise, noise_pct, count, random, bars)


def _print_false(
    what: str, noise: Noise, runs: int, count: int, random: np.random.Generator, bars: Sequence[Bar]
) -> None:
    seen = [bool(change_points(each)) for each in (100 + USUAL_NOISE_PCT * noise(runs, count, random)).tolist()]
    print_figure(what, [100 * sum(seen) / count], "%", *bars)


def _print_found(what: str, noise: Noise, step_pct: float, count: int, random: np.random.Generator) -> None:
    series, places = with_steps(100 + USUAL_NOISE_PCT * noise(STEP_RUNS, count, random), step_pct, random)
    found = [[change.at for change in change_points(each)] for each in series.tolist()]
    near = [any(abs(each - at) <= LEAST_PART for each in ats) for ats, at in zip(found, places, strict=True)]
    print_figure(what, [100 * sum(near) / count], "%")


def _print_late(noise_pct: float, step_pct: float, count: int, random: np.random.Generator) -> None:
    series = 100 + noise_pct * made_up(0.0)(STEP_RUNS, count, random)
    series[:, -LATE_RUNS:] *= 1 - step_pct / 100
    courses = [course_to_the_last(each) for each in series.tolist()]
    sure = [bool(each.changes) for each in courses]
    early = [not each.changes and each.early is not None for each in courses]
    more = [each.early.more for each in courses if not each.changes and each.early and each.early.more]
    print_figure(f"noise of {noise_pct:g} %: a change point", [100 * sum(sure) / count], "%")
    print_figure("  said to be too early", [100 * sum(early) / count], "%")
    drifts = [not each.changes and not each.early and bool(each.drifts) for each in courses]
    print_figure("  said to be a drift, perhaps", [100 * sum(drifts) / count], "%")
    if more:
        print_figure("  runs that it then takes", sorted(more), "")


def _print_seconds(runs: int, random: np.random.Generator) -> None:
    series, _ = with_steps(100 + USUAL_NOISE_PCT * made_up(0.3)(runs, 1, random), STEP_PCT, random)
    begun = time.process_time()
    course_to_the_last(series[0].tolist())
    print_figure(f"{runs} runs", [time.process_time() - begun], "s", Bar(MOST_S, at_least=False))


def _print_placed(
    what: str, noise: Noise, noise_pct: float, count: int, random: np.random.Generator, bars: Sequence[Bar]
) -> None:
    series, places = with_steps(100 + noise_pct * noise(STEP_RUNS, count, random), STEP_PCT, random)
    placed, by_squares = zip(*map(_placed, series, places), strict=True)
    print_figure(what, [100 * sum(placed) / count], "%", *bars)
    print_figure("  by least squares, if it is known that there is one", [100 * sum(by_squares) / count], "%")


def made_up(kept: float, new: str = "normal") -> Noise:
    """Return a noise of size 1; ``kept`` is the correlation of neighbours, ``new`` what comes with each of them."""

    def noise(runs: int, count: int, random: np.random.Generator) -> Values:
        values = NEW[new](random, (count, BEFORE + runs))
        for at in range(1, BEFORE + runs):
            values[:, at] += kept * values[:, at - 1]
        low, middle, high = np.quantile(values[:, BEFORE:], [0.1587, 0.5, 0.8413])
        scaled: Values = (values[:, BEFORE:] - middle) / ((high - low) / 2)
        return scaled

    return noise


def spoil(noise: Noise, how: str) -> Noise:
    """Return a noise that is spoiled in one of the ways of `SPOILED`."""

    def spoiled(runs: int, count: int, random: np.random.Generator) -> Values:
        values = noise(runs, count, random)
        if how == "spread doubled":
            values[:, runs // 2 :] *= SPREAD_TIMES
        elif how:
            first = random.integers(0, runs - 1, count)
            for at in (first, first + 1):
                values[np.arange(count), at] -= FAR_OUT
        return values

    return spoiled


def with_steps(series: Values, step_pct: float, random: np.random.Generator) -> tuple[Values, Values]:
    """Return series in rows that are lower from some run on, and the number of this run for each."""
    count, runs = series.shape
    places = random.integers(8, runs - 7, count)
    return np.where(np.arange(runs) >= places[:, None], series * (1 - step_pct / 100), series), places


def drawn(apart: Values) -> Noise:
    """Return the noise of size 1 that draws measured deviations again, in blocks of neighbours."""
    scaled = apart / apart.std(ddof=1)

    def noise(runs: int, count: int, random: np.random.Generator) -> Values:
        begins = random.integers(0, len(scaled), (count, -(-runs // BLOCK)))
        blocks = scaled[(begins[:, :, None] + np.arange(BLOCK)) % len(scaled)]
        return blocks.reshape(count, -1)[:, :runs]

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


def _placed(series: Values, at: int) -> tuple[bool, bool]:
    ends = range(LEAST_PART, len(series) - LEAST_PART + 1)
    squares = [series[:end].var() * end + series[end:].var() * (len(series) - end) for end in ends]
    found = [each.at for each in change_points(series.tolist())]
    return any(abs(each - at) <= 1 for each in found), abs(ends[int(np.argmin(squares))] - at) <= 1


if __name__ == "__main__":
    start(main)
