"""The rules by which runs are judged, as plain values: verdicts, their severity, and every threshold.

``tests/fixtures/rules.json`` has those of `RULES_VERSION`. Whoever changes a threshold raises that version, and runs
``python tools/record_rules.py``, which writes the file anew.
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from openslob.analyze.verdict_registry import REGISTRY, RULES_VERSION

FILE = Path(__file__).parents[1] / "tests" / "fixtures" / "rules.json"
# What judges, and the parts of the package in which it has its thresholds.
_JUDGES = ("openslob.analyze.verdicts", "openslob.analyze.causes", "openslob.analyze.level")
_RULES_IN = ("openslob.analyze", "openslob.metrics")


def rules() -> dict[str, Any]:
    """Return every rule by its name."""
    found: dict[str, Any] = {f"verdict {row.name}": [row.group, row.severity] for row in REGISTRY}
    for name in sorted(_modules()):
        found |= {f"{name}.{constant}": value for constant, value in _thresholds(name)}
    return found


def _modules() -> set[str]:
    """Return the modules that judge, and all that these import of where rules are."""
    found, left = set[str](), [*_JUDGES]
    while left:
        name = left.pop()
        if name not in found and name.startswith(_RULES_IN):
            found.add(name)
            left += _imported(name)
    return found


def _imported(module: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(_source(module))):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (full for each in node.names if _exists(full := f"{node.module}.{each.name}"))


def _exists(name: str) -> bool:
    try:
        return name.startswith(_RULES_IN) and find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def _source(module: str) -> str:
    spec = find_spec(module)
    assert spec
    assert spec.origin
    return Path(spec.origin).read_text()


def _thresholds(module: str) -> Iterator[tuple[str, Any]]:
    """Yield the constants of a module that are numbers, or have numbers."""
    values = vars(import_module(module))
    assigned = (node for node in ast.parse(_source(module)).body if isinstance(node, ast.Assign | ast.AnnAssign))
    for node in assigned:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for name in (part.id for each in targets for part in ast.walk(each) if isinstance(part, ast.Name)):
            if name.isupper() and (numbers := _numbers(values[name])) is not None:
                yield name, numbers


def _numbers(value: object) -> object:
    """Return what of a value is numbers; None if nothing is."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return value
    if isinstance(value, Mapping):
        parts = {str(key): number for key, item in value.items() if (number := _numbers(item)) is not None}
        return parts or None
    if isinstance(value, tuple | list):
        return [number for item in value if (number := _numbers(item)) is not None] or None
    return None


def main() -> None:
    """Write the rules, unless they changed under the same version."""
    known = json.loads(FILE.read_text()) if FILE.exists() else {}
    if known.get("version") == RULES_VERSION and known.get("rules") != rules():
        sys.exit("the rules changed: raise RULES_VERSION in src/openslob/analyze/verdict_registry.py first")
    # One rule a line: a difference then shows which changed.
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in rules().items())
    FILE.write_text(f'{{"version": {RULES_VERSION}, "rules": {{\n{lines}\n}}}}\n')


if __name__ == "__main__":
    main()
