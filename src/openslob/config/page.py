"""The page that documents every parameter; docs/parameters.md is its output, written by scripts/parameters."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from openslob.config.parameters import Parameter, parameters

_HEAD = """# Parameters

Every parameter of a load or a run, as `slob load --help` and `slob run --help` list them. This page is made from the
code by `scripts/parameters`; a test fails when it is stale. How to set them is in [configuration](configuration.md).

A parameter's name in `slob.toml` is the lower-case or the upper-case one; its environment variable is `SLOB_` and the
upper-case name; its flag is the lower-case name with dashes. Sizes take suffixes in powers of 1024; MB is 1,048,576
bytes.
"""
_COLUMNS = ("name", "flag", "meaning", "unit", "allowed", "default")


def parameters_page() -> str:
    """The page, in Markdown."""
    return "\n".join([_HEAD, *_sections()])


def _sections() -> Iterator[str]:
    for group, members in groupby(parameters().values(), key=lambda one: one.group):
        yield f"## {group.capitalize()}\n"
        yield _row(*_COLUMNS)
        yield _row(*["---"] * len(_COLUMNS))
        yield from map(_parameter_row, members)
        yield ""


def _parameter_row(one: Parameter) -> str:
    flag = f"`{one.flag}`, `--no-{one.flag.removeprefix('--')}`" if one.is_switch else f"`{one.flag}`"
    return _row(f"`{one.slob}`", flag, one.meaning, one.unit or "–", one.allowed, one.default or "–")


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
