"""How often a cap is found in simulated loads, and how often one is seen where there is none.

Each load is simulated request by request (`tests/factories/capped_load.py`): 1 to 32 sessions, with and without
updates, on a machine with the noise of real runs. In half of them a cap on IOPS or CPU holds the load back for a
part of its time, at 30 to 80 % of what it does otherwise: a token bucket runs dry, or a limit is switched on, and in
some lifted again. It counts as found with its kind, its direction unless that is left open, its moment within 5 s, its
level, or one of two, within 3 % and what was used until then within 10 %; whether it may also be higher latency is
another question.

Then loads of each kind in `KINDS` are judged with and without a probe: what was there (caps, higher latency, stairs,
slow falls …) against what `level_sustained` says. A cap that is claimed where none was is the worst that it can say.

    .venv/bin/python bench/level.py [--quick] [--loads 100] [--seed 1] [--table 15] [--verbose]
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import numpy as np

from common import parse, parser, start
from factories.capped_load import Cap, Load, Simulated, Slowed, course, simulate
from openslob.analyze.level import search
from openslob.analyze.verdicts.level import sustained
from openslob.core.measurement import Cap as FoundCap
from openslob.core.measurement import CapSearch
from openslob.record.model import Holds

WITHIN_S = 5.0
LEVEL_PCT = 3.0
BUCKET_PCT = 10.0
LEAST_FOUND_PCT = 95.0
MOST_FALSE_PCT = 5.0
WHAT = ("read", "read", "read", "both", "write", "cpu")
# Fewer sessions that read and write by turns never use all of a limit on one of the two.
MIXING = 4
# Of loads without a cap, one in so many may be said to have one; and a cap's moment and level are right within these.
FALSE_CAPS = 30
MOMENT_S, RATE = 2.0, 0.03
# The share of caps that are lifted again, and of the others those with a bucket that was full at the beginning.
LIFTED = 0.3
BUCKETS = 0.6


def main() -> None:
    """Run the benchmark and print the results."""
    options = parser(__doc__, rounds=1)
    options.add_argument(
        "--loads", type=int, default=100, help="how many with a cap, and as many without (%(default)d)"
    )
    options.add_argument("--table", type=int, default=15, help="how many of each kind in the table (%(default)d)")
    options.add_argument("--seed", type=int, default=1, help="of the loads (%(default)d)")
    options.add_argument("--verbose", action="store_true", help="show each load that is judged wrongly")
    args = parse(options)
    loads = 10 if args.quick else args.loads
    rng = np.random.default_rng(args.seed)
    missed = [why for _ in range(loads) if (why := of_capped(rng))]
    seen = [str(found) for _ in range(loads) if (found := search(uncapped(rng).trace).cap)]
    for text in (*missed, *seen) if args.verbose else ():
        print(f"  {text}")
    found = loads - len(missed)
    print(f"caps found: {found} of {loads} (at least {LEAST_FOUND_PCT:g} % are required)")
    print(f"seen where there was none: {len(seen)} of {loads} (at most {MOST_FALSE_PCT:g} %)")
    false, without = show_table(3 if args.quick else args.table, args.seed, args.verbose)
    if false * FALSE_CAPS > without:
        sys.exit("bench: caps are claimed where there are none")
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
    why = wrong(load.cap, simulated, search(simulated.trace).cap)
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
    levels = [found.cap, *(level for _, level, _ in found.beside)]
    apart = {
        "moment": min(abs(found.dry_at_s - each) for each in simulated.dry_at_s) > WITHIN_S,
        "level": all(abs(level * size / cap.rate - 1) > LEVEL_PCT / 100 for level in levels),
        "use": abs((found.used or 0) * size / simulated.used - 1) > BUCKET_PCT / 100,
        "kind": (found.kind == "cpu") != (cap.what == "cpu"),
        "direction": found.direction not in ("request", cap.what.replace("cpu", "")),
    }
    wrongs = ", ".join(name for name, is_wrong in apart.items() if is_wrong)
    moments = ", ".join(f"{each:.1f}" for each in simulated.dry_at_s)
    return wrongs and f"wrong {wrongs} (dry at {moments}, used {simulated.used:.1f}): {found}"


# --- what there was, against what is said


@dataclass(frozen=True)
class Made:
    """A load with what its device does, and what there was: the moments and the rate of a cap, if it had one."""

    load: Load
    slow: np.ndarray
    rate: float = 0.0
    at_s: tuple[float, ...] = ()


def quiet(seconds: int, rng: np.random.Generator) -> np.ndarray:
    """Return how slow a device is by tenth of a second, on a machine that varies a little."""
    wander = np.interp(np.arange(seconds * 10 + 11) / 10, np.arange(seconds + 2), rng.normal(0, 1, seconds + 2))
    return np.exp(rng.uniform(0.01, 0.06) * wander + rng.normal(0, 0.04, len(wander)))


def base(rng: np.random.Generator, writes: float = 0.0) -> tuple[Load, np.ndarray, float]:
    """Return a load, the course of its device, and about how many requests a second it makes."""
    sessions = int(rng.choice([4, 8, 16]))
    service_s = float(rng.uniform(0.002, 0.006))
    load = Load(
        int(rng.integers(60, 100)), sessions, blocks=int(rng.choice([4, 8, 16])), write_share=writes,
        service_s=service_s, late_s=0.001,
    )  # fmt: skip
    return load, quiet(load.seconds, rng), min(sessions, load.channels) / (service_s + load.cpu_s)


def capped(what: str, writes: float, lifted: bool = False) -> Callable[[np.random.Generator], Made]:
    """Return what makes a load that a cap holds back from some moment on."""

    def make(rng: np.random.Generator) -> Made:
        load, slow, usual_ = base(rng, writes)
        rate = usual_ * float(rng.uniform(0.2, 0.6)) * (0.4 if what == "write" else 1)
        on = float(rng.uniform(15, load.seconds - 25))
        load.cap = Cap(what, rate, on, on + float(rng.uniform(12, 20)) if lifted else float("inf"))
        return Made(load, slow, rate, (on,))

    return make


def slower(what: str, writes: float, spread: float) -> Callable[[np.random.Generator], Made]:
    """Return what makes a load whose requests take longer from some moment on."""

    def make(rng: np.random.Generator) -> Made:
        load, slow, _ = base(rng, writes)
        at_s = float(rng.uniform(15, load.seconds - 20))
        load.slowed = Slowed(what, float(rng.choice([0.001, 0.002, 0.005, 0.01, 0.02])), at_s, spread=spread)
        return Made(load, slow, at_s=(at_s,))

    return make


def stairs(rng: np.random.Generator) -> Made:
    """Return a load that three caps hold back one after the other, each lower."""
    load, slow, usual_ = base(rng)
    on = np.cumsum([float(rng.uniform(12, 20)) for _ in range(3)]) * load.seconds / 75
    first, *load.more = [
        Cap("read", usual_ * share, begin, end)
        for share, begin, end in zip((0.7, 0.45, 0.25), on, (*on[1:], float("inf")), strict=True)
    ]
    load.cap = first
    return Made(load, slow, first.rate, (float(on[0]),))


def refilled(rng: np.random.Generator) -> Made:
    """Return a load with a bucket that refills twice while the device is slow."""
    load, slow, usual_ = base(rng)
    load.seconds, slow = 120, quiet(120, rng)
    rate = usual_ * 0.4
    load.cap = Cap("read", rate, bucket=usual_ * 9)
    for begin in (40, 80):
        slow[begin * 10 : begin * 10 + 150] *= 8
    return Made(load, slow, rate)


def falling(rng: np.random.Generator) -> Made:
    """Return a load whose device becomes slower and slower."""
    load, slow, _ = base(rng)
    load.seconds, slow = 120, quiet(120, rng)
    slow *= np.interp(np.arange(len(slow)) / 10, (15, float(rng.uniform(70, 105))), (1, float(rng.uniform(1.6, 4))))
    return Made(load, slow)


def swinging(rng: np.random.Generator) -> Made:
    """Return a load whose device is slow and quick by turns."""
    load, slow, _ = base(rng)
    load.seconds, slow = 120, quiet(120, rng)
    period = float(rng.uniform(12, 30))
    slow[(np.arange(len(slow)) / 10) % period < period / 2] *= float(rng.uniform(1.8, 4))
    return Made(load, slow)


def switched(rng: np.random.Generator) -> Made:
    """Return a load with a cap that comes and goes."""
    load, slow, usual_ = base(rng)
    load.seconds, slow = 120, quiet(120, rng)
    rate, on = usual_ * float(rng.uniform(0.25, 0.5)), (20.0, 50.0, 80.0)
    load.cap, *load.more = [Cap("read", rate, at, at + 15) for at in on]
    return Made(load, slow, rate, (20.0,))


def noisy(rng: np.random.Generator) -> Made:
    """Return a load without a cap on a machine whose other load comes and goes."""
    load, _, _ = base(rng)
    return Made(load, course(load.seconds, rng)[0])


def unchanged(rng: np.random.Generator) -> Made:
    """Return a load at one level."""
    load, slow, _ = base(rng)
    return Made(load, slow)


CAP, LATENCY, COURSE = {"cap"}, {"latency"}, {"fall", "swings", "below"}
# What there was, what may be said of it, and what makes it. "Either" is right of a cap and of latency, but tells less.
KINDS: dict[str, tuple[set[str], Callable[[np.random.Generator], Made]]] = {
    "one level": ({"level"}, unchanged),
    "other load comes and goes": ({"level", *COURSE}, noisy),
    "cap on reads": (CAP, capped("read", 0.0)),
    "cap on reads, lifted": (CAP, capped("read", 0.0, lifted=True)),
    "cap on writes": (CAP, capped("write", 0.5)),
    "cap on both": (CAP, capped("both", 0.5)),
    "stairs of caps": (CAP, stairs),
    "bucket, refilled twice": (CAP, refilled),
    "cap that comes and goes": (CAP, switched),
    "even read latency": (LATENCY, slower("read", 0.0, 0.0)),
    "spread read latency": (LATENCY, slower("read", 0.0, 0.5)),
    "even write latency": (LATENCY, slower("write", 1.0, 0.0)),
    "slow fall": ({"fall"}, falling),
    "swings": ({"swings"}, swinging),
}
ANSWERS = ("cap", "either", "latency", "fall", "swings", "below", "level")


def answer(found: CapSearch) -> str:
    """Return what `level_sustained` says, in a word of `ANSWERS`."""
    verdict = sustained(found, "ops/s")
    if "swings" in verdict.why:
        return "swings"
    if found.cap and not found.cap.always:
        return "cap" if found.cap.is_sure else "either"
    if found.slower:
        return "latency"
    if verdict.verdict is Holds.HOLDS:
        return "level"
    return "fall" if "slowly" in verdict.why else "below"


def show_table(count: int, seed: int, verbose: bool) -> tuple[int, int]:
    """Print what is said of each kind of load; return how many false caps were claimed, of how many loads without."""
    false = without = 0
    for probe in (False, True):
        print(
            f"\n{'with a probe' if probe else 'without a probe':<28}{''.join(f'{each:>9}' for each in ANSWERS)}   wrong"
        )
        for number, (kind, (right, make)) in enumerate(KINDS.items()):
            said, wrong = Counter[str](), 0
            for each in range(count):
                rng = np.random.default_rng([seed, number, each])
                made = make(rng)
                made.load.probe = probe
                found = search(simulate(made.load, rng, made.slow, np.zeros(len(made.slow))).trace)
                word = answer(found)
                said[word] += 1
                fault = _fault(word, right, found, made)
                wrong += bool(fault)
                if fault and verbose:
                    print(f"  {kind} {each}: {fault}; {sustained(found, 'ops/s').why}")
            if right != CAP:
                false, without = false + said["cap"], without + count
            print(f"{kind:<28}{''.join(f'{said[each] or chr(183):>9}' for each in ANSWERS)}{wrong:>8}", flush=True)
    print(f"caps claimed where there was none: {false} of {without} (at most 1 of {FALSE_CAPS})")
    return false, without


def _fault(word: str, right: set[str], found: CapSearch, made: Made) -> str:
    """Return what is wrong with what is said; empty if it is right, or honestly either."""
    if word not in right and not (word == "either" and right & {"cap", "latency"}):
        return f"{word} is said"
    cap = found.cap
    if word != "cap" or cap is None or not made.at_s:
        return ""
    levels = [each.cap * (2**20 / 8192 if each.unit == "MB/s" else 1) for each in (cap, *found.more)]
    if min(abs(level / made.rate - 1) for level in levels) > RATE:
        return f"its level is {levels}, not {made.rate:.0f}"
    apart_s = min(abs((each.dry_at_s or 0.0) - made.at_s[0]) for each in (cap, *found.more))
    return f"it is {apart_s:.1f} s off" if apart_s > MOMENT_S else ""


if __name__ == "__main__":
    start(main)
