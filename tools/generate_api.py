#!/usr/bin/env python3
"""Write src/openslob/api/parameters.py: the parameters of loads, runs and sweeps as types that editors complete.

Usage: tools/generate_api.py

Needs an installed openslob (``make`` puts it into .venv) or PYTHONPATH=src. A test fails when the file is out of date.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path

from openslob.config.parameters import Parameter, parameters
from openslob.config.server_parameters import SERVER_PARAMETERS
from openslob.core.access import Access
from openslob.core.units import Extent
from openslob.core.workload import Workload

FILE = Path(__file__).resolve().parent.parent / "src" / "openslob" / "api" / "parameters.py"
_WIDTH = 120
_HEAD = '''"""The parameters of loads, runs and sweeps as types, made by tools/generate_api.py; a test compares them.

`openslob.core.workload` defines the parameters. Editors complete their names from these types.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypedDict
'''


def module() -> str:
    """Return the text of the module."""
    lines = [_HEAD, "", *_class("Parameters", "The parameters of a load or a run.", False)]
    lines += ["", "", *_class("SweptParameters", "The parameters of a sweep: a value each, or several.", True)]
    return "\n".join([*lines, *_server_parameters(), ""])


def _class(name: str, about: str, several: bool) -> Iterator[str]:
    yield f"class {name}(TypedDict, total=False):"
    yield f'    """{about}"""'
    for parameter in parameters().values():
        kind = type_of(parameter)
        yield ""
        yield f"    {parameter.name}: {f'{kind} | Sequence[{kind}]' if several else kind}"
        yield from _docstring(_meaning(parameter))


def _server_parameters() -> Iterator[str]:
    for parameter in SERVER_PARAMETERS.values():
        kind = "int | str" if parameter.read is not str else "str"
        yield ""
        yield f"    {parameter.name}: {kind} | Sequence[{kind}]"
        yield from _docstring(f"Of the managed server: {parameter.meaning}")


def type_of(parameter: Parameter) -> str:
    """Return the type of a parameter's values; texts are allowed where flags take a unit."""
    field = Workload.model_fields[parameter.name]
    if parameter.is_switch or parameter.is_repeated:
        return "bool" if parameter.is_switch else "str | Mapping[str, Mapping[str, object]]"
    if isinstance(field.default, Extent):
        return "int | str"
    if isinstance(field.default, Access) or parameter.name in ("price", "rate_schedule"):
        return "str"
    if parameter.is_duration:
        return "float | str"
    if parameter.is_number:
        return "int" if parameter.allowed.startswith("a whole number") else "float"
    return f"Literal[{', '.join(map(_quoted, parameter.placeholder.split('|')))}]"


def _quoted(text: str) -> str:
    return f'"{text}"'


def _meaning(parameter: Parameter) -> str:
    default = f" Default: {parameter.default}." if parameter.default else ""
    return f"{parameter.meaning} Allowed: {parameter.allowed}.{default}"


def _docstring(text: str) -> Iterator[str]:
    indent = "    "
    if len(text) + len(indent) + 6 <= _WIDTH:
        yield f'{indent}"""{text}"""'
        return
    first, *rest = textwrap.wrap(text, _WIDTH - len(indent) - 3)
    yield f'{indent}"""{first}'
    yield from (f"{indent}{line}" for line in rest)
    yield f'{indent}"""'


if __name__ == "__main__":
    FILE.write_text(module(), encoding="utf-8")
