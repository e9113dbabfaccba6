"""`slob drop`: remove everything that a load made."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from openslob.cli.console import notify, stoppable, write
from openslob.cli.options import with_target
from openslob.cli.progress import working
from openslob.core.secrets import Address
from openslob.engines.patience import Patience
from openslob.engines.registry import resolve
from openslob.kinds.run import loading

JSON = Annotated[bool, typer.Option("--json", metavar="", help="Print the names of what was removed as JSON.")]


@with_target
def drop(target: Address, as_json: JSON = False) -> None:
    """Remove the test tables and everything else that a load or a run made in the database.

    Example: slob drop --target embedded
    """
    engine, server = resolve(target.reveal())
    with stoppable() as interrupt:
        engine.follow(Patience(interrupt, notify))
        with working(f"removing what loads and runs made in {engine.target}"):
            removed = loading.drop(engine, server, notify)
    if as_json:
        print(json.dumps({"removed": removed}, indent=1))
    else:
        write("\n".join(f"removed {name}" for name in removed) or f"there is nothing to remove in {engine.target}")
