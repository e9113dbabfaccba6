"""The realism table: figures of rounds, the order that is judged, how it looks, who is compared and how."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from factories.contenders import CONTENDERS, ENGINE, PLAN, SERVED, record
from factories.vega_lite import validate
from openslob.cli import app
from openslob.core.errors import SlobError, UsageError
from openslob.core.histogram import bucket_of
from openslob.core.units import MIB
from openslob.core.workload import BlockPath
from openslob.engines import clients
from openslob.engines.postgresql import clients as postgresql_clients
from openslob.kinds.storage.comparison.execute import REACHED, find_doubts, raw_jobs, require_workloads
from openslob.kinds.storage.comparison.plan import (
    DISCARDED,
    SELECTS,
    ComparisonPlan,
    order,
    workload_contender,
)
from openslob.kinds.storage.comparison.realism import ContenderKind, ContenderRow, rows
from openslob.kinds.storage.fio import IoEngine
from openslob.kinds.storage.pictures import bar_rows, storage_pictures
from openslob.kinds.storage.record import StorageFolder, StorageRecord
from openslob.kinds.storage.report import storage_document
from openslob.kinds.storage.target import TestFile
from openslob.record.model import Holds, Status, Verdict
from openslob.report.charts.picture import page_specs, svg
from openslob.report.html.page import page_of, render_page
from openslob.report.terminal import render_text


def row(kind, made) -> ContenderRow:
    return next(each for each in rows(made) if each.kind is kind)


def test_a_row_has_the_medians_of_its_rounds_and_their_range():
    local = row(ContenderKind.LOCAL, record())
    assert local.iops_per_cpu.median == pytest.approx(51_000)
    assert (local.iops_per_cpu.low, local.iops_per_cpu.high) == (pytest.approx(50_000), pytest.approx(52_000))
    assert local.host_pct == 25
    assert local.ceiling_pct == 100
    assert local.cpus == pytest.approx((0.2 + 10 / 52) / 2)


def test_who_was_left_out_has_no_figures_but_the_reason():
    client = row(ContenderKind.CLIENT, record())
    assert (client.rounds, client.iops.median, client.why) == (0, None, "not installed")


def test_the_order_holds_from_the_best_of_storage_alone_downwards():
    (verdict,) = record().verdicts
    assert (verdict.name, verdict.verdict) == ("order_some", Holds.HOLDS)
    assert list(verdict.figures) == ["raw", "local", "shared", "updates"]
    assert verdict.figures["raw"] == pytest.approx(110_000)


def test_a_pair_the_wrong_way_round_breaks_the_order_and_is_named():
    (verdict,) = record(**{SERVED[ContenderKind.SHARED].name: (60_000, 61_000)}).verdicts
    assert verdict.verdict is Holds.FAILS
    assert re.findall(r"some, (\w+) \w+ \(([\d,]+)\)", verdict.why)[:2] == [("shared", "60,500"), ("local", "51,000")]
    assert "some, 20 % updates (22" not in verdict.why.partition("All:")[0]


def test_ranges_that_overlap_leave_it_untold():
    (verdict,) = record(**{SERVED[ContenderKind.SHARED].name: (51_500, 61_000)}).verdicts
    assert verdict.verdict is Holds.UNKNOWN
    assert "overlap" in verdict.why


def test_a_contender_without_known_cpu_leaves_it_untold():
    (verdict,) = record(**{SERVED[ContenderKind.SHARED].name: (None, None)}).verdicts
    assert verdict.verdict is Holds.UNKNOWN
    assert "shared cache: held up" in verdict.why


def test_an_engine_without_a_local_path_is_judged_by_what_it_has():
    (verdict,) = record(**{SERVED[ContenderKind.LOCAL].name: ()}).verdicts
    assert verdict.verdict is Holds.HOLDS
    assert list(verdict.figures) == ["raw", "shared", "updates"]


def test_the_report_has_the_table_what_each_does_and_the_ceiling():
    text = render_text(storage_document(record()))
    assert "Reads of 8 KB per CPU second: storage alone 110,000 (fio io_uring)" in " ".join(text.split())
    line = next(each for each in text.splitlines() if each.startswith("  some, local path "))
    assert line.split()[3:] == ["10,000", "–", "100", "%", "51,000", "50,000–52,000", "0.20", "25", "%"]
    assert DISCARDED in " ".join(text.split())
    assert "(left out: not installed)" in " ".join(text.split())


def test_a_stopped_comparison_is_shown():
    made = record({}).model_copy(update={"status": Status.INTERRUPTED, "errors": ("stopped",), "summary": {}})
    assert "!! INTERRUPTED: stopped" in render_text(storage_document(made))
    assert storage_pictures(made) == ()
    assert "stopped" in render_page(page_of(storage_document(made)))


def test_the_picture_draws_the_medians_and_is_valid():
    (picture,) = storage_pictures(record())
    cells = bar_rows(rows(record())[:2], lambda each: each.iops_per_cpu)
    assert [round(cell["value"]) for cell in cells] == [110_000, 85_000]
    for spec in page_specs(picture):
        validate({name: value for name, value in spec.items() if name != "config"})
    texts = [each.text for each in ET.fromstring(svg(picture)).iter() if each.text]
    assert "110,000" in texts
    assert len(picture.table.rows) == len(CONTENDERS) - 1


def test_show_list_and_report_know_it(tmp_path):
    made = record()
    with StorageFolder.begin(tmp_path, made) as folder:
        folder.finish(Status.COMPLETE)
    for arguments, expected in (
        (["show", "latest", "--all"], "READS PER SECOND AND PER CPU SECOND, medians of 2 rounds"),
        (["list"], "10,000"),
        (["report", made.id, "-o", str(tmp_path / "page.html")], "Verdicts: all 1 hold"),
    ):
        done = CliRunner().invoke(app, [*arguments, "--results", str(tmp_path)])
        assert done.exit_code == 0, done.output
        assert expected in done.stdout
    assert "What storage gives, and what databases get" in (tmp_path / "page.html").read_text()


def test_every_round_has_all_contenders_in_an_order_of_its_own():
    orders = [[each.name for each in order(CONTENDERS, number)] for number in range(1, 6)]
    assert all(sorted(each) == sorted(one.name for one in CONTENDERS) for each in orders)
    assert len({tuple(each) for each in orders}) > 1
    assert orders[0] == [each.name for each in order(CONTENDERS, 1)]


def test_all_have_the_same_concurrency_and_block_size(tmp_path):
    jobs = raw_jobs(PLAN, TestFile(tmp_path, "a file", 256 * MIB, ours=True))
    assert {(job.in_flight, job.block_size, job.seconds) for job in jobs.values()} == {(8, 8192, 10.0)}
    assert [(job.depth, job.copies) for job in jobs.values()] == [(8, 1), (1, 8), (4, 2)]
    local, updates = PLAN.workload(ContenderKind.LOCAL, 2), PLAN.workload(ContenderKind.UPDATES)
    assert (local.total_sessions, local.schemas, local.block_path, local.seed) == (8, 8, BlockPath.LOCAL, 2)
    assert (updates.update_pct, PLAN.workload(ContenderKind.SHARED).update_pct) == (20, 0)
    assert local.data(8192) == updates.data(8192)


def test_data_that_servers_would_cache_are_refused():
    PLAN.check()
    with pytest.raises(UsageError, match="give at least 64 MB for 8 sessions"):
        ComparisonPlan(IoEngine.IO_URING, (ENGINE,), processes=2, scale=32 * MIB).check()


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--io-engine", "psync"], "always includes psync"),
        (["--cpus", "9999"], "which is not available"),
        (["--engines", "nothing"], "no server of 'nothing' can be managed"),
    ],
)
def test_wrong_flags_start_nothing(flags, said, tmp_path, monkeypatch):
    monkeypatch.setattr("openslob.kinds.storage.fio.Fio.find", lambda _: None)
    done = CliRunner().invoke(app, ["raw", "compare", *flags, "--results", str(tmp_path)])
    assert isinstance(done.exception, UsageError)
    assert said in str(done.exception)
    assert list(tmp_path.iterdir()) == []


SYSBENCH_SAID = """
    transactions:                        1234   (246.51 per sec.)
