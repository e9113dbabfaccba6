"""What a lab comes to: each setting against the value that the server has, by pairs of runs made in turn."""

from __future__ import annotations

from collections.abc import Sequence

from openslob.analyze.intervals import CONFIDENCE, LEAST_STARTS, Interval, blocked_ratio, narrow_enough
from openslob.analyze.outcome import count_noun, fails, holds, holds_or_fails, unknown
from openslob.analyze.verdict_registry import invalidates
from openslob.core.cpu_figures import FOREGROUND_CPU
from openslob.kinds.lab.record import ArmResult, LabArm, LabRatio, LabRecord, LabRun
from openslob.metrics.run_metrics import figure_of
from openslob.record.model import RunRecord, Verdict

# Figures of a run that are compared. The rate decides when there are enough pairs.
RATE, PER_CPU, PER_FOREGROUND_CPU, P99 = "rate", "rate_per_db_cpu", "rate_per_foreground_cpu", "p99_us"
CPU_SECONDS = {PER_CPU: "CPU second", PER_FOREGROUND_CPU: "foreground CPU second"}
CONTROL, SETTLED, VALID = "control_shows_nothing", "settled", "runs_valid"
NAMES = (CONTROL, SETTLED, VALID)
# In so many runs a verdict on what was measured may fail before the lab says so itself.
_MOST_NAMED = 3

Pair = tuple[LabRun, LabRun]


def figures_of(record: RunRecord, rate: str) -> dict[str, float | None]:
    """Return the rate of a run, its rate per CPU second of the server, and its p99; what is not known is None.

    Where the CPU of the whole server can't be known, as in a pluggable database, there is the rate per CPU second of
    its sessions besides. A host that was too busy for a rate says nothing of the latency either.
    """
    per_s, cpu, sessions = (record.value(name) for name in (rate, "db_cpu_per_s", FOREGROUND_CPU.name))
    if per_s is None:
        return dict.fromkeys((RATE, PER_CPU, P99))
    figures = {RATE: per_s, PER_CPU: per_s / cpu if cpu else None, P99: figure_of(record, "op_p99_us")}
    return figures if cpu is not None or not sessions else {**figures, PER_FOREGROUND_CPU: per_s / sessions}


def per_cpu_of(record: LabRecord) -> str:
    """Return the name of the rate per CPU second that the runs have: of the server, else of its sessions alone."""
    known = {name for run in record.runs for name, value in run.figures.items() if value}
    return PER_FOREGROUND_CPU if PER_CPU not in known and PER_FOREGROUND_CPU in known else PER_CPU


def with_results(record: LabRecord) -> LabRecord:
    """Return the record with what its runs come to."""
    controls = sum(len(arm.controls) for arm in record.arms)
    others = sum(len(arm.loads) for arm in record.arms)
    results = tuple(
        _result(record, arm, load, controls if load in arm.controls else others, len(sharing(record, arm, load)))
        for arm in record.arms
        for load in arm.every_load
        if pairs(record.runs, arm, load)
    )
    judged = record.model_copy(update={"results": results})
    return judged.model_copy(update={"verdicts": (_control(judged), _judge_settled(judged), _valid(judged))})


def pairs(runs: Sequence[LabRun], arm: LabArm, load: str) -> list[Pair]:
    """Return the runs of each round in which both sides were run: without the setting, and with it."""
    ended = [each for each in runs if each.figures and not each.made_again]
    of_load = [each for each in ended if each.setting == arm.setting and each.load == load]
    here = {each.round: each for each in of_load if each.value is None}
    return [(here[each.round], each) for each in of_load if each.value == arm.value and each.round in here]


def sharing(record: LabRecord, arm: LabArm, load: str) -> list[LabArm]:
    """Return the values of a setting that are compared with the same runs under a load, this one included."""
    return [each for each in record.arms if each.setting == arm.setting and pairs(record.runs, each, load)]


def _result(record: LabRecord, arm: LabArm, load: str, comparisons: int, values: int) -> ArmResult:
    every = pairs(record.runs, arm, load)
    figures = {name: _ratio(every, name, comparisons, values) for name in (RATE, per_cpu_of(record), P99)}
    return ArmResult(
        setting=arm.setting, value=arm.value, load=load, control=load in arm.controls,
        settled=narrow_enough(_interval(every, RATE), record.precision_pct), figures=figures,
    )  # fmt: skip


def _interval(every: Sequence[Pair], name: str, confidence: float = CONFIDENCE) -> Interval:
    known = [(a, b) for here, there in every if (a := here.figures.get(name)) and (b := there.figures.get(name))]
    return blocked_ratio([([a], [b]) for a, b in known], confidence)


def _ratio(every: Sequence[Pair], name: str, comparisons: int, values: int) -> LabRatio:
    """Return the ratio of a figure.

    ``comparisons`` are those that may err together with it, ``values`` those that share its runs without the setting.
    """
    found = _interval(every, name)
    if found.value is None or found.low is None:
        return LabRatio(pairs=found.starts, ratio=found.value, why=_why(every, name))
    # Percentiles come in steps: of few pairs, chance makes some alike, whose interval then is as good as empty.
    enough = found.starts >= LEAST_STARTS
    alike = _interval(every, name, _shared(comparisons)).holds(1.0) if enough else None
    joint = _interval(every, name, _shared(values))
    return LabRatio(
        pairs=found.starts, ratio=found.value, low=found.low, high=found.high,
        together=None if alike is None else not alike, joint_low=joint.low, joint_high=joint.high,
    )  # fmt: skip


