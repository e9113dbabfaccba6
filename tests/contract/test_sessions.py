"""Every engine's sessions, plans, lock and data, as the runner counts on them."""

import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import replace

import pytest

from factories.subjects import NEVER_NS, SCALE, SCAN_ROWS, SCHEMAS, SPEC, lz_size
from openslob.core.errors import SlobError, UsageError
from openslob.core.measurement import ONLY_SOME_HAVE
from openslob.core.workload import DataSpec, StatisticsType
from openslob.engines.capabilities import require
from openslob.engines.settings import Effect, SettingChange

pytestmark = pytest.mark.server

UNKNOWN_WITHOUT_A_REASON = "a figure is None and no reason is given"


def eventually(true):
    """Whether ``true()`` comes true within some seconds."""
    return any(true() or time.sleep(0.05) for _ in range(200))


def test_the_data_are_what_was_asked_for(subject):
    subject.load()
    state = subject.engine.data.state()
    assert (state.spec, state.verified) == (SPEC, True)
    # An engine may need a block more for its own ends.
    assert state.blocks == pytest.approx(dict.fromkeys(range(1, SCHEMAS + 1), SCALE), rel=0.01)
    assert subject.engine.data.table_blocks() >= SCHEMAS * SCALE


def test_the_files_of_the_tables_are_known_and_hold_them(subject):
    subject.load()
    engine = subject.engine
    files = engine.data.files(engine.location().data_directory)
    assert len(files) >= 2 * SCHEMAS
    assert sum(file.stat().st_size for file in files) >= engine.data.table_blocks() * engine.facts().block_size


def test_the_data_file_compresses_as_was_chosen(subject):
    sizes = {}
    for name, spec in {
        "plain": SPEC, "half": replace(SPEC, obfuscate=True, compressible=50), "random": replace(SPEC, obfuscate=True),
    }.items():  # fmt: skip
        subject.engine.data.load(spec, 2, lambda _: None, lambda: False)
        assert subject.engine.data.state().spec == spec
        with subject.engine.exclusive("test"):
            # What is in the cache only comes into the file.
            subject.engine.quiesce(subject.workload(), warm_cache=False)
        files = subject.engine.data.files(subject.engine.location().data_directory)
        sizes[name] = lz_size(b"".join(file.read_bytes() for file in files))
    subject.load()
    assert sizes["random"] >= 0.9 * SCHEMAS * (SCALE + SCAN_ROWS) * 19 * 128
    assert sizes["half"] == pytest.approx(sizes["random"] / 2, rel=0.15)
    assert sizes["plain"] < 0.2 * sizes["random"]


def test_the_server_is_described(subject):
    facts = subject.engine.facts()
    assert facts.product in ("PostgreSQL", "MariaDB", "MySQL", "Oracle")
    assert facts.version[0].isdigit()
    # It is taken for itself, and not for another product that speaks its protocol.
    assert (facts.family, facts.number, facts.caution, facts.no_device) == (facts.product, facts.version, "", "")
    assert facts.block_size in (4096, 8192, 16384, 32768, 65536)
    assert facts.cache_bytes >= 32 * 1024**2
    assert facts.free_connections > 100
    assert facts.settings
    location = subject.engine.location()
    assert location.main_pid
    assert location.data_directory.is_dir()


def test_a_fitting_workload_has_no_blocking_finding(subject):
    findings = list(subject.engine.findings(subject.workload(update_pct=50, scan_pct=50)))
    assert [finding for finding in findings if finding.blocking] == []


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ({"scale": str(SCALE + 1)}, "data"),
        ({"scan_table_sz": "11", "scan_pct": 1}, "data"),
        ({"work_unit": SCALE + 1}, "work unit"),
        ({"update_work_unit": SCALE + 1}, "work unit"),
        ({"do_hotspot": True, "hotspot_mb": 1, "hotspot_offset_mb": SCALE}, "hot spot"),
        ({"sessions": 10_000}, "connections"),
    ],
)
def test_what_would_fail_is_found_before(subject, asked, name):
    findings = [finding for finding in subject.engine.findings(subject.workload(**asked)) if finding.blocking]
    assert [finding.name for finding in findings] == [name]
    assert findings[0].why
    assert findings[0].remedy


def test_more_schemas_than_loaded_are_found(subject):
    workload = subject.workload().model_copy(update={"schemas": SCHEMAS + 1})
    assert "data" in [finding.name for finding in subject.engine.findings(workload) if finding.blocking]


def test_plans_are_recorded_for_what_runs_and_use_the_index(subject):
    used = {(0, 0): {"select"}, (0, 10): {"select", "scan"}, (50, 0): {"select", "update"}, (100, 0): {"update"}}
    for (update_pct, scan_pct), names in used.items():
        with subject.session(subject.workload(update_pct=update_pct, scan_pct=scan_pct)) as worked:
            plans = worked.session.plans()
        assert set(plans) == names
        assert all("index" in plans[name].lower() for name in names - {"scan"})


@pytest.mark.parametrize("update_pct", [0, 100])
def test_another_plan_is_refused(subject, update_pct):
    workload = subject.workload(update_pct=update_pct)
    with subject.session(workload) as worked:
        assert worked.session.plans()
    refused = pytest.raises(SlobError, match="would not read block by block through the index")
    with subject.without_index(), subject.session(workload) as worked, refused:
        worked.session.plans()


def test_sessions_are_counted_and_can_be_ended_from_outside(subject):
    engine = subject.engine
    assert eventually(lambda: engine.sessions_left() == 0)
    with subject.session(subject.workload(), tag="one") as first, subject.session(subject.workload(), tag="two") as two:
        assert engine.sessions_left() == 2
        assert first.session.backend_id() != two.session.backend_id()
        assert engine.release_sessions() == 2
        assert engine.sessions_left() == 0
        with pytest.raises(SlobError, match="session 0 was lost"):
            first.run(max_ops=1)
        first.session.close()
        first.session.close()
    assert engine.release_sessions() == 0


