#!/usr/bin/env python3
"""Measure the shape of the source: files, levels of the import graph, classes of one name, and what engines share.

It lists the imports against the layers of the contracts, too, and the files that one neighbour alone imports, with
the reason.

Usage: tools/structure.py [FOLDER]

FOLDER holds the package ``openslob`` (default: the src beside this folder), so that two commits can be compared.
Layers are those of the pyproject.toml beside it. Needs nothing but Python.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import combinations
from pathlib import Path
from statistics import median

PACKAGE = "openslob"
# The package itself: its imports are those of `openslob/__init__.py`.
ROOT = "(package)"
# Folders whose own folders are rooms: one kind, one engine.
HOUSES = {"kinds", "engines"}
# Files with these names are in every folder.
EVERYWHERE = {"__init__.py"}
# What tells the folder of an engine, and that of a kind, from others beside it.
EVERY_HOME_HAS = {"adapter.py", "record.py"}
# With more lines than that, two files are left apart.
MOST_LINES_TOGETHER = 500
# Why a file is one of its own, although one neighbour alone imports it, where the source does not show it by itself.
REASONS: Mapping[str, str] = {
    "analyze/verdicts/bottleneck.py": "one verdict; __init__.py lists all",
    "analyze/verdicts/churn.py": "one verdict; __init__.py lists all",
    "analyze/verdicts/report.py": "one verdict; __init__.py lists all",
    "awr/addm.py": "prose, which no table holds; parse.py reads tables",
    "cli/baseline.py": "a command",
    "cli/outline.py": "in __init__.py the modules of commands hide names such as list",
    "cli/raw_compare.py": "a command; its options have names that those of the others have, too",
    "cli/raw_orion.py": "a command; its options have names that those of the others have, too",
    "cli/server.py": "a command",
    "durability/cut/storage.py": "__init__.py says which names of the folder are for others",
    "engines/oracle/calibration.py": "the server's own calibration; adapter.py names the parts of the engine",
    "engines/oracle/run_table.py": "one table and its locks; adapter.py names the parts of the engine",
    "fleet/crew.py": "sessions on drivers that are hired; hiring.py finds and starts drivers",
    "fleet/stillness.py": "whether a thread stands still, by what Linux counts; agent.py has the work of a driver",
    "host/remote_files.py": "what a shell prints of files; remote.py says which are copied",
    "kinds/ab/sides.py": "what a side is and how its server is made ready; execute.py has the order of the runs",
    "kinds/checked_runs.py": "the check of one run; verification.py has that of any record, and words",
    "kinds/recounting.py": "the engine's readings and intervals; checked_runs.py compares records",
    "kinds/run/ending.py": "when sessions are overdue and how they are ended; session_pool.py has their work",
    "kinds/storage/orion/files.py": "the files' format; execute.py measures",
    "kinds/storage/orion/protect.py": "whether a device may be written to; execute.py measures",
}
Trees = Mapping[Path, ast.Module]
Graph = Mapping[str, frozenset[str]]


def main() -> None:
    """Print the measures."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "src"
    package = folder / PACKAGE
    if not package.is_dir():
        sys.exit(f"structure: {folder} has no folder {PACKAGE}")
    trees = {path.relative_to(package): ast.parse(path.read_text()) for path in sorted(package.rglob("*.py"))}
    _print_files(package, trees)
    _print_levels("top folder", rooms(trees, lambda path: path.parts[0].removesuffix(".py")))
    _print_levels("room, of which a kind and an engine are one each", rooms(trees, _room_of(trees)))
    _print_climbs(folder.parent / "pyproject.toml", trees)
    _print_single_importers(trees)
    _print_classes(trees)
    _print_engines(package)


def _print_files(package: Path, trees: Trees) -> None:
    lengths = [len((package / path).read_text().splitlines()) for path in trees]
    functions = [
        node.end_lineno - node.lineno + 1
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno
    ]
    print(f"files: {len(lengths)}, {median(lengths):g} lines at the median, {max(lengths)} at most")
    print(f"functions: {len(functions)}, {median(functions):g} lines at the median, {max(functions)} at most")


def _print_levels(what: str, graph: Graph) -> None:
    level_of = levels(graph)
    by_level = defaultdict(list)
    for room, level in level_of.items():
        by_level[level].append(room)
    print(f"levels of the import graph by {what}: {max(level_of.values())}")
    for level in sorted(by_level, reverse=True):
        print(f"  {level:2}  {' '.join(sorted(by_level[level]))}")
    for circle in sorted({tuple(sorted(circle)) for circle in circles(graph).values() if len(circle) > 1}):
        print(f"  circle: {' '.join(circle)}")


