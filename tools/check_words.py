#!/usr/bin/env python3
"""Find words that readers of the source and the documentation would have to read twice.

Usage: tools/check_words.py [FOLDER]...

Prints each place and exits with 1 if there is one. Without arguments it looks at the folders and files in `CHECKED`,
except those in `NOT_YET`.
Words in code count too, such as names and strings in backticks.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
CHECKED = ("src", "docs", "README.md", "CONTRIBUTING.md", "CHANGELOG.md")
# Files that still contain such words are skipped without arguments. Remove a file from this list when it is clean.
NOT_YET = frozenset(
    {
        "src/openslob/analyze/ci_gate.py",
        "src/openslob/engines/mysql/sql/facts.sql",
        "src/openslob/kinds/run/preflight.py",
    }
)
SUFFIXES = {".py", ".md", ".sql", ".html", ".css", ".js", ".j2", ".toml"}
# Word -> what to say instead.
WORDS = {
    "told": "reported, said, known",
    "untold": "unknown",
    "righted": "restored",
    "borne": "carried, marked with",
    "reckoned": "computed",
    "wherefore": "why",
    "shall": "must, should, is to",
    "heed": "follow, respect",
    "heeds": "follows, respects",
    # Phrases of another century; say who does what.
    "for want of": "without, because there is no",
    "bear out": "support",
    "bears out": "supports",
    "one wants": "you want",
    "not a word": "only",
    "are yours to": "you decide, choose",
    "is yours to": "you decide, choose",
    "lest": "so that … not",
    "amid": "during",
    "anew": "again",
    "save for": "except for",
    "thereof": "of it",
    "whereby": "by which",
    "thereby": "by this, so",
    "hence": "so, therefore",
    "likewise": "also, the same",
    "hardly a": "hardly any, few",
    "to rest": "prepare, flush",
    "get on": "make progress",
    "gets on": "makes progress",
    "got on": "made progress",
    "has it as": "reports it as",
    "is told": "reads, gets",
    "are told": "read, get",
    "names no": "has no, is not",
}
# "told apart" and "told to end" are plain English.
_ANY = re.compile(rf"(?<![A-Za-z])({'|'.join(WORDS)})(?![A-Za-z]| apart| to )", re.IGNORECASE)


def main(arguments: Sequence[str]) -> int:
    """Print every place; return the exit code."""
    given = [Path(argument) for argument in arguments]
    found = list(places(given or _checked()))
    for place in found:
        print(place)
    if found:
        print(f"{len(found)} places with words that hide their meaning (tools/check_words.py)")
    return 1 if found else 0


def _checked() -> list[Path]:
    """Return the files to look at without arguments."""
    files = [file for name in CHECKED for file in _files(ROOT / name)]
    return [file for file in files if str(file.relative_to(ROOT)) not in NOT_YET]


def _files(path: Path) -> list[Path]:
    return [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.suffix in SUFFIXES)


def places(paths: Sequence[Path]) -> Iterator[str]:
    """Yield file, line, word and what to say instead."""
    for path in paths:
        for file in _files(path):
            for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
                for match in _ANY.finditer(line):
                    word = match[1]
                    yield f"{file}:{number}: {word}: better {WORDS[word.lower()]}: {line.strip()}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
