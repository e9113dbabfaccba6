"""What a report says in words agrees with its figures, and with what the user did."""

from __future__ import annotations

from types import SimpleNamespace

from factories.records import Made, interrupted, physical, remote
from openslob.analyze.compare import compare
from openslob.analyze.curves.points import Run
from openslob.analyze.differences import Outcome
from openslob.cli.check import list_unknown
from openslob.record.model import RunRecord, Status
from openslob.report.comparison import comparison_document, main_differences
from openslob.report.html.page import page_of
from openslob.report.record_view import why_incomplete
from openslob.report.several_runs import runs_document
from openslob.report.terminal import render_text
from openslob.report.text import render


def changed(record: RunRecord, **spec: object) -> RunRecord:
    return record.model_copy(update={"spec": {**record.spec, **spec}})


def test_a_run_that_was_stopped_says_so() -> None:
    stopped = interrupted().model_copy(update={"errors": ()})
    assert "!! INTERRUPTED: it was stopped before its end" in render(stopped)
    assert why_incomplete(Status.FAILED) == "the record does not say why"


def test_a_run_of_updates_alone_has_no_select_and_switches_are_written_as_in_slob_conf() -> None:
    text = render(changed(physical(), update_pct=100, do_hotspot=True))
    assert "operation  100 % updates of " in text
    assert "select of 64 blocks;" not in text
    assert "DO_HOTSPOT=TRUE" in text
    assert "operation  select of " in render(changed(physical(), update_pct=99))


def test_cpu_time_of_another_host_than_the_server_s_is_named_so() -> None:
    def with_cpu(record: RunRecord) -> str:
        environment = {**record.environment, "host_cpu_s": {"user": 1.0, "idle": 1.0}}
        return " ".join(render(record.model_copy(update={"environment": environment})).split())

    assert "CPU time user 50 %, idle 50 % (of the driver's host)" in with_cpu(remote())
    assert "(of the driver's host)" not in with_cpu(physical())


def test_a_page_of_runs_does_not_place_a_remote_server_on_this_host() -> None:
    for record, where in ((remote(), " driven from "), (physical(), " on ")):
        runs = [Run.of(record.model_copy(update={"id": f"{record.id}{number}"})) for number in "ab"]
        assert where in page_of(runs_document([("a", runs)], runs, [], ())).title


def test_figures_that_a_comparison_counts_and_does_not_list_are_counted_too() -> None:
    a, b = _sides()
    found = compare(a, b)
    judged = sum(change.outcome is not Outcome.NOT_ENOUGH for change in main_differences(found).values())
    text = render_text(comparison_document(found))
    assert judged
    assert " more figures, of which none is shown to differ: --json" in text


def _sides() -> list[list[Run]]:
    return [
        [
            Run.of(physical(Made(visits=57_960 * (1 + at / 500)), record_id=f"202603{day:02}-12000{at}-x"))
            for at in range(3)
        ]
        for day in (1, 2)
    ]


def test_what_check_does_not_know_is_in_the_same_order_each_time() -> None:
    def lines(names: str) -> list[str]:
        result = SimpleNamespace(unknown={}, unproved={name: f"why {name}" for name in names})
        return list_unknown(result)  # type: ignore[arg-type]

    assert lines("abc") == lines("cab")
