"""A report as data: its title, then blocks in the order of reading. Each renderer shows the same document.

`terminal` renders it as text and as the short answer, `html.page` as a page, `notebook` as a piece of HTML. Nothing
here needs the drawing library: pictures are made when a page is rendered. A report is on one record or on several.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from openslob.analyze.required import is_asked
from openslob.analyze.verdict_registry import Severity, VerdictGroup, gravest, row_of, severity_of
from openslob.record.model import DocumentModel, Holds, Status, Verdict
from openslob.report.checks import Check, check_of, what_needs_time
from openslob.report.record_view import SIGNS, why_incomplete

if TYPE_CHECKING:
    from openslob.report.charts.picture import Picture

# Letters of a cell that is aligned as a number, and of a text that needs no wide column.
LONGEST_NUMBER, LONGEST_TEXT = 24, 60
# Letters of the names of records in a title.
LONGEST_TITLE = 60
# Pictures, and what keeps others from being drawn; empty if nothing does.
MadePictures = tuple[Sequence["Picture"], str]


@dataclass(frozen=True)
class Paragraph:
    """Running text after a ``lead``, beside which its further lines stand; a ``plain`` one begins at the margin.

    A plain one that is ``wide`` is as wide as the screen.
    """

    text: str
    lead: str = ""
    plain: bool = False
    wide: bool = False


@dataclass(frozen=True)
class ItemList:
    """Short texts, one below the other."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class LabelledTexts:
    """Texts beside their labels, aligned: there is room for labels of ``width`` letters.

    ``figures`` end in one column.
    """

    rows: Sequence[tuple[str, str]]
    width: int = 0
    figures: bool = False


