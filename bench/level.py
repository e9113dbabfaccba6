"""How often a cap is found in simulated loads, and how often one is seen where there is none.

Each load is simulated request by request (`tests/factories/capped_load.py`): 1 to 32 sessions, with and without
updates, on a machine with the noise of real runs. In half of them a cap on IOPS or CPU holds the load back for a
part of its time, at 30 to 80 % of what it does otherwise: a token bucket runs dry, or a limit is switched on, and in
some lifted again. It counts as found with its kind and direction, its moment within 5 s, its level within 3 % and the
bucket within 10 %.

    .venv/bin/python bench/level.py [--quick] [--loads 100] [--seed 1] [--verbose]
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import numpy as np

from common import parse, parser, start
from factories.capped_load import Cap, Load, Simulated, course, simulate
from openslob.analyze.level import find_cap
from openslob.core.measurement import Cap as FoundCap

WITHIN_S = 5.0
LEVEL_PCT = 3.0
BUCKET_PCT = 10.0
LEAST_FOUND_PCT = 95.0
MOST_FALSE_PCT = 5.0
WHAT = ("read", "read", "read", "both", "write", "cpu")
# Fewer sessions that read and write by turns never use all of a limit on one of the two.
MIXING = 4
# The share of caps that are lifted again, and of the others those with a bucket that was full at the beginning.
LIFTED = 0.3
BUCKETS = 0.6


def main() -> None:
    """Run the benchmark and print the results."""
    options = parser(__doc__, rounds=1)
    options.add_argument(
        "--loads", type=int, default=100, help="how many with a cap, and as many without (%(default)d)"
    )
    options.add_argument("--seed", type=int, default=1, help="of the loads (%(default)d)")
    options.add_argument("--verbose", action="store_true", help="show each load that is judged wrongly")
    args = parse(options)
    loads = 10 if args.quick else args.loads
    rng = np.random.default_rng(args.seed)
    missed = [why for _ in range(loads) if (why := of_capped(rng))]
    seen = [str(found) for _ in range(loads) if (found := find_cap(uncapped(rng).trace))]
    for text in (*missed, *seen) if args.verbose else ():
        print(f"  {text}")
    found = loads - len(missed)
    print(f"caps found: {found} of {loads} (at least {LEAST_FOUND_PCT:g} % are required)")
    print(f"seen where there was none: {len(seen)} of {loads} (at most {MOST_FALSE_PCT:g} %)")
    if 100 * found < LEAST_FOUND_PCT * loads or 100 * len(seen) > MOST_FALSE_PCT * loads:
        sys.exit("bench: the search for ceilings does not reach its bars")


def load_of(rng: np.random.Generator) -> Load:
    """Return a load of any size."""
    return Load(
        seconds=int(rng.integers(30, 91)),
        sessions=int(rng.choice([1, 2, 4, 8, 16, 32])),
        blocks=int(rng.choice([4, 8, 16])),
        write_share=float(rng.choice([0, 0, 0.2, 0.5, 1.0])),
        cpu_s=float(rng.uniform(0.0001, 0.0006)),
        service_s=float(rng.uniform(0.002, 0.006)),
    )


def uncapped(rng: np.random.Generator) -> Simulated:
    """Return a load without a cap."""
    load = load_of(rng)
    return simulate(load, rng, *course(load.seconds, rng))


def of_capped(rng: np.random.Generator) -> str:
    """Return what is wrong with the cap that is found in a load with one; empty if nothing is."""
    what = WHAT[rng.integers(len(WHAT))]
    load = load_of(rng)
    if what == "cpu":
        load.cpu_s, load.sessions = float(rng.uniform(0.001, 0.002)), max(load.sessions, MIXING)
    elif what == "both":
        load.write_share = max(load.write_share, 0.5)
    elif load.sessions < MIXING or what == "read":
        what, load.write_share = "read", min(load.write_share, 0.2) * (load.sessions >= MIXING)
    else:
        load.write_share = 0.5
    slow, hog = course(load.seconds, rng)
    on, off = float(rng.uniform(8, load.seconds - 12)), float("inf")
    if rng.random() < LIFTED:
        off = float(rng.uniform(on + 8, load.seconds))
    free = usual(simulate(load, rng, slow, hog), what)
    # What does not hold a load back most of the time is no cap on it.
    rate = float(
        np.quantile(free[int(on) :][: max(1, round(min(off, load.seconds) - on))], 0.25) * rng.uniform(0.3, 0.8)
    )
    is_bucket = what != "cpu" and off == float("inf") and rng.random() < BUCKETS
    until_on = float((free[: int(on)] - rate).sum())
    load.cap = Cap(what, rate, bucket=until_on) if is_bucket and until_on > 0 else Cap(what, rate, on, off)
    simulated = simulate(load, rng, slow, hog)
    why = wrong(load.cap, simulated, find_cap(simulated.trace))
    return why and f"{load}: {why}"


def usual(simulated: Simulated, what: str) -> np.ndarray:
    """Return the rate that a load has without a cap, in units of the cap."""
    of = {"read": ("engine.read_requests",), "cpu": ("server.cpu",), "write": ("device.writes",)}
    return np.sum([simulated.trace.get(name) for name in of.get(what, ("device.reads", "device.writes"))], axis=0)


def wrong(cap: Cap, simulated: Simulated, found: FoundCap | None) -> str:
    """Return in what a ceiling that was found differs from the cap that there was; empty if it is right."""
    if found is None:
        return "not found"
    if found.dry_at_s is None or not simulated.dry_at_s:
        return f"found without its begin: {found}"
    size = 1.0 if found.unit != "MB/s" else 2**20 / 8192
    apart = {
        "moment": min(abs(found.dry_at_s - each) for each in simulated.dry_at_s) > WITHIN_S,
        "level": abs(found.cap * size / cap.rate - 1) > LEVEL_PCT / 100,
        "bucket": abs((found.bucket or 0) * size / simulated.used - 1) > BUCKET_PCT / 100,
        "kind": (found.kind == "cpu") != (cap.what == "cpu"),
        "direction": found.direction != cap.what.replace("cpu", ""),
    }
    wrongs = ", ".join(name for name, is_wrong in apart.items() if is_wrong)
    moments = ", ".join(f"{each:.1f}" for each in simulated.dry_at_s)
    return wrongs and f"wrong {wrongs} (dry at {moments}, used {simulated.used:.1f}): {found}"


if __name__ == "__main__":
    start(main)
