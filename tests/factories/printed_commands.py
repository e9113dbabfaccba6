"""The commands that the project prints: in README and docs, in help texts, and in the hints of the program itself.

A block of code that a machine of CI can't run has a comment above it that says why::

    <!-- walk: needs a second host -->

Such blocks, and commands within sentences, are parsed by the command line; all others run, too (tests/real/test_walk.py
and `make walk`). What a reader has before a block, such as records, is made by commands in a comment above it::

    <!-- walk first:
    slob load --target big
    -->

A block after ``<!-- printed: ... -->`` is output, which `tools/generate_docs.py` makes.
"""

from __future__ import annotations

import ast
import itertools
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from factories.paths import ROOT, SOURCE

DOCS = ROOT / "docs"
PAGES = (ROOT / "README.md", *sorted(DOCS.rglob("*.md")), ROOT / "bench" / "README.md", ROOT / "CONTRIBUTING.md")

_BLOCK = re.compile(
    r"(?:^<!-- walk: (?P<needs>[^\n]*?) -->\n+|^<!-- walk first:\n(?P<first>(?:(?!-->).*\n)+?)-->\n+"
    r"|^<!-- (?P<printed>printed): [^\n]* -->\n)?"
    r"^```(?P<kind>\w*)\n(?P<text>(?s:.*?))^```",
    re.MULTILINE,
)
_INLINE = re.compile(r"(?<!`)`(slob [^`\n]+)`")
# A line of a block that is typed: other blocks show output, files or syntax.
_COMMAND = re.compile(r"^ *(?:slob|make|python|pip|\.venv/|bench/)(?!:)", re.MULTILINE)
# The program's own texts name commands in backquotes, after a colon, or on lines of their own.
_HINT = re.compile(r"(?:`|: |^ {2,})(slob (?!never )[a-z][^`\n,;()]*)", re.MULTILINE)
_NAMED = re.compile(r"\bslob ")
# Languages of blocks that a shell reads.
_SHELL = frozenset({"", "sh", "bash", "console"})
# A word of a sentence that stands for something: RECORD, NAME=…, or left out.
PLACEHOLDER = re.compile(r"[A-Z][A-Z_]*|\.\.\.|…|.*….*|\|.*")


@dataclass(frozen=True)
class Printed:
    """A printed command: where, its words after `slob`, and whether it can be typed as it is."""

    place: str
    words: tuple[str, ...]
    whole: bool


@dataclass(frozen=True)
class Block:
    """A block of shell commands of a page, and what it needs that a machine of CI may lack (empty: nothing).

    ``first`` are commands that are not shown, which make what the reader has before.
    """

    place: str
    needs: str
    text: str
    first: str = ""

    @property
    def lines(self) -> list[str]:
        """Its commands; those with continued lines are one, and so are loops."""
        return self._lines(self.text)

    @property
    def typed(self) -> list[str]:
        """Its commands after those that make what the reader has."""
        return [*self._lines(self.first), *self.lines]

    @staticmethod
    def _lines(shown: str) -> list[str]:
        text = re.sub(r"\\\n\s*", " ", shown)
        return [one for one in re.findall(r"^for (?:.*\n)+?done$|^.+$", text, re.MULTILINE) if one.strip()]


def blocks(page: Path) -> Iterator[Block]:
    """Yield the blocks of a page that begin with a command."""
    text = page.read_text(encoding="utf-8")
    for match in _BLOCK.finditer(text):
        if not match["printed"] and match["kind"] in _SHELL and _COMMAND.search(match["text"]):
            place = f"{page.relative_to(ROOT)}:{text.count(chr(10), 0, match.start('text'))}"
            yield Block(place, match["needs"] or "", match["text"], match["first"] or "")


def printed() -> Iterator[Printed]:
    """Yield every command line of `slob` that the project prints."""
    for page in PAGES:
        yield from _of_page(page)
    for file in sorted(SOURCE.rglob("*.py")):
        yield from _of_source(file)


def _of_page(page: Path) -> Iterator[Printed]:
    for block in blocks(page):
        for line in block.lines:
            for typed in re.findall(r"^\s*(slob .*)", line, re.MULTILINE):
                yield Printed(block.place, _up_to_pipe(shlex.split(typed, comments=True)[1:]), whole=True)
    prose = _BLOCK.sub("", page.read_text(encoding="utf-8"))
    for match in _INLINE.finditer(prose):
        yield Printed(str(page.relative_to(ROOT)), _words(match[1].replace("\\|", "|")), whole=False)


def _of_source(file: Path) -> Iterator[Printed]:
    """Yield the commands within a file's texts: hints of errors, help with its examples, what commands print last."""
    name, source = file.relative_to(ROOT), file.read_text(encoding="utf-8")
    if not _NAMED.search(source):  # to parse all files takes seconds
        return
    for node in ast.walk(ast.parse(source)):
        text = _text(node)
        if "slob " not in text:
            continue
        place = f"{name}:{getattr(node, 'lineno', 0)}"
        example = re.search(r"Example: (slob .+)", text)
        if example:
            yield Printed(place, _words(example[1]), whole=True)
        for match in _HINT.finditer(text.replace("Example: ", "")):
            if not example:
                yield from (Printed(place, _words(one), whole=False) for one in re.split(r" {3,}(?=slob )", match[1]))


def _text(node: ast.AST) -> str:
    """Return a constant or formatted text of the program, with X in place of words; empty for other nodes."""
    if isinstance(node, ast.JoinedStr):
        text = ""
        for part in node.values:
            # A value behind a word adds an option or nothing.
            text += str(part.value) if isinstance(part, ast.Constant) else "" if text[-1:].isalnum() else "X"
        return text
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _words(text: str) -> tuple[str, ...]:
    """Return the words after `slob`; brackets of optional parts are removed."""
    try:
        return _up_to_pipe(shlex.split(re.sub(r"[\[\]]", "", text), comments=True)[1:])
    except ValueError:  # the text ends within quotes
        return _up_to_pipe(text.split()[1:])


def _up_to_pipe(words: list[str]) -> tuple[str, ...]:
    """Return the words of the first of several commands of a line."""
    return tuple(itertools.takewhile(lambda word: word not in ("|", "||", "&&", ">", "2>"), words))
