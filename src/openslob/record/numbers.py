"""The numbers of records: short ids such as 12, which a results folder gives to each of its records once.

A number is of a folder of records and stays: it is never given to another record, not even after its own was removed.
A number that counts from the newest record would be another record's as soon as a run ends in another terminal.

The numbers are in one file of the results folder. They are given when records are listed, in the order of their age.

History of the format, newest first:
  1  first version.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from pydantic import Field

from openslob.core.disk import read_json, write_atomically
from openslob.record.model import RecordModel
from openslob.record.versions import Format

NUMBERS_VERSION = 1
NUMBERS_FILE = ".numbers.json"
# Four digits may be the year with which an id begins.
_NUMBER = re.compile(r"#?(\d{1,3})|#(\d{1,9})|(\d{4,7})")
_REMEDY = "remove it: the records get other numbers then"


class _Numbers(RecordModel):
    """The number of each folder, and that of the next."""

    numbers_version: int = NUMBERS_VERSION
    next: int = 1
    numbers: Mapping[str, int] = Field(default_factory=dict)


_FORMAT = Format(_Numbers, "the numbers of records", "numbers_version", NUMBERS_VERSION)


def known(results: Path) -> Mapping[str, int]:
    """Return the numbers of the folders in ``results`` by their names. SlobError if their file can't be read."""
    return _read(results).numbers


def give(results: Path, names: Sequence[str]) -> Mapping[str, int]:
    """Return the number of each of these folders; those without one get the next ones, in this order.

    Where nothing can be written, they have none. SlobError if the file is damaged.
    """
    there = known(results)
    if all(name in there for name in names):
        return there
    try:
        with _locked(results):
            before = _read(results)
            new = [name for name in names if name not in before.numbers]
            kept = {name: number for name, number in before.numbers.items() if (results / name).is_dir()}
            given = {name: before.next + at for at, name in enumerate(new)}
            after = _Numbers(next=before.next + len(new), numbers={**kept, **given})
            write_atomically(results / NUMBERS_FILE, json.dumps(after.model_dump(mode="json")) + "\n")
    except OSError:
        return known(results)
    return after.numbers


def read_number(text: str) -> int | None:
    """Return the number that a word is, such as 12 or #12; None if it is none."""
    found = _NUMBER.fullmatch(text)
    return int(text.removeprefix("#")) if found else None


def is_nothing_else(text: str) -> bool:
    """Return whether a word can't be the beginning of an id: it has a sign before it, or few digits."""
    found = _NUMBER.fullmatch(text)
    return found is not None and found[3] is None


def _read(results: Path) -> _Numbers:
    file = results / NUMBERS_FILE
    return _FORMAT.parse(read_json(file, _REMEDY), str(file)) if os.path.lexists(file) else _Numbers()


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep other processes from giving numbers in this folder."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
