#!/usr/bin/env python3
"""Give commands damaged records, bundles, reports, files and options, and count what is not answered in one line.

Usage: tools/fuzz.py [--seed SEED] [--cases N] [--minutes M] [--only KIND]...

Each case is made by a number, which is printed with what it found: ``--seed SEED --cases 1`` makes it again. A fault is
a command that ends with a traceback, takes longer than 10 s, or writes a file outside of its folder; so is a process of
more than 500 MB. Exits with 3 if there was one.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import signal
import string
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

import typer

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

import openslob  # noqa: E402
from factories.running import slob  # noqa: E402
from openslob import cli  # noqa: E402
from openslob.api.parameters import SweptParameters  # noqa: E402
from openslob.core.errors import SlobError  # noqa: E402
from openslob.record import bundle, finding  # noqa: E402

LONGEST_S, MOST_MB = 10, 500
# A host that is busy with other work gives a process a share of its time.
_BUSY_TIMES = 60
RECORDS = sorted((ROOT / "tests" / "fixtures" / "records").glob("*/*/*.json"))
REPORTS = sorted((ROOT / "tests" / "fixtures" / "awr").glob("*.*"))
CONFIGURATIONS = sorted((ROOT / "tests" / "fixtures" / "config").rglob("*.*"))
_ODD: tuple[Any, ...] = (
    None, True, 0, -1, 1e308, 10**30, 10**400, "", "x", "\u202e", "\ud800", "nan", [], {}, [[]], [1, "a"],
    {"a": {}}, "9" * 400,
)  # fmt: skip
_PIECES = (
    b"<",
    b"</table>",
    b"<table>",
    b"<table><tr><td>x",
    b"WORKLOAD REPOSITORY report for\n",
    b"{",
    b"a.",
    b"\0",
    b"\xff",
    b"=",
    b"[",
    b"]",
    b'"',
    b"'",
    b"${",
    b"`",
    b"\n",
    b"9" * 50,
)
_OF_RECORDS = ("show", "list", "report", "export", "verify", "compare", "history", "awr")
_OF_SERVERS = ("sweep", "run", "endure")
_OF_PYTHON = (
    "run", "sweep", "load", "repeat", "endure", "target", "read", "read_endurance", "read_lab", "read_repeated",
    "read_storage", "read_ab", "history", "compare", "verify", "bundle",
)  # fmt: skip
_OF_LOADS = tuple(SweptParameters.__annotations__)
_NOBODY = "postgresql://u@127.0.0.1:1/d"
# Options that wait for somebody, or that name what is to be written.
_NEVER = {
    "--live", "--open", "--ask-password", "--server-pid", "--output", "-o", "--bundle", "--petals", "--picture",
    "--png-dir", "--svg-dir",
}  # fmt: skip


class TooSlowError(BaseException):
    """A case takes too long; no command may catch it."""


@contextmanager
def within(seconds: int) -> Iterator[None]:
    """Raise TooSlowError in the block after so many seconds of CPU time, or several times as many by the clock."""

    def late(_number: int, _frame: object) -> None:
        raise TooSlowError

    clocks = {
        signal.SIGPROF: (signal.ITIMER_PROF, seconds),
        signal.SIGALRM: (signal.ITIMER_REAL, _BUSY_TIMES * seconds),
    }
    before = {number: signal.signal(number, late) for number in clocks}
    for clock, limit in clocks.values():
        signal.setitimer(clock, limit)
    try:
        yield
    finally:
        for number, (clock, _) in clocks.items():
            signal.setitimer(clock, 0)
            signal.signal(number, before[number])


def place_in(value: Any, chance: random.Random) -> list[Any]:  # noqa: ANN401 - JSON
    """Return the path of a value in a JSON document: any part of a level is as likely as any other one."""
    path: list[Any] = []
    while isinstance(value, dict | list) and value and (not path or chance.random() < 0.75):
        path.append(chance.choice(list(value) if isinstance(value, dict) else range(len(value))))
        value = value[path[-1]]
    return path


def damaged(document: Any, chance: random.Random) -> Any:  # noqa: ANN401 - JSON
    """Return a JSON document with one to three of its values replaced or removed."""
    for _ in range(chance.randint(1, 3)):
        *way, last = place_in(document, chance)
        holder = document
        for key in way:
            holder = holder[key]
        if chance.random() < 0.3:
            del holder[last]
        else:
            holder[last] = chance.choice(_ODD)
        if not document:
            break
    return document


def cut_up(raw: bytes, chance: random.Random) -> bytes:
    """Return bytes with pieces taken out, doubled, or put in."""
    for _ in range(chance.randint(1, 5)):
        at, length = chance.randrange(len(raw) + 1), chance.choice((1, 10, 1000))
        many = chance.choice((1, 3, 2000, 50_000))
        piece = chance.choice((b"", raw[at : at + length] * 2, chance.choice(_PIECES) * many))
        raw = raw[:at] + piece + raw[at + length :]
    return raw


def a_record(place: Path, chance: random.Random) -> list[str]:
    """Return a command on a record whose document or raw file is damaged."""
    source = chance.choice(RECORDS)
    folder = shutil.copytree(source.parent, place / "20260101-000000-fuzzed")
    target = chance.choice([*folder.rglob("*.json"), *folder.rglob("*.csv")])
    if target.suffix == ".json" and chance.random() < 0.9:
        target.write_bytes(json.dumps(damaged(json.loads(target.read_text()), chance)).encode())
    else:
        target.write_bytes(cut_up(target.read_bytes(), chance))
    own = ["--results", str(place)]
    return chance.choice(
        [
            ["show", str(folder)],
            ["show", "latest", *own],
            ["report", str(folder), "--output", str(place / "page.html")],
            ["export", str(folder), "--output", str(place / "rows.csv")],
            ["export", str(folder), "--bundle", str(place / "it.zip")],
            ["verify", str(folder)],
            ["compare", str(folder), str(source.parent)],
            ["history", *own],
            ["list", "--points", *own],
            ["list", "--json", *own],
        ]
    )


def a_bundle(place: Path, chance: random.Random) -> list[str]:
    """Return the verification of a damaged bundle."""
    path, found = place / "it.zip", finding.at(chance.choice(RECORDS).parent)
    assert found is not None
    bundle.save(found, path)
    path.write_bytes(cut_up(path.read_bytes(), chance))
    return ["verify", str(path)]


def a_report(place: Path, chance: random.Random) -> list[str]:
    """Return the reading of a damaged report of Oracle's."""
    source = chance.choice(REPORTS)
    path = place / source.name
    path.write_bytes(cut_up(source.read_bytes(), chance))
    return ["awr", str(path), *chance.choice(([], ["--format", "json"], ["--format", "csv"]))]