@dataclass(frozen=True)
class TextTable:
    """A table of cells that are texts already; the first ``keys`` columns name the row.

    ``texts`` are the numbers of the columns with words, which are left-aligned and may be wrapped. Of the rows, the
    terminal shows the ``few`` first; None: all.
    """

    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    keys: int = 1
    texts: frozenset[int] = frozenset({0})
    few: int | None = None

    @classmethod
    def ending_in_text(cls, head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> TextTable:
        """Return a table whose last column has words, too."""
        return cls(head, rows, texts=frozenset({0, len(head) - 1}))

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """Kind of each column: ``number``, ``text``, or ``long`` text."""
        longest = [max((len(row[at]) for row in self.rows), default=0) for at in range(len(self.head))]
        return tuple(
            "long" if length > LONGEST_TEXT else "text" if at in self.texts or length > LONGEST_NUMBER else "number"
            for at, length in enumerate(longest)
        )


@dataclass(frozen=True)
class TextPicture:
    """Lines whose blanks count; ``draw`` makes them as wide as the screen.

    A ``plot`` in characters is for the terminal: a page with pictures does without.
    """

    draw: Callable[[int | None], Sequence[str]]
    plot: bool = False


Part = Paragraph | ItemList | LabelledTexts | TextTable | TextPicture


@dataclass(frozen=True)
class Section:
    """A heading with what belongs to it; one without parts is not shown.

    The terminal shows the ``title`` in capitals, and ``rest`` after it. ``short``: its parts are in the short answer.
    ``page_only``: the terminal has no room for it. ``short_only``: it says in short what the whole report says.
    """

    title: str
    parts: tuple[Part, ...]
    rest: str = ""
    short: bool = False
    page_only: bool = False
    short_only: bool = False

    @property
    def table(self) -> TextTable | None:
        """Its first table; None if it has none."""
        return next((part for part in self.parts if isinstance(part, TextTable)), None)

    def without_plots(self) -> Section:
        """Return the section without plots in characters."""
        return replace(
            self, parts=tuple(part for part in self.parts if not (isinstance(part, TextPicture) and part.plot))
        )


@dataclass(frozen=True)
class Answer:
    """The result in sentences. The terminal shows the first one; its sections have what the others say.

    ``page_only``: they have what the first one says, too.
    """

    sentences: tuple[str, ...]
    page_only: bool = False


@dataclass(frozen=True)
class VerdictLine:
    """A verdict as it is shown: its outcome, also in words, its name, why, and what follows if it fails."""

    outcome: Holds
    outcome_text: str
    name: str
    why: str
    severity: Severity
    group: VerdictGroup

    @property
    def sign(self) -> str:
        """Sign of the outcome."""
        return SIGNS[self.outcome][0]

    @property
    def word(self) -> str:
        """Whether it holds; if it fails, what follows."""
        return {Holds.HOLDS: "holds", Holds.UNKNOWN: "can't tell", Holds.FAILS: self.severity.value}[self.outcome]

    @property
    def in_words(self) -> str:
        """The outcome, and what follows if it is that the verdict fails."""
        word = SIGNS[self.outcome][1]
        return f"{word}, {self.severity.value}" if self.outcome is Holds.FAILS else word

    @property
    def style(self) -> str:
        """The classes of its style: the outcome, and the severity of one that fails."""
        return f"{self.outcome.value} {self.severity.value}" if self.outcome is Holds.FAILS else self.outcome.value


@dataclass(frozen=True)
class Verdicts:
    """The verdicts on a record."""

    judged: tuple[Verdict, ...]
    each: ClassVar[str] = ""

    @property
    def lines(self) -> tuple[VerdictLine, ...]:
        """A line for each verdict, failed ones first."""
        return worst_first(
            [
                VerdictLine(
                    verdict.verdict,
                    SIGNS[verdict.verdict][1],
                    in_words(verdict.name),
                    verdict.why,
                    severity_of(verdict.name, verdict.figures),
                    row_of(verdict.name).group,
                )
                for verdict in self.judged
            ]
        )

    @property
    def checks(self) -> tuple[Check, ...]:
        """Each verdict that answers what was asked, in the order of judgement."""
        return tuple(check_of(each) for each in self.judged if is_asked(each))

    @property
    def needing_time(self) -> dict[str, str]:
        """What the load was too short to tell, by the verdicts that would."""
        return what_needs_time(self.judged)


@dataclass(frozen=True)
class VerdictsOfSeveral:
    """The verdicts on several records, given with their names; ``each`` of the records is such as a "run"."""

    given: tuple[tuple[str, Sequence[Verdict]], ...]
    each: str

    @property
    def lines(self) -> tuple[VerdictLine, ...]:
        """A line for each verdict's name over the records, the worst first."""
        names = dict.fromkeys(verdict.name for _, verdicts in self.given for verdict in verdicts)
        return worst_first([self._summarize(name) for name in names])

    @property
    def checks(self) -> tuple[Check, ...]:
        """A check for each verdict's name over the records, the gravest of them with its number."""
        asked = [each for _, verdicts in self.given for each in verdicts if is_asked(each)]
        names = dict.fromkeys(each.name for each in asked)
        return tuple(self._gravest([check_of(each) for each in asked if each.name == name]) for name in names)

    @property
    def needing_time(self) -> dict[str, str]:
        """What the loads were too short to tell, by the verdicts that would."""
        return what_needs_time([each for _, verdicts in self.given for each in verdicts])

    def _gravest(self, checks: Sequence[Check]) -> Check:
        outcome = next(one for one in SIGNS if any(each.outcome is one for each in checks))
        same = [each for each in checks if each.outcome is outcome]
        worst = min(same, key=lambda each: list(Severity).index(each.severity))
        share = "" if len(checks) == 1 else f"{len(same)} of {len(checks)} {self.each}s: "
        return replace(worst, why=f"{share}{worst.why}")

    def _summarize(self, name: str) -> VerdictLine:
        """Return the verdicts of one name as a line: the worst outcome, its number, and the first reason."""
        judged = [(called, one) for called, verdicts in self.given for one in verdicts if one.name == name]
        outcome = next(one for one in SIGNS if any(verdict.verdict is one for _, verdict in judged))
        same = [(called, verdict) for called, verdict in judged if verdict.verdict is outcome]
        called, verdict = same[0]
        why = verdict.why if outcome is Holds.HOLDS else f"{called}: {verdict.why}"
        severity = gravest(severity_of(name, each.figures) for _, each in same)
        words = f"{SIGNS[outcome][1]} in {len(same)} of {len(judged)}"
        return VerdictLine(outcome, words, in_words(name), why, severity, row_of(name).group)


def worst_first(lines: Sequence[VerdictLine]) -> tuple[VerdictLine, ...]:
    """Return the lines in the order of `SIGNS`."""
    return tuple(sorted(lines, key=lambda line: list(SIGNS).index(line.outcome)))


def in_words(name: str) -> str:
    """Return an identifier with blanks in place of underscores."""
    return name.replace("_", " ")


Judgement = Verdicts | VerdictsOfSeveral
Block = Section | Answer | Judgement


@dataclass(frozen=True)
class Title:
    """What a report is on: a ``noun`` such as "proof" with its id, and its ``subject``, the title of the page.

    ``about`` is the second line of the text report. ``warnings`` must be read first. ``incomplete`` says why the record
    is not complete.
    """

    id: str
    name: str
    noun: str
    subject: str
    started: str
    version: str
    status: Status
    about: str = ""
    warnings: tuple[str, ...] = ()
    incomplete: str = ""

    @property
    def banner(self) -> str:
        """Why the record is not complete, as a sentence; empty for a complete one."""
        return f"This {self.noun} is {self.status.value}: {self.incomplete}" if self.incomplete else ""

    @property
    def in_short(self) -> str:
        """The name of the record, and why it is not complete."""
        return f"{self.name} ({self.status.value}: {self.incomplete})" if self.incomplete else self.name

    @property
    def heading(self) -> str:
        """The title of the page."""
        return f"{self.name}: {self.subject}"

    @property
    def introduction(self) -> str:
        """The record, when it was begun and with what, and what it is about, in sentences."""
        what = f"{self.noun.capitalize()} {self.id}, started {self.started}, openslob {self.version}."
        return f"{what} {self.about[:1].upper()}{self.about[1:]}." if self.about else what

    @property
    def remarks(self) -> tuple[str, ...]:
        """What must be read first."""
        return (*([self.banner] if self.banner else []), *self.warnings)


@dataclass(frozen=True)
class TitleOfSeveral:
    """What a report on several records is on: the title of its page, its introduction, and what must be read first."""

    heading: str
    introduction: str
    remarks: tuple[str, ...] = ()

    @property
    def in_short(self) -> str:
        """The same as the heading."""
        return self.heading


@dataclass(frozen=True)
class Screen:
    """The answer on one screen: at most 24 lines at 80 columns.

    ``subject`` is a line: the product, where it ran, and its load. ``answer`` are paragraphs: the first sentence is the
    answer with what limits it. ``parts`` are small tables and labelled figures. ``next`` are commands, each with why.

    Checks are those of the report, or ``judged`` where the screen has others. Those that are ``said``, by their names,
    are not shown: the answer has them, or they are not for this screen. Commands call the record ``called``: its id, if
    that is left out.
    """

    subject: str
    answer: tuple[str, ...]
    parts: tuple[Part, ...] = ()
    next: tuple[tuple[str, str], ...] = ()
    called: str = ""
    said: frozenset[str] = frozenset()
    judged: Judgement | None = None


@dataclass(frozen=True)
class Document:
    """A report. ``files`` are the lines that name the record's files and what draws them.

    One that is not ``titled`` begins with its first block in a terminal. ``screen`` is what a command shows of it.
    ``key_figures`` are up to four figures, with what they are, that stand for themselves: those of a single page.
    """

    title: Title | TitleOfSeveral
    blocks: tuple[Block, ...]
    files: tuple[str, ...] = ()
    pictures: Callable[[], MadePictures] = field(default=lambda: ((), ""))
    titled: bool = True
    screen: Screen | None = None
    key_figures: tuple[tuple[str, str], ...] = ()

    @property
    def headline(self) -> str:
        """The result in one sentence; empty if there is none."""
        return next(iter(self.answers), "")

    @property
    def answers(self) -> tuple[str, ...]:
        """The result in sentences."""
        return tuple(text for block in self.blocks if isinstance(block, Answer) for text in block.sentences if text)

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """All verdicts on the only record."""
        return tuple(each for block in self.blocks if isinstance(block, Verdicts) for each in block.judged)

    @property
    def judgement(self) -> Judgement | None:
        """The block of verdicts; None if the report is on what has no verdicts by nature."""
        return next((block for block in self.blocks if isinstance(block, Judgement)), None)

    @property
    def sections(self) -> tuple[Section, ...]:
        """The sections that have something to show."""
        return tuple(block for block in self.blocks if isinstance(block, Section) and block.parts)


def title_of(
    record: DocumentModel, noun: str, subject: str, about: str = "", why: str = "", warnings: tuple[str, ...] = ()
) -> Title:
    """Return the title of a record's report; ``why`` it is not complete."""
    return Title(
        id=record.id,
        name=record.name,
        noun=noun,
        subject=subject,
        started=f"{record.started_at.replace('T', ' ').removesuffix('Z')} UTC",
        version=record.openslob_version,
        status=record.status,
        about=about,
        warnings=warnings,
        incomplete="" if record.status is Status.COMPLETE else why or why_incomplete(record.status),
    )


def notes(texts: Iterable[str]) -> Section:
    """Return the section of remarks."""
    return Section("Notes", paragraphs(texts))


def paragraphs(texts: Iterable[str]) -> tuple[Paragraph, ...]:
    """Return a paragraph for each text."""
    return tuple(Paragraph(text) for text in texts)


def plain_paragraphs(texts: Iterable[str], lead: str = "") -> tuple[Paragraph, ...]:
    """Return a paragraph at the margin for each text, each after the same ``lead``."""
    return tuple(Paragraph(text, lead, plain=True) for text in texts)


def named_paragraphs(texts: Iterable[tuple[str, str]]) -> tuple[Paragraph, ...]:
    """Return a paragraph for each text, after its name."""
    return tuple(Paragraph(text, f"{name}: ") for name, text in texts)


def shorten_names(names: Sequence[str]) -> str:
    """Return the names of records, given as names or paths, as a title: as many as have room, and how many follow."""
    called = [_cut(Path(name).name or name) for name in names]
    lengths = list(accumulate(len(name) for name in called))
    shown = max(sum(length <= LONGEST_TITLE for length in lengths), 1)
    return ", ".join(called[:shown]) + (f" and {len(called) - shown} more" if called[shown:] else "")


def _cut(name: str) -> str:
    return name if len(name) <= LONGEST_TITLE else f"{name[: LONGEST_TITLE - 1]}…"
