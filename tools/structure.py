#!/usr/bin/env python3
"""Measure the shape of the source: files, levels of the import graph, classes of one name, and what engines share.

Usage: tools/structure.py [FOLDER]

FOLDER holds the package ``openslob`` (default: the src beside this folder), so that two commits can be compared.
Needs nothing but Python.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import combinations
from pathlib import Path
from statistics import median

PACKAGE = "openslob"
# The package itself: its imports are those of `openslob/__init__.py`.
ROOT = "(package)"
# Files with these names are in every folder.
EVERYWHERE = {"__init__.py"}
Graph = Mapping[str, frozenset[str]]


def main() -> None:
    """Print the measures."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "src"
    package = folder / PACKAGE
    if not package.is_dir():
        sys.exit(f"structure: {folder} has no folder {PACKAGE}")
    trees = {path.relative_to(package): ast.parse(path.read_text()) for path in sorted(package.rglob("*.py"))}
    _print_files(package, trees)
    _print_levels(trees)
    _print_classes(trees)
    _print_engines(package)


def _print_files(package: Path, trees: Mapping[Path, ast.Module]) -> None:
    lengths = [len((package / path).read_text().splitlines()) for path in trees]
    functions = [
        node.end_lineno - node.lineno + 1
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno
    ]
    print(f"files: {len(lengths)}, {median(lengths):g} lines at the median, {max(lengths)} at most")
    print(f"functions: {len(functions)}, {median(functions):g} lines at the median, {max(functions)} at most")


def _print_levels(trees: Mapping[Path, ast.Module]) -> None:
    graph = rooms(trees)
    level_of = levels(graph)
    by_level = defaultdict(list)
    for room, level in level_of.items():
        by_level[level].append(room)
    print(f"levels of the import graph by room: {max(level_of.values())}")
    for level in sorted(by_level, reverse=True):
        print(f"  {level:2}  {' '.join(sorted(by_level[level]))}")
    for circle in sorted({tuple(sorted(circle)) for circle in circles(graph).values() if len(circle) > 1}):
        print(f"  circle: {' '.join(circle)}")


def _print_classes(trees: Mapping[Path, ast.Module]) -> None:
    places = defaultdict(list)
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(path))
    twice = {name: where for name, where in places.items() if len(where) > 1}
    print(f"public class names defined more than once: {len(twice)} of {len(places)}")
    for name, where in sorted(twice.items()):
        print(f"  {name}: {', '.join(where)}")


def _print_engines(package: Path) -> None:
    """An engine is a folder in ``engines`` with an adapter."""
    folders = sorted(path.parent for path in (package / "engines").glob("*/adapter.py"))
    names = {folder.name: {path.name for path in folder.glob("*.py")} - EVERYWHERE for folder in folders}
    for one, other in combinations(names, 2):
        common = names[one] & names[other]
        share = len(common) / len(names[one] | names[other])
        print(
            f"file names that {one} ({len(names[one])}) and {other} ({len(names[other])}) have in common: "
            f"{len(common)}, {share:.0%}"
        )


def room_of(path: Path) -> str:
    """Return the top-level module or package that a file belongs to."""
    room = path.parts[0].removesuffix(".py")
    return ROOT if room == "__init__" else room


def rooms(trees: Mapping[Path, ast.Module]) -> Graph:
    """Return which rooms each room imports: anywhere in its files, imports for type checkers included."""
    known = {room_of(path) for path in trees}
    graph: dict[str, set[str]] = {room: set() for room in known}
    for path, tree in trees.items():
        graph[room_of(path)] |= {room for room in _imports(tree) if room in known} - {room_of(path)}
    return {room: frozenset(below) for room, below in graph.items()}


def _imports(tree: ast.Module) -> Iterator[str]:
    """Yield the rooms that a file imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == PACKAGE:
            names = [f"{PACKAGE}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        else:
            continue
        for name in names:
            parts = name.split(".")
            if parts[0] == PACKAGE:
                # `from openslob import __version__` reads the package itself
                yield ROOT if len(parts) == 1 or parts[1].startswith("__") else parts[1]


def circles(graph: Graph) -> Mapping[str, frozenset[str]]:
    """Return the rooms that each room is in a circle with, itself included."""

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        todo = [start]
        while todo:
            fresh = graph[todo.pop()] - seen
            seen |= fresh
            todo.extend(fresh)
        return seen

    below = {room: reached(room) for room in graph}
    return {room: frozenset({room} | {other for other in below[room] if room in below[other]}) for room in graph}


def levels(graph: Graph) -> Mapping[str, int]:
    """Return the level of each room: 1 without imports, else one above the highest that it imports.

    Rooms that import each other in a circle share one level.
    """
    group_of = circles(graph)

    @cache
    def level(group: frozenset[str]) -> int:
        below = {group_of[other] for room in group for other in graph[room]} - {group}
        return 1 + max(map(level, below), default=0)

    return {room: level(group_of[room]) for room in graph}


if __name__ == "__main__":
    main()
