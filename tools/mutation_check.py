#!/usr/bin/env python3
"""Put faults into a copy of the source, one at a time, and check that the tests find each of them.

Usage: tools/mutation_check.py [--only N]...

Each fault is a slip that would change a published number, anywhere from the work loop to the comparison of two runs.
Prints a table of the faults with the first test that failed. Exits with 1 if a fault is not found, or if the same
tests fail without a fault. ``--only`` runs one fault by its number. A fault whose text is no longer in the source
exactly once is an error: change the table with the code. Some faults need a database server; all take several minutes.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = Path("src/openslob")
LIMIT_S = 600  # a fault may make a loop endless: that is found, too
PG, MARIA, RIG = "postgresql-18", "mariadb", "oracle-rig"
_FAILED = re.compile(r"^(?:FAILED|ERROR|SUBFAILED.*?) (tests/\S+)", re.MULTILINE)


@dataclass(frozen=True)
class Fault:
    """A slip in ``file``, what it would do to a published number, and the tests that should find it.

    ``engine`` selects the tests of one server; without it no server is needed.
    """

    file: str
    old: str
    new: str
    effect: str
    tests: tuple[str, ...]
    engine: str = ""


def _unit(*names: str) -> tuple[str, ...]:
    return tuple(f"tests/unit/{name}.py" for name in names)


def _loop(*names: str) -> tuple[str, ...]:
    return tuple(f"tests/contract/test_work_loop.py::{name}" for name in names)


_MIX = "test_every_slice_has_the_operations_of_the_reference"
_ROWS = "test_rows_are_operations_times_work_unit_by_the_server_s_own_counters"
_PG_LOOP, _MYSQL_LOOP = "engines/postgresql/sql/slice.sql", "engines/mysql/sql/slice.sql"
_ORACLE_LOOP = "engines/oracle/sql/slice.sql"
_PG_COUNTERS, _PG_DELTA = "engines/postgresql/counters.py", "engines/postgresql/delta.py"
_WINDOW, _VALIDITY, _VERDICTS = (
    "kinds/run/window.py",
    "analyze/verdicts/validity.py",
    _unit("analyze/verdicts/test_verdicts"),
)

FAULTS = (
    # --- the work loop
    Fault("core/method.py", "return (phase + number) * percent // 100", "return (phase + number + 1) * percent // 100",
          "the shares of updates and scans begin one operation early", _unit("core/test_method")),
    Fault("core/histogram.py", 'f"floor({STEEPNESS}', 'f"round({STEEPNESS}',
          "half of the latencies fall into the next bucket: percentiles 0.7 % high",
          _loop("test_buckets_are_those_of_the_histogram"), PG),
    Fault(_PG_LOOP, "% 100 < update_pct THEN", "% 100 < update_pct - 1 THEN",
          "the share of updates is too small by up to one operation in 100", _loop(_MIX), PG),
    Fault(_PG_LOOP, "(scan_phase + op + 1 - updates)", "(scan_phase + op + 1)",
          "scans are a share of all operations instead of the SELECTs", _loop(_MIX), PG),
    Fault(_PG_LOOP, "ARRAY[select_us, update_us, scan_us]", "ARRAY[update_us, select_us, scan_us]",
          "the mean latency of SELECTs is that of updates",
          _loop("test_latencies_are_counted_summed_and_bounded"), PG),
    Fault(_PG_LOOP, "COMMIT;\n            ended_at := clock_timestamp();",
          "ended_at := clock_timestamp();\n            COMMIT;",
          "the latency of updates is without the wait for the commit",
          _loop("test_the_latency_of_an_update_includes_its_commit"), PG),
    Fault(_PG_LOOP, "rows_read := rows_read + found_rows;", "rows_read := rows_read + work_unit;",
          "rows that were asked for count as read: the cross-check of counts compares nothing",
          _loop("test_keys_of_selects_are_uniform_replayed_by_the_seed_and_the_same_in_long_slices"), PG),
    Fault(_MYSQL_LOOP, "(scan_phase + op - churned)", "(scan_phase + op)",
          "each slice begins its scans anew: their share depends on the length of slices", _loop(_MIX), MARIA),
    Fault(_MYSQL_LOOP, "SET last_key = first_key + work_unit - 1;", "SET last_key = first_key + work_unit;",
          "a SELECT visits one block more than it says", _loop(_ROWS), MARIA),
    Fault(_MYSQL_LOOP, "attempts: LOOP\n", "attempts: LOOP\nSET t0 = TIMESTAMPDIFF(MICROSECOND, epoch, SYSDATE(6));\n",
          "the latency of an update is that of its last attempt: conflicts seem to cost nothing",
          ("tests/real/test_mariadb.py::test_a_deadlock_is_one_conflict_and_the_refused_attempt_is_part_of_the_latency",),
          MARIA),
    Fault(_ORACLE_LOOP, "update_quota := update_quota - 100;", "update_quota := 0;",
          "a remainder is lost at each update: there are fewer than UPDATE_PCT says", _loop(_MIX), RIG),
    Fault(_ORACLE_LOOP, "GREATEST(us_between(due_at, t1), us)", "LEAST(us_between(due_at, t1), us)",
          "response times are service times: waiting for a late operation counts for nothing",
          ("tests/contract/test_pacing.py::"
           "test_operations_wait_for_one_that_is_late_and_their_response_counts_it",), RIG),
    Fault("engines/oracle/session.py", "self._kept = {name: found[name] for name in KEPT}", "pass",
          "every slice draws the keys of the first again: most blocks are never visited",
          _unit("engines/oracle/test_session")),
    Fault("engines/oracle/slice_procedure.py", "needed <= set(named) <= _TOP | {_BY_INDEX, _BY_ROWID}",
          "_BY_INDEX in named", "rows that are fetched in batches, or by a full scan, count as single-block reads",
          _unit("engines/oracle/test_slice_procedure")),
    Fault("engines/slice_io.py", "return not workload.is_paced and sessions",
          "return sessions",
          "sessions at a given rate pause after their first operation: their response times count the pause",
          _unit("engines/test_slice_io")),
    Fault("engines/slice_io.py", "STEP_ASIDE_PER_SESSION_S >= SHORTEST_PAUSE_S",
          "STEP_ASIDE_PER_SESSION_S > 100 * SHORTEST_PAUSE_S",
          "the first of many sessions take the CPUs before the last ones have begun: these begin a second late",
          _unit("engines/test_slice_io")),
    # --- the server's own reports
    Fault("engines/capabilities.py", "if capability.licence and name not in consented:",
          "if capability.licence and name in consented:",
          "what needs a licence is used without the user's word", _unit("engines/oracle/test_snapshots")),
    Fault("analyze/verdicts/report.py", "is_below(pct, _LEAST_PCT, 1) or is_above(pct, most, 1)", "is_below(pct, 0, 1)",
          "a report on other work, too, agrees with the run", _unit("analyze/verdicts/test_report")),
    # --- adding up
    Fault("core/counts.py", "map(add, self.values(), other.values())", "map(add, self.values()[:-1], other.values())",
          "conflicts of all sessions but the last are lost", _unit("kinds/run/test_accumulator")),
    Fault("kinds/run/recorder.py", "idle_us += (result.start_ns", "idle_us += (result.end_ns",
          "idle time of sessions includes the time in operations", _unit("kinds/run/test_accumulator")),
    Fault(_WINDOW, "late_s <= LATE_SHARE * load_ns / NANOS", "late_s <= load_ns / NANOS",
          "the host's CPU in the last moment of a run is given as that of its load", _unit("kinds/run/test_window")),
    Fault("core/workload.py", "return min(max(SLICE_S, sessions / SLICES_PER_S), LONGEST_SLICE_S)",
          "return max(SLICE_S, sessions / SLICES_PER_S)",
          "a slice of 1,000 sessions lasts two minutes: no time line", _unit("kinds/run/test_plan")),
    Fault(_WINDOW, "before.counters.server_ns > load_begin_ns:", "before.counters.server_ns > load_begin_ns + NANOS:",
          "counters that miss the first second of the load give rates that are too low",
          _unit("kinds/run/test_window")),
    Fault(_WINDOW, "drain()\n        if self.after is not None:\n            self.recorder.add_reading(self.after)",
          "if self.after is not None:\n            self.recorder.add_reading(self.after)\n        drain()",
          "the last tick takes the place of the window's closing edge", _unit("kinds/run/test_window")),
    # --- the server's counters
    Fault(_PG_DELTA, "cls(hits, requested - hits,", "cls(hits, requested,",
          "blocks found in the cache count as physical reads", _unit("engines/postgresql/test_counters")),
    Fault(_PG_DELTA, "_less(every.requests, *(part.requests for part in ours))", "every.requests",
          "the test's reads count as others': no run is alone", _unit("engines/postgresql/test_counters")),
    Fault("analyze/other_sessions.py", "spoilt = engine.server_wide | ", "spoilt = ",
          "what other sessions did is published as the test's", _unit("analyze/test_other_sessions")),
    Fault(_PG_DELTA, '"/wal/" in row, column)', "False, column)",
          "writes of the log count as writes of data blocks", _unit("engines/postgresql/test_counters")),
    Fault(_PG_COUNTERS, "value - before.get(name, 0.0)", "value - before.get(name, value)",
          "what is counted first during the run is lost", _unit("engines/postgresql/test_counters")),
    Fault(_PG_COUNTERS, "}={counters[_RESET]}", "}",
          "a reset during a run is not noticed: amounts are too small",
          ("tests/contract/test_sessions.py::test_a_reset_of_the_counters_makes_every_figure_unknown",), PG),
    Fault("engines/mysql/counters.py", " - sum(of_data)", "",
          "syncs of data files count as log syncs: commits seem to have waited", _unit("engines/mysql/test_adapter")),
    Fault("engines/oracle/delta.py", "else foreground + background,", "else foreground,",
          "the CPU of background processes is lost: IOPS per DB CPU too high", _unit("engines/oracle/test_delta")),
    Fault("engines/oracle/delta.py", "loads != cursors", "loads < cursors",
          "rows of a statement that was loaded again are too few", _unit("engines/oracle/test_delta")),
    Fault("metrics/waits.py", "mean_us * count, below)", "below * count, below)",
          "mean waits are those of the buckets' edges", _unit("engines/oracle/test_delta")),
    # --- the host
    Fault("host/processes.py", "ticks=own + number(16) + number(17)", "ticks=own",
          "the CPU of processes that ended is lost: IOPS per DB CPU too high", _unit("host/test_processes")),
    Fault("host/counters.py", "% (package.range_uj + 1)", "% package.range_uj",
          "each wrap-around of a counter loses energy", _unit("host/test_energy")),
    Fault("host/counters.py", '.startswith("package")', '.startswith("p")', "the energy of the whole board counts, too",
          _unit("host/test_energy")),
    Fault("core/units.py", '"month": 730', '"month": 720', "a month is too short: every cost is 1.4 % too high",
          _unit("metrics/test_cost")),
    Fault("analyze/compare.py", "if unit != unit_b and", "if False and", "euros are compared with dollars",
          _unit("analyze/test_cost")),
    Fault("analyze/curves/points.py", "PRICED if len(prices) > 1 else", "PRICED if len(prices) > 2 else",
          "runs with two prices have a mean cost, which is that of neither", _unit("analyze/test_cost")),
    Fault("host/device.py", 'KeptFile(folder / "stat")', 'KeptFile(whole_disk(folder) / "stat")',
          "I/O of other partitions counts as that of the data's device", _unit("host/test_device")),
    Fault("metrics/cpu.py", '("idle", "iowait")', '("idle", "iowait", "steal")',
          "stolen CPU time counts as idle", _unit("metrics/test_cpu")),
    # --- the whole server, watched or observed
    Fault(_PG_COUNTERS, " - change.get(_OWN, 0.0)", "",
          "transactions of our own samplers count as those of clients", _unit("engines/postgresql/test_server_scope")),
    Fault("engines/postgresql/waits.py", "self._own.transactions += 1\n        return activity", "return activity",
          "samples of waits count as transactions of clients: ten a second",
          ("tests/contract/test_whole_server.py",), PG),
    Fault("engines/mysql/counters.py", 'of = ("reads", "read_ps") if', 'of = ("requests", "ps") if not',
          "waits for the log are its reads, of which there are none", _unit("engines/mysql/test_server_counters")),
    Fault("watch/interval.py", "factor = seconds / host.seconds", "factor = 1.0",
          "rates of the device are by the engine's seconds", _unit("watch/test_interval")),
    Fault("watch/interval.py", "if event not in timed and count", "if count",
          "an event that the engine times is listed twice: once timed, once sampled", _unit("watch/test_interval")),
    Fault("kinds/run/observation/observer.py",
          "    if done != 0:\n        return after", "    return after",
          "the window of an observed command includes the wait for what sessions publish late",
          _unit("kinds/run/observation/test_closing")),
    # --- what is seen live
    Fault("kinds/run/live/figures.py", "partial(_count, tables.engine)).until(at_s)",
          "partial(_count, tables.engine))",
          "a replay shows figures of later moments", _unit("kinds/run/live/test_progress")),
    Fault("analyze/latencies.py", "ranks = np.maximum(np.ceil(share * totals).astype(np.int64), 1)",
          "ranks = np.maximum(np.floor(share * totals).astype(np.int64) - 1, 1)",
          "percentiles of a second are those of the operation before", _unit("kinds/run/live/test_latencies")),
    Fault("kinds/run/live/figures.py", "np.where(grown < 0, np.nan, grown)", "grown",
          "a reset of the host's counters gives negative rates", _unit("kinds/run/live/test_progress")),
    Fault("live/web/application.py", "if not any([self._is_right(each) for each in given]):", "if not any(given):",
          "any token opens the page", _unit("live/web/test_application")),
    Fault("live/web/application.py", "not in [[host] for host in self._guarded.hosts]:", "== [[]]:",
          "a page of another site may read the record under a name of its own", _unit("live/web/test_application")),
    Fault("analyze/heat.py", "count * middle_us(bucket))", "count)",
          "the map of the time is the map of the counts: a stall stays faint", _unit("report/charts/test_heat")),
    Fault("analyze/heat.py", "(low + max(below - 1, low)) / 2)", "below)",
          "waits that the engine counts by duration take up to twice their time", _unit("report/charts/test_heat")),
    # --- figures and verdicts
    Fault("metrics/quantity.py", "is_above(abs(difference_pct),", "is_above(difference_pct,",
          "rates are published of counters that span less than the load", _unit("metrics/test_metrics")),
    Fault(_VALIDITY, "if ratio < 1 - DEVICE_TOLERANCE", "if ratio < DEVICE_TOLERANCE",
          "reads from the page cache are called physical", _VERDICTS),
    Fault(_VALIDITY, "(syncs + 1) * sessions", "(syncs + sessions) * sessions",
          "commits that did not wait are said to have waited", _VERDICTS),
    Fault("analyze/verdicts/server.py", "min(1.0, ahead.value / read.value)", "min(0.0, ahead.value / read.value)",
          "blocks that were read ahead are said to have been read one by one", _unit("analyze/verdicts/test_server")),
    Fault("analyze/run_tables.py", "[AMOUNTS[number] for number in there]", "[AMOUNTS[number - 1] for number in there]",
          "charts show operations as SELECTs", _unit("analyze/test_run_folder")),
    Fault("analyze/session_sums.py", "values if replace else", "values if not replace else",
          "a session begins with its last slice: the load that is derived is shorter than it was",
          _unit("analyze/test_session_sums")),
    Fault("analyze/operation_order.py", "np.where(more == 1, _CYCLE - rest, _CYCLE)", "np.where(more == 1, 0, _CYCLE)",
          "an update more than the seed says is verified", _unit("analyze/test_operation_order")),
    Fault("analyze/statistics.py", "sd, basis = float(np.std(values, ddof=1))", "sd, basis = float(np.std(values))",
          "the spread of repeats is too narrow", _unit("analyze/test_statistics")),
    Fault("analyze/intervals.py", "pooled.of_start(min(map(len, side))) / len(side) for side in sides",
          "pooled.of_start(min(map(len, side))) / len(side) for side in sides[1:]",
          "one run differs from several too easily: one side's spread is left out", _unit("analyze/test_intervals")),
    Fault("analyze/intervals.py", "math.sqrt(_variance(means) / len(starts))",
          "math.sqrt(_variance(means) / count)",
          "runs of one start count like starts: intervals are too narrow", _unit("analyze/test_intervals")),
    Fault("analyze/differences.py", "(low > 0) == (better", "(low < 0) == (better",
          "better and worse are exchanged in comparisons", _unit("analyze/test_compare")),
    # --- hours and days: level, causes, endurance
    Fault("analyze/level.py", "np.where(np.isfinite(rate), rate - found.cap, 0.0)[:until]",
          "np.where(np.isfinite(rate), rate, 0.0)[:until]",
          "the bucket counts what the cap lets through anyway", _unit("analyze/test_level")),
    Fault("kinds/endurance/steady_snia.py", " * (len(rounds) - 1)\n", "\n",
          "the slope is that of a round, not of the window: a drift passes for steady state",
          _unit("kinds/endurance/test_steady_snia")),
    Fault("kinds/endurance/steady_snia.py", "float(np.ptp(rounds))", "float(np.std(rounds))",
          "the excursion is the spread: SNIA's limit of 20 % lets far more pass",
          _unit("kinds/endurance/test_steady_snia")),
    Fault("kinds/endurance/figures.py", "np.full(count, np.nan) for name in", "np.zeros(count) for name in",
          "the time in a gap counts as time without operations", _unit("kinds/endurance/test_figures")),
    Fault("analyze/compare.py", "a, b, like = _with_settings(a, b, like)", "a, b = list(a), list(b)",
          "a run with a setting and one without differ in a setting that both had", _unit("analyze/test_compare")),
    Fault("kinds/lab/servers.py", "name = PURPOSE if writes(loads) else READS", "name = PURPOSE",
          "who reads first after updates clears up for the other side of a lab's pair", _unit("kinds/lab/test_plan")),
    Fault("analyze/change_points.py", "np.minimum(_misfits(apart, squares).min(axis=1), jump)",
          "_misfits(apart, squares).min(axis=1)", "a jump that fades is taken for a change",
          _unit("analyze/test_change_points")),
    Fault("analyze/slow_steps.py", "usual_course(ops, 75)", "usual_course(ops, 25)",
          "what is usual is what the slow steps do: stretches are missed", _unit("analyze/test_causes")),
    Fault("analyze/causes.py", "found[0].share < LEAST_STATED", "found[0].share < 0.0",
          "any lock explains any loss", _unit("analyze/test_causes")),
    Fault("analyze/causes.py", "found[0].share < CLEARLY * each.share", "found[0].share < each.share",
          "of two causes that explain as much, one is stated", _unit("analyze/test_causes")),
    Fault("analyze/evidence.py", 'return look.share_of("queue") if', "return 1.0 if",
          "any wait for a CPU explains any loss", _unit("analyze/test_slow_loads")),
    Fault("analyze/evidence.py", ">= _TOGETHER", ">= -1",
          "others' I/O is a cause though latency did not rise with it", _unit("analyze/test_slow_loads")),
    Fault("analyze/trace_stretch.py", "queued_s - max(0.0, running_s)", "0.0",
          "waits for a CPU after a read are waits for data", _unit("analyze/test_slow_loads")),
    Fault("analyze/verdicts/bottleneck.py", "waited < LEAST_WAITED_PCT or ", "",
          "niced programs are a limit", _unit("analyze/verdicts/test_verdicts")),
    Fault("host/run_queue.py", "now_ns - last_ns if", "now_ns if",
          "each reading counts all waits for a CPU again", _unit("host/test_run_queue")),
    Fault("record/raw_csv.py", "self.counts += later.counts", "self.counts = later.counts",
          "a row of several slices has the operations of the last", _unit("record/test_thinning")),
    Fault("record/raw_csv.py", "max((us for us in (self.max_us, later.max_us) if us is not None), default=None)",
          "later.max_us", "the longest operation of a step is lost", _unit("record/test_thinning")),
    # --- what a server keeps
    Fault("durability/accounting.py", "if operation.number > reached:", "if operation.number > reached + 1:",
          "the last acknowledged commit of a session is not missed", _unit("durability/test_accounting")),
    Fault("durability/accounting.py", "max(0, must - written)", "max(0, must - written - 1)",
          "a commit that is lost between others is not missed", _unit("durability/test_accounting")),
    Fault("durability/cut/layer.py", "self._keep_some(Random(seed), block_bytes)\n        self._dead",
          "pass\n        self.sync_all()\n        self._dead",
          "a cut keeps what was never synced: an unsafe server seems safe", _unit("durability/test_cut_layer")),
    Fault("kinds/failover/accounting.py", "return seen, []", "return there, []",
          "what a copy never got counts as there after it took over", _unit("kinds/failover/test_failover")),
    Fault("kinds/failover/figures.py", "(done_ns - ahead - wall_ns)", "(done_ns - wall_ns)",
          "the servers' outage includes the difference of their clocks", _unit("kinds/failover/test_failover")),
    Fault("kinds/failover/lag.py", "self._acked_ns[number : bisect", "self._acked_ns[number - 1 : bisect",
          "a copy that has everything is one beat behind", _unit("kinds/failover/test_failover")),
)  # fmt: skip


def main(arguments: Sequence[str]) -> int:
    """Print the table; return the exit code."""
    parser = argparse.ArgumentParser(description="Check that the tests find faults in the source.")
    parser.add_argument("--only", type=int, action="append", choices=range(1, len(FAULTS) + 1), metavar="N")
    only = parser.parse_args(arguments).only or range(1, len(FAULTS) + 1)
    chosen = [(number, FAULTS[number - 1]) for number in only]
    misfits = [f"{number}: {fault.file}: {fault.old!r}" for number, fault in chosen if not fits(ROOT, fault)]
    if misfits:
        sys.exit("mutation_check: not in the source exactly once:\n  " + "\n  ".join(misfits))
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = _copied(Path(folder) / "tree")
        failed = list(_failures_without_fault(copy, [fault for _, fault in chosen]))
        if failed:
            sys.exit("mutation_check: tests fail without a fault:\n  " + "\n  ".join(failed))
        found = [_found(copy, number, fault) for number, fault in chosen]
    print(f"{sum(found)} of {len(found)} faults found")
    return 0 if all(found) else 1


def fits(root: Path, fault: Fault) -> bool:
    """Return whether the fault's text is in the source exactly once."""
    return (root / SOURCE / fault.file).read_text(encoding="utf-8").count(fault.old) == 1


