"""What is known before a run: purposes by size, findings by mode, and what late counters leave unknown."""

import os
from dataclasses import replace

from factories.tables import table
from factories.texts import numbers
from openslob.cli.check import COLUMNS, result_text
from openslob.core.process_selector import ProcessTree
from openslob.core.units import GIB, MIB, NANOS
from openslob.core.workload import Mode, Workload
from openslob.engines.base import CounterReading
from openslob.engines.facts import Finding, InstanceFacts, ServerFacts, ServerLocation
from openslob.engines.flavour import Identity
from openslob.engines.postgresql.counters import PostgresCounters
from openslob.engines.postgresql.delta import to_delta
from openslob.kinds.run.preflight import Preflight, host_memory, purpose_findings, purposes, role_findings

CACHE = 100 * MIB


def facts(direct_io=True, remedy=""):
    return ServerFacts("Product", "1.0", 8192, CACHE, 50, {}, direct_io, direct_io_remedy=remedy)


def workload(size, mode=None, **more):
    return Workload(schemas=1, scale=size, mode=mode, **more)


@table(
    ("data", "physical", "logical", "words"),
    [
        (50 * MIB, False, True, "all of it can be cached"),
        (80 * MIB, False, True, "all of it can be cached"),
        (100 * MIB, False, False, "all of it can be cached"),
        (999 * MIB, False, False, "about 10 % of the visits would be hits"),
        (1000 * MIB, True, False, "about 10 % of the visits would be hits"),
        (4000 * MIB, True, False, "about 2 % of the visits would be hits"),
    ],
)
def test_what_data_and_cache_make_possible(data, physical, logical, words):
    pio, lio = purposes(data, facts())
    assert (pio.mode, pio.possible, lio.mode, lio.possible) == (Mode.PIO, physical, Mode.LIO, logical)
    assert words in pio.why


@table(
    ("size", "mode", "direct_io", "expected"),
    [
        ("50M", "pio", True, [("mode", True)]),
        ("500M", "pio", True, [("mode", False)]),
        ("2G", "pio", True, []),
        ("2G", "pio", False, [("page cache", False)]),
        ("2G", "pio", None, [("page cache", False)]),
        ("2G", "lio", True, [("mode", False)]),
        ("50M", "lio", False, []),
        ("50M", None, False, []),
    ],
)
def test_a_mode_that_can_not_be_is_found_before_the_run(size, mode, direct_io, expected):
    found = list(purpose_findings(workload(size, mode), facts(direct_io)))
    assert [(one.name, one.blocking) for one in found] == expected
    assert all(one.spoils and one.remedy for one in found)


def test_skewed_keys_make_hits_however_much_data_there_are():
    load = workload("4G", "pio", access="zipf:0.99", work_unit=1)
    (found,) = purpose_findings(load, facts())
    assert (found.name, found.blocking, found.remedy) == ("mode", False, "use ACCESS=uniform, or use a smaller cache")
    assert 40 < numbers(found.why)[-1] < 90
    assert list(purpose_findings(workload("4G", "pio", access="uniform", work_unit=1), facts())) == []


def test_what_is_possible_is_unknown_where_the_cache_is():
    server = replace(facts(), cache_bytes=None, free_connections=None)
    pio, lio = purposes(2 * GIB, server)
    assert (pio.possible, lio.possible) == (None, None)
    assert numbers(pio.why) == [2]
    assert "cache is not known" in pio.why
    for mode in ("pio", "lio"):
        (found,) = purpose_findings(workload("2G", mode), server)
        assert (found.name, found.blocking, found.spoils) == ("mode", False, False)
    text = result_text("host:1/db", Preflight(server, ServerLocation.unknown(""), (), (), MIB, {}, {}))
    assert "cache        unknown" in text
    assert "connections  unknown" in text


def test_several_statements_are_lines_of_their_own_for_check_and_the_first_of_them_elsewhere():
    grants = "GRANT SELECT ON one TO u;\nGRANT SELECT ON two TO u;"
    finding = Finding("monitor", "the user may not read two views", grants, blocking=False, by="as root")
    text = result_text("host:1/db", Preflight(facts(), ServerLocation.unknown(""), [finding], (), MIB, {}, {}))
    assert [line.strip() for line in text.splitlines() if "GRANT" in line] == grants.splitlines()
    assert finding.advice == "as root: GRANT SELECT ON one TO u; (and 1 more: `slob check` prints all)"