Latency (ms):
         min:                                    1.20
         avg:                                    4.05
         max:                                   31.44
         99th percentile:                       12.30
"""
PGBENCH_SAID = "number of transactions actually processed: 3\ntps = 12.5 (without initial connection time)\n"


def test_pgbench_is_told_every_table_and_its_log_is_read_once(tmp_path, monkeypatch):
    monkeypatch.setattr(postgresql_clients, "find_pgbench", lambda _: ("pgbench", []))
    monkeypatch.setattr(postgresql_clients, "version_of", lambda _: "pgbench 18")
    request = replace(PLAN.client(SELECTS, "18", None, lambda: False), seconds=0.4)
    with postgresql_clients.selects("postgresql://me:secret@here/db", request, 3, 1000) as selects:
        command = selects.command
        assert command.count("-f") == 3
        assert command[command.index("-T") + 1] == "1"
        assert "secret" not in " ".join(command)
        script = next(each for each in command if each.endswith("select-3.sql"))
        assert 'FROM "slob"."cf1_3" WHERE custid = :key' in Path(script).read_text()
    (tmp_path / "log.77").write_text("0 1 100 0 1700000000 1\n0 2 300 1 1700000000 2\n")
    (tmp_path / "log.77.1").write_text("1 1 5000 2 1700000000 3\n")
    result = postgresql_clients.pgbench_result(PGBENCH_SAID, tmp_path)
    assert (result.transactions, result.per_s) == (3, 12.5)
    assert result.latency.counts == {bucket_of(us): 1 for us in (100, 300, 5000)}
    assert (result.latency.sum_us, result.latency.max_us) == (5400, 5000)
    # The log of another round is another one; who notes nothing has no latency, rather than one of 0.
    assert postgresql_clients.pgbench_result(PGBENCH_SAID, tmp_path).latency is None
    with pytest.raises(SlobError, match="can't be read"):
        postgresql_clients.pgbench_result("nothing", tmp_path)


def test_sysbench_says_its_transactions_and_their_latency():
    result = clients.sysbench_result(SYSBENCH_SAID)
    assert (result.transactions, result.per_s, result.latency) == (1234, 246.51, None)
    assert result.latency_us == {"mean_us": pytest.approx(4050), "p99_us": pytest.approx(12300)}
    with pytest.raises(SlobError, match="can't be read"):
        clients.sysbench_result("FATAL: no")


def test_tables_of_workloads_are_larger_than_the_cache_and_have_room():
    plan = replace(PLAN, workloads=("tpcb", "tpcb-select", "oltp-read-write"))
    # Two sets of tables: those of pgbench's workloads are the same.
    assert plan.bytes_needed - PLAN.bytes_needed == pytest.approx(2 * 1.15 * plan.scale, abs=2)
    assert plan.client("tpcb", "18", None, bool).scale * 15 * MIB >= plan.scale >= 8 * plan.cache_bytes
    assert plan.client("oltp-read-write", "18", None, bool).scale * 22 * MIB >= plan.scale
    tables = plan.announcement.rpartition("tables of ")[2]
    assert re.findall(r"\d+ MB|[a-z]+(?:-[a-z]+)+|\btpcb\b|\d+ min \d+ s", tables) == [
        "256 MB", "tpcb", "tpcb-select", "oltp-read-write", "1 min 32 s",
    ]  # fmt: skip
    assert PLAN.announcement == "up to 7 measurements of 10 s, 3 times: about 4 min 22 s, after the loads"
    assert workload_contender(plan, ENGINE, "tpcb").kind is ContenderKind.CLIENT


def test_reads_that_came_from_the_page_cache_are_noted():
    made = SimpleNamespace(verdicts=[Verdict(name=REACHED, verdict=Holds.FAILS, why="3.5 % came from elsewhere.")])
    assert find_doubts(CONTENDERS[-1], "round 1 of 1", made) == [
        "some, client, round 1 of 1: 3.5 % came from elsewhere."
    ]
    assert find_doubts(CONTENDERS[-1], "round 1 of 1", SimpleNamespace(verdicts=[])) == []


def test_a_workload_that_no_server_has_is_refused_before_anything_starts(monkeypatch):
    plan = replace(PLAN, engines=("mariadb",), workloads=("tpcb",))
    with pytest.raises(UsageError, match="--with tpcb: there is no such workload"):
        require_workloads(plan)
    monkeypatch.setattr(clients.shutil, "which", lambda _: None)
    with pytest.raises(SlobError, match="needs sysbench, which is not installed"):
        require_workloads(replace(plan, workloads=("oltp-read-only",)))


def test_a_program_that_takes_too_long_to_make_its_tables_is_ended():
    with pytest.raises(SlobError, match="sleep did not make its tables in 0 s"):
        clients.run_program(["sleep", "60"], {}, lambda: False, 0.01)


def test_the_record_can_be_written_and_read_again(tmp_path):
    made = record()
    again = StorageRecord.model_validate(json.loads(made.model_dump_json()))
    assert rows(again) == rows(made)
