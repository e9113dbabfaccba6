"""MariaDB with RocksDB's tables: what is the same as with InnoDB's, what RocksDB counts, and what is unknown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from factories.running import DATA, judged, measured, slob, too_busy, verdicts_of
from factories.subject_mariadb import MariaSubject
from factories.subjects import SCALE, SPEC
from openslob.core.errors import SlobError
from openslob.core.units import MIB
from openslob.engines import registry
from openslob.engines.mysql.binaries import find_installation
from openslob.engines.mysql.page_layout import layout_of
from openslob.engines.mysql.rocksdb import ROCKSDB
from openslob.record.model import Holds

pytestmark = pytest.mark.server
BLOCK = 16_384
ROW = layout_of(BLOCK).row_bytes
LOADED = {**DATA, "scale": str(SCALE), "scan_table_sz": str(SPEC.scan_blocks)}


@pytest.fixture(scope="module")
def server(make_server):
    made = make_server(name="rocks", started=False, engine="mariadb", table_engine="rocksdb", cache_bytes=8 * MIB)
    try:
        ROCKSDB.check_programs(find_installation(None))
    except SlobError as error:
        pytest.skip(str(error))
    made.start()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def subject(server):
    found = MariaSubject(server.status().url)
    found.load()
    return found


def test_its_tables_are_rocksdb_s_and_have_the_rows_of_innodb_s(subject):
    engines = dict(subject.ask("SELECT table_name, engine FROM information_schema.tables WHERE table_schema = 'slob'"))
    assert {engines[f"cf{kind}_{number}"] for kind in (1, 2) for number in (1, 2)} == {"ROCKSDB"}
    assert subject.ask("SELECT COUNT(custid), COUNT(*) FROM slob.cf1_1") == ((SCALE, 3 * SCALE),)
    assert subject.engine.data.state().verified
    (directory,) = subject.engine.location().data_directories
    files = sum(path.stat().st_size for path in subject.engine.data.files(directory))
    assert 0.9 < files / (SPEC.blocks * BLOCK) < 1.2


def test_what_operations_read_and_change_is_counted_exactly(subject):
    workload = subject.workload(work_unit=8, update_pct=40, scan_pct=50)
    with subject.session(workload) as worked:
        delta = subject.counted(lambda: worked.run(max_ops=100))
    counts = worked.results[-1].counts
    assert (counts.updates, counts.scans) == (40, 30)
    assert (delta.rows_read, delta.rows_updated) == (8 * 70, 8 * 40)
    assert (delta.others["rows_read"], delta.others["rows_updated"]) == (0, 0)
    assert delta.row_bytes_read == pytest.approx(8 * 70 * ROW, rel=0.05)
    assert delta.row_bytes_written == pytest.approx(8 * 40 * ROW, rel=0.05)
    assert delta.log_bytes >= delta.row_bytes_written
    assert delta.read_requests > 0
    assert delta.read_bytes / delta.read_requests == pytest.approx(BLOCK, rel=0.2)
    assert delta.read_time_us > 0
    assert delta.commits == 40


def test_each_commit_that_waits_syncs_the_log(subject):
    with subject.session(subject.workload(update_pct=100, commit_mode="wait")) as worked:
        assert subject.counted(lambda: worked.run(max_ops=20)).log_syncs >= 20


def test_commits_do_not_wait_by_a_setting_of_rocksdb_s_own(subject):
    setting = "SELECT @@rocksdb_flush_log_at_trx_commit"
    with subject.engine.exclusive("test"):
        subject.engine.quiesce(subject.workload(update_pct=100, commit_mode="nowait"), warm_cache=False)
        assert subject.ask(setting) == ((0,),)
    assert subject.ask(setting) == ((1,),)


def test_a_run_says_that_a_row_is_a_key(subject, tmp_path):
    load = {**LOADED, "sessions": 4, "update_pct": 20, "work_unit": 8}
    record = measured(subject.engine, tmp_path, **load).record
    for name in ("errors", "counts_agree", "exact_mix"):
        judged(record, name)
    for name in ("single_block", "data_in_place"):
        assert too_busy(record) or verdicts_of(record)[name].verdict is Holds.UNKNOWN
    assert too_busy(record) or "a row is a key" in verdicts_of(record)["single_block"].why
    assert (record.engine["product"], record.unit) == ("MariaDB with RocksDB", "key")
    assert record.engine["settings"]["default_storage_engine"] == "ROCKSDB"
    assert any("a row is a key" in each for each in record.reservations)
    # Versions of rows that nothing has merged yet are a part of it.
    assert too_busy(record) or 0.9 < record.value("space_amplification") < 10
    # All of the record follows from the raw files again.
    assert slob("verify", tmp_path / record.id).returncode == 0


def test_a_table_that_is_gone_is_missed_but_one_that_grew_is_not(subject):
    with subject.session(subject.workload(update_pct=100, work_unit=64)) as worked:
        worked.run(max_ops=50)
    assert subject.engine.data.state().fault == ""
    subject.ask("RENAME TABLE slob.cf2_2 TO slob.elsewhere")
    try:
        assert "cf2_2 is no longer there" in subject.engine.data.state().fault
    finally:
        subject.ask("RENAME TABLE slob.elsewhere TO slob.cf2_2")


def test_reads_are_buffered_and_blocks_are_smaller_if_asked_for(make_server, server):
    small = make_server(**{**vars(server.status().spec), "name": "rocks8", "io": "buffered", "block_size": 8192})
    facts = registry.resolve(small.name)[0].facts()
    assert (facts.direct_io, facts.block_size, facts.cache_bytes) == (False, 8192, 8 * MIB)
    again = registry.managed(replace(small.status().spec, table_engine="innodb"))
    with pytest.raises(SlobError, match="was created with --table-engine rocksdb, not innodb"):
        again.start()
    small.destroy()
