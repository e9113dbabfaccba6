"""Findings of ADDM, from the reports that an AWR report has at its end."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from openslob.awr.builder import ReportBuilder
from openslob.awr.model import ListedRow
from openslob.awr.numbers import NumberFormat
from openslob.awr.tables import squeeze

ADDM = "addm"
_TASK = re.compile(r"^[ \t]*ADDM Report for Task '([^'\n]+)'", re.MULTILINE)
_SESSIONS = re.compile(r"average number of active sessions was ([\d.,]*\d)")
_FINDING = re.compile(
    r"^Finding (?P<number>\d+): (?P<name>[^\n]+)\nImpact is (?P<sessions>[\d.,]+) active sessions,"
    r"\s(?P<share>[\d.,]+)% of total activity\.\n-+\n(?P<body>.*?)(?=^Finding \d+:|^\s*~{20}|\Z)",
    re.MULTILINE | re.DOTALL,
)
_ADVICE = re.compile(r"^ +(?:Recommendation \d+:|Symptoms That Led)|^No recommendations", re.MULTILINE)
_ACTION = re.compile(r"^ +Action\n(.*?)(?=^ +(?:Action|Rationale|Related Object|Recommendation \d+:)|^\s*$|\Z)",
                     re.MULTILINE | re.DOTALL)  # fmt: skip


def add_findings(text: str, is_html: bool, builder: ReportBuilder) -> None:
    """Add each finding with its text and actions. The list at the top of a report counts for other tasks only."""
    start = text.find("ADDM Report for Task")
    if start < 0:
        return
    reports = html.unescape(text[start:]) if is_html else text[start:]
    parts = _TASK.split("\n".join(map(str.rstrip, reports.split("\n"))))
    tasks = list(zip(parts[1::2], parts[2::2], strict=True))
    found = [row for task, report in tasks for row in _findings(task, report, builder.numbers)]
    others = [
        row for row in builder.listed.get(ADDM, ()) if not any(task.startswith(_task_of(row)) for task, _ in tasks)
    ]
    builder.listed[ADDM] = [*found, *others]


def _task_of(row: ListedRow) -> str:
    return str(row.cells.get("Task", ""))


def _findings(task: str, report: str, numbers: NumberFormat) -> Iterator[ListedRow]:
    in_all = _SESSIONS.search(report)
    for found in _FINDING.finditer(report):
        body = _ADVICE.split(found["body"], maxsplit=1)[0]
        figures = {
            "% of activity": numbers.read(found["share"]),
            "Sessions": numbers.read(found["sessions"]),
            "Task sessions": numbers.read(in_all[1]) if in_all else None,
        }
        row = ListedRow({"Task": task, "Finding": squeeze(found["name"])})
        row.cells.update({name: number for name, number in figures.items() if number is not None})
        row.cells["Text"] = squeeze(body)
        row.cells["Actions"] = " | ".join(squeeze(action) for action in _ACTION.findall(found["body"]))
        yield row
