"""A reader types what README and the documentation print: every command works as printed, in order, from nothing.

The answers that README and the tutorials print are true: see `factories.walk.untrue`.
"""

from __future__ import annotations

import pytest

from factories.paths import ROOT
from factories.printed_commands import PAGES
from factories.walk import home, lacking, steps, typed, untrue
from openslob.cli import demo

pytestmark = [pytest.mark.server, pytest.mark.nightly]

# On other pages some runs are there to show what goes wrong.
ANSWERS = [page for page in PAGES if page == ROOT / "README.md" or "tutorials" in page.parts]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_of_a_page_work_as_printed(page):
    commands = steps(page)
    if not commands:
        pytest.skip("no commands that can run anywhere")
    passed_over = {line.split("#")[0].strip(): reason for _, line in commands if (reason := lacking(line))}
    with home() as place:
        done = typed([step for step in commands if not lacking(step[1])], place)
        judged = done if page in ANSWERS else ()
        wrong = [f"{step}\n{text}" for step in judged for text in untrue(step, place / "h" / "results")]
    assert [str(step) for step in done if step.failed] == []
    assert wrong == []
    if passed_over:
        pytest.skip(f"all but {', '.join(passed_over)}: {', '.join(set(passed_over.values()))}")


def test_the_closing_commands_of_the_demonstration_work():
    commands = [("slob demo", line) for line, _ in demo.next_steps("demo", keep=False)[1:]]
    assert any("--mode pio" in line for _, line in commands)
    with home() as place:
        done = typed(commands, place)
    assert [str(step) for step in done if step.failed] == []
