"""`slob check`: what can be measured with this server, user and host.

With --prove: what an experimental engine relies on, asked of a real server, and the answers in a file.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from openslob.cli.console import notify, stoppable, write, write_file
from openslob.cli.driver_options import DRIVERS, TLS_CA, TLS_CERT, TLS_KEY
from openslob.cli.options import Resolved, with_workload
from openslob.cli.progress import working
from openslob.core.errors import SlobError, UsageError
from openslob.core.units import format_bytes
from openslob.engines.base import Engine
from openslob.engines.facts import DATA, Finding, ServerLocation
from openslob.engines.patience import Patience
from openslob.engines.registry import resolve_as_is
from openslob.fleet import hire_drivers
from openslob.host.remote import find_host
from openslob.kinds.run import proving
from openslob.kinds.run.loading import take_loaded
from openslob.kinds.run.preflight import Preflight, preflight
from openslob.kinds.run.proving import AskedQuestion
from openslob.metrics import METRICS
from openslob.metrics.quantity import NOT_LOCAL
from openslob.record.model import reservations
from openslob.report.context import fact_label
from openslob.report.format import MISSING, hanging, pairs, warning_lines, wrap

if TYPE_CHECKING:
    from openslob.fleet.hiring import Reach

# Default width of a terminal.
COLUMNS = 80
# Heading and sign of each level of findings, the most severe first.
_LEVELS = (
    ("STOPS A RUN", "✗"),
    ("TO DO FIRST", "→"),
    ("SPOILS A TEST", "!"),
    ("WORTH KNOWING", "-"),
)

JSON = Annotated[bool, typer.Option("--json", metavar="", help="Print the result as JSON.")]


def result_text(target: str, result: Preflight, reached: Sequence[Reach] = ()) -> str:
    """Return the result as text in 80 columns."""
    sections = (
        [*wrap(f"{result.facts.product} {result.facts.version}, {target}", columns=COLUMNS), *_reservations(result)],
        wrap(_answer(result), columns=COLUMNS),
        *(
            _level(head, sign, [finding for finding in result.findings if _heading(finding) == head])
            for head, sign in _LEVELS
        ),
        ["POSSIBLE WITH THESE DATA", *pairs(_purposes(result), COLUMNS)],
        list_unknown(result),
        ["SERVER", *pairs(_server(result), COLUMNS)],
        ["DRIVERS", *pairs([_reach(each) for each in reached], COLUMNS)] if reached else [],
    )
    return "\n\n".join("\n".join(lines) for lines in sections if lines)


def result_json(target: str, result: Preflight, reached: Sequence[Reach] = ()) -> str:
    """Return the result as JSON; sizes in bytes."""
    values = asdict(result)
    del values["location"]
    footprint = _footprint(result.location)
    answer = {"target": target, "blocked": result.blocked, **values, "footprint": footprint}
    return json.dumps({**answer, **({"drivers": [asdict(each) for each in reached]} if reached else {})}, indent=1)


def _reach(reach: Reach) -> tuple[str, str]:
    """Return which driver it is, and whether it reaches the server."""
    driver = reach.driver
    says = f"can't be used: {reach.why}"
    if (ahead_s := reach.clock_offset_s) is not None:
        clock = f"whose clock is {abs(ahead_s):.3f} s {'ahead of' if ahead_s > 0 else 'behind'} its own"
        trip = f"a round trip takes {1e3 * driver.round_trip_s:.1f} ms; Python {driver.who.python}"
        says = f"it reaches the server, {clock}; {trip}"
    return f"driver {driver.number}", f"{driver.who.host}, pid {driver.who.pid}, {driver.address}: {says}"


def _footprint(location: ServerLocation) -> dict[str, Any]:
    """Return where a server runs, and the other instances of its cluster."""
    return {
        "host": location.host or None,
        "main_pid": str(location.processes) if location.processes else None,
        "data_directory": str(location.data_directory) if location.data_directory else None,
        "why_unknown": location.why_unknown,
        "others": [_footprint(each) for each in location.others],
    }


def _reservations(result: Preflight) -> list[str]:
    found = reservations(result.facts.experimental, result.facts.stand_in, result.facts.caution)
    return warning_lines(found, COLUMNS)


def _answer(result: Preflight) -> str:
    known = f"{len(METRICS) - len(result.unknown)} of {len(METRICS)} figures will be known"
    if result.blocked:
        return "A run would not work here with these options; see what stops it."
    if any(finding.blocking for finding in result.findings):
        return f"A run would work once the data are loaded: {known}."
    if any(finding.spoils for finding in result.findings):
        return f"A run would work, but see what spoils the test; {known}."
    return f"A run would work: {known}."


def _heading(finding: Finding) -> str:
    if finding.blocking:
        return "TO DO FIRST" if finding.name == DATA else "STOPS A RUN"
    return "SPOILS A TEST" if finding.spoils else "WORTH KNOWING"


def _level(head: str, sign: str, findings: Sequence[Finding]) -> list[str]:
    lines, by = [], ""
    for finding in findings:
        lines += hanging(f"{sign} {finding.name}: ", finding.why, COLUMNS)
        if finding.by != by:
            by = finding.by or by
            lines += hanging("    ", f"{finding.by}:", COLUMNS) if finding.by else []
        for statement in finding.remedy.splitlines():
            lines += hanging("    ", statement, COLUMNS)
    return [head, *lines] if lines else []


def _purposes(result: Preflight) -> list[tuple[str, str]]:
    words = {True: "yes", False: "no", None: "unknown"}
    return [(f"{mode.mode.upper()} {words[mode.possible]}", mode.why) for mode in result.purposes]


_HINTS = {
    NOT_LOCAL: f"{NOT_LOCAL} (--host ssh://… reads the counters of another one, --host http://…:9100/metrics what its "
    "node_exporter publishes: CPU, device and pressure of the whole host)"
}
# By whether the host shows processes.
_GIVES = {
    True: "CPU, memory, pressure, limits and device, and the server's processes",
    False: "CPU, memory, pressure and device of the whole host (ssh://… gives the server's processes, too); that the "
    "server runs there is your word",
}


def list_unknown(result: Preflight) -> list[str]:
    """Return the lines about what a run here would not know, a paragraph for each reason; none when all is known."""
    names: dict[str, list[str]] = {}
    for name, why in {**result.unknown, **result.unproved}.items():
        names.setdefault(_HINTS.get(why, why), []).append(METRICS[name].label if name in METRICS else fact_label(name))
    texts = sorted(f"{why}: {', '.join(dict.fromkeys(labels))}" for why, labels in names.items())
    lines = [line for text in texts for line in hanging(f"{MISSING} ", text, COLUMNS)]
    return ["WILL NOT BE KNOWN", *lines] if lines else []


def _server(result: Preflight) -> list[tuple[str, str]]:
    facts, location = result.facts, result.location
    place = "that host" if location.host else "this host"
    return [
        ("block size", format_bytes(facts.block_size)),
        ("cache", "unknown" if facts.cache_bytes is None else format_bytes(facts.cache_bytes)),
        ("I/O", {None: "unknown", True: "direct", False: "buffered by the operating system"}[facts.direct_io]),
        ("connections", "unknown" if facts.free_connections is None else f"{facts.free_connections:,} are free"),
        *((name, text) for name, text in facts.connection.items()),
        *([("host", f"{location.host}: {_GIVES[location.processes is not None]}")] if location.host else []),
        ("processes", f"on {place}, {location.processes}" if location.processes else location.why_unknown),
        ("data", str(location.data_directory or location.why_no_device or location.why_unknown)),
    ]


PROVE = Annotated[
    bool, typer.Option("--prove", metavar="", help="Test on this server what an experimental engine relies on.")
]
ANSWERS = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the answers of --prove to this file.")
]
WITH_NAMES = Annotated[
    bool, typer.Option("--with-names", metavar="", help="Keep names of hosts, users and databases in that file.")
]


@with_workload
def check(
    resolved: Resolved,
    as_json: JSON = False,
    prove: PROVE = False,
    output: ANSWERS = None,
    with_names: WITH_NAMES = False,
    drivers: DRIVERS = None,
    tls_ca_file: TLS_CA = None,
    tls_cert: TLS_CERT = None,
    tls_key: TLS_KEY = None,
) -> None:
    """Show what can be measured here, what will be unknown and why, what spoils a test, and what to grant.

    With --drivers also whether each reaches the server. Nothing is changed, but --prove makes and drops small tables.
    Exits with 1 if a run is blocked.
    Example: slob check --target embedded --mode pio
    """
    if not prove and (output or with_names):
        raise UsageError("--output and --with-names are for the answers of --prove", "give --prove, too")
    engine = resolve_as_is(resolved.target.reveal())
    engine.server_pid, engine.host, engine.direct = resolved.server_pid, find_host(resolved.host), resolved.direct
    if prove:
        prove_assumptions(engine, output, with_names, as_json)
        return
    with working(f"asking {engine.target}"):
        found = take_loaded(resolved.parameters, engine, notify)
        result = preflight(engine, found.workload, resolved.consented, found.sources)
    with hire_drivers(drivers, tls_ca_file, tls_cert, tls_key) as fleet:
        reached = fleet.reach(engine) if fleet else []
    text = result_json(engine.target, result, reached) if as_json else result_text(engine.target, result, reached)
    write(text)
    if result.blocked or any(each.why for each in reached):
        raise typer.Exit(1)


_SIGNS = {True: "✓ holds", False: "✗ does not hold", None: "? could not be asked"}


def prove_assumptions(engine: Engine, output: Path | None, with_names: bool, as_json: bool) -> None:
    """Ask all questions, show each answer as it comes, and write the file; SlobError when it was stopped before."""
    with stoppable() as interrupt:
        engine.follow(Patience(interrupt, notify))
        facts = engine.facts()
        path = output or Path(f"prove-{engine.name}-{facts.version}.json")
        if not as_json:
            lines = wrap(f"{facts.product} {facts.version}, {engine.target}", columns=COLUMNS)
            lines += warning_lines(reservations(facts.experimental, facts.stand_in, facts.caution), COLUMNS)
            write("\n".join([*lines, "", "ASKED OF THIS SERVER"]))
        asked: list[AskedQuestion] = []
        with proving.open_proving(engine) as found:
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
        raise SlobError("stopped before every question was asked", f"the answers so far are in {path}")


def answer_text(one: AskedQuestion) -> str:
    """Return question and answer as text."""
    head = f"{one.question.number:2} {one.question.name}: {_SIGNS[one.answer.holds]}"
    return "\n".join([head, *hanging("  ", one.question.text, COLUMNS), *hanging("  ", one.answer.seen, COLUMNS)])


def _end(asked: Sequence[AskedQuestion], path: Path, with_names: bool, wanted: str) -> str:
    counts = [sum(one.answer.holds is outcome and not one.stopped for one in asked) for outcome in _SIGNS]
    text = f"{counts[0]} hold, {counts[1]} do not, {counts[2]} could not be asked"
    if stopped := sum(one.stopped for one in asked):
        text = f"{text}; {stopped} more {'was' if stopped == 1 else 'were'} not asked, because of the stop"
    names = "with names of hosts, users and databases" if with_names else "without names of hosts, users and databases"
    text = f"{text}. The answers are in {path}, {names}.{wanted}"
    return "\n".join(["", *wrap(text, columns=COLUMNS)])
