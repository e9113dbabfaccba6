"""The figures of real reports, where they are at hand, against what was read from them by eye."""

from __future__ import annotations

import json
from functools import cache

import pytest

from factories.awr_reports import SAMPLES, needs_samples
from openslob.awr import Report, ReportError, Scope, read
from openslob.awr.latency import PRINTED, TIME_BY_WAITS, latency_of

TRUTH = json.loads((SAMPLES / "truth.json").read_text()) if (SAMPLES / "truth.json").exists() else {}
NO_REPORT = {"not_a_report", "awr_compare_periods"}
REPORTS = [name for name, truth in TRUTH.items() if truth["report_type"] not in NO_REPORT]
EVENTS = ("db file sequential read", "log file sync", "cell single block physical read")
pytestmark = needs_samples


@cache
def sample(name: str) -> Report:
    return read(SAMPLES / name)


def value(number):
    return None if number is None else number.value


@pytest.mark.parametrize("name", REPORTS)
def test_header(name):
    truth, report = TRUTH[name], sample(name)
    header = report.header
    assert report.kind.value == truth["report_type"]
    assert (header.db_name, header.release, header.rac) == (truth["db_name"], truth["release"], truth["rac"])
    instances = truth["instance"] if isinstance(truth["instance"], list) else [truth["instance"]]
    assert [one.name for one in header.instances] == instances
    assert (value(header.elapsed_min), value(header.db_time_min)) == (truth["elapsed_min"], truth["db_time_min"])


@pytest.mark.parametrize("name", REPORTS)
def test_rates(name):
    truth, report = TRUTH[name], sample(name)
    for key, rate in truth["load_profile_per_s"].items():
        found = report.load_profile.get(key)
        assert value(found.per_second if found else None) == pytest.approx(rate), key
    for key, rate in truth["instance_activity_per_s"].items():
        assert value(report.activity[key].per_second) == pytest.approx(rate), key
    for key, seconds in truth.get("time_model_s", {}).items():
        assert value(report.time_model_s[key.replace("_", " ").replace("db", "DB").replace("cpu", "CPU")]) == seconds


@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.parametrize("event", EVENTS)
def test_events(name, event):
    expected, report = TRUTH[name].get(event.replace(" ", "_")), sample(name)
    found = report.event(event)
    if expected is None:
        assert found is None
        return
    assert (value(found.waits), value(found.time_s)) == (expected["waits"], expected["time_s"])
    assert value(found.avg_us) == pytest.approx(expected["avg_us_printed"])
    top = report.event(event, Scope.TOP)
    if "top_events" in expected:
        assert (value(top.waits), value(top.time_s)) == (
            expected["top_events"]["waits"],
            expected["top_events"]["time_s"],
        )
    best = latency_of(report, found)
    finer = expected.get("top_events", {}).get("avg_us", expected["avg_us"])  # the top list prints tenths of seconds
    by_source = {TIME_BY_WAITS: [expected["avg_us"], finer], PRINTED: [expected["avg_us_printed"]]}
    assert any(best.us == pytest.approx(mean, abs=0.006) for mean in by_source[best.source])


def test_events_of_the_top_lists_only():
    for name, truth in TRUTH.items():
        for event, expected in truth.get("top_timed_events_fg_and_bg", {}).items():
            found = sample(name).event(event, Scope.TOP_ALL)
            assert (value(found.waits), value(found.time_s)) == (expected["waits"], expected["time_s"])
        if only := truth.get("log_file_sync_top_events_only"):
            found = sample(name).event("log file sync", Scope.TOP)
            assert (value(found.waits), value(found.avg_us)) == (only["waits"], only["avg_us_printed"])


@pytest.mark.parametrize("name", [name for name, truth in TRUTH.items() if truth["report_type"] in NO_REPORT])
def test_what_is_no_report_of_one_period(name):
    with pytest.raises(ReportError, match=r"ORA-01013|compare-periods"):
        sample(name)


@pytest.mark.parametrize("name", REPORTS)
def test_real_reports_agree_with_themselves(name):
    """No false alarm: what the checks doubt in a real report would be doubted in every one."""
    assert [warning for warning in sample(name).warnings if "do not fit" not in warning] == []
