"""What a kind of measurement is: all that commands know of a record, whatever it is a record of."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from openslob.core.errors import SlobError, UsageError
from openslob.core.places import server_of
from openslob.core.workload import Workload, updates_asked
from openslob.record import finding, store
from openslob.record.finding import Found, Listed
from openslob.record.kinds import KindOfDocument, KindOfRecord, every, of_single_runs
from openslob.record.model import Holds, RunRecord, Status, Verdict
from openslob.record.store import RECORD_FILE, Document, Record, say_nothing
from openslob.report.format import number

if TYPE_CHECKING:
    from openslob.analyze.compare import ComparedValues
    from openslob.analyze.curves.points import ParameterValue
    from openslob.analyze.derive import Derived
    from openslob.kinds.view import Follower
    from openslob.report.document import Document as Report

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Wanted:
    """How a record is to be shown: at another ``price`` of the server than its own. ``tell`` gets what is missing."""

    price: str | None = None
    tell: Callable[[str], None] = say_nothing


AS_IT_IS = Wanted()


class Kind(KindOfRecord[Record]):
    """A kind of measurement.

    ``commands`` has the module of each command that another distribution brings, by its name; ``register(app)`` of the
    module adds it. ``why_not_derived`` says why its own figures can't be derived again; else it is empty.
    ``has_own_page``: a page of a record alone shows its document, and not its runs; ``pages_show_several``:
    `document_of_several` makes a report of more. ``is_ceiling``: its records can be drawn beside runs, as what storage
    gives. ``has_ratios``: `ratios` are what it is exported as.
    ``chooses_runs``: which of the runs in its folder count is in the record alone, and `given` says it.
    """

    commands: ClassVar[Mapping[str, str]] = {}
    why_not_derived: ClassVar[str] = ""
    has_own_page: ClassVar[bool] = True
    pages_show_several: ClassVar[bool] = False
    is_ceiling: ClassVar[bool] = False
    seen_live: ClassVar[bool] = False
    has_ratios: ClassVar[bool] = False
    chooses_runs: ClassVar[bool] = False

    def describe(self, _record: Record) -> str:
        """Return what messages call a record of this kind."""
        return self.labels.name

    @abstractmethod
    def row(self, record: Record) -> Row:
        """Return the main figures for `slob list --json`, by name; None where one is unknown."""

    def listed_as(self, _record: Record) -> str:
        """Return what `slob list` calls a record of this kind."""
        return self.labels.listed

    def server(self, record: Record) -> str:
        """Return the server that the record is of, for `slob list`; empty if it is of none."""
        return server_of(str(getattr(record, "target", "")))

    def answer(self, record: Record, _runs: Sequence[RunRecord] = ()) -> str:
        """Return the main figure in a few words, for `slob list`; ``_runs`` are those of the record, if it has any."""
        rate = self.row(record).get("ops_per_s")
        return self.contents(record) if rate is None else f"{number(rate)} ops/s"

    def contents(self, _record: Record) -> str:
        """Return what the record consists of, as a remark in `slob list`; empty if there is nothing to say."""
        return ""

    def of_part(self, _whole: Found) -> Row:
        """Return what the row of a part says of the record that it is a part of, beside its id."""
        return {}

    def read_as(self, path: Path, wanted: Wanted) -> Record:
        """Return the record as it is wanted. UsageError for a price of what can have none."""
        self.refuse_price(wanted.price)
        return self.read(path)

    def refuse_price(self, price: str | None) -> None:
        """Raise UsageError for a price: its records have no figures of cost."""
        if price:
            why = f"--price is for runs and sweeps, and this is {finding.with_article(self)}"
            raise UsageError(why, "leave it out")

    @abstractmethod
    def document(self, record: Record, folder: Path | None = None, wanted: Wanted = AS_IT_IS) -> Report:
        """Return the report; if ``folder`` is given, its last lines name the record's files."""

    def document_of_several(self, _records: Sequence[Record]) -> Report:
        """Return the report of several records, where there is one."""
        raise NotImplementedError

    def documents(self, found: Found) -> list[tuple[str, Path]]:
        """Return the files that a baseline keeps of a record of runs, each with the folder that it gets there."""
        runs = [run.id for run in self.runs_of(found) if run.status is Status.COMPLETE]
        return [(f"{found.folder.name}/{run}", found.folder / run / RECORD_FILE) for run in runs]

    def left_out(self, found: Found) -> list[RunRecord]:
        """Return the runs of a record that no baseline keeps, because they are not complete."""
        return [run for run in self.runs_of(found) if run.status is not Status.COMPLETE]

    def runs_of(self, found: Found) -> list[RunRecord]:
        """Return the runs of a record that can be read."""
        return [entry.record for entry in store.find(found.folder) if entry.record]

    def given(self, _record: Record, _folder: Path) -> Mapping[Path, Mapping[str, ParameterValue]]:
        """Return the parameters of the server that runs were made with, by the folder of each run that counts."""
        return {}

    def against(self, _record: Record) -> ComparedValues | None:
        """Return the parameter whose two values the record compares, if it compares any."""
        return None

    def follow(self, folder: Path) -> Follower:
        """Return what follows a record while it grows: by default its runs, of which the last is shown.

        Nothing is read yet. SlobError if there is nothing to show. A kind that shows its records without having runs is
        ``seen_live``.
        """
        if not self.has_runs or next(folder.glob(f"*/{RECORD_FILE}"), None) is None:
            raise SlobError(f"{folder} has no run that can be shown", "`slob show` prints the report")
        return cast(Kind[Any], of_single_runs()).follow(folder)

    def ratios(self, _record: Record) -> Sequence[Row]:
        """Return a row for each ratio that was measured, if the kind ``has_ratios``."""
        return ()

    def numbers(self, _folder: Path) -> Iterator[Derived]:
        """Yield each figure of the record's own document beside the same one, derived again from its parts."""
        return iter(())


