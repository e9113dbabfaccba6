"""What `slob check --prove` makes of a server's answers: each question with one that holds and one that does not."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager

import pytest

from factories.oracle.double import Answers, connected, rows, statements_of
from factories.oracle.loading import Database
from factories.oracle.wire_executor import Executor, OracleError, Rows
from factories.tables import table
from openslob.core.access import KeyLaw
from openslob.core.workload import Workload
from openslob.engines.oracle import proving
from openslob.engines.oracle.proof_bench import BLOCKS, subtract
from openslob.engines.oracle.proof_bench import Bench as ProofBench
from openslob.engines.oracle.proving import is_plain, list_questions
from openslob.engines.oracle.target import ConnectParams
from openslob.engines.proofs import NotAskedError
from openslob.engines.tables import check, table_cf1

MOMENT = 1_795_344_311_123_457
WRAPPED = (2_000_000_000 * 1_664_525 + 1 + 2**31) % 2**32 - 2**31
NAMES = (
    "redo synch writes", "session logical reads", "table fetch by rowid", "physical reads", "physical reads cache",
    "physical reads cache prefetch", "physical reads direct",
)  # fmt: skip


class Answering(Executor):
    """Gives the blocks' OUT binds; a query of blocks reads so many of each kind, as the session's counters then say."""

    def __init__(self, outs=None, of_query=None, refuses=""):
        self.outs, self.of_query, self.refuses = outs or {}, of_query or {}, refuses
        self.counters = dict.fromkeys(NAMES, 0)
        self.sent = []

    def execute(self, text, binds):
        self.sent.append(text)
        if self.refuses and self.refuses in text:
            raise OracleError(942, "table or view does not exist")
        if "v$mystat" in text:
            return Rows(("name", "value"), list(self.counters.items()))
        if "ROWIDTOCHAR" in text:
            return Rows(("custid", "place"), [(key, f"AAA{key:05}") for key in range(200)])
        if text.startswith("SELECT"):
            for name, amount in self.of_query.items():
                self.counters[name] += amount(text) if callable(amount) else amount
            return Rows(("rows_there",), [(64,)])
        return {name: value for name, value in self.outs.items() if f":{name} " in text}


class Bench:
    """As far as the questions use one."""

    def __init__(self, executor, version=(19, 3)):
        self.executor, self.version = executor, version
        self.dropped, self.made, self.place = [], [], None

    @contextmanager
    def connect(self):
        yield connected(self.executor)

    def make_schema(self, number, blocks=BLOCKS, **how):
        self.made.append(how)
        return 9001 + number

    def describe_table(self, number, blocks=BLOCKS):
        return table_cf1(f"CF1_{9001 + number}", 9001 + number, blocks)

    def drop(self, number):
        self.dropped.append(number)


def asked(number, executor, version=(19, 3)):
    bench = Bench(executor, version)
    return next(question for question in list_questions(bench) if question.number == number).ask()


def test_there_are_twenty_one_questions():
    bench = Bench(Answering())
    every = list_questions(bench)
    assert sorted(question.number for question in every) == list(range(1, 22))
    assert all(question.text.endswith("?") for question in every)
    assert len({question.name for question in every}) == len(every)


@table(
    ("number", "outs", "holds", "seen"),
    [
        (2, {"clock_step_us": 1.0, "clock_cost_us": 0.4}, True, "steps of 1 µs; reading it takes 0.4 µs"),
        (2, {"clock_step_us": 1000.0, "clock_cost_us": 0.4}, False, "steps of 1000 µs"),
        (2, {"clock_step_us": 1.0, "clock_cost_us": 8.0}, False, "reading it takes 8 µs"),
        (3, {"least_ms": 10.1, "mean_ms": 10.4, "most_ms": 12.0}, True, "10.1 to 12.0 ms, 10.4 ms on average"),
        (3, {"least_ms": 0.0, "mean_ms": 0.1, "most_ms": 0.2}, False, "0.0 to 0.2 ms"),
        (3, {"least_ms": 10, "mean_ms": 60, "most_ms": 99}, False, "60.0 ms on average"),
    ],
)
def test_what_a_block_returns_is_judged(number, outs, holds, seen):
    answer = asked(number, Answering(outs))
    assert answer.holds is holds
    assert seen in answer.seen
    assert answer.figures == outs


@table(
    ("elements", "product", "moment", "holds"),
    [
        (1111, WRAPPED, MOMENT, True),
        (1110, WRAPPED, MOMENT, False),
        (1111, 3_329_050_000_000_001, MOMENT, False),
        (1111, WRAPPED, MOMENT + 1, False),
    ],
)
def test_tables_of_tables_integers_that_wrap_and_moments(elements, product, moment, holds):
    class Elements(Answering):
        def execute(self, text, binds):
            return {"found": product if "1664525" in text else moment if str(MOMENT) in text else elements}

    answer = asked(10, Elements())
    assert answer.holds is holds
    assert answer.figures == {"elements": elements, "wraps": product, "moments": moment}


@table(("wrong", "holds"), [({}, True), ({1: -1, 2: 1}, False), ({1: -1}, False)])
def test_keys_that_a_law_draws_are_those_of_the_same_numbers_here(wrong, holds):
    law, drawn, state = KeyLaw(0.99, 300), Counter(wrong), 12345
    for _ in range(20_000):
        state = (state * 1_664_525 + 1) % 2**32
        drawn[law.key_of(law.rank_at((state + 2**31) % 2**32 / 2**32))] += 1
    answer = asked(21, Answering({"found": " ".join(f"{key} {times}" for key, times in drawn.items())}))
    assert answer.holds is holds
    assert answer.figures == {"draws": drawn.total(), "other_keys": 0 if holds else 1}


@table(
    ("ahead", "holds"),
    [(lambda text: 0, True), (lambda text: 0 if "NO_BATCH" in text else 30, True), (lambda text: 30, False)],
)
def test_blocks_that_are_read_ahead(ahead, holds):
    executor = Answering(of_query={"physical reads cache": 64, "physical reads cache prefetch": ahead})
    answer = asked(7, executor)
    assert answer.holds is holds
    assert list(answer.figures) == ["without hint", "with hint"]


@table("cold", [True, False])
def test_what_analyses_a_cold_table_reads_past_the_cache(cold):
    database, opened = Database(), []

    def connect(_purpose):
        opened.append(connected(database.client()))
        return opened[-1]

    ProofBench(connect, ConnectParams("db", {})).make_schema(1, 64, cold=cold)
    sent = [text for connection in opened for text in statements_of(connection)]
    direct = [at for at, text in enumerate(sent) if "_serial_direct_read" in text]
    assert len(direct) == cold
    assert not cold or direct[0] < min(at for at, text in enumerate(sent) if "DBMS_STATS" in text)


def test_cold_reads_are_of_such_a_table():
    bench = Bench(Answering(of_query={"physical reads cache": 64}))
    next(each for each in list_questions(bench) if each.number == 7).ask()
    assert bench.made == [{"cold": True}] * 2


def test_before_12_1_there_is_no_hint_to_compare():
    executor = Answering(of_query={"physical reads cache": 64})
    assert list(asked(7, executor, version=(11, 2)).figures) == ["without hint"]


def test_blocks_that_were_in_the_cache_say_nothing_of_reads():
    with pytest.raises(NotAskedError, match="the others were in the cache"):
        asked(7, Answering(of_query={"physical reads cache": 1}))
    with pytest.raises(NotAskedError, match="all of them were in the cache"):
        asked(12, Answering())


@table(("kind", "holds"), [("physical reads direct", True), ("physical reads cache", False)])
def test_reads_past_the_cache(kind, holds):
    answer = asked(12, Answering(of_query={"physical reads": 1, kind: 1}))
    assert answer.holds is holds
    assert answer.figures[kind] == 200


@table("number", [7, 12])
def test_a_missing_right_is_the_reason_for_not_asking(number):
    with pytest.raises(NotAskedError, match=r"needs SELECT on V_\$MYSTAT and V_\$STATNAME"):
        asked(number, Answering(refuses="v$mystat"))


@table(
    ("value", "plain"),
    [
        *((value, True) for value in ("8G", "12,884,901,888", "0.5 %", "", "FORCE_WAIT", "19c Enterprise Edition")),
        *((value, True) for value in ("READ WRITE", "2 x 200 MB, 2 x 200 MB", "DIAGNOSTIC+TUNING", "Linux x86 64-bit")),
        *((value, False) for value in ("/u01/flash", "SALES", "(ADDRESS=(HOST=db1))", "nightly_plan", "8G on /u01")),
    ],
)
def test_values_of_settings_that_name_nothing(value, plain):
    assert is_plain(value) is plain


def test_what_counters_gained():
    assert subtract({"a": 1}, {"a": 5, "b": 2}) == {"a": 4, "b": 2}


class Counting(Answering):
    """Sessions of the loop are no business of these: what counters rise by is what a test says."""

    def __init__(self, rises, cpu=(), refuses=""):
        super().__init__(refuses=refuses)
        self.rises, self.cpu, self.asked = rises, list(cpu), 0

    def execute(self, text, binds):
        if "cpu" in self.rises and "sys_time_model" in text:
            return Rows(("value",), [(self.cpu.pop(0) if len(self.cpu) > 1 else self.cpu[0],)])
        for view, rise in self.rises.items():
            if f"{view} s" in text and not (self.refuses and self.refuses in text):
                self.asked += 1
                if isinstance(rise, dict):
                    later = self.asked > 1
                    return Rows(("instance_name", "value"), [(name, 5 + later * n) for name, n in rise.items()])
                return Rows(("value",), [(5 if self.asked <= 2 else 5 + rise,)])
        if "CON_ID" in text:
            return Rows(("con_id", "con_name"), [(self.rises.get("container", 3), "P")])
        return super().execute(text, binds)


class CountingBench(Bench):
    """Its sessions do a thousand logical reads by their own counter."""

    @contextmanager
    def open_session(self, schema, workload, kind="NATIVE"):
        yield LoopOfAThousand(self.executor)


class LoopOfAThousand:
    def __init__(self, executor):
        self.executor, self.connection = executor, connected(executor)

    def run_for(self, length):
        self.executor.counters["session logical reads"] += 1000

    def run_operations(self, number):
        direct = any("ALWAYS" in text for text in self.executor.sent)
        self.executor.counters["table scans (direct read)"] += number if direct else 0


def asked_of(name, executor):
    return next(question for question in list_questions(CountingBench(executor)) if question.name == name).ask()


@table(
    ("own", "root", "holds"),
    [(1000, 9000, True), (1900, 0, True), (999, 9000, False), (2001, 2001, False)],
)
def test_a_pluggable_database_s_own_counters_have_the_session_s_work_and_little_else(own, root, holds):
    answer = asked_of("own counters", Counting({"v$con_sysstat": own, "v$sysstat": root}))
    assert answer.holds is holds
    assert answer.figures == {"session": 1000, "V$CON_SYSSTAT": own, "V$SYSSTAT": root}


def test_own_counters_are_asked_for_in_a_pluggable_database_only_and_with_a_right():
    with pytest.raises(NotAskedError, match="not a pluggable database"):
        asked_of("own counters", Counting({"container": 1}))
    with pytest.raises(NotAskedError, match=r"needs SELECT on V_\$CON_SYSSTAT"):
        asked_of("own counters", Counting({"v$sysstat": 1, "v$con_sysstat": 1}, refuses="v$con_sysstat"))


@table(
    ("rose", "holds"),
    [({"slob": 1000, "two": 10}, True), ({"slob": 10, "two": 1000}, False), ({"slob": 1000, "two": 1000}, False)],
)
def test_each_instance_counts_its_own_work(rose, holds):
    answer = asked_of("instances", Counting({"gv$con_sysstat": rose}))
    assert answer.holds is holds
    assert answer.figures == {"session": 1000, **rose}


def test_one_instance_is_no_cluster():
    with pytest.raises(NotAskedError, match="one open instance"):
        asked_of("instances", Counting({"gv$con_sysstat": {"one": 1000}}))


@table(("cpu", "holds"), [((0, 900, 1000), True), ((0, 1000), True), ((0, *[500] * 23, 1000), False)])
def test_how_late_times_of_calls_are(cpu, holds, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(proving.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(proving.time, "sleep", lambda seconds: now.__setitem__(0, now[0] + seconds))
    answer = asked_of("late times", Counting({"cpu": None}, cpu))
    assert answer.holds is holds
    assert answer.figures["at_once_us"] == cpu[1]


def test_no_cpu_time_is_no_answer(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(proving.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(proving.time, "sleep", lambda seconds: now.__setitem__(0, now[0] + seconds))
    with pytest.raises(NotAskedError, match="no CPU time"):
        asked_of("late times", Counting({"cpu": None}, (7, 7)))


def test_the_path_of_scans_is_counted():
    executor = Counting({})
    executor.counters["table scans (direct read)"] = 0
    answer = asked_of("scan path", executor)
    assert answer.holds
    assert answer.figures == {"cache": 0, "direct": 20}


@table(("gap", "holds"), [(0, True), (20, True), (21, False)])
def test_batches_that_leave_empty_blocks_between_them(gap, holds, monkeypatch):
    bench = Bench(Answering())

    def checks(_connection, table, _place):
        batches = bench.made[-1]["batches"]
        return [check(table, "blocks in use", 1000 + gap * (batches - 1), 900, 1100)]

    monkeypatch.setattr(proving, "check_table", checks)
    answer = next(question for question in list_questions(bench) if question.name == "loads").ask()
    assert answer.holds is holds
    assert {each["batches"] for each in bench.made} == {1, 5}
    gaps = {value for name, value in answer.figures.items() if name.endswith("empty blocks between batches")}
    assert gaps == {gap}
    assert ("empty blocks between two batches" in answer.seen) is not holds


def test_the_work_loop_is_made_where_native_code_is_refused():
    bench = ProofBench(lambda _purpose: connected(Database().client()), ConnectParams("db", {}))
    refusal = OracleError(1031, "insufficient privileges")
    connection = connected(Answers().say("user_errors", rows()).say("SET PLSQL_CODE_TYPE", refusal))
    assert bench.install(connection, 9001, Workload(schemas=1)) == []
    sent = statements_of(connection)
    assert "ALTER SESSION SET PLSQL_OPTIMIZE_LEVEL = 3" in sent
    assert any(text.startswith("CREATE OR REPLACE PROCEDURE SLOB_SLICE_9001") for text in sent)
