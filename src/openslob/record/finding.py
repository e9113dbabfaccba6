"""Records of every kind: which there are, and which of them a word means. All commands find records here.

A run may be a part of another record, of one that has runs. All others are whole records; only paths and ids name
parts.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openslob.core.errors import SlobError, UsageError
from openslob.record import labels, numbers, store
from openslob.record.kinds import AnyKind, of_runs, of_single_runs
from openslob.record.kinds import every as every_kind
from openslob.record.store import RecordEntry, say_nothing

LATEST = frozenset({"latest", "last"})
_MOST_NAMED = 5
# What a record's folder begins with, and how many are read at first to find the latest one.
_TIMED = re.compile(r"\d{8}-\d{6}-")
_TIME_SIGNS, _FIRST_READ = 16, 4


@dataclass(frozen=True)
class Found:
    """A record: its kind and its path, which is a folder or, if the user named one, a file."""

    kind: AnyKind
    path: Path

    @property
    def folder(self) -> Path:
        """The folder of the record."""
        return self.path if self.path.is_dir() else self.path.parent


@dataclass(frozen=True)
class Listed:
    """A record of a folder of records; ``part_of`` is the record whose run it is: a sweep's, an endurance run's."""

    kind: AnyKind
    entry: RecordEntry[Any]
    part_of: Found | None = None

    @property
    def name(self) -> str:
        """The name that the user gave the record; that of its folder if it can't be read."""
        return self.entry.record.name if self.entry.record else self.entry.id

    @property
    def ids(self) -> set[str]:
        """The ids of the record: two if the user renamed its folder."""
        return {self.entry.id} | ({self.entry.record.id} if self.entry.record else set())

    @property
    def by_the_way(self) -> bool:
        """Whether a run or a sweep made the record for itself: the ceiling that it measured first."""
        return self.entry.record is not None and self.kind.is_by_the_way(self.entry.record)

    @property
    def busy(self) -> bool:
        """Whether there is nothing in the record yet, because its run is in progress."""
        return self.kind.says_nothing_before_the_end and self.entry.pid is not None


def has_records(folder: Path) -> bool:
    """Return whether there is a record of any kind in ``folder``."""
    return any(at(each) for each in store.list_folders(folder))


def every(results: Path, names: Collection[str] | None = None, parts: bool = True) -> list[Listed]:
    """Return all records in ``results`` and the runs of those, the oldest first, with those that can't be read.

    With ``names``, only those in folders of these names; without ``parts``, no runs of other records.
    """
    found = [
        Listed(kind, entry, whole_of(entry.path)) for kind in every_kind() for entry in kind.find(results, names, parts)
    ]
    return sorted(found, key=lambda each: store.age(each.entry))


def newest_names(results: Path) -> list[str]:
    """Return the names of the folders in ``results``, the newest first by the times that they begin with.

    Those that begin with none come first of all: what they are, only their records say.
    """
    names = [each.name for each in store.list_folders(results)]
    return sorted(names, key=lambda name: (_TIMED.match(name) is None, name), reverse=True)


def newest(results: Path, count: int) -> tuple[list[Listed], int]:
    """Return the newest whole records with the runs of those, the oldest first, and how many records there are.

    So many are returned, and no other one is read.
    """
    names = [name for name in newest_names(results) if at(results / name)]
    untimed = sum(_TIMED.match(name) is None for name in names)
    listed = every(results, names[: untimed + count])
    return among(listed, whole(listed)[-count:]), len(names)


def among(listed: Sequence[Listed], wanted: Sequence[Listed]) -> list[Listed]:
    """Return the whole records that are wanted, with the runs of those."""
    paths = {each.entry.path for each in whole(wanted)}
    return [each for each in listed if (each.part_of or each.entry).path in paths]


def whole(listed: Sequence[Listed]) -> list[Listed]:
    """Return those that are no parts of another record."""
    return [each for each in listed if each.part_of is None]


def at(path: Path) -> Found | None:
    """Return the record at a path, without reading it; None if there is none."""
    kinds = every_kind()
    # A record that lost its document may be known by another file.
    known = [(name, kind) for kind in kinds for name in kind.files[:1]]
    known += [(name, kind) for kind in kinds for name in kind.files[1:]]
    for name, kind in known:
        if os.path.lexists(path / name):
            return Found(kind, path)
    return Found(dict(known).get(path.name, of_single_runs()), path) if path.is_file() else None


