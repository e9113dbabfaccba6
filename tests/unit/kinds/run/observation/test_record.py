"""The record of a load that is not ours: its report claims what was seen, and it compares with any other."""

import json
import re
import shutil
from dataclasses import replace

import pytest

import openslob
from factories import measurements
from factories.paths import FIXTURES
from factories.running import slob
from openslob.analyze.build_record import build_record
from openslob.analyze.compare import compare
from openslob.analyze.curves.points import Run
from openslob.analyze.curves.series import point_set
from openslob.analyze.load_kinds import load_kind
from openslob.analyze.verdicts import OF_ANY_LOAD
from openslob.core.errors import UsageError
from openslob.core.measurement import OtherSessions
from openslob.engines.base import Activity
from openslob.kinds.run.observation.observer import SamplesOfAll
from openslob.kinds.runs import load as load_runs
from openslob.metrics import OF_OWN_LOAD
from openslob.metrics.quantity import HIDDEN, NOT_OUR_LOAD
from openslob.record.model import Holds, RecordKind, Status
from openslob.record.raw_csv import RawCsv
from openslob.report.charts.over_sessions import session_rows
from openslob.report.charts.petals import petal_rows
from openslob.report.html.page import page_of, render_page
from openslob.report.several_runs import set_document
from openslob.report.text import render

RECORDS = FIXTURES / "records" / "v3"
SPEC = {"command": ["/usr/bin/pgbench", "-c", "8", "a b"], "seconds": None}
ENDED = {"exit_code": 0, "elapsed_s": 60.0, "cpu_s": 6.0}


def record(spec=SPEC, environment=None, **overrides):
    observed = measurements.observed(**overrides)
    return build_record(
        observed,
        kind=RecordKind.OBSERVATION,
        id="20260101-000000-made-up",
        name="made-up",
        status=Status.FAILED if observed.errors else Status.COMPLETE,
        started_at="2026-01-01T00:00:00Z",
        openslob_version="0",
        spec=spec,
        environment={"local": True, "command": ENDED} if environment is None else environment,
        engine={"block_size": 8192},
    )


def shown(*args, **kwargs):
    return " ".join(render(record(*args, **kwargs)).split())


def test_the_report_says_what_was_observed_and_what_the_whole_server_did():
    text = shown()
    assert "pgbench -c 8 'a b', 1 min: 210 transactions/s, 48,000 logical reads/s" in text.replace("60 s", "1 min")
    assert "exit code 0 after" in text
    assert "per transaction" in text
    assert "of the whole server: all databases, all clients but slob's samplers" in text


def test_a_command_that_failed_is_told_first():
    text = shown(errors=["the command ended with exit code 3"])
    assert text.index("FAILED: the command ended with exit code 3") < text.index("VERDICTS")
    assert "early end" not in text


def test_figures_of_our_own_operations_are_not_shown_at_all():
    made = record()
    assert not OF_OWN_LOAD & set(load_kind(made).figures(made))
    assert NOT_OUR_LOAD not in " ".join(render(made).split())


def test_a_server_observed_for_a_time_has_transactions_and_no_client():
    text = render(record(spec={"command": None, "seconds": 60.0}))
    assert re.search(r"^  Transactions +210 +1$", text, re.MULTILINE)
    assert "Client CPU" not in text


def test_without_a_command_there_is_no_client():
    text = shown({"command": None, "seconds": 60}, {"local": True}, host=measurements.host())
    assert "All that the server did" in text
    assert "Client CPU" not in text


def test_verdicts_are_those_that_apply_to_any_load():
    found = {verdict.name: verdict.verdict for verdict in record().verdicts}
    assert set(found) == {"window", "reads_reached_device", "driver_quiet", "quiet_machine", "steady"}
    assert set(found) < {function.__name__ for function in OF_ANY_LOAD}
    assert set(found.values()) == {Holds.HOLDS}


def test_the_cpu_of_the_command_is_no_disturbance_and_told():
    busy = measurements.host(client_cpu_s=30.0, cpu={**measurements.host().cpu, "user": 90.0, "idle": 74.0})
    verdicts = {verdict.name: verdict for verdict in record(host=busy).verdicts}
    assert verdicts["quiet_machine"].verdict is Holds.HOLDS
    assert verdicts["driver_quiet"].figures["client_cpu_pct_of_db"] == 37.5
    assert "(the observed command 38 %)" in verdicts["driver_quiet"].why


def test_an_idle_server_does_not_make_the_observer_a_disturbance():
    verdicts = {each.name: each for each in record(host=measurements.host(server_cpu_s=0.1)).verdicts}
    assert verdicts["driver_quiet"].verdict is Holds.HOLDS


