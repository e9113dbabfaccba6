"""A run as a user asks for it, from the command line or from Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from openslob.config.resolve import Resolution
from openslob.kinds.run.again import RETRIES
from openslob.kinds.run.context import Context
from openslob.kinds.run.hooks import Hook, require_allowed
from openslob.kinds.run.loading import take_loaded
from openslob.kinds.run.runner import FinishedRun, RunRequest
from openslob.kinds.run.settings import ask_of_run, give_way, provide_target


@dataclass(frozen=True)
class AskedRun:
    """A run: its parameters, its name, and the settings of the server's own that it is made with.

    It is made again up to ``retries`` times if its window is lost. ``hooks`` are commands that run beside it.
    """

    parameters: Resolution
    name: str = "run"
    settings: Mapping[str, Sequence[str]] = field(default_factory=dict)
    retries: int = RETRIES
    hooks: Sequence[Hook] = ()


def execute(asked: AskedRun, context: Context) -> FinishedRun:
    """Make the run. Parameters of the data that nothing gives are those of the data that are loaded.

    Raises:
        SlobError: The run could not be made, or lost a session; what was measured is in its record.
        UsageError: The server does not take a setting, a parameter sets the same, or root may run no hook beside it.

    """
    chosen = ask_of_run(context.address, asked.settings)
    with provide_target(context.address, chosen.changes, context.tell) as engine, context.stopping():
        context.adopt(engine)
        require_allowed(asked.hooks, engine)
        found = take_loaded(asked.parameters, engine, context.tell)
        workload, given_way = give_way(found.workload, found.sources, chosen)
        ceiling = context.ceiling_for(workload.total_sessions)(engine)
        with context.hire() as hire, context.display.viewing(context.results):
            request = RunRequest(
                workload, asked.name, context.results, (*found.notices, *given_way), found.sources, ceiling=ceiling,
                consented=context.consented, hire=hire, settings=chosen.changes, retries=asked.retries,
                hooks=asked.hooks,
            )  # fmt: skip
            return context.run(engine, request)
