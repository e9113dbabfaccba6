"""What the stand-in is worth: faults put into Oracle's work loop are found, and the real driver runs it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from inspect import signature

import pytest

from contract import test_pacing as pacing
from contract import test_work_loop as loop
from factories.oracle import rig_server
from factories.oracle.wire import Server
from factories.subjects import NEVER_NS, SUBJECTS
from openslob.engines.base import SliceRequest
from openslob.engines.oracle.connection import open_connection
from openslob.engines.oracle.session import OracleSession
from openslob.engines.oracle.target import parse

pytestmark = pytest.mark.server
NOT_ON = frozenset(SUBJECTS) - {"oracle-rig"}
paced = pacing.paced


@dataclass(frozen=True)
class Fault:
    """A slip in slice.sql: texts that are there once, each with what becomes of it; and a test that finds it."""

    name: str
    changes: tuple[tuple[str, str], ...]
    test: Callable[..., None]
    arguments: Mapping[str, object] = field(default_factory=dict)


MIX = loop.test_every_slice_has_the_operations_of_the_reference
KEYS = loop.test_keys_stay_in_range_and_reach_both_ends_for_every_work_unit
SKEW = loop.test_skewed_keys_of_updates_follow_their_law
HOT = loop.test_the_hot_spot_and_the_hot_schema_get_exactly_every_nth_operation
VALUES = loop.test_updates_write_their_columns_in_full_with_values_that_were_never_there
FAULTS = (
    Fault(
        "the mix begins one operation late",
        (("update_quota := MOD((update_phase + first_op) * update_pct, 100);",
          "update_quota := MOD((update_phase + first_op + 1) * update_pct, 100);"),),
        MIX, {"update_pct": 33, "scan_pct": 0},
    ),
    Fault(
        "a quota loses its remainder",
        (("update_quota := update_quota - 100;", "update_quota := 0;"),),
        MIX, {"update_pct": 67, "scan_pct": 0},
    ),
    Fault(
        "the share of scans is one of all operations",
        (("(scan_phase + first_op - updates_before)", "(scan_phase + first_op)"),),
        MIX, {"update_pct": 50, "scan_pct": 30},
    ),
    Fault(
        "the hot spot has no phase",
        (("MOD(first_op + hotspot_phase, hotspot_every)", "MOD(first_op, hotspot_every)"),),
        HOT,
    ),
    Fault("the hot spot is as wide as the table", (("span := hotspot_keys;", "span := scale;"),), HOT),
    Fault("the hot schema is one operation late", (("hot := hot_at = 0;", "hot := hot_at = 1;"),), HOT),
    Fault(
        "the last key is never drawn",
        (("(span - update_work_unit + 1)", "(span - update_work_unit)"),),
        KEYS, {"work_unit": 2, "ops": 400},
    ),
    Fault(
        "hot rows lie side by side",
        (("MOD(drawn * zipf_step, zipf_keys)", "MOD(drawn, zipf_keys)"),),
        SKEW, {"access": "zipf:0.99", "work_unit": 1},
    ),
    Fault(
        "ranks begin half a rank late",
        (("drawn := FLOOR(POWER(low + chance * width, power_of) - one_half);",
          "drawn := FLOOR(POWER(low + chance * width, power_of));"),),
        SKEW, {"access": "zipf:0.99", "work_unit": 1},
    ),
    Fault(
        "a slice forgets the random state",
        (("random_state := state;", "NULL;"),),
        loop.test_slicing_changes_nothing,
    ),
    Fault(
        "a value repeats within a slice",
        (("RPAD((first_op + done) || tag,", "RPAD(first_op || tag,"),),
        VALUES, {"redo_stress": "LITE", "columns": {"c2", "c20"}, "obfuscate": False},
    ),
    Fault(
        "cuts of the random text overlap as they are",
        (("SUBSTR(letters || letters, 1 + MOD(first_op + done + 1, 64), 64)", "letters"),),
        loop.test_obfuscated_values_do_not_compress_plain_ones_do_and_a_chosen_share_in_between,
    ),
    Fault(
        "updates share a transaction",
        (("COMMIT WRITE BATCH NOWAIT;", "IF MOD(done, 4) = 0 THEN COMMIT WRITE BATCH NOWAIT; END IF;"),),
        loop.test_each_update_commits_by_itself,
    ),
    Fault(
        "the commit comes after the clock is read",
        (("                    COMMIT WRITE BATCH NOWAIT;\n", ""),
         ("updated_rows := updated_rows + found_rows;",
          "updated_rows := updated_rows + found_rows; COMMIT WRITE BATCH NOWAIT;")),
        loop.test_the_latency_of_an_update_includes_its_commit,
    ),
    Fault(
        "an operation begins after the end",
        (("        EXIT WHEN t1 >= until;\n", "        EXIT WHEN t1 >= until AND done > 0;\n"),),
        loop.test_a_slice_keeps_to_its_times,
    ),
    Fault(
        "a sleep ends with its slice",
        (("GREATEST(not_before_us, resume_us)", "not_before_us"),),
        # Longer than the busiest host takes for a slice; nothing waits, since the sleeps are cut off.
        loop.test_think_time_is_kept_across_slices_and_is_no_latency, {"sleep_s": 5},
    ),
    Fault(
        "due times lose fractions",
        (("due_us := due_us + interval_us;", "due_us := due_us + FLOOR(interval_us);"),),
        pacing.test_the_rate_is_kept_over_slices, {"per_s": 333.3, "quick": 1000.0},
    ),
    Fault(
        "an operation begins before it is due",
        (("due_at := epoch + due_us * one_us;\n            wake_at := due_at;", "due_at := epoch + due_us * one_us;"),),
        pacing.test_nothing_begins_before_it_is_due,
    ),
    Fault(
        "response time counts from the begin",
        (("GREATEST(us_between(due_at, t1), us)", "LEAST(us_between(due_at, t1), us)"),),
        pacing.test_operations_wait_for_one_that_is_late_and_their_response_counts_it,
    ),
)  # fmt: skip


@pytest.fixture
def changed(monkeypatch):
    """Changes the text of the work loop when it is installed; texts that were there are noted in its result."""

    def change(*changes):
        applied = set()

        def faulty(procedure):
            for old, new in changes:
                if old in procedure:
                    applied.add(old)
                procedure = procedure.replace(old, new, 1)
            return rendered(procedure)

        rendered = rig_server.rendered
        monkeypatch.setattr(rig_server, "rendered", faulty)
        return applied

    return change


# Faults in the tests' reach change with the tests and the work loop alone: one of the mix, of keys and of time each
# time.
EACH_TIME = {"a quota loses its remainder", "the last key is never drawn", "an operation begins after the end"}


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(
            fault, id=fault.name.replace(" ", "_"), marks=[] if fault.name in EACH_TIME else pytest.mark.nightly
        )
        for fault in FAULTS
    ],
)
def test_a_fault_is_found(subject, paced, changed, fault):
    applied = changed(*fault.changes)
    given = {"subject": subject, "paced": paced, "loop": "server"}
    needed = {name: given[name] for name in signature(fault.test).parameters if name in given}
    with pytest.raises(AssertionError):
        fault.test(**needed, **fault.arguments)
    assert applied == {old for old, _ in fault.changes}, "a text is no longer in slice.sql"


def test_an_update_that_is_refused_is_run_again_and_counts_once(subject, changed):
    counted, refusal = "found_rows := SQL%ROWCOUNT;", "SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213;"
    applied = changed((counted, f"{counted} IF refused < 2 THEN {refusal} END IF;"))
    with subject.session(subject.workload(update_pct=100, work_unit=3)) as worked:
        results = worked.slices(1, 5)
        delta = subject.counted(lambda: worked.slices(10))
    assert applied
    assert [(result.counts.ops, result.counts.conflicts) for result in results] == [(1, 2), (5, 2)]
    assert [result.counts.rows_updated for result in results] == [3, 15]
    assert 10 <= delta.commits <= 10 + loop.OTHERS_COMMITS


def test_the_driver_runs_slices_as_the_double_does(subject):
    """Types of binds, texts of histograms, and moments with fractions of a µs, through python-oracledb."""
    workload = subject.workload(update_pct=40, scan_pct=20, obfuscate_columns=True, target_ops=4000 / 3, sessions=1)
    subject.engine.install(workload)
    results = []
    with Server(lambda _: rig_server.RigServer(subject.params.arguments)) as server:
        params = parse(server.url.replace("slob@", "slob:slob@"))
        for open_one in (lambda: open_connection(params, "run/t"), subject.engine.open):
            session = OracleSession(open_one(), subject.plan(workload))
            session.prepare()
            due_ns = subject.now_ns() // 1000 * 1000
            results.append([due_ns])
            for first, size in ((0, 60), (60, 41)):
                result = session.run_slice(SliceRequest(first, 0, NEVER_NS, size, results[-1][-1]))
                results[-1].append(result.due_ns)
                results[-1][0:0] = [result.counts, {kind: each.count for kind, each in result.response.items()}]
            session.close()
    driver, double = ([*found[:4], found[-1] - found[4]] for found in results)
    assert driver == double
    assert driver[-1] == 101 * 750_000