def test_db_time_is_the_mean_number_of_sessions_at_work_by_samples():
    made = record(waits={"IO:WalSync": 300}, wait_samples=100)
    assert made.summary["db_time_per_s"].value == 3.0
    assert made.waits[0].db_time_s == 180.0
    assert record(waits={}, wait_samples=0).summary["db_time_per_s"].why


def test_db_time_is_unknown_where_this_user_may_not_see_all_sessions(tmp_path):
    shown_too = []
    with RawCsv(tmp_path) as raw:
        recorder = SamplesOfAll(raw, lambda *_: None, shown_too.append)
        recorder.add_sample(Activity({"CPU": 1}, {}))
        recorder.add_sample(Activity({}, None))
    assert (recorder.waits, recorder.wait_samples, recorder.others.hidden) == ({"CPU": 1}, 1, 1)
    assert len(shown_too) == 2
    made = record(waits={}, wait_samples=0, others=OtherSessions(hidden=1))
    assert made.summary["db_time_per_s"].why == HIDDEN


def test_it_is_of_its_kind_and_so_it_is_listed():
    assert record().kind is RecordKind.OBSERVATION
    listed = json.loads(slob("list", "--results", RECORDS, "--json").stdout)
    assert {row["kind"] for row in listed} == {"run", "observation"}
    assert "observation" in slob("list", "--results", RECORDS).stdout


def test_a_run_and_an_observation_are_compared_by_the_figures_of_the_server():
    asked = ("compare", RECORDS / "measured", RECORDS / "observed", "--may-differ", "engine.settings")
    assert "loads differ: only figures of the server" in " ".join(slob(*asked).stdout.split())
    done = slob(*asked, "--all")
    assert done.returncode == 0, done.stderr
    assert "Logical reads" in done.stdout
    assert "The loads differ" in done.stdout
    assert "A is of slob run, 2 sessions, 20 % updates, B of /usr/bin/pgbench" in " ".join(done.stdout.split())
    assert "Operations" not in done.stdout


def test_a_run_and_an_observation_of_one_name_have_no_mean():
    runs, observations = (load_runs(RECORDS / each).runs for each in ("measured", "observed"))
    with pytest.raises(UsageError, match="several loads"):
        compare([*runs, *observations], observations)
    several = [*runs, *(replace(run, parameters={**run.parameters, "sessions": 64}) for run in runs)]
    with pytest.raises(UsageError, match="several loads"):
        compare(observations, several)


def test_it_is_read_in_notebooks_like_a_run():
    run = openslob.read(RECORDS / "observed").run
    assert run.figures["transactions_per_s"].value > 0
    assert run.figures["lio_per_s"].value > 0
    assert "ops_per_s" not in run.figures
    assert run.parameters["load"] == "/usr/bin/pgbench -n -c 2 -T 3"
    assert all(cell is None or isinstance(cell, str | int | float) for cell in run.parameters.values())
    assert "pgbench -n -c 2 -T 3" in run.answer
    assert len(run.slices()) == 0
    assert len(run.table()) == 1
    assert "pgbench" in run.text()


def test_a_page_of_observations_does_not_claim_what_the_platform_can_do(tmp_path):
    copy = shutil.copytree(RECORDS / "observed", tmp_path / "again")
    document = json.loads((copy / "run.json").read_text())
    (copy / "run.json").write_text(json.dumps({**document, "id": "20260101-000000-again"}))
    done = slob("report", RECORDS / "observed", copy, "--output", tmp_path / "page.html")
    assert done.returncode == 0, done.stderr
    assert "Observed: " in done.stdout
    assert "This platform does" not in done.stdout


def test_on_a_page_points_of_observations_have_no_number_of_sessions():
    ready = {"command": None, "seconds": 30.0, "workload": {"name": "tpcb", "clients": 8, "scale": 10}}
    runs = [Run.of(made) for made in (record(ready), record())]
    html = render_page(page_of(set_document("observations", runs, ())))
    assert "Points without a number are observations" in html
    assert "tpcb, 8 clients, scale 10" in html
    assert not re.search(
        r"None|\b0 sessions|from [\d,.]+ with 0 to", re.sub(r"<script.*?</script>", "", html, flags=re.S)
    )
    points = point_set(runs)
    assert {row["sessions"] for row in petal_rows(points, points.axes.throughput)} == {None}
    assert session_rows(points, "host_cpu_busy_pct") == []


def test_a_load_that_varies_on_its_own_is_no_noisy_machine_and_not_steady():
    varying = measurements.timeline(ops=(2000.0, 200.0) * 30)
    verdicts = {each.name: each for each in record(timeline=varying).verdicts}
    assert verdicts["quiet_machine"].verdict is Holds.HOLDS
    assert "spread" not in verdicts["quiet_machine"].why
    assert verdicts["steady"].verdict is Holds.FAILS
