"""The record of a comparison of two servers or settings in pairs of runs, `ab.json`.

It is a folder, ``results/<time>-<name>/``, with `ab.json` and the folders of its runs, which are ordinary records. The
file is replaced as a whole after every run.

History of the format, newest first:
  1  first version.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import Field

from openslob.record.model import DocumentModel, RecordModel, Status, Verdict
from openslob.record.parts import Load
from openslob.record.store import DocumentFolder
from openslob.record.versions import Format

AB_VERSION = 1
AB_FILE = "ab.json"
A, B = "A", "B"


class AbSide(RecordModel):
    """One side: what the user gave, without passwords, and what that means.

    ``target`` is the server. ``settings`` are the server's own that it is given, ``server`` the fields of a managed
    server's specification. ``command`` are the words of the command that prepares the server; without a password.
    """

    text: str
    target: str
    settings: Mapping[str, str] = Field(default_factory=dict)
    server: Mapping[str, Any] = Field(default_factory=dict)
    command: tuple[str, ...] = ()


class AbRun(RecordModel):
    """A run of a pair, pairs being numbered from 1; ``side`` is A or B.

    ``run`` is the folder of the run in the record's folder; None if there is none. ``figures`` are some of its own;
    none if it failed. ``why`` says why it has none, or not the one that decides. ``server_started_at`` is by the
    server's clock. ``made_again``: a busy host lost its window, and the next run stands in its place.
    """

    pair: int
    side: str
    run: str | None = None
    figures: Mapping[str, float | None] = Field(default_factory=dict)
    failed_verdicts: tuple[str, ...] = ()
    why: str = ""
    server_started_at: str | None = None
    made_again: bool = False


class AbLook(RecordModel):
    """A look at the first ``pairs``, after a ``share`` of the time: B / A with the interval that holds over all looks.

    ``distance`` is how many standard errors the interval is wide on each side. None: it was too early.
    """

    pairs: int
    share: float = Field(ge=0, le=1)
    distance: float | None = None
    ratio: float | None = None
    low: float | None = None
    high: float | None = None


class AbRatio(RecordModel):
    """How a figure compares: the medians of both sides, and B / A over the pairs with the interval of the last look."""

    pairs: int = 0
    a: float | None = None
    b: float | None = None
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    why: str = ""


class AbRecord(DocumentModel):
    """The request of a comparison, its runs, the looks at them, and what it comes to.

    ``figure`` decides. ``within_pct`` is the difference that does not matter, ``limit_s`` the time that it may take,
    ``spent_s`` what it took. ``until_decided``: it is looked at after every pair, and ends once it is decided;
    otherwise once, at the end. ``decision`` is a `Decision`.
    """

    ab_version: int = AB_VERSION
    kind: str = "ab"
    id: str
    name: str
    status: Status = Status.INTERRUPTED
    started_at: str
    openslob_version: str
    environment: Mapping[str, Any] = Field(default_factory=dict)
    product: str = ""
    workload: Load
    sources: Mapping[str, str] = Field(default_factory=dict)
    sides: tuple[AbSide, AbSide]
    figure: str
    within_pct: float
    until_decided: bool
    limit_s: float
    spent_s: float = 0.0
    runs: tuple[AbRun, ...] = ()
    looks: tuple[AbLook, ...] = ()
    decision: str = "undecided"
    ratios: Mapping[str, AbRatio] = Field(default_factory=dict)
    verdicts: tuple[Verdict, ...] = ()
    errors: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def find_lacks(self) -> Iterator[str]:
        """Yield which sides it names and does not have, and the ratios of its runs."""
        yield from (f"there is no side {side!r}" for side in {each.side for each in self.runs} - {A, B})
        if self.status is Status.COMPLETE and any(each.figures for each in self.runs) and not self.ratios:
            yield "it has runs and no ratios"

    @property
    def pairs_begun(self) -> int:
        """The number of pairs that were begun."""
        return max((each.pair for each in self.runs), default=0)

    @property
    def discarded(self) -> tuple[AbRun, ...]:
        """The runs that lost their window, in whose place others were made."""
        return tuple(each for each in self.runs if each.made_again)

    @property
    def last_look(self) -> AbLook | None:
        """The look that decided, or the last one; None before there was one."""
        return self.looks[-1] if self.looks else None


class AbFolder(DocumentFolder[AbRecord]):
    """The folder of a comparison while it is in progress."""

    form = Format(AbRecord, "the record of a comparison in pairs", "ab_version", AB_VERSION)
    file_name = AB_FILE


load = AbFolder.load
