"""A reader types what README and tutorials print: every command works as printed, in order, from nothing.

All pages are walked by `make walk`, which takes some minutes.
"""

from __future__ import annotations

import pytest

from factories.paths import ROOT
from factories.printed_commands import DOCS, PAGES
from factories.walk import EVERYTHING, home, steps, typed

FIRST = (ROOT / "README.md", *sorted((DOCS / "tutorials").glob("*.md")))


@pytest.mark.server
@pytest.mark.timeout(1800 if EVERYTHING else 300)
@pytest.mark.parametrize("page", PAGES if EVERYTHING else FIRST, ids=lambda page: page.name)
def test_commands_of_a_page_work_as_printed(page):
    commands = steps(page)
    if not commands:
        pytest.skip("no commands that can run anywhere")
    with home() as place:
        done = typed(commands, place)
    assert [str(step) for step in done if step.failed] == []
