"""Makes mutants of a module: mutmut's operators, put to all of its code that decides something.

`mutmut run` itself leaves out module level, class level and decorated functions: the limits, the tables of definitions
and the properties, which many figures here come from. It doesn't take samples, either.
"""

from __future__ import annotations

import difflib
import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider
from mutmut.mutation.mutators import mutation_operators, operator_arg_removal, operator_assignment, operator_string

# Types and a refusal's words give no figure; without an import or a decorator a module fails at once.
_LEFT_OUT = (cst.Annotation, cst.Import, cst.ImportFrom, cst.Decorator, cst.Raise)
# Arguments that change how code is checked, read or printed, and no figure.
_NO_FIGURES = {"strict", "encoding", "kw_only", "repr"}
_NAME = re.compile(r"""["'][a-z][a-z0-9_]*["']""")


@dataclass(frozen=True)
class Mutant:
    """One change of one place in ``file``, from ``line`` to ``last_line``; ``source`` is the whole file with it.

    ``key`` stays the same while the file's name, the function, the place's code in it and what it is changed to do.
    """

    file: Path
    line: int
    last_line: int
    key: str
    source: str

    def show(self) -> str:
        """Return the place and the lines that differ, the old ones first."""
        before = self.file.read_text(encoding="utf-8").splitlines()
        lines = difflib.unified_diff(before, self.source.splitlines(), lineterm="", n=0)
        changed = [f"    {line[0]} {line[1:].strip()}" for line in list(lines)[2:] if line[0] in "+-"]
        return "\n".join([f"{self.file}:{self.line}", *changed])


@dataclass(frozen=True)
class _Change:
    old: cst.CSTNode
    new: cst.CSTNode
    lines: tuple[int, int]
    key: str


def draw(files: Sequence[Path], wanted: int, seed: str) -> tuple[int, list[Mutant]]:
    """Return how many mutants the files have, and ``wanted`` of them, drawn by ``seed``.

    Those with the lowest hashes are drawn: a change of the code changes the sample at its own place alone.
    """
    every: list[tuple[str, Path, cst.Module, _Change]] = []
    for file in files:
        visitor = _Visitor()
        module = MetadataWrapper(cst.parse_module(file.read_text(encoding="utf-8"))).visit(visitor)
        every += [(f"{file.parent.name}/{file.name} {change.key}", file, module, change) for change in visitor.changes]
    every.sort(key=lambda each: hashlib.sha256(f"{seed} {each[0]}".encode()).digest())
    drawn = [
        Mutant(file, *change.lines, key, _replaced(module, change)) for key, file, module, change in every[:wanted]
    ]
    return len(every), drawn


def _replaced(module: cst.Module, change: _Change) -> str:
    whole = module.deep_replace(change.old, change.new)
    assert isinstance(whole, cst.Module)
    return whole.code


class _Visitor(cst.CSTVisitor):
    """Collects the changes of a module."""

    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(self) -> None:
        super().__init__()
        self.changes: list[_Change] = []
        self._scope: list[str] = []
        self._nth: Counter[str] = Counter()
        self._code = cst.Module([]).code_for_node

    def on_visit(self, node: cst.CSTNode) -> bool:
        if _is_left_out(node):
            return False
        for operator, new in _variants(node):
            key = f"{'.'.join(self._scope)} {operator} {self._code(node)} -> {self._code(new)}"
            self._nth[key] += 1
            place = self.get_metadata(PositionProvider, node)
            self.changes.append(_Change(node, new, (place.start.line, place.end.line), f"{key} {self._nth[key]}"))
        if isinstance(node, cst.FunctionDef | cst.ClassDef):
            self._scope.append(node.name.value)
        return True

    def on_leave(self, original_node: cst.CSTNode) -> None:
        if isinstance(original_node, cst.FunctionDef | cst.ClassDef):
            self._scope.pop()


def _is_left_out(node: cst.CSTNode) -> bool:
    match node:
        case cst.Expr(value=cst.SimpleString()):  # a docstring
            return True
        case cst.Arg(keyword=cst.Name(value=name)):
            return name in _NO_FIGURES
        case cst.If(test=cst.Name(value="TYPE_CHECKING")):
            return True
        case cst.Assign(value=cst.Subscript(value=cst.Name(value="dict" | "list" | "tuple" | "Callable" | "Mapping"))):
            return True  # a name for a type
    return isinstance(node, _LEFT_OUT)


def _variants(node: cst.CSTNode) -> Iterator[tuple[str, cst.CSTNode]]:
    """Yield what mutmut's operators make of a node, with the operator's name."""
    if isinstance(node, cst.SimpleString):
        # Names of metrics and counters decide; words for people do not, nor do capitals show more than other letters.
        if _NAME.fullmatch(node.value):
            yield from (("string", new) for new in list(operator_string(node))[:1])
        return
    for kind, operator in mutation_operators:
        if isinstance(node, kind) and operator is not operator_assignment:
            for new in operator(node):
                if operator is not operator_arg_removal or _takes_default(node, new):
                    yield operator.__name__.removeprefix("operator_"), new


def _takes_default(old: cst.CSTNode, new: cst.CSTNode) -> bool:
    """Return whether a changed call lacks a keyword argument, so that its default decides.

    None in the place of a value, like any argument by position that is missing, fails wherever it is met.
    """
    if not (isinstance(old, cst.Call) and isinstance(new, cst.Call)) or len(new.args) == len(old.args):
        return False
    gone = [each for each in old.args if not any(each is kept for kept in new.args)]
    return all(each.keyword and each.keyword.value not in _NO_FIGURES for each in gone)
