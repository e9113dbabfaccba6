"""`slob check`: what can be measured with this server, user and host."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer

from openslob.cli.console import write
from openslob.cli.options import Resolved, with_workload
from openslob.engines.facts import DATA, Finding
from openslob.engines.registry import resolve
from openslob.metrics import METRICS
from openslob.report.context import fact_label
from openslob.report.format import MISSING, hanging, pairs, wrapped
from openslob.run.preflight import Preflight, preflight
from openslob.units import format_bytes

# Width of a terminal by default.
COLUMNS = 80
# Heading and sign of each level of findings, the most severe first.
_LEVELS = (
    ("STOPS A RUN", "✗"),
    ("TO DO FIRST", "→"),
    ("SPOILS A TEST", "!"),
    ("WORTH KNOWING", "-"),
)


def result_text(target: str, found: Preflight) -> str:
    """Return the result as text in 80 columns."""
    sections = (
        wrapped(f"{found.facts.product} {found.facts.version}, {target}", columns=COLUMNS),
        wrapped(_answer(found), columns=COLUMNS),
        *(_level(head, sign, [one for one in found.findings if _head(one) == head]) for head, sign in _LEVELS),
        ["POSSIBLE WITH THESE DATA", *pairs(_purposes(found), COLUMNS)],
        _unknown(found),
        ["SERVER", *pairs(_server(found), COLUMNS)],
    )
    return "\n\n".join("\n".join(lines) for lines in sections if lines)


def result_json(target: str, found: Preflight) -> str:
    """Return the result as JSON; sizes in bytes."""
    values = asdict(found)
    del values["location"]
    location = found.location
    footprint = {
        "main_pid": str(location.processes) if location.processes else None,
        "data_directory": str(location.data_directory) if location.data_directory else None,
        "why_unknown": location.why_unknown,
        "others": str(tuple(location.others)),
    }
    return json.dumps({"target": target, "blocked": found.blocked, **values, "footprint": footprint}, indent=1)


def _answer(found: Preflight) -> str:
    unknown = f"{len(METRICS) - len(found.unknown)} of {len(METRICS)} figures will be known"
    if found.blocked:
        return "A run would not work here with these options; see what stops it."
    if any(one.blocking for one in found.findings):
        return f"A run would work once the data are loaded: {unknown}."
    return f"A run would work: {unknown}."


def _head(finding: Finding) -> str:
    if finding.blocking:
        return "TO DO FIRST" if finding.name == DATA else "STOPS A RUN"
    return "SPOILS A TEST" if finding.spoils else "WORTH KNOWING"


def _level(head: str, sign: str, findings: Sequence[Finding]) -> list[str]:
    lines = []
    for one in findings:
        lines += hanging(f"{sign} {one.name}: ", one.why, COLUMNS)
        lines += hanging("    ", one.remedy, COLUMNS)
    return [head, *lines] if lines else []


def _purposes(found: Preflight) -> list[tuple[str, str]]:
    return [(f"{one.mode.upper()} {'yes' if one.possible else 'no'}", one.why) for one in found.purposes]


def _unknown(found: Preflight) -> list[str]:
    names: dict[str, list[str]] = {}
    for name, why in {**found.unknown, **found.unproved}.items():
        names.setdefault(why, []).append(METRICS[name].label if name in METRICS else fact_label(name))
    texts = (f"{why}: {', '.join(dict.fromkeys(those))}" for why, those in names.items())
    lines = [line for text in texts for line in hanging(f"{MISSING} ", text, COLUMNS)]
    return ["WILL NOT BE KNOWN", *lines] if lines else []


def _server(found: Preflight) -> list[tuple[str, str]]:
    facts, location = found.facts, found.location
    return [
        ("block size", format_bytes(facts.block_size)),
        ("cache", format_bytes(facts.cache_bytes)),
        ("I/O", {None: "unknown", True: "direct", False: "buffered by the operating system"}[facts.direct_io]),
        ("connections", f"{facts.free_connections} are free"),
        *((name, text) for name, text in facts.connection.items()),
        ("processes", f"on this host, {location.processes}" if location.processes else location.why_unknown),
        ("data", str(location.data_directory or location.why_unknown)),
    ]


JSON = Annotated[bool, typer.Option("--json", metavar="", help="Print the result as JSON.")]


@with_workload
def check(resolved: Resolved, as_json: JSON = False) -> None:
    """Show what can be measured here, what will be unknown and why, what spoils a test, and what to grant.

    Nothing is changed. Exits with 1 when something blocks a run. Example: slob check --target embedded --mode pio
    """
    engine, _ = resolve(resolved.target.reveal())
    found = preflight(engine, resolved.workload)
    text = result_json(engine.target, found) if as_json else result_text(engine.target, found)
    write(text)
    if found.blocked:
        raise typer.Exit(1)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(check)