@table(
    ("host", "possible", "words", "verb"),
    [
        (23 * GIB, False, "(23 GB of memory) holds all of it; 46 GB or more are needed", "serves"),
        (2 * GIB, False, "holds all of it; 4 GB or more are needed", "serves"),
        (1 * GIB, None, "may serve 50 % of the reads", "may serve"),
        (None, None, "unknown: if its host's memory is larger than 2 GB, the page cache serves the reads", "may serve"),
    ],
)
def test_the_page_cache_of_the_host_decides_where_io_is_buffered(host, possible, words, verb):
    server = facts(direct_io=False, remedy="Product 2 has direct I/O")
    pio, _ = purposes(2 * GIB, server, host)
    assert pio.possible is possible
    assert words in pio.why
    assert purposes(2 * GIB, facts(direct_io=True), host)[0].possible
    (found,) = purpose_findings(workload("2G", "pio"), server, host)
    assert f"the page cache {verb} what the engine reads" in found.why
    assert found.remedy.startswith("Product 2 has direct I/O; otherwise load ")


def test_no_page_cache_is_blamed_where_storage_is_a_service():
    elsewhere = Identity(
        "A", "3", "P", "1", "name", "A 3", no_device="A's blocks are in a service", caution="A: careful"
    )
    server = replace(facts(direct_io=None), identity=elsewhere)
    assert (server.family, server.number, server.caution) == ("P", "1", "A: careful")
    (found,) = purpose_findings(workload("2G", "pio"), server)
    assert (found.name, found.blocking, found.spoils) == ("storage", False, False)
    assert found.why.endswith("reads reach a device will be unknown: A's blocks are in a service")
    assert "page cache" not in f"{found.why} {found.remedy} {purposes(2 * GIB, server)[0].why}"
    assert purposes(2 * GIB, server)[0].possible


def test_a_server_on_another_host_has_an_unknown_page_cache():
    assert host_memory(ServerLocation.unknown("elsewhere")) is None
    assert host_memory(ServerLocation(ProcessTree(os.getpid()), ())) > 0


def test_who_runs_a_statement_is_printed_once():
    by = "as a superuser in database bench"
    findings = [Finding(name, "why", f"GRANT {name}", False, by=by) for name in ("one", "two")]
    findings.append(Finding("three", "why", "wait", False))
    text = result_text("host:1/db", Preflight(facts(), ServerLocation.unknown(""), findings, (), MIB, {}, {}))
    assert text.count(f"    {by}:\n      GRANT one") == text.count(by) == 1


def test_only_schemas_with_sessions_count():
    eight = Workload(schemas=8, scale="50M", sessions=1, mode="pio")
    assert [one.blocking for one in purpose_findings(eight, facts())] == [True]


def test_nothing_the_answer_says_is_wider_than_a_terminal():
    long = "word " * 60
    findings = [Finding("name", long, long, blocking, spoils) for blocking in (True, False) for spoils in (True, False)]
    found = Preflight(
        facts(),
        ServerLocation.unknown(long),
        findings,
        purposes(MIB, facts()),
        MIB,
        {"ops_per_s": long},
        {"rows_read": "x"},
    )
    text = result_text("host:1/db", found)
    assert max(map(len, text.splitlines())) <= COLUMNS
    heads = [line for line in text.splitlines() if line.isupper()]
    assert heads == [
        *("STOPS A RUN", "SPOILS A TEST", "WORTH KNOWING"),
        *("POSSIBLE WITH THESE DATA", "WILL NOT BE KNOWN", "SERVER"),
    ]


# --- PostgreSQL's counters by version

SINCE_16 = {"io.client backend/relation/normal.reads": 100, "io.client backend/relation/normal.hits": 900}
BEFORE_16 = {"database.blks_read": 100, "database.blks_hit": 900, "database.blk_read_time": 5}
LOG_14 = {"wal.wal_bytes": 4096, "wal.wal_sync": 7, "wal.wal_sync_time": 2, "wal.wal_write": 9, "wal.wal_fpi": 1}
ROWS = {"indexes.idx_tup_fetch": 800, "tables.n_tup_upd": 0, "tables.n_tup_hot_upd": 0, "database.xact_commit": 3}


@table("change", [SINCE_16, BEFORE_16])
def test_reads_are_the_same_from_either_view(change):
    delta = to_delta(change, 8192)
    assert (delta.read_requests, delta.read_bytes, delta.logical_reads) == (100, 819200, 1000)