def one(
    wanted: str,
    results: Path,
    tell: Callable[[str], None] = say_nothing,
    kinds: Collection[AnyKind] | None = None,
) -> Found:
    """Return the record of one of these kinds, or of any, that ``wanted`` names.

    ``wanted`` is its number (`record.numbers`); a path, also below ``results``; an id, a name, or the beginning of
    either; or ``latest``, the newest whole record (`latest`). Of several with the same name it is the newest. ``tell``
    gets the problem of each newer record that can't be read, and the ids of others with the same name.

    Raises:
        UsageError: No record is named so, those that are have another kind, or several different names begin so.

    """
    kinds = every_kind() if kinds is None else kinds
    if found := _numbered(wanted, results, kinds) or _at_path(wanted, results, kinds):
        return found
    matches = _matches(wanted, results, tell, kinds)
    chosen = matches[-1]
    if len(matches) > 1:
        others = _ids(matches[:-1])
        tell(f"{len(matches)} records are named {chosen.name}: this is the newest, {chosen.entry.id} (not {others})")
    return Found(chosen.kind, chosen.entry.path)


def several(wanted: str, results: Path, tell: Callable[[str], None] = say_nothing) -> list[Found]:
    """Return the records of runs that ``wanted`` names, as in `one`. A name means all that have it, sweeps before runs.

    ``tell`` also gets the problems of records that can't be read and may have that name, and that several records which
    have runs are taken together. ``latest`` is the newest that has a run.

    Raises:
        UsageError: As in `one`.
        SlobError: The only record with that name is still in progress.

    """
    if found := _numbered(wanted, results, of_runs()) or _at_path(wanted, results, of_runs()):
        return [found]
    matches = _matches(wanted, results, tell, of_runs())
    of_several = [each for each in matches if each.kind.has_runs]
    ended = [each for each in of_several or matches if not each.busy]
    if not ended:
        raise _in_progress(matches[-1])
    if len(ended) > 1 and of_several:
        together = f"{len(ended)} records are named {ended[-1].name}, and are taken together: {_ids(ended)}"
        tell(f"{together}; to take one alone, give its id or number")
    return [Found(each.kind, each.entry.path) for each in ended]


def nameable(wanted: str) -> str:
    """Return what the user calls a record. UsageError for what can be neither a name nor a path."""
    if not wanted.strip():
        raise UsageError("the name of the record is empty", "give a name, an id, a path or latest")
    try:
        Path(wanted).lstat()
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return wanted
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "no file can have it"
        raise UsageError(f"{wanted[:40]!r} can't be the name of a record: {why}", "see `slob list`") from None
    return wanted


def is_pointer(wanted: str) -> bool:
    """Return whether a word names another record at another time or in another folder: latest, or a number."""
    return wanted in LATEST or numbers.read_number(wanted) is not None


def _numbered(wanted: str, results: Path, kinds: Collection[AnyKind]) -> Found | None:
    """Return the record of this number; None if the word is none, or is not that of a record.

    UsageError if it is a name or a path as well: neither must be taken for the other.
    """
    number = numbers.read_number(wanted)
    name = next((each for each, of_it in numbers.known(results).items() if of_it == number), None) if number else None
    found = at(results / name) if name else None
    if found is None:
        if wanted.startswith("#"):
            raise UsageError(f"there is no record {wanted} in {results}", "see `slob list`")
        return None
    if not wanted.startswith("#"):
        also = [each for each in newest_names(results) if each != name and _has_name(results / each, wanted)]
        if (Path(wanted).is_dir() and at(Path(wanted))) or also:
            other = also[0] if also else f"./{wanted}"
            raise UsageError(f"{wanted} is both the number of {name} and a name of {other}", "give more of the id")
    if found.kind not in kinds:
        raise _other_kind(wanted, found.kind, kinds)
    return found


def shortest(folder: Path) -> str:
    """Return the shortest word that names a record of its folder of records for good: its number, or else its id.

    It gets a number if it has none, as do the older ones before it.
    """
    results = folder.parent
    try:
        word = str(give_numbers(results)[folder.name])
        found = _numbered(word, results, every_kind())
    except (SlobError, KeyError):  # no number, one that is also a name, or damaged numbers
        return folder.name
    return word if found else folder.name


def give_numbers(results: Path) -> Mapping[str, int]:
    """Return the number of each record's folder; those without one get the next, the older ones first.

    SlobError if they can't be read.
    """
    known, there = numbers.known(results), reversed(newest_names(results))
    return numbers.give(results, [name for name in there if name in known or at(results / name)])


