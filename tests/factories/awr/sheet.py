"""A report that is being written, and what must be read from it."""

from __future__ import annotations

from dataclasses import dataclass

from factories.awr.described import Database
from factories.awr.printing import Figure
from factories.awr.tables import Table, page_of, text_of

VERSIONS = ("11.2.0.2", "11.2.0.4", "12.1", "12.2", "18c", "19c")
_RELEASES = dict(
    zip(
        VERSIONS,
        ("11.2.0.2.0", "11.2.0.4.0", "12.1.0.2.0", "12.2.0.1.0", "18.0.0.0.0", "19.0.0.0.0"),
        strict=True,
    )
)
Place = tuple[object, ...]  # a figure of the model: attribute, then keys, numbers of rows and attributes
Written = Figure | str | int | bool


@dataclass(frozen=True, slots=True)
class Layout:
    """What a report looks like: the version that printed it, as text or as a page."""

    version: str
    is_html: bool = False

    @property
    def release(self) -> str:
        return _RELEASES[self.version]

    @property
    def decimals(self) -> int:
        """Decimals of most figures: a page prints one more."""
        return 2 if self.is_html else 1

    def since(self, version: str) -> bool:
        return VERSIONS.index(self.version) >= VERSIONS.index(version)


class Sheet:
    """Collects the parts of a report, and by its place in the model each figure and name that they print."""

    def __init__(self, layout: Layout, database: Database, mark: str) -> None:
        self.layout = layout
        self.database = database
        self.mark = mark  # with the database's name, at the end of a text's titles
        self.parts: list[str] = []
        self.written: dict[Place, Written] = {}
        self.ignored: list[str] = []  # titles of sections that nobody reads

    def figure(self, place: Place, figure: Figure) -> str:
        """Note what is printed for ``place`` and return the text."""
        if figure.value is not None:
            self.written.setdefault(place, figure)
        return figure.text

    def word(self, place: Place, text: str | int | None, width: int = 0) -> str:
        """The same for a name or an identifier; in text it is cut at ``width``."""
        if text is None or text == "":
            return ""
        shown = self.shown(text, width) if isinstance(text, str) else text
        self.written.setdefault(place, shown)
        return str(shown)

    def shown(self, name: str, width: int) -> str:
        """A name as it can be read: cut in text, and with single blanks in a page."""
        if self.layout.is_html:
            return " ".join(name.split())
        return name[: width or None].rstrip()

    def note(self, place: Place, value: Written) -> None:
        """Note what must be read for ``place``, whatever prints it."""
        self.written.setdefault(place, value)

    def add(self, table: Table) -> None:
        has_summaries = self.layout.since("11.2.0.4")
        self.parts.append(page_of(table, has_summaries) if self.layout.is_html else text_of(table, self.mark))

    def text(self, *lines: str) -> None:
        """Add lines to a text report."""
        if not self.layout.is_html:
            self.parts.append("\n".join(lines) + "\n\n")

    def ignore(self, table: Table) -> None:
        """Add a section that is not read."""
        self.ignored.append(table.title)
        self.add(table)
