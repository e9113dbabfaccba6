"""The text of Oracle's work loop, its sub-programs, what a call takes and returns, and which plans it may have."""

import random

import pytest

from factories.oracle.double import Answers, connected, rows, statements_of
from factories.oracle.rig_rules import rendered
from factories.oracle.rig_translated import a_procedure, translated
from factories.oracle.wire_executor import OracleError
from openslob.core.errors import SlobError
from openslob.core.histogram import BUCKETS, Histogram, bucket_of, lower_edge_us
from openslob.core.method import OpKind
from openslob.core.workload import Workload
from openslob.engines.oracle.adapter import READINGS
from openslob.engines.oracle.slice_procedure import (
    ARGUMENTS,
    KEPT,
    TEXTS,
    choose_parameters,
    choose_state,
    compose_slice,
    explain,
    install,
    parse_histogram,
)
from openslob.kinds.run.plan import session_plans

NOT_THERE = OracleError(942, "table or view does not exist")
HEAD = {"sql_id": "a", "child_number": 0, "command_type": 3}


def workload(**parameters):
    return Workload(**{"schemas": 2, "scale": "512", "scan_table_sz": "10", "warmup": 0, **parameters})


def plan(number=0, tag="t", **parameters):
    return session_plans(workload(**parameters), 8192, tag)[number]


# --- the text


def test_an_operation_of_each_kind_reads_the_clock_at_its_ends():
    body = " ".join(compose_slice(1, workload(update_pct=50, scan_pct=50), (19,), 128).split())
    assert [body.count(f"{moment} := SYSTIMESTAMP; ") for moment in ("t0", "t1")] == [3, 3 + 3]
    assert READINGS == 2


@pytest.mark.parametrize(
    ("version", "sleep", "hinted"),
    [((11, 2, 0, 4), "DBMS_LOCK", False), ((12, 1, 0, 2), "DBMS_LOCK", True), ((12, 2, 0, 1), "DBMS_LOCK", True),
     ((18, 0), "DBMS_SESSION", True), ((19, 3), "DBMS_SESSION", True), ((23, 26), "DBMS_SESSION", True)],
)  # fmt: skip
def test_sleep_and_hint_are_those_of_the_version(version, sleep, hinted):
    text = compose_slice(2, workload(), version, 128)
    assert text.count(f"{sleep}.SLEEP(") == text.count(".SLEEP(") == 2
    assert text.count("NO_BATCH_TABLE_ACCESS_BY_ROWID(t)") == (4 if hinted else 0)


@pytest.mark.parametrize(
    ("mode", "commit"),
    [("wait", "COMMIT WRITE IMMEDIATE WAIT;"), ("nowait", "COMMIT WRITE BATCH NOWAIT;"), ("engine", "COMMIT;")],
)
def test_commits_wait_as_the_workload_says(mode, commit):
    text = compose_slice(1, workload(commit_mode=mode), (19, 3), 128)
    assert text.count("COMMIT") == text.count(commit) == 1


@pytest.mark.parametrize("obfuscate", [False, True])
@pytest.mark.parametrize("redo_stress", ["LITE", "HEAVY"])
def test_the_stand_in_runs_what_is_composed(redo_stress, obfuscate):
    text = compose_slice(2, workload(redo_stress=redo_stress, obfuscate_columns=obfuscate), (19, 3), 128)
    assert "{" not in text
    assert "SYSTIMESTAMP" not in rendered(text)
    assert text.count(" SET c2 = ") == 2
    with pytest.raises(ValueError, match="no longer what this rig runs"):
        rendered(text.replace("SQL%ROWCOUNT;", "SQL%ROWCOUNT; t1 := SYSTIMESTAMP;"))


def test_columns_of_a_small_block_are_cut_to_their_width():
    text = compose_slice(1, workload(redo_stress="HEAVY", obfuscate_columns=True), (19, 3), 32)
    assert "c20 = SUBSTR(fresh, 577, 32)" in text
    assert "SUBSTR((first_op + done) || tag || fresh, 1, 608)" in text


# --- sub-programs, translated


def test_buckets_sums_and_greatest_are_those_of_the_histogram():
    known = translated(a_procedure())
    edges = sorted({*range(3000), *map(lower_edge_us, range(BUCKETS)), *(10**power for power in range(9))})
    values = [value for edge in edges for value in (edge - 1, edge) if value >= 0]
    values += random.Random(1).choices(range(2_000_000), k=5000)
    expected = Histogram()
    for value in values:
        known["count_in"](2, value)
        expected.add([(bucket_of(value), 1)], value, value)
    assert parse_histogram(known["folded"](2)) == expected
    assert known["folded"](1) is None


