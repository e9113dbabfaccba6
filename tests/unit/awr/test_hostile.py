"""Hostile input: reports cut, damaged and shifted. No crash, and no wrong figure without a warning that names it."""

from __future__ import annotations

import json
import os
import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factories import effort
from factories.awr_mutations import whole
from factories.awr_reports import FIXTURES, READABLE
from factories.tables import table
from openslob.awr import Report, ReportError, read_bytes
from openslob.awr.batch import Extraction, extract_each
from openslob.awr.cells import Subject
from openslob.awr.columns import COLUMNS
from openslob.awr.consistency import TWINS, rate_agrees
from openslob.awr.model import plain_model
from openslob.awr.rows import ROW_SETS
from openslob.awr.source import ForeignFileError, recognise
from openslob.awr.verdicts import verdicts

# Enough for a look at each kind of damage; OPENSLOB_AWR_MUTATIONS=4000 makes so many.
MUTANTS = int(os.environ.get("OPENSLOB_AWR_MUTATIONS") or effort.number(48, 200))
_SOURCES = [(path.name, path.read_bytes()) for path in READABLE]


def _cut(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def _beheaded(data: bytes, chance: random.Random) -> bytes:
    return data[chance.randrange(len(data) + 1) :]


def _lines(change, data: bytes, chance: random.Random) -> bytes:
    lines = data.split(b"\n")
    for _ in range(chance.choice([1, 5, 40])):
        change(lines, chance.randrange(len(lines)), chance)
    return b"\n".join(lines)


def _dropped(lines: list[bytes], at: int, chance: random.Random) -> None:
    if len(lines) > 1:
        del lines[at]


def _flipped(lines: list[bytes], at: int, chance: random.Random) -> None:
    if lines[at]:
        place = chance.randrange(len(lines[at]))
        lines[at] = lines[at][:place] + bytes([chance.randrange(256)]) + lines[at][place + 1 :]


def _shifted(lines: list[bytes], at: int, chance: random.Random) -> None:
    place, by = chance.randrange(len(lines[at]) + 1), chance.randrange(1, 9)
    wider = lines[at][:place] + b" " * by + lines[at][place:]
    narrower = lines[at][:place] + lines[at][place + by :]
    lines[at] = chance.choice([wider, narrower])


def _repeated(lines: list[bytes], at: int, chance: random.Random) -> None:
    lines.insert(at, chance.choice(lines))


def mutant(data: bytes, chance: random.Random) -> bytes:
    how = chance.choice([_cut, _beheaded, _dropped, _flipped, _shifted, _repeated])
    return how(data, chance) if how in (_cut, _beheaded) else _lines(how, data, chance)


def use_everything(report: Report) -> None:
    subject = Subject(report)
    for column in COLUMNS.values():
        reading = column.read(subject)
        assert reading.value is not None or reading.why, column.name
    for rows in ROW_SETS.values():
        assert all(len(row) == len(rows.headings()) for row in rows.rows_of(subject, ()))
    json.dumps(plain_model(report), allow_nan=False)
    verdicts(report, 8)


def undetected(report: Report) -> list[str]:
    """Statistics whose rate is not total / elapsed and of which no warning speaks."""
    elapsed = report.elapsed_s
    told = " ".join(report.warnings)
    wrong = [name for name, stat in report.activity.items() if elapsed and not rate_agrees(stat, elapsed)]
    return [name for name in wrong if f": {name}: " not in told and "Elapsed: " not in told]


@pytest.mark.parametrize("seed", range(8))
def test_mutated_reports_give_a_report_or_one_line(seed):
    chance = random.Random(seed)
    read_whole = 0
    for _ in range(MUTANTS // 8):
        name, data = chance.choice(_SOURCES)
        try:
            report = read_bytes(mutant(data, chance), name)
        except ReportError as error:
            assert "\n" not in str(error)
            continue
        read_whole += 1
        use_everything(report)
        assert undetected(report) == []
    assert read_whole > MUTANTS // 16, "most mutants are still reports"


@table("path", READABLE, ids=lambda path: path.name)
def test_a_report_cut_anywhere_has_no_figure_that_the_whole_one_has_not(path):
    data = path.read_bytes()
    complete = whole(path)
    for end in range(0, len(data) - 40, max(1, len(data) // effort.number(6, 15))):
        try:
            report = read_bytes(data[:end], path.name)
        except ReportError as error:
            assert "\n" not in str(error)
            continue
        assert not report.complete
        assert any(warning.startswith("cut off: ") for warning in report.warnings)
        assert set(report.events) <= set(complete.events)
        assert set(report.activity.items()) <= set(complete.activity.items())


_DIGIT = re.compile(rb"(?m)^(?:(?:physical|redo size|session logical|user|execute)[^\n]*|[^\n]*:  [^\n]*)$")


@settings(max_examples=effort.number(20, 60))
@given(st.sampled_from(["awr_11.2.txt", "awr_12.1.txt", "awr_19c.txt"]), st.randoms(use_true_random=False))
def test_a_changed_digit_of_a_checked_figure_is_told(name, chance):
    """A digit of the load profile or the instance activity is changed: the figure is doubted, or the change is
    below what is printed of its twin."""
    data = (FIXTURES / name).read_bytes()
    line = chance.choice(list(_DIGIT.finditer(data)))
    digits = [place for place in range(*line.span()) if data[place : place + 1].isdigit()]
    if not digits:
        return
    place = chance.choice(digits)
    changed = read_bytes(data[:place] + b"%d" % chance.randrange(10) + data[place + 1 :], name)
    before = whole(FIXTURES / name)
    told = " ".join(changed.warnings)
    for key, twin in TWINS.items():
        old, new = before.load_profile.get(key), changed.load_profile.get(key)
        if old and new and twin in before.activity and twin in changed.activity:
            off = abs(old.per_second.value - new.per_second.value)
            assert off <= 2.1 * old.per_second.step or f": {key}: " in told or "Elapsed: " in told
    for key, stat in changed.activity.items():
        known = before.activity.get(key)
        if known and known.per_second and stat.per_second:
            off = abs(known.per_second.value - stat.per_second.value)
            slack = 2.1 * stat.per_second.step + 0.003 * known.per_second.value
            assert off <= slack or f": {key}: " in told or f"'{key}'" in told or "Elapsed: " in told


def test_long_lines_do_not_hang():
    header, length = (FIXTURES / "awr_11.2.txt").read_bytes(), effort.number(50_000, 150_000)
    blanks = b"WORKLOAD" + b" " * length + b"Snap: 1"
    words = (b"a", b"a: ", b"- ", b"~~~ ", b"<td", b"DB/Inst: ", b"1  ")
    for filling in (*(word * (length // len(word)) for word in words), blanks):
        for line in (filling, b"Load Profile\n~~~~~~~~~~~~\n" + filling):
            assert read_bytes(header + b"\n" + line + b"\n", "long").load_profile


# A fifth of it would take a twenty-fifth of the seconds to minutes, and nests three times as deep as Python recurses.
_MUCH = effort.number(80_000, 400_000)


@table(
    "filling",
    [
        b"<" * _MUCH,
        b"<td " * (_MUCH // 4),
        b"&#" + b"9" * _MUCH,
        b"\xff" * 50_000 + b"<table>" * (_MUCH // 7),
        b"<table>" * (_MUCH // 7),
        b"<table><tr><td>x" * (_MUCH // 25) + b"</table>" * (_MUCH // 25),
        b"<table></table>" * (_MUCH // 38) + b"<table><tr><td>x</table>" * (_MUCH // 38),
        b"WORKLOAD REPOSITORY report for\n" * (_MUCH // 31),
        b"AWR Report for DB: " * (_MUCH // 19),
    ],
    ids=["<", "<td", "number", "title", "tables", "tables in cells", "frames", "titles", "titles of pages"],
)
def test_damage_that_repeats_does_not_hang(filling):
    """Each took a time that grows with the square of its length, seconds to minutes, or ended the program."""
    page = (FIXTURES / "awr_23ai.html").read_bytes()
    place = page.index(b"<td", page.index(b"Foreground Wait Events</h3>"))
    assert read_bytes(page[:place] + filling + page[place:], "page").load_profile


@pytest.mark.parametrize(
    "data", [b"", b"\x00" * 1000, b"\xff\xfe", b"\x89PNG\r\n" + bytes(range(256)), b"<html><table>"]
)
def test_files_that_are_anything_are_no_reports(data, tmp_path):
    path = tmp_path / "x"
    path.write_bytes(data)
    (result,) = extract_each(str(path), Extraction())
    assert (result.status, result.rows) == ("failed", ())
    assert "not an AWR or Statspack report" in result.error


@pytest.mark.parametrize("around", ['{{"a.html": "{}"}}', '[{{"title": "{}"}}]', '{{"kind": "{}"}}\n{{"kind": "AWR"}}'])
@pytest.mark.parametrize(
    "title", ["AWR Compare Period Report", "WORKLOAD REPOSITORY report for", "ADDM Report for Task"]
)
def test_json_that_names_kinds_of_reports_is_none(around, title):
    with pytest.raises(ForeignFileError, match="the file is JSON"):
        recognise(around.format(title).encode(), "truth.json")