def _has_name(folder: Path, wanted: str) -> bool:
    """Return whether a record's folder has exactly this name, by the folder's own and by the label."""
    has_label = (folder / labels.LABEL_FILE).exists()
    name = labels.of(folder).name if has_label else None
    return wanted in (folder.name, name or folder.name[_TIME_SIGNS:])


def _at_path(wanted: str, results: Path, kinds: Collection[AnyKind]) -> Found | None:
    nameable(wanted)
    found = at(Path(wanted)) or at(results / wanted)
    if found and found.kind not in kinds:
        raise _other_kind(wanted, found.kind, kinds)
    return found


def _matches(wanted: str, results: Path, tell: Callable[[str], None], kinds: Collection[AnyKind]) -> list[Listed]:
    """Return the whole records of these kinds that are named so, the oldest first, or the points: at least one."""
    if wanted in LATEST and (among := _newest_that_fit(results, kinds)):
        return [latest(among, tell, kinds)]
    if likely := _likely(wanted, results):
        fitting = [each for each in every(results, likely, parts=False) if each.kind in kinds]
        if matches := _find_named(wanted, fitting, tell):
            return matches
    listed = every(results)
    fitting = [each for each in listed if each.kind in kinds]
    if not fitting and wanted not in LATEST and (others := _find_named(wanted, whole(listed), say_nothing)):
        raise _other_kind(others[-1].entry.id, others[-1].kind, kinds)
    if not fitting:
        nothing = SlobError if wanted in LATEST else UsageError
        raise nothing(f"there are no records in {results}", _how_to_make(kinds))
    if wanted in LATEST:
        return [latest(whole(listed), tell, kinds)]
    if matches := _find_named(wanted, whole(fitting), tell) or _points(wanted, fitting):
        return matches
    if others := _find_named(wanted, whole(listed), say_nothing):
        raise _other_kind(others[-1].entry.id, others[-1].kind, kinds)
    what = "record of runs" if set(kinds) == of_runs() else " or ".join(map(str, _in_order(kinds)))
    what = "record" if len(kinds) == len(every_kind()) else what
    why = "no record has this number or name" if numbers.is_nothing_else(wanted) else "no id or name begins with it"
    raise UsageError(f"there is no {what} {wanted!r} in {results}: {why}", "see `slob list`")


def _newest_that_fit(results: Path, kinds: Collection[AnyKind]) -> list[Listed]:
    """Return the newest whole records, as many as it takes for one that `latest` can return; none if there is none."""
    names, count = newest_names(results), _FIRST_READ
    while True:
        listed = every(results, names[:count], parts=False)
        usable = [each for each in listed if _counts_as_latest(each, kinds)]
        # A record may be older than the name of its folder says.
        if usable and (count >= len(names) or store.age(usable[-1].entry)[0] >= _digits(names[count])):
            return listed
        if count >= len(names):
            return []
        count *= 4


def _counts_as_latest(each: Listed, kinds: Collection[AnyKind]) -> bool:
    asked_for = each.kind in kinds and (not each.by_the_way or set(kinds) == {each.kind})
    return asked_for and each.entry.record is not None and not each.busy and _has_what_is_asked(each, kinds)


def _has_what_is_asked(each: Listed, kinds: Collection[AnyKind]) -> bool:
    """Return whether a record has a run, if it is runs that are asked for: one that failed early may have none."""
    needs_none = set(kinds) != of_runs() or not each.kind.has_runs
    return needs_none or next(each.entry.path.glob(f"*/{store.RECORD_FILE}"), None) is not None


def _digits(name: str) -> str:
    return re.sub(r"\D", "", name[:15])


def _likely(wanted: str, results: Path) -> list[str]:
    """Return the names of the folders in ``results`` whose records may be named so: all, if folders were renamed."""
    reduced = store.in_folders(wanted)
    return [
        name
        for name in newest_names(results)
        if not _TIMED.match(name)
        or name.startswith(wanted)
        or name[_TIME_SIGNS:].startswith(reduced)
        or (results / name / labels.LABEL_FILE).exists()
    ]


