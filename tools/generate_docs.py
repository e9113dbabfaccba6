#!/usr/bin/env python3
"""Write the pages of docs/ that are made from code (parameters.md, figures.md, flavours.md) and tests (reliability.md).

Of awr.md only the tables of columns are made, of README.md that of commands; of other pages what `slob show` prints of
a record of the tests. A line before such a block says which record, and of a whole report also which section, and how
many lines of it::

    <!-- printed: v4/measured, LOAD PROFILE, 7 lines -->

Usage: tools/generate_docs.py

Needs an installed openslob (``make`` puts it into .venv) or PYTHONPATH=src. A test fails when a page is out of date.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any
from unittest.mock import patch

import typer

from openslob.awr.columns import COLUMNS, PREFIXES, Prefix
from openslob.awr.rows import ROW_SETS
from openslob.cli import app
from openslob.config.parameters import Parameter, parameters
from openslob.engines.flavour import Flavour, refusal
from openslob.engines.mysql import flavours as of_mysql
from openslob.engines.postgresql import flavours as of_postgresql
from openslob.kinds.contract import kind_of
from openslob.metrics import METRICS, STORAGE_METRICS, Better, Metric
from openslob.record.finding import at
from openslob.report.format import WIDTH
from openslob.report.terminal import render_screen, render_text

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
sys.path.append(str(ROOT / "tests"))

_PARAMETERS_HEAD = """# Parameters

Every parameter of a load or a run, as `slob load --help-all` and `slob run --help-all` list them. This page is made
from the code by `tools/generate_docs.py`; a test fails when it is out of date. How to set parameters is in
[configuration](configuration.md).

A parameter's name in `slob.toml` is the lower-case or the upper-case one; its environment variable is `SLOB_` and the
upper-case name; its flag is the lower-case name with dashes. Sizes take suffixes in powers of 1024; MB is 1,048,576
bytes. A time is a number of seconds, or a duration such as `500ms`, `90s`, `5m`, `1h30m` or `1d`.
"""
_PARAMETER_COLUMNS = ("name", "flag", "meaning", "unit", "allowed", "default")

_FIGURES_HEAD = """# Figures

Every figure of a record's `summary`, of the report and of comparisons: its name in `run.json`, how the report heads it,
its unit, which way is better, and its definition. This page is made from the code by `tools/generate_docs.py`; a test
fails when it is out of date. How to judge figures is in [reading a result](reading-a-result.md).

A figure that is not known is `null` in the record, with the reason beside it, and a dash in the report; it is never 0.
"""
_STORAGE_HEAD = """
## Figures of storage records

The figures of `storage.json`, which `slob raw` writes ([storage without a database](raw.md)): of its steps, and of its
`summary`.
"""
_FIGURE_COLUMNS = ("name", "heading", "unit", "better", "definition")
_RELIABILITY_HEAD = """# Reliability

What `slob` does when something goes wrong: {count} faults. The fault suite (`make faults`) makes each of them happen
for real, on PostgreSQL and on MariaDB where a server has a part in it, and checks that

- the command ends, however long a server hangs,
- the last line on standard error says what happened and what to do; there is no traceback,
- the exit code and the record are as in the tables,
- nothing is left behind: no process, no session or lock in the server, no half-written file.

