"""Changes that reports suffer on their way: of form, which may cost figures but change none, and of their figures."""

from __future__ import annotations

import gzip
import random
import re
from collections.abc import Callable, Hashable, Iterator
from functools import cache
from pathlib import Path

from openslob.awr import Report, ReportError, read, read_bytes
from openslob.awr.source import decode
from openslob.awr.verdicts import verdicts

Change = Callable[[str, random.Random], "str | bytes"]


def _lines(text: str, chance: random.Random, change: Callable[[str], str | None], share: float = 1.0) -> str:
    changed = (change(line) if chance.random() < share else line for line in text.split("\n"))
    return "\n".join(line for line in changed if line is not None)


def _numbered(text: str, chance: random.Random) -> str:
    form = chance.choice(["{:>5}: {}", "{}:{}", "{:>7} {}", "{:>6}\t{}"])
    return "\n".join(form.format(at, line) for at, line in enumerate(text.split("\n"), 1))


def _paged(text: str, chance: random.Random) -> str:
    every = chance.randrange(20, 90)
    lines = text.split("\n")
    return "\n\f\n".join("\n".join(lines[at : at + every]) for at in range(0, len(lines), every))


def _with_bytes(text: str, chance: random.Random) -> bytes:
    data = bytearray(text.encode())
    for _ in range(chance.choice([1, 10, 200])):
        data[chance.randrange(len(data))] = chance.randrange(256)
    return bytes(data)


def _with_huge_figures(text: str, chance: random.Random) -> str:
    huge = chance.choice(["1e999", "9" * 400, "-1", "nan", "inf", "1E+308", "1e-400", "0"])
    share = chance.choice([0.001, 0.05])
    return re.sub(r"(?<=[ >])\d[\d.,]*(?=[ <\n])", lambda it: huge if chance.random() < share else it[0], text)


# Changes of form: a figure is right or absent.
HARMLESS: dict[str, Change] = {
    "crlf": lambda text, _: text.replace("\n", "\r\n"),
    "utf-16": lambda text, chance: text.encode(chance.choice(["utf-16", "utf-16-le", "utf-16-be"])),
    "bom": lambda text, _: text.encode("utf-8-sig"),
    "numbered": _numbered,
    "margin lost": lambda text, chance: _lines(text, chance, str.lstrip),
    "trailing blanks lost": lambda text, chance: _lines(text, chance, str.rstrip),
    "quoted": lambda text, chance: _lines(text, chance, lambda line: f"> {line}"),
    "cut off": lambda text, chance: text[: chance.randrange(len(text))],
    "doubled": lambda text, _: text + "\n" + text,
    "cut off and followed by itself": lambda text, chance: text[: chance.randrange(len(text))] + text,
    "lines twice spaced": lambda text, _: text.replace("\n", "\n\n"),
    "capitals": lambda text, _: re.sub(r"</?[a-z]\w*", lambda tag: tag[0].upper(), text) if "<table" in text else text,
    "attributes": lambda text, _: re.sub(r"<(t[dhr])\b", r"""<\1 data-x="a > b" title='it"s'""", text),
    "tags without end": lambda text, _: re.sub(r"</(?:td|th|p|li)>", "", text),
}
# Changes of content: no crash, and each cell has a figure or a reason.
HARMFUL: dict[str, Change] = {
    "lines deleted": lambda text, chance: _lines(text, chance, lambda _: None, chance.choice([0.001, 0.02, 0.3])),
    "lines doubled": lambda text, chance: _lines(text, chance, lambda line: f"{line}\n{line}", 0.02),
    "blank lines deleted": lambda text, _: re.sub(r"\n\s*\n", "\n", text),
    "pages": _paged,
    "tabs": lambda text, chance: _lines(text, chance, lambda line: re.sub(" {8}", "\t", line), 0.5),
    "squeezed": lambda text, chance: _lines(text, chance, lambda line: re.sub(" +", " ", line), 0.2),
    "thousands": lambda text, chance: re.sub(r"(?<=\d),(?=\d{3})", chance.choice([".", " ", "'", "\xa0", ""]), text),
    "huge": _with_huge_figures,
    "bytes": _with_bytes,
    "packed": lambda text, _: gzip.compress(text.encode(), mtime=0),
}


def mutate(text: str, how: str, chance: random.Random) -> bytes:
    changed = {**HARMLESS, **HARMFUL}[how](text, chance)
    return changed if isinstance(changed, bytes) else changed.encode("utf-8", "replace")


def figures(report: Report) -> Iterator[tuple[Hashable, object]]:
    """Each figure of a report by its name."""
    for event in report.events:
        yield from _fields((event.scope, event.name), event, "waits", "time_s", "avg_us", "share_pct")
    for name, rate in report.load_profile.items():
        if name == "redo_size" and rate.origin == "System Statistics - Per Second":
            continue  # in units of 1024 bytes, and its origin says so, where the exact one is cut off
        yield from _fields(("load profile", name, rate.origin), rate, "per_second", "per_transaction")
    for name, stat in report.activity.items():
        yield from _fields(("activity", name), stat, "total", "per_second", "per_transaction")
    for histogram in report.histograms:
        yield from _fields(("histogram", histogram.name), histogram, "waits")
    for name, value in report.os_stats.items():
        yield from _fields(("os", name), value, "value")
    yield from ((("time model", name), seconds) for name, seconds in report.time_model_s.items())
    header = ("db_id", "cpus", "cores", "begin_snap", "end_snap", "elapsed_min", "db_time_min", "block_size")
    yield from _fields(("header",), report.header, *header)
    if report.host_cpu:
        yield from _fields(("host cpu",), report.host_cpu, "user_pct", "idle_pct")


def _fields(place: tuple[str, ...], record: object, *names: str) -> Iterator[tuple[Hashable, object]]:
    yield from (((*place, name), getattr(record, name)) for name in names)


def differing(before: Report, after: Report) -> list[str]:
    """Return the figures of ``after`` that ``before`` has not."""
    known: dict[Hashable, set[object]] = {}
    for name, value in figures(before):
        known.setdefault(name, set()).add(value)
    return [f"{name}: {value}" for name, value in figures(after) if value not in (None, *known.get(name, ()))]


@cache
def whole(path: Path) -> Report:
    return read(path)


@cache
def text_of(path: Path) -> str:
    return decode(path.read_bytes()).replace("\r\n", "\n")


def check(path: Path, how: str, chance: random.Random) -> None:
    """Change the report at ``path``: it is one or none, and a harmless change has changed no figure."""
    if "<table" in text_of(path)[:20_000] and how in ("quoted", "lines twice spaced"):
        return
    try:
        report = read_bytes(mutate(text_of(path), how, chance), path.name)
    except ReportError as error:
        assert "\n" not in str(error)
        return
    verdicts(report, 8)
    if how in HARMLESS:
        assert differing(whole(path), report)[:3] == []