def test_syncs_that_are_not_timed_have_no_latency():
    delta = to_delta(LOG_14, 8192, log_timing=False)
    assert (delta.log_syncs, delta.log_sync_time_us) == (7, None)
    assert delta.unknown["log_sync_time_us"] == "track_wal_io_timing is off"
    assert to_delta(LOG_14, 8192).log_sync_time_us == 2000
    # Version 13 does not count them.
    assert "pg_stat_wal" in to_delta(BEFORE_16, 8192, log_timing=False).unknown["log_sync_time_us"]


def test_a_time_that_is_not_taken_is_unknown_not_0():
    delta = to_delta({**BEFORE_16, "database.blk_read_time": 0}, 8192, timing=False)
    assert delta.read_time_us is None
    assert delta.unknown["read_time_us"] == "track_io_timing is off"
    assert to_delta(BEFORE_16, 8192).read_time_us == 5000


@table(
    ("more", "requests"),
    [
        ({}, 100),  # 16, which reads block by block
        ({"checkpointer.num_timed": 0, "tables.seq_scan": 0}, 100),  # 17 without a scan
        ({"checkpointer.num_timed": 0, "tables.seq_scan": 3}, None),
        ({"checkpointer.num_timed": 0, "private_tables.seq_scan": 3}, None),
        (
            {"checkpointer.num_timed": 0, "tables.seq_scan": 3, "io.client backend/relation/normal.read_bytes": 819200},
            100,
        ),  # 18 counts requests
    ],
)
def test_blocks_that_version_17_scans_are_not_called_requests(more, requests):
    delta = to_delta({**SINCE_16, "io.client backend/relation/normal.read_time": 5, **more}, 8192)
    assert delta.read_requests == requests
    assert delta.read_bytes == 819_200
    assert delta.logical_reads == 1000
    assert ("read_requests" in delta.unknown) == (requests is None)
    assert delta.wait_means_us.get("IO:DataFileRead") == (requests and 50)


def test_what_13_does_not_count_is_unknown_with_a_reason():
    delta = to_delta({**BEFORE_16, **ROWS, "log.position": 500}, 8192)
    assert delta.log_bytes == 500
    for name in ("log_syncs", "write_requests", "write_bytes", "full_page_images"):
        assert getattr(delta, name) is None
        assert delta.unknown[name]


class _Server:
    """As much of a connection as the counters look at."""

    def __init__(self, version):
        self.info = self
        self.server_version = version

    def execute(self, statement, _=None):
        return self

    def fetchone(self):
        return (True,)


def between(version, seconds):
    counters = PostgresCounters(_Server(version), "slob", 8192)
    after = {**BEFORE_16, **LOG_14, **ROWS, "log.position": 500}
    return counters.difference(
        CounterReading(0, dict.fromkeys(after, 0.0), ""), CounterReading(int(seconds * NANOS), after, "")
    )


def test_late_counts_are_unknown_in_a_short_window_and_rows_always():
    short, long, prompt = between(140000, 99), between(140000, 100), between(150000, 1)
    assert (short.read_requests, short.commits, short.rows_read) == (None, None, None)
    assert short.log_bytes == 500  # told at any moment
    assert (short.by_object, short.wait_means_us) == ({}, {})
    assert "too much of less than 100 s" in short.unknown["read_requests"]
    assert (long.read_requests, long.commits, long.rows_read, long.rows_updated) == (100, 3, None, None)
    assert "up to a second late" in long.unknown["rows_read"]
    assert (prompt.read_requests, prompt.rows_read) == (100, 800)


def refused_roles(load, *instances, read_only=False):
    found = role_findings(load, replace(facts(), instances=instances, read_only=read_only))
    return [each.why.split(",")[0] for each in found if each.blocking]


def test_a_role_that_no_instance_has_is_refused():
    main, copy = InstanceFacts("main", False), InstanceFacts("copy", True)
    load = Workload(classes="a:sessions=1,instance_role=read-only;b:sessions=1,instance_role=read-write;c:sessions=1")
    reads, writes = "INSTANCE_ROLE is read-only", "INSTANCE_ROLE is read-write"
    assert refused_roles(load, main, copy) == refused_roles(Workload()) == []
    assert refused_roles(load, main) == refused_roles(load) == [reads]
    assert refused_roles(load, copy) == refused_roles(load, read_only=True) == [writes]