class DocumentKind(KindOfDocument[Document], Kind[Document]):
    """A kind of measurement whose records are one document each."""


def every_kind() -> Sequence[Kind[Any]]:
    """Return every installed kind, by rank. SlobError when one can't be loaded."""
    return cast(Sequence[Kind[Any]], every())


def commands() -> Mapping[str, str]:
    """Return the module of each command that kinds bring, by its name."""
    return {name: module for kind in every_kind() for name, module in kind.commands.items()}


def list_followable() -> list[Kind[Any]]:
    """Return the kinds whose records can be followed."""
    return [kind for kind in every_kind() if kind.is_of_runs or kind.seen_live]


def with_ratios() -> list[Kind[Any]]:
    """Return the kinds whose records are exported as ratios."""
    return [kind for kind in every_kind() if kind.has_ratios]


def kind_of(record: Found | Listed) -> Kind[Any]:
    """Return the kind of a record."""
    return cast(Kind[Any], record.kind)


def list_failed(verdicts: Sequence[Verdict]) -> list[str]:
    """Return the names of the verdicts that fail."""
    return [each.name for each in verdicts if each.verdict is Holds.FAILS]


def describe_load(workload: Mapping[str, Any]) -> Row:
    """Return what the row of a record says of its load."""
    load = Workload.model_validate(workload)
    mode = load.mode.value if load.mode else None
    return {"sessions": load.total_sessions, "update_pct": updates_asked(workload), "mode": mode}


def follow(folder: Path) -> Follower:
    """Return the follower of the record in a folder, after a first look. SlobError if there is none to be shown."""
    found = finding.at(folder)
    if found is None:
        raise SlobError(f"{folder} has no record", "name the folder of a run or of a sweep; `slob list` shows them")
    follower = kind_of(found).follow(folder)
    follower.poll()
    return follower
