"""`slob check --prove`: what an experimental engine relies on, asked of a real server, and the answers in a file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from openslob.cli.console import notify, stoppable, write, write_file
from openslob.cli.progress import working
from openslob.core.errors import SlobError
from openslob.engines.base import Engine
from openslob.engines.patience import Patience
from openslob.kinds.run import proving
from openslob.kinds.run.proving import AskedQuestion
from openslob.record.model import reservations
from openslob.report.format import hanging, warning_lines, wrapped

_COLUMNS = 80
_SIGNS = {True: "✓ holds", False: "✗ does not hold", None: "? could not be asked"}


def prove(engine: Engine, output: Path | None, with_names: bool, as_json: bool) -> None:
    """Ask all questions, show each answer as it comes, and write the file; SlobError when it was stopped before."""
    with stoppable() as interrupt:
        engine.follow(Patience(interrupt, notify))
        facts = engine.facts()
        path = output or Path(f"prove-{engine.name}-{facts.version}.json")
        if not as_json:
            lines = wrapped(f"{facts.product} {facts.version}, {engine.target}", columns=_COLUMNS)
            lines += warning_lines(reservations(facts.experimental, facts.stand_in), _COLUMNS)
            write("\n".join([*lines, "", "ASKED OF THIS SERVER"]))
        asked: list[AskedQuestion] = []
        with proving.opened(engine) as found:
            for question in found.questions:
                with working(f"asking {question.number} of {len(found.questions)}: {question.text}"):
                    asked.append(proving.ask(question, interrupt))
                if not as_json and not interrupt.requested:
                    write(answer_text(asked[-1]))
            document = proving.document(engine, facts, found, asked, with_names)
            write_file(path, json.dumps(document, indent=1) + "\n")
    # What a stand-in answers proves nothing: nobody needs it.
    wanted = "" if facts.stand_in else f" Please send the file to the project: {found.where}."
    write(json.dumps(document, indent=1) if as_json else _end(asked, path, with_names, wanted))
    if interrupt.requested:
        raise SlobError("stopped before all was asked", f"the answers up to then are in {path}")


def answer_text(one: AskedQuestion) -> str:
    """Return question and answer as text."""
    head = f"{one.question.number:2} {one.question.name}: {_SIGNS[one.answer.holds]}"
    return "\n".join([head, *hanging("  ", one.question.text, _COLUMNS), *hanging("  ", one.answer.seen, _COLUMNS)])


def _end(asked: Sequence[AskedQuestion], path: Path, with_names: bool, wanted: str) -> str:
    counts = [sum(one.answer.holds is outcome and not one.stopped for one in asked) for outcome in _SIGNS]
    text = f"{counts[0]} hold, {counts[1]} do not, {counts[2]} could not be asked"
    if stopped := sum(one.stopped for one in asked):
        text = f"{text}; {stopped} more {'was' if stopped == 1 else 'were'} not asked, because of the stop"
    names = "with names of hosts, users and databases" if with_names else "without names of hosts, users and databases"
    text = f"{text}. The answers are in {path}, {names}.{wanted}"
    return "\n".join(["", *wrapped(text, columns=_COLUMNS)])