def _shared(comparisons: int) -> float:
    """Return the confidence of each of so many comparisons that hold together at 95 % (Bonferroni).

    For comparisons with the same runs there is the test of C. W. Dunnett ("A Multiple Comparison Procedure for
    Comparing Several Treatments with a Control", Journal of the American Statistical Association 50, 1955). It takes
    all values to be equally noisy, which a setting may change. With a noise for each, its quantile holds in 93.9 to
    94.6 of 100 labs instead of 95, and this one in 94.9 to 95.5 (simulated, 2 to 5 values, 6 to 12 pairs).
    """
    return 1 - (1 - CONFIDENCE) / max(1, comparisons)


def _why(every: Sequence[Pair], name: str) -> str:
    if any(here.figures.get(name) and there.figures.get(name) for here, there in every):
        return "one pair does not show how much pairs differ"
    reasons = [run.why for pair in every for run in pair if not run.figures.get(name) and run.why]
    return next(iter(reasons), "no pair of runs has it")


def is_done(record: LabRecord, arm: LabArm, load: str) -> bool:
    """Return whether an arm needs no more pairs under a load."""
    found = record.result(arm, load)
    return found is not None and found.settled


def differing(record: LabRecord) -> tuple[int, int, int]:
    """Return how many rates were compared, how many differ at 95 % each, and how many with all taken together."""
    rates = [each.rate for each in record.results if not each.control and each.rate.differs is not None]
    return len(rates), sum(bool(each.differs) for each in rates), sum(bool(each.together) for each in rates)


def _control(record: LabRecord) -> Verdict:
    controls = [each for each in record.results if each.control]
    known = [each for each in controls if each.rate.together is not None]
    if not known:
        has_one = any(arm.controls for arm in record.arms)
        return unknown(CONTROL, "The control has too few pairs yet." if has_one else "This lab has no control.")
    off = [each for each in known if each.rate.together]
    near = [each for each in known if each.rate.differs and not each.rate.together]
    if off:
        first = off[0]
        return fails(
            CONTROL,
            f"{_name_arm(first)} must show nothing under {first.load}, and differs by {_pct(first.rate)}: other "
            "differences of this lab may be none of their settings either.",
            differing=len(off),
        )
    most = max(each.rate.smaller_than_pct or 0.0 for each in known)
    by_chance = f", {len(near)} at 95 % alone, as chance does in one of twenty" if near else ""
    return holds(
        CONTROL,
        f"{count_noun(len(known), 'comparison')} that must show nothing: no difference is seen{by_chance}; any would "
        f"be smaller than {most:.1f} %.",
        smaller_than_pct=most,
    )


def _name_arm(result: ArmResult) -> str:
    return f"{result.setting}={result.value}" if result.value else result.setting


def _pct(ratio: LabRatio) -> str:
    return "an unknown amount" if ratio.ratio is None else f"{100 * (ratio.ratio - 1):+.1f} %"


def _judge_settled(record: LabRecord) -> Verdict:
    wanted = [(arm, load.name) for arm, load in record.compared]
    open_ = [(arm, load) for arm, load in wanted if not is_done(record, arm, load)]
    enough = f"± {record.precision_pct:g} %"
    if not wanted:
        return unknown(SETTLED, "Nothing is compared.")
    if not open_:
        return holds(SETTLED, f"The rate of each of {len(wanted)} comparisons is known to {enough}.")
    known = [result for arm, load in open_ if (result := record.result(arm, load)) and result.rate.half_pct is not None]
    widest = max(known, key=lambda each: each.rate.half_pct or 0.0, default=None)
    far = f"; the widest, {_name_arm(widest)} under {widest.load}, to ± {widest.rate.half_pct:.1f} %" if widest else ""
    return fails(
        SETTLED,
        f"The rate of {len(wanted) - len(open_)} of {len(wanted)} comparisons is known to {enough}{far}.",
        open=len(open_),
    )


def _valid(record: LabRecord) -> Verdict:
    last = [each for each in record.runs if not each.made_again]
    made = [each for each in last if each.figures]
    failed = [each for each in last if not each.figures]
    bad = [(each, name) for each in made for name in each.failed_verdicts if invalidates(name)]
    if not last:
        return unknown(VALID, "No run was made yet.")
    if not bad and not failed:
        return holds(VALID, f"Each of {count_noun(len(made), 'run')} measured what it says.")
    parts = [f"{len(failed)} of {count_noun(len(last), 'run')} failed, the first: {failed[0].why}"] if failed else []
    counts = {name: sum(other == name for _, other in bad) for _, name in bad}
    parts += [f"{name.replace('_', ' ')} fails in {number}" for name, number in list(counts.items())[:_MOST_NAMED]]
    return holds_or_fails(VALID, False, f"{'; '.join(parts)} of {len(last)} runs.", failed=len(failed))