@contextmanager
def in_background(worked):
    """A slice without an end in a thread; its errors. A connection must never be closed under a thread that uses it."""
    caught = []

    def work():
        try:
            worked.run()
        except SlobError as error:
            caught.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield thread, caught
    finally:
        if thread.is_alive():
            worked.session.cancel()
        thread.join(30)


def busy(subject):
    waits = subject.engine.open_waits()
    try:
        return bool(waits.sample().events)
    finally:
        waits.close()


def test_a_slice_can_be_cancelled_from_another_thread(subject):
    with subject.session(subject.workload(update_pct=50)) as worked, in_background(worked) as (thread, caught):
        assert eventually(lambda: busy(subject))
        worked.session.cancel()
        thread.join(30)
        assert not thread.is_alive()
    assert len(caught) == 1
    assert "\n" not in str(caught[0])
    assert eventually(lambda: subject.engine.sessions_left() == 0)


def test_a_stop_ends_long_slices_and_keeps_what_they_did(subject):
    stop = subject.engine.open_stop()
    with subject.session(subject.workload(update_pct=50)) as worked:
        with in_background(worked) as (thread, caught):
            assert eventually(lambda: busy(subject))
            stop.request()
            thread.join(30)
            assert not thread.is_alive()
        stop.close()
        assert caught == []
        (result,) = worked.results
        assert 0 < result.counts.ops == sum(histogram.count for histogram in result.latency.values())
        assert result.end_ns < NEVER_NS
        # and once it is over, slices run again
        assert worked.run(max_ops=3).counts.ops == 3


def test_one_load_or_run_at_a_time(subject):
    refused = pytest.raises(SlobError, match="in use: run by pid")
    with subject.engine.exclusive("run"), refused, subject.engine.exclusive("load"):
        pass
    with subject.engine.exclusive("load"):
        pass


def test_a_load_of_what_is_there_is_instant(subject):
    subject.load()  # tests that update may have left the tables larger
    assert subject.load().reused
    assert subject.engine.data.state().spec == SPEC != DataSpec(1, 1, 1, False)


def test_settling_warms_the_cache(subject):
    workload = subject.workload(work_unit=SCALE, sessions=SCHEMAS)
    assert subject.engine.quiesce(workload, warm_cache=True)
    for number in range(SCHEMAS):
        with subject.session(workload, number) as worked:
            reads = subject.counted(lambda worked=worked: worked.slices(3)).read_requests
            assert reads <= subject.stray_reads


def test_counters_know_every_figure_or_why_not(subject):
    with subject.session(subject.workload(update_pct=50, commit_mode="wait")) as worked:
        delta = subject.counted(lambda: worked.slices(100))
    missing = {name for name, value in vars(delta).items() if value is None} - ONLY_SOME_HAVE
    assert missing <= set(delta.unknown), UNKNOWN_WITHOUT_A_REASON
    assert missing == subject.unknown
    assert subject.objects <= set(delta.by_object)
    assert delta.log_bytes > 50 * 100
    assert delta.rows_updated_in_place == delta.rows_updated == 50


def test_a_reset_of_the_counters_makes_every_figure_unknown(subject):
    counters = subject.open_counters()
    # The second one is a reset of counters that had been reset before.
    for _ in range(2):
        with subject.session(subject.workload()) as worked:
            worked.slices(50)
        before = counters.read()
        subject.reset_counters()
        delta = counters.difference(before, counters.read())
        assert delta.rows_read is None
        assert "reset" in delta.unknown["*"]
    counters.close()


def test_waits_are_of_sessions_in_operations_only(subject):
    subject.engine.install(subject.workload())
    waits = subject.engine.open_waits()
    # A server shows a statement for a moment after its result was sent: those of the last session, and of this one.
    assert eventually(lambda: waits.sample().events == {})
    with subject.session(subject.workload()) as worked:
        assert eventually(lambda: waits.sample().events == {})
        assert [waits.sample().events for _ in range(5)] == [{}] * 5
        with in_background(worked):
            assert eventually(lambda: waits.sample().events)
    waits.close()


def test_capabilities_say_what_can_be_measured_here(subject):
    capabilities = subject.engine.capabilities()
    assert capabilities
    for capability in capabilities:
        assert capability.present, f"{capability.lack}: {capability.remedy}"
        require(capabilities, capability.name)


def test_a_server_without_instances_and_reports_says_so(subject):
    assert subject.engine.open_snapshots(StatisticsType.AWR, frozenset()) is None
    with subject.session(subject.workload()) as worked:
        assert worked.session.instance() is None


def test_a_session_has_the_settings_that_it_is_to_have(subject):
    """One that every product calls otherwise is changed; one that there is not, or that needs a restart, is refused."""
    of_session = {"work_mem": "8MB", "sort_buffer_size": "1048576", "statistics_level": "TYPICAL"}
    with subject.engine.known_settings() as known:
        for name in ("no_such_setting", "shared_buffers", "innodb_doublewrite", "db_cache_size"):
            with pytest.raises(UsageError, match=r"has no setting|can't change"):
                known.find(name)
        found = {}
        for name, value in of_session.items():
            with suppress(UsageError):
                known.require(known.find(name), value)
                found[name] = value
    plan = subject.plan(subject.workload())
    asked = [SettingChange(name, value, Effect.SESSION) for name, value in found.items()]
    subject.engine.install(subject.workload())
    session = subject.engine.open_session(replace(plan, settings=asked))
    try:
        session.prepare()
        assert session.settings() == found
    finally:
        session.close()
