"""`slob load`: create the data that a workload needs."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping
from dataclasses import asdict
from itertools import zip_longest
from pathlib import Path
from typing import Annotated

import typer

from openslob.cli.console import columns, notify, write
from openslob.cli.measuring import Screen, make_context
from openslob.cli.options import Resolved, with_workload
from openslob.cli.server import settings_text, spec_with
from openslob.config.parameters import Setting
from openslob.core.units import format_bytes
from openslob.engines import registry
from openslob.engines.facts import LoadResult
from openslob.engines.managed.base import ServerSpec

# A figure that is a text is not folded into less than this.
_NARROWEST = 20
_REUSED = "already there and verified, nothing to do"

CHECKS = Annotated[bool, typer.Option("--all", metavar="", help="Print every check with its figure.")]
JSON = Annotated[bool, typer.Option("--json", metavar="", help="Print the result as JSON.")]


@with_workload
def load(resolved: Resolved, *, whole: CHECKS = False, as_json: JSON = False) -> None:
    """Load the test tables in parallel and verify them; tables that match are only verified.

    Example: slob load --schemas 8 --scale 256M
    """
    from openslob.kinds.run import loading  # noqa: PLC0415 - help and completions do without

    context = make_context(resolved, Path(), Screen())
    result = loading.execute(resolved.parameters.workload, context, lambda spec: announce(spec, resolved.server))
    if as_json:
        write(result_json(result))
        return
    write(result_text(result, columns()) if whole else answer_text(result, run_on(resolved.target.shown)))


def run_on(target: str) -> str:
    """Return the command that runs on loaded data; a URL, which may have a password, is not repeated."""
    return "slob run" if "://" in target or target == registry.EMBEDDED else f"slob run --target {target}"


def answer_text(result: LoadResult, run: str) -> str:
    """Return a finished load in short: its data, its rate, how many checks hold, and what ``run`` does with it.

    A check is shown if it asks to look at something. One that does not hold has ended the load with an error.
    """
    spec = result.spec
    what = f"{spec.schemas} schema{'' if spec.schemas == 1 else 's'} of {spec.scale_blocks:,} blocks"
    done = f"{what}: {_REUSED}." if result.reused else f"{what}, {_speed(result)}."
    asking = [f"  {name}: {figure}" for name, figure in result.checks.items() if "`slob " in figure]
    count = len(result.checks) - len(asking)
    return "\n".join([done, *asking, f"  {count} checks hold: slob load --all", "", f"  {run}"])


def announce(default: ServerSpec, settings: Mapping[str, Setting]) -> ServerSpec:
    """Say that a server is created, and how; return its specification with the settings of environment and files."""
    spec = spec_with(default, settings)
    notify(f"there is no server {spec.name!r} yet: creating it on this host, with {settings_text(spec)}")
    return spec


def result_text(result: LoadResult, screen: int | None = None) -> str:
    """Return all about a finished load: its data, its rate, and every check with its figure.

    ``screen`` is how wide they may be; None: as wide as they need to be.
    """
    spec = result.spec
    fill = "incompressible" if spec.obfuscate else "constant"
    fill += f" (but for {spec.compressible} %)" if spec.compressible else ""
    lines = [
        f"{spec.schemas} x {spec.scale_blocks:,} blocks (cf1) + {spec.scan_blocks:,} (cf2), {fill} fill",
        _REUSED if result.reused else _speed(result),
    ]
    width = max(map(len, result.checks), default=0)
    for name, figure in result.checks.items():
        parts = textwrap.wrap(figure, max(_NARROWEST, screen - width - 4)) if screen else [figure]
        lines += [f"  {title:<{width}}  {part}" for title, part in zip_longest([name], parts, fillvalue="")]
    return "\n".join(lines)


def _speed(result: LoadResult) -> str:
    rate = f", {format_bytes(result.bytes / result.seconds)}/s" if result.seconds > 0 else ""
    return f"loaded and verified in {result.seconds:.1f} s: {format_bytes(result.bytes)}{rate}"


def result_json(result: LoadResult) -> str:
    """Return a finished load as JSON; seconds, blocks and bytes as numbers."""
    return json.dumps(
        asdict(result) | {"spec": result.spec.to_record(), "fingerprint": result.spec.fingerprint()}, indent=1
    )
