"""What the page says of verdicts: the gravest first, by what follows if they fail."""

from __future__ import annotations

from dataclasses import replace

from factories.views import HEAD, MadeView
from openslob.kinds.view import RecordState
from openslob.live.web.board import sections
from openslob.record.model import Holds, Verdict


def judged(name: str, outcome: Holds) -> Verdict:
    return Verdict(name=name, verdict=outcome, why="made so")


VERDICTS = (
    judged("limit_found", Holds.FAILS),
    judged("quiet_machine", Holds.FAILS),
    judged("window", Holds.HOLDS),
    judged("exact_mix", Holds.FAILS),
    judged("mode", Holds.UNKNOWN),
    judged("steady", Holds.FAILS),
    judged("errors", Holds.HOLDS),
)


def test_verdicts_are_counted_and_ordered_by_what_follows() -> None:
    shown = sections(MadeView(), VERDICTS, 1.0, 60.0)["verdicts"]
    assert shown["title"] == "Verdicts so far: 1 invalid, 2 cautions, 1 note, 1 can't tell, 2 hold"
    assert [(row[0], row[2], row[3]) for row in shown["rows"]] == [
        ("invalid", "invalid", "exact mix"),
        ("caution", "caution", "quiet machine"),
        ("caution", "caution", "steady"),
        ("note", "note", "limit found"),
        ("unknown", "can't tell", "mode"),
        ("holds", "holds", "window"),
        ("holds", "holds", "errors"),
    ]


def test_a_run_without_verdicts_has_none() -> None:
    view = MadeView(head=replace(HEAD, progress=RecordState.COMPLETE, phase=""))
    assert sections(view, (), 1.0, 60.0)["verdicts"] == {"title": "Verdicts: none", "rows": []}
    assert sections(view, VERDICTS[2:3], 1.0, 60.0)["verdicts"]["title"] == "Verdicts: 1 holds"
