"""What the tests found on each promised server: kept as data, and shown as a page of the documentation.

Tests of a promised server say what they found by `pytest.Item.user_properties`: ``server``, and the cells of its row.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from factories.paths import ROOT
from factories.promised import PROMISED

FOUND = ROOT / "tests" / "matrix" / "found.json"
PAGE = ROOT / "docs" / "tried-servers.md"
# Name of a cell -> heading of its column.
CELLS = {
    "contract": "contract tests",
    "check": "check, grant",
    "load": "load",
    "run 0 %": "run 0 %",
    "run 33 %": "run 33 %",
    "run 100 %": "run 100 %",
    "sweep": "sweep",
    "observe": "observe",
    "watch": "watch",
    "verify": "verify",
    "alone": "alone, beside a writer",
    "drop": "drop",
    "rows": "rows",
    "commits": "commits",
    "reads": "reads",
    "CPU": "CPU",
}
# What a later try makes outdated.
_OUTCOMES = frozenset({"fails", "why not"})
_HEAD = """\
# Servers that were tried

`make matrix` made this page: it gets each server from a package registry, starts it as somebody else's (password, TCP,
an ordinary user with the rights of [your own server](your-own-server.md)), runs the contract tests of engines on it,
and goes the README's way for a server of one's own: check, grant, load, run at 0, 33 and 100 % updates, sweep,
observe, watch, verify, drop. `make test` does the same on the lowest of each product.
"""
_FOOT = """
- *rows*: rows that the runs visited and changed, counted by the work loop and by the server's own statistics of the
  tables; *exact* means that they are equal in all three runs.
- *commits*: transactions that changed something, by the server, over the update operations of the record. Above 1 are
  those of the runs' own preparation.
- *reads*, *CPU*: the record's figure over the kernel's count in the same window (bytes of `/proc/PID/io`, PostgreSQL
  `rchar`, the others `read_bytes`, and CPU time, of all processes of the server): the lowest and the highest of the
  three runs. A dash: the record says that it does not know the figure, and why.
- *contract tests*: those that are skipped are of what the engine or release does not have, such as counts of a moment
  before PostgreSQL 15. The tests of PostgreSQL's work loop, one text for all releases, are left out on 16.
- *drop*: no table, procedure, lock or session of the user was left.
"""


class Finder:
    """Gathers what the reports of all workers say, and writes the page at the end; for pytest's main process."""

    def __init__(self) -> None:
        self._cells: dict[str, dict[str, str]] = {}
        self._contract: dict[str, Counter[str]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        said = dict(report.user_properties)
        name = said.pop("server", None)
        if name is None or (report.when != "call" and report.passed):
            return
        if "/contract/" in report.nodeid:
            self._contract.setdefault(name, Counter())[report.outcome] += 1
        cells = self._cells.setdefault(name, {})
        if report.when == "setup" and report.skipped:
            cells.setdefault("why not", _reason(report))
        elif report.failed:
            cells.setdefault("fails", report.nodeid.rpartition("::")[2])
        cells |= {cell: str(text) for cell, text in said.items() if cell in (*CELLS, "version")}

    def pytest_sessionfinish(self) -> None:
        if not self._cells:
            return
        found = json.loads(FOUND.read_text()) if FOUND.exists() else {}
        for name, cells in self._cells.items():
            counted = self._contract.get(name, Counter())
            if counted["passed"]:
                cells["contract"] = ", ".join(f"{number} {outcome}" for outcome, number in sorted(counted.items()))
            before = {cell: text for cell, text in found.get(name, {}).items() if cell not in _OUTCOMES}
            found[name] = {**before, **cells, "date": datetime.now(UTC).date().isoformat()}
        FOUND.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
        PAGE.write_text(page(found))


def _reason(report: pytest.TestReport) -> str:
    return str(report.longrepr[2]).removeprefix("Skipped: ") if isinstance(report.longrepr, tuple) else ""


def page(found: Mapping[str, Mapping[str, str]]) -> str:
    """Return the page of what was found, servers as columns: there are more things to try than servers."""
    tried = [name for name in PROMISED if "version" in found.get(name, {})]
    rows = [
        ["", *(f"{_product(name)} {found[name]['version']}" for name in tried)],
        ["---"] * (len(tried) + 1),
        ["from", *(PROMISED[name].source for name in tried)],
        ["on", *(found[name]["date"] for name in tried)],
        *([heading, *(found[name].get(cell, "–") for name in tried)] for cell, heading in CELLS.items()),
    ]
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return f"{_HEAD}\n{table}\n{_FOOT}{_missing(found)}"


def _missing(found: Mapping[str, Mapping[str, str]]) -> str:
    lines = [
        f"- {_product(name)} {name.partition('-')[2]}: {found.get(name, {}).get('why not') or 'not asked for yet'}"
        for name in PROMISED
        if "version" not in found.get(name, {})
    ]
    return "\nNot tried:\n\n" + "\n".join(lines) + "\n" if lines else ""


def _product(name: str) -> str:
    return {"postgresql": "PostgreSQL", "mysql": "MySQL", "mariadb": "MariaDB"}[name.partition("-")[0]]


def failures(found: Mapping[str, Mapping[str, str]]) -> Iterable[str]:
    """Return the servers on which something failed when it was last tried."""
    return [name for name, cells in found.items() if "fails" in cells]


def read() -> dict[str, dict[str, str]]:
    """Return what was found, by server."""
    return dict(json.loads(Path(FOUND).read_text()))