def a_configuration(place: Path, chance: random.Random) -> list[str]:
    """Return a command with a damaged configuration; it connects to nothing."""
    source = chance.choice(CONFIGURATIONS)
    path = place / source.name
    path.write_bytes(cut_up(source.read_bytes(), chance))
    return ["check", "--config", str(path), "--target", _NOBODY]


def words(chance: random.Random) -> str:
    """Return any text that an option may be given."""
    return chance.choice(
        [
            str(chance.randint(-(10**9), 10**9)), str(10**400), "", " ", "-", "--", "nan", "1e999", "0", "8G", "7d",
            "postgresql://u:p@h:1/d", "oracle://a:b@a..b/c", "mysql://" + "h" * 300, "\u202e", "'", "$(id)", "a=b",
            "local:9999", "1,2,3",
            "".join(chance.choices(string.printable, k=chance.randint(1, 30))),
        ]
    )  # fmt: skip


def options(place: Path, chance: random.Random) -> list[str]:
    """Return a command with options of it and any values; none of them reaches a server or goes on for long."""
    name = chance.choice((*_OF_RECORDS, *_OF_SERVERS))
    tree: Any = typer.main.get_command(cli.application((name,)))
    known = [option for each in tree.commands[name].params for option in each.opts]
    given = [chance.choice(known) if chance.random() < 0.6 else words(chance) for _ in range(chance.randint(1, 5))]
    # Who may answer is nobody, and the place is the case's own.
    ending = ["--results", str(place)]
    if name in _OF_SERVERS:
        ending += ["--target", _NOBODY]
    return [name, *(each for each in given if each not in _NEVER), *ending]