def _find_named(wanted: str, listed: Sequence[Listed], tell: Callable[[str], None]) -> list[Listed]:
    """Return the records whose id is ``wanted``, or else whose name is, or else whose id or name begin so."""
    if exact := [each for each in listed if wanted in each.ids]:
        return exact
    if named := [each for each in listed if each.name == wanted]:
        for each in listed:
            if each.entry.problem:
                tell(each.entry.problem)
        return named
    # A number that is not given, or no longer, must not be taken for the beginning of an id.
    if numbers.is_nothing_else(wanted):
        return []
    begin = [each for each in listed if each.name.startswith(wanted) or any(i.startswith(wanted) for i in each.ids)]
    by_id = [each for each in begin if not each.name.startswith(wanted)]
    if len(begin) > 1 and (by_id or len({each.name for each in begin}) > 1):
        raise _ambiguous(wanted, begin)
    return begin


def _points(wanted: str, listed: Sequence[Listed]) -> list[Listed]:
    points = [each for each in listed if each.part_of is not None]
    if exact := [each for each in points if wanted in each.ids]:
        return exact
    if numbers.is_nothing_else(wanted):
        return []
    begin = [each for each in points if any(i.startswith(wanted) for i in each.ids)]
    if len(begin) > 1:
        raise _ambiguous(wanted, begin)
    return begin


def latest(
    listed: Sequence[Listed],
    tell: Callable[[str], None] = say_nothing,
    kinds: Collection[AnyKind] | None = None,
) -> Listed:
    """Return the newest record of these kinds that can be read and is not in progress; if none can, the newest.

    The ceiling that a run or a sweep measured for itself is the newest only among raw measurements. ``tell`` gets which
    newer ones are passed over, and why.
    """
    kinds = every_kind() if kinds is None else kinds
    of_kinds = [each for each in listed if each.kind in kinds]
    asked_for = [each for each in of_kinds if not each.by_the_way]
    # Who names one kind by "latest" means the latest of these, whoever made it.
    fitting = asked_for if asked_for and len(kinds) > 1 else of_kinds
    readable = [each for each in fitting if each.entry.record is not None and not each.busy]
    usable = [each for each in readable if _has_what_is_asked(each, kinds)]
    chosen = usable[-1] if usable else fitting[-1]
    for newer in listed[listed.index(chosen) + 1 :]:
        if newer.by_the_way:
            continue
        if newer.kind not in kinds:
            if of_single_runs() in kinds:
                tell(f"{newer.entry.id} is newer, but {with_article(newer.kind)}")
        elif newer.entry.problem:
            tell(newer.entry.problem)
        elif newer in readable:
            tell(f"{newer.entry.id} is newer, but has no runs")
        else:
            tell(f"{newer.entry.id} is newer, but still in progress (process {newer.entry.pid})")
    return chosen


def whole_of(run: Path) -> Found | None:
    """Return the record that a run's folder is a part of; None if it is a whole one."""
    with_runs = (kind for kind in every_kind() if kind.has_runs)
    return next((Found(kind, run.parent) for kind in with_runs if os.path.lexists(run.parent / kind.files[0])), None)


def _ids(listed: Sequence[Listed]) -> str:
    names = ", ".join(each.entry.id for each in listed[-_MOST_NAMED:])
    more = len(listed) - _MOST_NAMED
    return f"{names} and {more} more" if more > 0 else names


def _how_to_make(kinds: Collection[AnyKind]) -> str:
    makers = [f"`{kind.labels.maker}`" for kind in _in_order(kinds)][:2]
    return f"{' or '.join(makers)} makes one; --results names another folder"


def _ambiguous(wanted: str, listed: Sequence[Listed]) -> UsageError:
    return UsageError(
        f"{len(listed)} records begin with {wanted!r}: {_ids(listed)}", "give more characters of the id or the name"
    )


def _other_kind(wanted: str, kind: AnyKind, kinds: Collection[AnyKind]) -> UsageError:
    asked = "a record of runs" if set(kinds) == of_runs() else " or ".join(map(with_article, _in_order(kinds)))
    return UsageError(f"{wanted} is {with_article(kind)}, not {asked}", f"`slob show {wanted}` shows it")


def with_article(kind: object) -> str:
    """Return the name of a kind as one of it: a sweep, an endurance run."""
    name = str(kind)
    return f"{'an' if name[0] in 'aeio' else 'a'} {name}"


def _in_order(kinds: Collection[AnyKind]) -> list[AnyKind]:
    return [each for each in every_kind() if each in kinds]


def _in_progress(listed: Listed) -> SlobError:
    return SlobError(f"{listed.entry.id} is still in progress (process {listed.entry.pid})", "wait for its end")