def test_the_longest_text_fits():
    known = translated(a_procedure())
    for bucket in range(BUCKETS):
        known["tally"][0][lower_edge_us(bucket)] = 1_999_999_999
    assert len(known["folded"](0)) < 32767


def test_times_are_whole_microseconds():
    known = translated(a_procedure())
    for passed in (0, 1, 49, 59_999_999, 60_000_000, 61_500_001, 3_600_000_000 // 8, 1_000_000_000):
        assert known["us_between"](10**15, 10**15 + passed) == passed
    assert known["us_between"](5, 3) == 0
    assert known["us_between"](0, 10**12) == 2_000_000_000
    assert known["since_epoch"](1_795_291_364_394_097) == 1_795_291_364_394_097


# --- what a call takes


def test_every_argument_of_the_procedure_is_given():
    given = choose_parameters(plan())
    of_a_slice = {"first_op", "max_ops", "not_before_us", "until_us", "interval_us", "due_before_us"}
    returned = {name for name in ARGUMENTS if name in (*KEPT, *TEXTS) or name.startswith(("rows_", "began", "ended"))}
    assert set(ARGUMENTS) == set(given) | of_a_slice | returned | {"ops", "conflicts"}
    assert all(not isinstance(value, bool) for value in given.values())


def test_the_seed_and_the_session_decide_the_generator():
    def of(**parameters):
        made = plan(**parameters)
        return choose_parameters(made)["random_step"], choose_state(made)

    assert of(sessions=2) == of(sessions=2, tag="other")
    assert len({of(sessions=2), of(number=1, sessions=2), of(sessions=2, seed=2)}) == 3
    steps = [of(number=number, sessions=40)[0] for number in range(40)]
    assert len(set(steps)) == 40
    assert all(step % 2 == 1 and abs(step) < 2**31 for step in steps)


def test_random_text_is_the_runs_own_and_only_for_obfuscated_columns():
    pools = [choose_parameters(plan(tag=tag, obfuscate_columns=True))["pool"] for tag in ("one", "two")]
    assert pools[0] != pools[1]
    # The places of cuts, and the longest of them; and what the driver binds as text.
    assert 28_001 + 19 * 128 <= len(pools[0]) <= 32_767
    assert choose_parameters(plan())["pool"] is None


@pytest.mark.parametrize(
    ("parameters", "spins"),
    [({"sessions": 4}, True), ({"sessions": 64}, False), ({"sessions": 4, "target_ops": 10}, False)],
)
def test_only_few_sessions_spin_before_they_begin_together(parameters, spins):
    assert (choose_parameters(plan(**parameters))["start_spin"] > 0) == spins


# --- plans


def steps(*found, command=3, sql_id="a"):
    names = ("operation", "options", "object_name")
    return [
        {**HEAD, "sql_id": sql_id, "command_type": command, **dict(zip(names, step, strict=True))} for step in found
    ]


TOP = ("SELECT STATEMENT", None, None)
SELECT = (TOP, ("SORT", "AGGREGATE", None), ("FILTER", None, None), ("TABLE ACCESS", "BY INDEX ROWID", "CF1_1"),
          ("INDEX", "RANGE SCAN", "CF1_1_CUSTID"))  # fmt: skip
UPDATE = (("UPDATE STATEMENT", None, None), ("UPDATE", None, "CF1_1"), ("INDEX", "RANGE SCAN", "CF1_1_CUSTID"))
SCAN = (TOP, ("SORT", "AGGREGATE", None), ("TABLE ACCESS", "FULL", "CF2_1"))
EXECUTED = [
    *steps(*UPDATE, command=6), *steps(*SELECT, sql_id="b"), *steps(*SCAN, sql_id="c"),
    *steps(TOP, ("INDEX", "UNIQUE SCAN", "SYS_C007"), sql_id="d"),
]  # fmt: skip


def test_plans_are_those_of_the_executed_statements():
    connection = connected(Answers().say(r"FROM v\$sql", rows(*EXECUTED)))
    plans = explain(connection, 1, workload(update_pct=50, scan_pct=10))
    assert plans == {
        "select": "SELECT STATEMENT, SORT AGGREGATE, FILTER, TABLE ACCESS BY INDEX ROWID CF1_1,"
        " INDEX RANGE SCAN CF1_1_CUSTID",
        "update": "UPDATE STATEMENT, UPDATE CF1_1, INDEX RANGE SCAN CF1_1_CUSTID",
        "scan": "SELECT STATEMENT, SORT AGGREGATE, TABLE ACCESS FULL CF2_1",
    }
    assert not any("EXPLAIN" in text for text in statements_of(connection))


def test_plans_are_explained_where_executed_ones_may_not_be_seen():
    answers = Answers().say(r"FROM v\$sql", NOT_THERE).say("plan_table", rows(*steps(*SELECT)))
    connection = connected(answers)
    assert "INDEX RANGE SCAN CF1_1_CUSTID" in explain(connection, 1, workload(update_pct=0))["select"]
    sent = statements_of(connection)
    assert sent[-2].startswith("EXPLAIN PLAN SET STATEMENT_ID = 'slob' FOR SELECT /*+ INDEX(t CF1_1_CUSTID)")
    assert sent[-3].startswith("DELETE FROM plan_table")


def test_a_plan_of_the_hot_schemas_tables_is_not_taken_for_the_sessions_own():
    answers = Answers().say(r"FROM v\$sql", rows(*EXECUTED)).say("plan_table", NOT_THERE)
    with pytest.raises(Exception, match="ORA-00942"):
        explain(connected(answers), 2, workload(update_pct=100))


@pytest.mark.parametrize(
    "wrong",
    [
        (TOP, ("TABLE ACCESS", "BY INDEX ROWID BATCHED", "CF1_1"), ("INDEX", "RANGE SCAN", "CF1_1_CUSTID")),
        (TOP, ("TABLE ACCESS", "FULL", "CF1_1")),
        (TOP, ("TABLE ACCESS", "BY INDEX ROWID", "CF1_1"), ("INDEX", "RANGE SCAN", "ANOTHER")),
        (TOP, ("TABLE ACCESS", "BY INDEX ROWID", "CF1_1"), ("INDEX", "FULL SCAN", "CF1_1_CUSTID")),
        (TOP, ("PX COORDINATOR", None, None), *SELECT[1:]),
        (TOP, ("INDEX", "RANGE SCAN", "CF1_1_CUSTID")),
    ],
)
def test_another_plan_is_refused(wrong):
    answers = Answers().say(r"FROM v\$sql", rows(*steps(*wrong)))
    with pytest.raises(SlobError, match="the select of the work loop would not read block by block") as refused:
        explain(connected(answers), 1, workload(update_pct=0))
    assert "CF1_1_CUSTID is there and usable" in refused.value.remedy
    assert "OPTIMIZER_IGNORE_HINTS" in refused.value.remedy


# --- making it


def test_one_procedure_is_made_for_each_schema_at_work():
    connection = connected(Answers().say("user_errors", rows()))
    install(connection, workload(sessions=2), 8192)
    made = [text.partition("(")[0] for text in statements_of(connection) if text.startswith("CREATE")]
    assert made == ["CREATE OR REPLACE PROCEDURE SLOB_SLICE_1", "CREATE OR REPLACE PROCEDURE SLOB_SLICE_2"]
    assert statements_of(connection)[:2] == [
        "ALTER SESSION SET PLSQL_CODE_TYPE = 'NATIVE'", "ALTER SESSION SET PLSQL_OPTIMIZE_LEVEL = 3",
    ]  # fmt: skip


def test_it_is_made_where_its_settings_are_refused():
    refusal = OracleError(1031, "insufficient privileges")
    connection = connected(Answers().say("user_errors", rows()).say("SET PLSQL_CODE_TYPE", refusal))
    install(connection, workload(), 8192)
    sent = statements_of(connection)
    assert "ALTER SESSION SET PLSQL_OPTIMIZE_LEVEL = 3" in sent
    assert any(text.startswith("CREATE OR REPLACE PROCEDURE") for text in sent)


def test_a_procedure_that_does_not_compile_is_told_with_its_first_message():
    message = "PLS-00201: identifier 'DBMS_LOCK'\nmust be declared"
    connection = connected(Answers().say("user_errors", rows({"line": 12, "text": message})), "12.2.0.1.0")
    with pytest.raises(SlobError, match="PLS-00201: identifier 'DBMS_LOCK' must be declared \\(line 12\\)"):
        install(connection, workload(), 8192)


def test_kinds_without_operations_have_empty_histograms():
    assert parse_histogram(None) == Histogram()
    assert parse_histogram("30 20 14 1 27 1") == Histogram({14: 1, 27: 1}, 30.0, 20.0)
    assert set(OpKind) == {OpKind.SELECT, OpKind.UPDATE, OpKind.SCAN}