def arguments(place: Path, chance: random.Random) -> list[str]:
    """Call a function of the interface of Python with any arguments. No command is left to be tried then.

    Of a value whose type an argument does not have, Python says so itself.
    """
    name = chance.choice(_OF_PYTHON)
    known = signature(getattr(openslob, name)).parameters
    fixed = {"target": _NOBODY, "results": place, "file": place / "it.zip", "progress": False}
    names = [each.name for each in known.values() if each.kind is not Parameter.VAR_KEYWORD]
    has_load = any(each.kind is Parameter.VAR_KEYWORD for each in known.values())
    free = [*(each for each in names if each not in fixed), *(_OF_LOADS if has_load else ())]
    given = {each: any_value(chance) for each in chance.choices(free, k=chance.randint(1, 4))}
    given |= {each: value for each, value in fixed.items() if each in names}
    ahead = [
        given.pop(each.name) for each in known.values() if each.kind is Parameter.POSITIONAL_ONLY and each.name in given
    ]
    try:
        with within(LONGEST_S), suppress(SlobError, TypeError, AttributeError):
            getattr(openslob, name)(*ahead, **given)
    except BaseException as error:
        error.add_note(f"openslob.{name}(*{ahead!r:.300}, **{given!r:.300})")
        raise
    return []


def any_value(chance: random.Random) -> Any:  # noqa: ANN401 - anything
    """Return a value that a caller may give by mistake."""
    return chance.choice((*_ODD, words(chance), float("nan"), float("inf"), b"x", object(), {1, 2}, range(10**9)))


KINDS: dict[str, Callable[[Path, random.Random], list[str]]] = {
    "record": a_record, "bundle": a_bundle, "awr": a_report, "configuration": a_configuration, "options": options,
    "arguments": arguments,
}  # fmt: skip


def fault_of(seed: int, kind: str) -> tuple[str, list[str]]:
    """Return what is wrong with the answer to a case, empty if nothing is, and the command."""
    chance, command = random.Random(f"{kind} {seed}"), list[str]()
    with tempfile.TemporaryDirectory(prefix="slob-fuzz-") as name:
        place = Path(name) / "own"
        place.mkdir()
        beside = Path(name) / "beside"
        beside.mkdir()
        try:
            command = KINDS[kind](place, chance)
            with within(LONGEST_S):
                done = slob(*command, cwd=beside) if command else None
        except TooSlowError as error:
            notes = " ".join(getattr(error, "__notes__", []))
            return f"took more than {LONGEST_S} s {notes}", command
        except Exception:
            return traceback.format_exc(limit=-3), command
        if done and "Traceback" in done.stderr:
            return done.stderr[-1500:], command
        if left := [path.name for path in beside.iterdir()]:
            return f"wrote {left}", command
    return "", command


def peak_mb() -> float:
    """Return the most memory that this process had so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> int:
    """Try cases until there are as many, or the time is over; return 3 if one is a fault."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--cases", type=int, default=10**9)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--only", choices=KINDS, action="append")
    asked = parser.parse_args()
    os.environ["OPENSLOB_HOME"] = tempfile.mkdtemp(prefix="slob-fuzz-home-")
    end, tried, faults = time.monotonic() + 60 * asked.minutes, Counter[str](), 0
    print(f"seed {asked.seed}")
    for seed in range(asked.seed, asked.seed + asked.cases):
        if time.monotonic() > end:
            break
        kind = random.Random(seed).choice(asked.only or list(KINDS))
        before_mb = peak_mb()
        fault, command = fault_of(seed, kind)
        if peak_mb() > max(before_mb, MOST_MB):
            fault = fault or f"took {peak_mb():.0f} MB"
        tried[kind] += 1
        if fault:
            faults += 1
            print(f"--seed {seed} --only {kind}: slob {command}\n{fault}\n", flush=True)
    shutil.rmtree(os.environ["OPENSLOB_HOME"])
    print(f"{tried.total():,} cases ({', '.join(f'{count} {kind}' for kind, count in tried.items())}), {faults} faults")
    print(f"peak memory {peak_mb():.0f} MB")
    return 3 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