def _copied(tree: Path) -> Path:
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).exists():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name)
    return tree


def _failures_without_fault(copy: Path, faults: Sequence[Fault]) -> Iterator[str]:
    for engine in sorted({fault.engine for fault in faults}):
        tests = dict.fromkeys(test for fault in faults if fault.engine == engine for test in fault.tests)
        yield from _failures(copy, list(tests), engine)


def _found(copy: Path, number: int, fault: Fault) -> bool:
    """Print the fault's row."""
    path = copy / SOURCE / fault.file
    whole = path.read_text(encoding="utf-8")
    path.write_text(whole.replace(fault.old, fault.new), encoding="utf-8")
    try:
        failures = _failures(copy, fault.tests, fault.engine)
    finally:
        path.write_text(whole, encoding="utf-8")
    print(f"{number:2}  {fault.file}: {fault.effect}")
    print(f"    found by {failures[0]}" if failures else "    NOT FOUND", flush=True)
    return bool(failures)


def _failures(copy: Path, tests: Sequence[str], engine: str) -> list[str]:
    """Return the first test that fails, if one does, as a list; all errors of a run that could not begin."""
    command = [sys.executable, "-m", "pytest", "-xq", "-p", "no:cacheprovider", "-k", engine or "test", *tests]
    # A compiled file could outlive a change of the source within the same second.
    env = {**os.environ, "PYTHONPATH": str(copy / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(command, cwd=copy, env=env, timeout=LIMIT_S, check=False, capture_output=True, text=True)
    except subprocess.TimeoutExpired:
        return [f"no end within {LIMIT_S} s"]
    if done.returncode == 0 and " passed" not in done.stdout:
        return [f"no test ran: {' '.join(tests)}"]
    return _FAILED.findall(done.stdout) or ([done.stdout[-2000:] + done.stderr[-2000:]] if done.returncode else [])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
