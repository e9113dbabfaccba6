#!/usr/bin/env python3
"""Find what Python's library lacks in the lowest release that pyproject.toml promises: 3.11.0.

Usage: tools/check_python.py [FILE OR FOLDER]...

Prints each place and exits with 1 if there is one. What a minor release lacks, such as 3.12's `itertools.batched`, mypy
finds, whose configurations name Python 3.11. It knows nothing of the few things that came with 3.11's later patches,
mostly to close holes: they are listed here, and found by their names.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
CHECKED = ("src", "tests", "bench", "tools")
# Function or method -> an argument that it has later, and since when.
ARGUMENTS: Mapping[str, tuple[str, str]] = {
    "extract": ("filter", "3.11.4"),
    "extractall": ("filter", "3.11.4"),
    "unpack_archive": ("filter", "3.11.4"),
    "getaddresses": ("strict", "3.11.10"),
    "parseaddr": ("strict", "3.11.10"),
    "HTMLParser": ("scripting", "3.11.14"),
}
# A name that comes later, of a module or of an object -> since when.
NAMES: Mapping[str, str] = {
    **dict.fromkeys(("data_filter", "tar_filter", "fully_trusted_filter", "extraction_filter"), "3.11.4"),
    **dict.fromkeys(("FilterError", "AbsolutePathError", "OutsideDestinationError", "SpecialFileError"), "3.11.4"),
    **dict.fromkeys(("AbsoluteLinkError", "LinkOutsideDestinationError"), "3.11.4"),
    **dict.fromkeys(("GetReparseDeferralEnabled", "SetReparseDeferralEnabled"), "3.11.9"),
    "verify_generated_headers": "3.11.10",
    **dict.fromkeys(("ALLOW_MISSING", "LinkFallbackError"), "3.11.13"),
}


def later_parts(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and a description of everything in a source file that the lowest release lacks."""
    # Most files have no such word, and to parse a file takes longest.
    if not any(word in source for word in (*ARGUMENTS, *NAMES)):
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            function = getattr(node.func, "attr", getattr(node.func, "id", ""))
            argument, since = ARGUMENTS.get(function, ("", ""))
            if argument and any(each.arg == argument for each in node.keywords):
                yield node.lineno, f"{function}({argument}=…) came with Python {since}"
        elif isinstance(node, ast.Attribute) and node.attr in NAMES:
            yield node.lineno, f"{node.attr} came with Python {NAMES[node.attr]}"
        elif isinstance(node, ast.ImportFrom):
            for each in node.names:
                if each.name in NAMES:
                    yield node.lineno, f"{each.name} came with Python {NAMES[each.name]}"


def files_of(paths: Sequence[Path]) -> Iterator[Path]:
    """Yield the Python files among these files and below these folders."""
    for path in paths:
        yield from sorted(path.rglob("*.py")) if path.is_dir() else [path]


def main(arguments: Sequence[str]) -> int:
    """Print all places; return the exit code."""
    found = [
        f"{path}:{line}: {what}; pyproject.toml promises every Python since 3.11.0"
        for path in files_of([Path(each) for each in arguments] or [ROOT / each for each in CHECKED])
        for line, what in later_parts(path.read_text(encoding="utf-8"))
    ]
    print("\n".join(found), end="\n" if found else "")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