This page is made from the rows of the suite (`tests/faults/rows`) by `tools/generate_docs.py`; a test fails when it is
out of date. [The list of commands](README.md#exit-codes) explains exit codes, and [troubleshooting](troubleshooting.md)
messages.

Records that say *interrupted* or *failed* are shown, listed and reported like others. What could not be measured is
unknown in them, with the reason. A dash instead of an exit code stands for a process that a signal ended. The suite
shortens how long slob waits for a server that hangs, or for somebody's lock; the limits are 30 s without an answer, and
30 s beyond the planned end of a run.
"""
_FLAVOURS_HEAD = """# Flavours

Many products speak the protocol of PostgreSQL or of MySQL. `slob` asks first which one answers, in one query on the
first connection, before anything is set or created. The record, the report, lists and comparisons name that product and
its version; a comparison of two says that they differ. This page is made from the code by `tools/generate_docs.py`; a
test fails when it is out of date.

A product that is known to be impossible to measure is refused in one line. Its reason is in the tables:

```
{line}
```

A server that is none of these is an *unknown relative*. So is one that calls itself by the name of an original and
lacks a function that each version of it has, or says different versions in different places. It is measured, with a
caution before the figures that names the reason. It is refused only if it lacks what the method needs, or answers no
query of its catalogs.

A server that can't run the work loop, for example since it has no procedures, is measured by
[the client loop](client-loop.md): without `--loop client`, `slob check` and `slob run` offer that in the line that says
why they refuse. `slob load` needs no procedure.

Where blocks are in a service of storage, no read of the engine is known to be one of a device. The verdict
`reads_reached_device` and the figures of the device are then unknown with that reason.

*Known by* has the pattern of the version text (of MySQL with `version_comment` behind it), and settings, functions,
extensions and variables that only this product has. *Placement* is what proves that each row has a block of its own;
*lock* keeps two runs apart. The tests run on the originals, which have no source; **no other product was tried**: what
each answers is as its source says, and the tests answer like that.
"""
_FLAVOUR_COLUMNS = ("product", "known by", "reads", "placement", "lock", "what its figures mean besides", "source")
_ROW_SET_COLUMNS = ("set", "section", "columns after the file")
_PREFIX_COLUMNS = ("name", "figures, the first by default", "section", "example")
_COMMAND_COLUMNS = ("command", "what it does", "example")
_AWR_COLUMNS = ("column", "unit", "section", "meaning")
_FAULT_COLUMNS = ("when", "fault", "what `slob` does", "exit code", "record", "tried on")
_BETTER = {Better.MORE: "more", Better.LESS: "less", Better.NEITHER: "–"}


def parameters_page() -> str:
    """Return docs/parameters.md: a table for each group of the fields of `Workload`."""
    return "\n".join([_PARAMETERS_HEAD, *_parameter_sections()])


def figures_page() -> str:
    """Return docs/figures.md: a row for each metric of a run, and of a storage record."""
    lines = [_FIGURES_HEAD, *_figure_table(METRICS), _STORAGE_HEAD, *_figure_table(STORAGE_METRICS)]
    return "\n".join([*lines, ""])


def reliability_page() -> str:
    """Return docs/reliability.md: a table of the faults of each command that the fault suite tries."""
    from faults.fault import rows_by_command  # noqa: PLC0415 - of the tests, and only for this page

    sections = rows_by_command()
    count = sum(len(rows) for rows in sections.values())
    lines = [_RELIABILITY_HEAD.format(count=count)]
    for command, rows in sections.items():
        lines += [f"## slob {command}\n", *_table_head(_FAULT_COLUMNS), *(_row(*cells) for cells in rows), ""]
    return "\n".join(lines)


def flavours_page() -> str:
    """Return docs/flavours.md: a table of the products that speak the protocol of each engine."""
    example = of_postgresql.FLAVOURS[0]
    line = refusal("db.example.com:5432/bench", f"{example.product} 26.3.1", example.refused)
    lines = [_FLAVOURS_HEAD.format(line=f"slob: {line}")]
    for heading, rows in (("PostgreSQL", of_postgresql.FLAVOURS), ("MySQL", of_mysql.FLAVOURS)):
        lines += [f"## {heading}'s protocol\n", *_table_head(_FLAVOUR_COLUMNS), *map(_flavour_row, rows), ""]
    return "\n".join(lines)


def awr_page() -> str:
    """Return docs/awr.md as it is, with the tables of sets of rows, of figures by name, and of columns made anew."""
    sets = [(f"`{name}`", each.section, _with_units(each.columns)) for name, each in ROW_SETS.items()]
    columns = [(f"`{one.name}`", one.unit, one.section, one.meaning) for one in COLUMNS.values()]
    prefixes = [_prefix_cells(name, prefix) for name, prefix in PREFIXES.items()]
    return _with_tables("awr.md", {_ROW_SET_COLUMNS: sets, _PREFIX_COLUMNS: prefixes, _AWR_COLUMNS: columns})


def index_page() -> str:
    """Return docs/README.md as it is, with the table of commands made anew from their help."""
    commands = list(_commands(typer.main.get_command(app), ("slob",)))
    return _with_tables("README.md", {_COMMAND_COLUMNS: [_command_cells(*each) for each in commands]})


def _with_tables(name: str, tables: Mapping[tuple[str, ...], Sequence[tuple[str, ...]]]) -> str:
    """Return a page as it is, with other rows in the tables that have these heads."""
    text = (DOCS / name).read_text(encoding="utf-8")
    for head, rows in tables.items():
        before, found, after = text.partition(f"\n{_row(*head)}\n")
        if not found:
            sys.exit(f"docs/{name} has no table of {head}")
        # A table ends at an empty line.
        lines = [*_table_head(head), *(_row(*cells) for cells in rows)]
        text = "\n".join([before, *lines, "", after.partition("\n\n")[2]])
    return text.rstrip("\n") + "\n"


_PRINTED = re.compile(
    r"(<!-- printed: (?P<record>\S+?)(?:, (?P<section>.+?))?(?:, (?P<lines>\d+) lines)? -->\n```\n).*?(?=^```$)",
    re.DOTALL | re.MULTILINE,
)


def page_with_output(name: str) -> str:
    """Return a page as it is, with what it quotes of the program's output made anew."""
    text = (DOCS / name).read_text(encoding="utf-8")
    return _PRINTED.sub(lambda each: each[1] + _print(each["record"], each["section"], each["lines"]), text)


def _print(record: str, section: str | None, lines: str | None) -> str:
    """Return the screen of a record without its last commands, or so many lines of a section of its whole report."""
    folder = ROOT / "tests" / "fixtures" / "records" / record
    found = at(folder)
    assert found, f"{record} is no record"
    kind = kind_of(found)
    # Of a record of the user's own folder, commands name the id.
    with patch.dict(os.environ, SLOB_RESULTS=str(folder.parent)):
        document = kind.document(kind.read(found.path), folder)
    if section is None:
        return render_screen(document, WIDTH).rstrip().rpartition("\n\n")[0] + "\n"
    (part,) = (part for part in render_text(document, WIDTH).split("\n\n") if part.startswith(section))
    shown = part.splitlines()[: int(lines) if lines else None]
    return "\n".join([*shown, *(["  …"] if lines else []), ""])


PAGES: Mapping[str, Callable[[], str]] = {
    "parameters.md": parameters_page,
    "figures.md": figures_page,
    "flavours.md": flavours_page,
    "reliability.md": reliability_page,
    "awr.md": awr_page,
    "README.md": index_page,
    **{name: partial(page_with_output, name) for name in ("start.md", "reading-a-result.md", "observe.md")},
}


def _commands(group: Any, path: tuple[str, ...]) -> Iterator[tuple[str, str]]:  # noqa: ANN401
    """Yield the name and the help of each command."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands(command, (*path, name))
        else:
            yield " ".join((*path, name)), command.help


def _command_cells(name: str, text: str) -> tuple[str, ...]:
    about, _, example = text.partition("Example: ")
    cells = (" ".join(about.split("\n\n")[0].split()), f"`{example.splitlines()[0]}`")
    return (f"`{name}`", *(cell.replace("|", "\\|") for cell in cells))


def _flavour_row(row: Flavour) -> str:
    known = [f"version text `{row.text}`".replace("|", "\\|")] if row.text else []
    signs = ", ".join([*known, *(f"{kind} `{name}`" for kind, _, name in (sign.rpartition(" ") for sign in row.signs))])
    if row.refused:
        meaning = ["–", "–", "–", f"**refused**: {row.refused}"]
    else:
        reads = "of no device" if row.no_device else "of a device, or of the page cache"
        by_client = row.no_loop and f"**only by `--loop client`**: the work loop can't run there, since {row.no_loop}"
        besides = [by_client, row.meaning, row.settings and f"settings of the server are changed in the {row.settings}"]
        meaning = [reads, row.placement or "–", row.lock, "; ".join(filter(None, besides)) or "–"]
    source = f"[source]({row.source})" if row.source.startswith("https://") else row.source or "the tests' servers"
    return _row(row.product.replace("{family}", "MySQL, MariaDB"), signs, *meaning, source)


def _parameter_sections() -> Iterator[str]:
    for group, members in groupby(parameters().values(), key=lambda one: one.group):
        yield f"## {group.capitalize()}\n"
        yield from _table_head(_PARAMETER_COLUMNS)
        yield from map(_parameter_row, members)
        yield ""


def _parameter_row(one: Parameter) -> str:
    flag = f"`{one.flag}`, `--no-{one.flag.removeprefix('--')}`" if one.is_switch else f"`{one.flag}`"
    return _row(f"`{one.slob}`", flag, one.meaning, one.unit or "–", one.allowed, one.default or "–")


def _figure_table(metrics: Mapping[str, Metric]) -> Iterator[str]:
    yield from _table_head(_FIGURE_COLUMNS)
    for one in metrics.values():
        # A count has no unit; some records write it as "1".
        unit = "–" if one.unit in ("", "1") else one.unit
        yield _row(f"`{one.name}`", one.label, unit, _BETTER[one.better], one.definition)


def _with_units(units: Mapping[str, str]) -> str:
    return ", ".join(f"{name} ({unit})" if unit else name for name, unit in units.items())


def _prefix_cells(name: str, prefix: Prefix) -> tuple[str, ...]:
    figures = _with_units({f"`{key}`": figure.unit for key, figure in prefix.figures.items()})
    return f"`{name}:`", figures or "a time, such as `1ms` (%)", prefix.section, f"`{name}:{prefix.example}`"


def _table_head(columns: tuple[str, ...]) -> Iterator[str]:
    yield _row(*columns)
    yield _row(*["---"] * len(columns))


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    for name, page in PAGES.items():
        (DOCS / name).write_text(page(), encoding="utf-8")
