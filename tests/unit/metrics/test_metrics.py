"""The summary's arithmetic: every figure there, rates over the load, unknown with its reason, never a false 0."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factories import measurements
from factories.tables import table
from openslob.core.measurement import EngineDelta, HostDelta
from openslob.core.method import OpKind
from openslob.core.rate_schedule import Stage
from openslob.core.units import MIB
from openslob.metrics import (
    CHANGING,
    CHURNING,
    CONNECTING,
    METRICS,
    OBSERVED,
    OF_OWN_LOAD,
    OF_ROW_BYTES,
    PACED,
    PRICED,
    summary,
)
from openslob.metrics.computation import NO_COMMAND, NO_RATE, EngineCounter
from openslob.metrics.quantity import NOT_LOCAL, NOT_OUR_LOAD, Quantity
from openslob.metrics.run_metrics import BELOW_CLOCK, ENGINE_INPUTS, NO_READS, NO_SYNCS, SYNCS_UNTIMED
from openslob.record.model import RunRecord

EXPECTED = {
    "ops_per_s": 2000,
    "sql_per_s": 2000,
    "lio_per_s": 48_000,
    "block_visits_per_s": 16_000,
    "pio_read_per_s": 16_000,
    "pio_read_mb_per_s": 125,
    "pio_write_per_s": 500,
    "pio_write_mb_per_s": 3.90625,
    "redo_mb_per_s": 2,
    "commits_per_s": 200,
    "log_syncs_per_s": 50,
    "block_changes_per_s": 400,
    "db_time_per_s": 7.2,
    "db_cpu_per_s": 80 / 60,
    "iops_per_db_cpu": 12_000,
    "lio_per_db_cpu": 36_000,
    "foreground_cpu_per_s": 64 / 60,
    "background_cpu_per_s": 16 / 60,
    "iops_per_foreground_cpu": 15_000,
    "dev_read_per_s": 16_000,
    "dev_read_mb_per_s": 125,
    "dev_write_per_s": 550,
    "dev_write_mb_per_s": 6,
    "host_cpu_busy_pct": 40,
    "host_cpu_left_pct": 60,
    "engine_read_latency_us": 325,
    "start_skew_ms": 2,
    "driver_cpu_pct_of_db": 1,
    "elapsed_s": 60,
    "sessions": 8,
    "ops_total": 120_000,
    "updates_total": 12_000,
    "selects_total": 108_000,
    "scans_total": 0,
    "log_write_per_s": 3100 / 60,
    "log_sync_latency_us": 800,
    "log_wait_pct": 8,
    "full_page_images_per_s": 10,
    "full_page_image_mb_per_s": 0.5,
    "target_ops_per_s": 2000,
    "ops_not_begun_pct": 0,
    "backlog_s": 0,
    "wake_up_late_us": 600,
    "recovery_s": 4,
    "connects_total": 300,
    "connect_p50_us": 799,  # the middle of the bucket
    "connect_p99_us": 799,
    "conflicts_total": 0,
    "rows_inserted_per_s": 800,
    "rows_deleted_per_s": 800,
    "table_growth_mb_per_s": 2,
    "index_growth_mb_per_s": 0.1,
    "dead_rows_growth_per_s": 10,
    "purge_lag_growth_per_s": 20,
    "vacuums_total": 3,
    "write_amplification": 4,
    "dev_write_amplification": 360 / 88.59375,
    "transactions_per_s": 210,
    "client_cpu_per_s": 0.1,
    "read_amplification": 4,
    "update_amplification": 5,
    "space_amplification": 1,
    "package_power_w": 100,
    "joules_per_million_reads": 6250,
    "joules_per_million_commits": 500_000,
    "cost_per_million_reads": 0.015625,
    "cost_per_million_logical_reads": 0.25 / 48,
    "cost_per_million_commits": 1.25,
}
# 657 a month of 730 hours are 0.00025 a second.
PRICED_LOAD = measurements.workload(price="657 EUR/month")
CONNECTS = measurements.histogram(300, 800.0)
STAGES = [Stage(at, at + 20, 2000, 2000, 2000, 1.0, 2.0, after) for at, after in ((0, None), (20, 4.0), (40, 2.0))]
# Half of the rows that the updates change are deleted instead, and half inserted: 88.59375 MB of them.
CHURN = {"rows_updated": 0, "rows_deleted": 6000, "rows_inserted": 6000, "bytes_inserted": 11_612_160}
LEFT = {"table_bytes": 120 * MIB, "index_bytes": 6 * MIB, "dead_rows": 600, "purge_lag": 1200, "vacuums": 3}
EVERYTHING = {
    "workload": PRICED_LOAD,
    "sessions": [measurements.session(number, **CHURN) for number in range(measurements.SESSIONS)],
    "engine": measurements.engine(**LEFT),
    "schedule": measurements.schedule(),
    "connects": CONNECTS,
    "stages": STAGES,
}
TOTALS = {"elapsed_s", "sessions", "ops_total", "updates_total", "selects_total", "scans_total", "conflicts_total"}
TOTALS |= {"start_skew_ms"}
NOT_RATES = TOTALS | PACED | CONNECTING | CHANGING | {"engine_read_latency_us", "driver_cpu_pct_of_db"}
NOT_RATES |= {"log_sync_latency_us", "log_wait_pct", "vacuums_total", "write_amplification", "dev_write_amplification"}
NOT_RATES |= OF_ROW_BYTES
APART = PACED | CONNECTING | CHANGING | CHURNING
HOST_FIGURES = {
    name for name in METRICS if name.startswith(("dev_", "host_", "db_cpu", "driver", "foreground", "background"))
} | {
    "iops_per_foreground_cpu",
    "iops_per_db_cpu",
    "lio_per_db_cpu",
    "package_power_w",
    "joules_per_million_reads",
    "joules_per_million_commits",
}
amounts = st.one_of(st.none(), st.floats(0, 1e15))


def test_every_figure_of_the_registry_is_computed_and_no_other():
    assert set(METRICS) == set(EXPECTED)


@table("name", sorted(set(EXPECTED) - OBSERVED))
def test_figures_of_a_run_calculated_by_hand(name):
    figure = summary(measurements.measurement(**EVERYTHING))[name]
    assert figure.value == pytest.approx(EXPECTED[name])
    assert figure.unit == ("EUR" if name in PRICED else METRICS[name].unit)
    assert figure.why is None


@table("counter_seconds", [61.0, 90.0, 59.0, 0.0])
def test_no_rate_when_the_counters_span_another_window_but_totals_stay(counter_seconds):
    window = measurements.window(counter_seconds=counter_seconds)
    run = measurements.measurement(**EVERYTHING, window=window)
    figures = summary(run)
    for name, figure in figures.items():
        if name in NOT_RATES:
            assert figure.value == pytest.approx(EXPECTED[name])
        else:
            assert figure.value is None
            assert "than the load" in figure.why


@table("counter_seconds", [60.59, 59.41])
def test_rates_are_told_when_the_windows_differ_by_less_than_a_percent(counter_seconds):
    figures = summary(measurements.measurement(window=measurements.window(counter_seconds=counter_seconds)))
    assert figures["ops_per_s"].value == 2000


def test_a_load_that_did_not_recover_from_each_change_has_no_longest_time():
    stages = [*STAGES, replace(STAGES[1], begin_s=60, recovery_s=None, why="it did not recover")]
    figure = summary(measurements.measurement(stages=stages))["recovery_s"]
    assert (figure.value, figure.why) == (None, "from second 60 on: it did not recover")
    assert summary(measurements.measurement(stages=STAGES[:1]))["recovery_s"].why == "the rate did not change at once"


def test_host_counters_over_another_window_take_away_the_hosts_rates_only():
    figures = summary(measurements.measurement(workload=PRICED_LOAD, host=measurements.host(seconds=66.0)))
    missing = {name for name, figure in figures.items() if figure.value is None} - APART
    assert missing == HOST_FIGURES - APART - {"driver_cpu_pct_of_db"}


def test_a_reason_given_by_the_engine_goes_into_every_figure_that_rests_on_it():
    engine = measurements.engine(read_requests=None, unknown={"read_requests": "the counters were reset"})
    figures = summary(measurements.measurement(engine=engine))
    for name in ("pio_read_per_s", "iops_per_db_cpu", "engine_read_latency_us"):
        assert (figures[name].value, figures[name].why) == (None, "the counters were reset")
    assert figures["pio_read_mb_per_s"].value == 125


def test_per_cpu_figures_are_unknown_for_the_cpus_reason():
    host = measurements.host(server_cpu_s=None, unknown={"server_cpu_s": "no rights to see the server's processes"})
    figures = summary(measurements.measurement(host=host))
    for name in ("db_cpu_per_s", "iops_per_db_cpu", "lio_per_db_cpu", "driver_cpu_pct_of_db"):
        assert (figures[name].value, figures[name].why) == (None, "no rights to see the server's processes")


def test_a_reason_that_nobody_gave_still_names_what_is_missing():
    figures = summary(measurements.measurement(engine=measurements.engine(log_syncs=None)))
    assert figures["log_syncs_per_s"].why == "log_syncs was not measured"


def test_a_server_elsewhere_has_no_figures_of_this_host():
    figures = summary(measurements.measurement(local=False))
    for name in HOST_FIGURES:
        assert (figures[name].value, figures[name].why) == (None, NOT_LOCAL)
    assert figures["pio_read_per_s"].value == 16_000


@table(("reads", "time_us", "why"), [(0.0, 0.0, NO_READS), (5.0, 0.0, BELOW_CLOCK)])
def test_read_latency_is_never_0(reads, time_us, why):
    engine = measurements.engine(read_requests=reads, read_time_us=time_us)
    figure = summary(measurements.measurement(engine=engine))["engine_read_latency_us"]
    assert (figure.value, figure.why) == (None, why)


def test_what_was_due_and_had_not_begun_is_told():
    schedule = measurements.schedule(not_begun=30_000.0, oldest_s=12.5)
    figures = summary(measurements.measurement(schedule=schedule))
    assert figures["ops_not_begun_pct"].value == pytest.approx(20)  # 120,000 of 150,000 that were due had begun
    assert figures["backlog_s"].value == 12.5


def test_without_a_rate_its_figures_have_that_for_a_reason():
    figures = summary(measurements.measurement())
    assert {(figures[name].value, figures[name].why) for name in PACED} == {(None, NO_RATE)}


def test_wake_ups_that_were_not_timed_are_unknown():
    schedule = measurements.schedule(wake_ups=measurements.histogram(0, 0))
    assert summary(measurements.measurement(schedule=schedule))["wake_up_late_us"].value is None


@table(("syncs", "time_us", "why"), [(0.0, 0.0, NO_SYNCS), (5.0, 0.0, SYNCS_UNTIMED)])
def test_log_sync_latency_is_never_0(syncs, time_us, why):
    engine = measurements.engine(log_syncs=syncs, log_sync_time_us=time_us)
    figure = summary(measurements.measurement(engine=engine))["log_sync_latency_us"]
    assert (figure.value, figure.why) == (None, why)


def test_a_measured_0_stays_0():
    assert summary(measurements.measurement(engine=measurements.engine(read_requests=0.0)))["pio_read_per_s"].value == 0


def test_guest_time_is_not_counted_twice():
    cpu = {"user": 50.0, "guest": 50.0, "idle": 50.0}
    figures = summary(measurements.measurement(host=measurements.host(cpu=cpu)))
    assert figures["host_cpu_busy_pct"].value == 50


def test_an_idle_run_has_no_rates_and_no_elapsed_time():
    figures = summary(measurements.idle())
    assert {name for name, figure in figures.items() if figure.value is not None} == TOTALS - {"elapsed_s"}


@given(
    seconds=st.floats(0, 1e6),
    counter_seconds=st.floats(0, 1e6),
    engine=st.fixed_dictionaries({f.name: amounts for f in fields(EngineDelta) if f.default is None}),
    host=st.fixed_dictionaries({f.name: amounts for f in fields(HostDelta) if f.name.endswith(("_s", "_bytes"))}),
    cpu=st.one_of(st.none(), st.dictionaries(st.sampled_from(["user", "idle", "steal", "iowait"]), st.floats(0, 1e9))),
)
def test_whatever_is_missing_every_figure_has_either_a_finite_value_or_a_reason(
    seconds, counter_seconds, engine, host, cpu
):
    measurement = measurements.measurement(
        window=measurements.window(seconds, counter_seconds=counter_seconds),
        engine=measurements.engine(**engine),
        host=measurements.host(**host, cpu=cpu, seconds=counter_seconds, device=None),
    )
    for name, figure in summary(measurement).items():
        assert (figure.value is None) == bool(figure.why), name
        assert figure.value is None or abs(figure.value) < float("inf")
    record = measurements.record(measurement)
    assert RunRecord.model_validate_json(record.model_dump_json()) == record


@given(st.floats(0, 1e12), st.floats(1e-3, 1e9))
def test_a_quotient_times_its_divisor_is_the_dividend(count, seconds):
    quotient = Quantity(count).per(Quantity(seconds), "none")
    assert quotient.times(seconds).value == pytest.approx(count)


@given(amounts, amounts)
def test_quantities_keep_the_reason_and_never_divide_by_0(a, b):
    left, right = Quantity(a, "" if a is not None else "left"), Quantity(b, "" if b is not None else "right")
    quotient, added = left.per(right, "nothing to divide by"), left.plus(right)
    if a is None or b is None:
        assert quotient.why == added.why == ("left" if a is None else "right")
    else:
        assert added.value == a + b
        assert (quotient.value is None) == (quotient.why == "nothing to divide by")
    assert b != 0 or quotient.value is None


def test_the_record_has_all_parts():
    record = measurements.record(measurements.measurement(errors=("session 3 was lost",)))
    assert record.window is not None
    assert (record.window.load_seconds, record.window.difference_pct) == (60, 0)
    assert record.latency["update"]["mean_us"] == measurements.UPDATE_US
    assert record.response == {}
    assert set(record.latency) == {"select", "update"}
    assert record.errors == ("session 3 was lost",)
    assert record.waits[0].event == "IO:DataFileRead"
    assert [verdict.name for verdict in record.verdicts][:3] == ["errors", "window", "planned_time"]


def test_io_by_object_gives_latency_and_hits_or_null():
    known = measurements.record(measurements.measurement()).io_by_object["table"]
    assert (known["read_latency_us"], known["hit_pct"]) == (measurements.READ_US, 50)
    table = measurements.engine().by_object["table"]
    quiet = replace(table, read_requests=0.0, read_time_us=0.0, read_bytes=0.0, hits=None)
    unknown = measurements.record(
        measurements.measurement(engine=measurements.engine(by_object={"table": quiet}))
    ).io_by_object["table"]
    assert (unknown["read_latency_us"], unknown["hit_pct"]) == (None, None)


def test_a_run_without_operations_has_no_window():
    record = measurements.record(measurements.idle())
    assert record.window is None
    assert record.latency == {}


LOST = [
    *[("engine", field) for field in sorted(ENGINE_INPUTS)],
    *[
        ("host", field)
        for field in ("server_cpu_s", "driver_cpu_s", "cpu", "device", "server_read_bytes", "package_energy_j")
    ],
]


@pytest.mark.parametrize(("part", "field"), LOST)
def test_what_figures_declare_as_inputs_is_what_they_need(part, field):
    """Pre-flight asks the declared inputs, the summary reads the numbers: both must give the same reason."""
    whole = EVERYTHING.get(part) or getattr(measurements, part)()
    lost = replace(whole, **{field: None}, unknown={field: f"no {field}"})
    measurement = measurements.measurement(**{**EVERYTHING, part: lost}, waits={})
    figures = summary(measurement)
    assert {name: metric.why_unknown(measurement) for name, metric in METRICS.items() if name not in OBSERVED} == {
        name: figure.why or "" for name, figure in figures.items()
    }


def test_before_a_run_of_a_server_elsewhere_figures_of_this_host_are_known_to_be_missing():
    measurement = measurements.measurement(local=False)
    assert {name for name, metric in METRICS.items() if metric.why_unknown(measurement) == NOT_LOCAL} == HOST_FIGURES


def test_an_input_that_there_is_not_is_refused():
    with pytest.raises(TypeError, match="EngineDelta has no field logical_raeds"):
        EngineCounter("logical_raeds")


def test_figures_of_a_given_rate_are_those_that_need_a_schedule():
    assert {"target_ops_per_s", "ops_not_begun_pct", "backlog_s", "wake_up_late_us"} == PACED


@pytest.mark.parametrize(
    "name", [name for name, metric in METRICS.items() if metric.computation.only_from(EngineCounter)]
)
def test_a_figure_of_the_engine_s_counters_is_the_same_of_parts_that_make_up_the_whole(name):
    measurement = measurements.measurement(**EVERYTHING)
    amounts = {field: value for field, value in measurement.engine.amounts().items() if value is not None}
    computation = METRICS[name].computation
    assert computation.of_amounts(amounts, measurements.SECONDS) == pytest.approx(EXPECTED[name])
    assert computation.of_amounts({}, measurements.SECONDS) is None


def test_before_a_run_at_a_given_rate_its_figures_are_not_said_to_be_missing():
    before = measurements.measurement(schedule=None)
    assert {METRICS[name].why_unknown(before) for name in PACED} == {""}


def test_a_remote_server_s_cpu_is_what_its_engine_counts():
    own_us = 30e6
    remote = measurements.measurement(local=False, engine=measurements.engine(db_cpu_us=own_us))
    figures = summary(remote)
    assert figures["db_cpu_per_s"].value == pytest.approx(own_us / 1e6 / remote.window.load_seconds)
    reads = remote.engine.read_requests
    assert figures["iops_per_db_cpu"].value == pytest.approx(reads / (own_us / 1e6))
    assert figures["lio_per_db_cpu"].value == pytest.approx(remote.engine.logical_reads / (own_us / 1e6))
    assert summary(measurements.measurement(local=False))["db_cpu_per_s"].why == NOT_LOCAL
    # On this host the operating system sees every process of the server: its figure comes first.
    here = measurements.measurement(engine=measurements.engine(db_cpu_us=own_us))
    assert summary(here)["db_cpu_per_s"] == summary(measurements.measurement())["db_cpu_per_s"]


def test_the_cpu_of_sessions_is_the_engine_s_count_and_else_that_of_the_host_s_processes():
    reads = measurements.engine().read_requests
    counted = measurements.engine(foreground_cpu_us=30e6, background_cpu_us=3e6)
    for local in (True, False):
        figures = summary(measurements.measurement(local=local, engine=counted))
        assert figures["foreground_cpu_per_s"].value == pytest.approx(0.5)
        assert figures["background_cpu_per_s"].value == pytest.approx(0.05)
        assert figures["iops_per_foreground_cpu"].value == pytest.approx(reads / 30)
    assert summary(measurements.measurement(local=False))["foreground_cpu_per_s"].why == NOT_LOCAL
    refused = measurements.engine(unknown={"foreground_cpu_us": "no right"})
    here, remote = (summary(measurements.measurement(local=local, engine=refused)) for local in (True, False))
    assert here["foreground_cpu_per_s"].value == pytest.approx(64 / 60)
    assert remote["iops_per_foreground_cpu"].why == "no right"
    assert remote["background_cpu_per_s"].why == NOT_LOCAL


def test_why_a_remote_server_s_cpu_is_unknown_is_what_can_be_done_about_it():
    why = {"db_cpu_us": "connect to the root", "background_cpu_us": "connect to the root"}
    remote = measurements.measurement(local=False, engine=measurements.engine(unknown=why))
    assert summary(remote)["db_cpu_per_s"].why == "connect to the root"
    assert METRICS["db_cpu_per_s"].why_unknown(remote) == "connect to the root"
    uncounted = measurements.engine(unknown={"db_cpu_us": "the server does not count it"})
    assert summary(measurements.measurement(local=False, engine=uncounted))["db_cpu_per_s"].why == NOT_LOCAL


def test_a_remote_host_s_cpu_is_what_its_engine_counts():
    counts = measurements.engine(host_busy_us=60e6, host_idle_us=180e6)
    figures = summary(measurements.measurement(local=False, engine=counts))
    assert (figures["host_cpu_busy_pct"].value, figures["host_cpu_left_pct"].value) == (25, 75)
    remote = measurements.measurement(local=False, engine=counts)
    assert METRICS["host_cpu_left_pct"].why_unknown(remote) == ""
    idle = summary(
        measurements.measurement(local=False, engine=measurements.engine(host_busy_us=0.0, host_idle_us=0.0))
    )
    assert idle["host_cpu_left_pct"].why == "the engine counted no CPU time of the host"
    refused = measurements.engine(unknown=dict.fromkeys(("host_busy_us", "host_idle_us"), "grant the view"))
    remote = measurements.measurement(local=False, engine=refused)
    assert summary(remote)["host_cpu_left_pct"].why == "grant the view"
    assert METRICS["host_cpu_left_pct"].why_unknown(remote) == "grant the view"
    # On this host the operating system's own count comes first.
    here = summary(measurements.measurement(engine=counts))
    assert here["host_cpu_left_pct"] == summary(measurements.measurement())["host_cpu_left_pct"]


@table(
    "single, expected",
    [
        ({"single_reads": 1000.0, "single_read_time_us": 200_000.0}, 200),
        # There were none: the mean of all requests is left.
        ({"single_reads": 0.0, "single_read_time_us": 0.0}, measurements.READ_US),
        ({}, measurements.READ_US),
    ],
)
def test_read_latency_is_that_of_single_blocks_where_the_engine_times_those(single, expected):
    measurement = measurements.measurement(engine=measurements.engine(**single))
    assert summary(measurement)["engine_read_latency_us"].value == pytest.approx(expected)
    amounts = {name: value for name, value in measurement.engine.amounts().items() if value is not None}
    assert METRICS["engine_read_latency_us"].computation.of_amounts(amounts, 60.0) == pytest.approx(expected)


def test_a_run_has_no_figure_of_a_whole_server():
    assert not OBSERVED & summary(measurements.measurement()).keys()


def test_figures_of_a_load_that_is_not_ours_are_those_that_need_no_operation():
    figures = summary(measurements.observed())
    known = {name: figure.value for name, figure in figures.items() if figure.value is not None}
    # 1,000 sessions were seen at work in 200 samples.
    assert known == {name: pytest.approx({**EXPECTED, "db_time_per_s": 5.0}[name]) for name in known}
    missing = {name: figure.why for name, figure in figures.items() if figure.value is None}
    assert set(missing) == OF_OWN_LOAD | PRICED | CHURNING
    assert summary(measurements.observed(host=measurements.host()))["client_cpu_per_s"].why == NO_COMMAND
    assert {why for name, why in missing.items() if name not in APART | PRICED} == {NOT_OUR_LOAD}


def test_a_record_has_the_response_times_of_a_run_at_a_given_rate():
    response = {OpKind.UPDATE: measurements.histogram(100, 20_000.0)}
    record = measurements.record(measurements.measurement(schedule=measurements.schedule(), response=response))
    assert {kind: figures["mean_us"] for kind, figures in record.response.items()} == {"update": 20_000}
    assert record.latency["update"]["mean_us"] == measurements.UPDATE_US
