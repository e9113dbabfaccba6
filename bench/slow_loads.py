"""How often made-up slow stretches get the right cause, by the fault that is in them: no server is needed.

Each fault has so many courses of random strength and length. A cause is right if it, or one of the two that are named,
is true; it is false if it is stated and none is true.

.venv/bin/python bench/slow_loads.py [--seeds 50]
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from factories.slow_loads import FAULTS, Fault, answers, course
from openslob.analyze.causes import episodes


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=50)
    seeds = parser.parse_args().seeds
    print(f"{'fault':56}{'right':>7}{'either':>8}{'false':>7}{'unknown':>9}   answers")
    sums: Counter[str] = Counter()
    for fault in FAULTS:
        found, said = _judge(fault, seeds)
        sums += found
        causes = ", ".join(f"{cause} {count}" for cause, count in said.most_common(4))
        print(_row(fault.name, found), causes, flush=True)
    print(_row("all", sums))


def _row(name: str, found: Counter[str]) -> str:
    return f"{name:56}{found['right']:>7}{found['either']:>8}{found['false']:>7}{found['unknown']:>9}  "


def _judge(fault: Fault, seeds: int) -> tuple[Counter[str], Counter[str]]:
    outcomes: Counter[str] = Counter()
    said: Counter[str] = Counter()
    for seed in range(seeds):
        random = np.random.default_rng(1000 + seed)
        trace = course(fault, float(random.uniform()), int(random.integers(3, 25)), seed)
        worst = max(episodes(trace), key=lambda each: each.lost_ops, default=None)
        cause = str(worst.cause) if worst else "no stretch"
        said[cause] += 1
        named = answers(cause)
        if named & fault.right:
            outcomes["either" if len(named) > 1 else "right"] += 1
        else:
            outcomes["unknown" if cause in ("unknown", "no stretch") else "false"] += 1
    return outcomes, said


if __name__ == "__main__":
    main()