def _print_climbs(project: Path, trees: Trees) -> None:
    """Print the imports that go up, or from one part of a layer to another, by the layers of the contracts."""
    if not project.is_file():
        return
    contracts = tomllib.loads(project.read_text())["tool"]["importlinter"]["contracts"]
    layers = next(each["layers"] for each in contracts if each["type"] == "layers")
    layer_of = {name.strip(): number for number, parts in enumerate(layers) for name in parts.split("|")}
    climbs = []
    for path, tree in trees.items():
        own = path.parts[0].removesuffix(".py")
        for module in sorted(set(_imported(tree))):
            other = module.partition(".")[0]
            if own != other and {own, other} <= layer_of.keys() and layer_of[own] >= layer_of[other]:
                climbs.append(f"{path} imports {module}")
    print(f"imports against the layers: {len(climbs)}")
    for climb in climbs:
        print(f"  {climb}")


def _print_single_importers(trees: Trees) -> None:
    """Print the files that nothing imports but one file of the same folder, each with why it is a file of its own."""
    alone = single_importers(trees)
    print(f"files that one file alone imports, in their own folder: {len(alone)}")
    for path, importer in alone.items():
        print(f"  {path} by {importer.name}: {reason_of(path, importer, trees) or 'NO REASON'}")


def single_importers(trees: Trees) -> Mapping[Path, Path]:
    """Return the files that nothing imports but one file of the same folder, each with that file."""
    modules = {_module(path): path for path in trees}
    importers: dict[Path, set[Path]] = defaultdict(set)
    for path, tree in trees.items():
        for name in _imported(tree):
            # `from package import name` imports a module, or a name of the package itself
            found = modules.get(name) or modules.get(name.rpartition(".")[0])
            if found and found != path:
                importers[found].add(path)
    return {
        path: importer
        for path, (importer, *others) in sorted(importers.items())
        if not others and importer.parent == path.parent and path.name not in EVERYWHERE
    }


def reason_of(path: Path, importer: Path, trees: Trees) -> str:
    """Return why a file is one of its own, although one neighbour alone imports it; empty if nothing says so."""
    return _evident_reason(path, importer, trees) or REASONS.get(str(path), "")


def unneeded_reasons(trees: Trees) -> list[str]:
    """Return the files in `REASONS` that are gone, have more importers, or need no reason."""
    alone = {str(path): _evident_reason(path, importer, trees) for path, importer in single_importers(trees).items()}
    return [name for name in REASONS if alone.get(name, "gone")]


def _evident_reason(path: Path, importer: Path, trees: Trees) -> str:
    """Return the reason that the source itself shows; empty if it shows none."""
    module = _module(path)
    if not any(f"{name}.".startswith(f"{module}.") for name in _imported(trees[importer], at_once=True)):
        return "imported when it is needed, not before"
    if path.parts[0] in HOUSES:
        homes = {other.parent for other in trees if other.name in EVERY_HOME_HAS}
        twins = [home.name for home in sorted(homes - {path.parent}) if home / path.name in trees]
        if path.parent in homes and twins:
            return f"{' and '.join(twins)} {'has' if len(twins) == 1 else 'have'} the same"
    lines = _lines(trees[path]) + _lines(trees[importer])
    return f"{lines} lines together" if lines > MOST_LINES_TOGETHER else ""


def _lines(tree: ast.Module) -> int:
    return max((node.end_lineno or 0 for node in tree.body), default=0)


def _module(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def _print_classes(trees: Trees) -> None:
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


def _room_of(trees: Trees) -> Callable[[Path], str]:
    """Return what names the room of a file: its top folder; in some of these, the folder there."""
    folders = {path.parts[:2] for path in trees if path.parts[0] in HOUSES and len(path.parts) > 2}

    def room_of(path: Path) -> str:
        parts = tuple(part.removesuffix(".py") for part in path.parts)
        return ".".join(parts[:2]) if parts[:2] in folders else parts[0]

    return room_of


def rooms(trees: Trees, room_of: Callable[[Path], str]) -> Graph:
    """Return which rooms each room imports: anywhere in its files, imports for type checkers included."""
    graph: dict[str, set[str]] = {_named(room_of(path)): set() for path in trees}
    for path, tree in trees.items():
        own = _named(room_of(path))
        below = {_named(room_of(Path(*module.split(".")))) for module in _imported(tree)}
        graph[own] |= (below & graph.keys()) - {own}
    return {room: frozenset(below) for room, below in graph.items()}


def _named(room: str) -> str:
    return ROOT if room == "__init__" else room


def _imported(tree: ast.Module, at_once: bool = False) -> Iterator[str]:
    """Yield what a file imports of the package, by its path there: modules, and names in them.

    ``at_once``: only what it imports when it is imported itself.
    """
    for node in _outside_functions(tree) if at_once else statements(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module or ''}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            package, _, inside = name.partition(".")
            if package == PACKAGE:
                # `from openslob import __version__` reads the package itself
                yield "__init__" if not inside or inside.startswith("__") else inside


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the statements below a node, at any depth: a tenth of all nodes."""
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        for inner in getattr(node, field, ()):
            yield inner
            yield from statements(inner)


def _outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    for inner in ast.iter_child_nodes(node):
        is_for_types = isinstance(inner, ast.If) and ast.unparse(inner.test) == "TYPE_CHECKING"
        if not (is_for_types or isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef)):
            yield inner
            yield from _outside_functions(inner)


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
