"""The servers of a comparison: made, loaded, only one of them running at a time, and gone at its end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from openslob.engines import registry
from openslob.engines.base import Engine
from openslob.engines.managed.base import ManagedServer, ServerSpec
from openslob.errors import SlobError
from openslob.versus.plan import ComparisonPlan


def name_of(engine: str) -> str:
    """The name of the server that comparisons make of an engine."""
    return f"raw-compare-{engine}"


def spec_of(plan: ComparisonPlan, engine: str, place: Path | None) -> ServerSpec:
    """The server of an engine as it is compared; its data lie below ``place``, if one is given."""
    name = name_of(engine)
    return replace(
        registry.default_spec(name, engine),
        data_dir=place / name if place else None,
        block_size=plan.block_size,
        cache_bytes=plan.cache_bytes,
        log_bytes=plan.log_bytes,
        cpus=plan.cpus,
    )


def available(
    plan: ComparisonPlan, asked: Sequence[str] | None, place: Path | None
) -> tuple[tuple[str, ...], dict[str, str]]:
    """The engines whose programs are there, and why others are not; SlobError for one that was asked for by name."""
    there, missing = [], {}
    for engine in asked or registry.managed_engines():
        try:
            registry.managed(spec_of(plan, engine, place))
            there.append(engine)
        except SlobError as error:
            if asked:
                raise
            missing[engine] = str(error)
    return tuple(there), missing


class Servers:
    """Starts a server when its turn comes; what others have left to write then is written, and takes nothing."""

    def __init__(self, servers: Mapping[str, ManagedServer]) -> None:
        self._servers = servers
        self._running = ""

    def at(self, name: str) -> tuple[Engine, ManagedServer]:
        """The server of an engine, the only one that runs."""
        if name != self._running:
            self.rest()
        self._running = name
        server = self._servers[name]
        return registry.engine_for(server.start().url), server

    def rest(self) -> None:
        """Stop what runs."""
        if self._running:
            self._servers[self._running].stop()
        self._running = ""


@contextmanager
def servers_of(plan: ComparisonPlan, place: Path | None) -> Iterator[Servers]:
    """New servers for the block, not yet started; each is destroyed with its data, however the block ends.

    SlobError when another comparison has them. What a killed one left behind goes first.
    """
    with ExitStack() as stack:
        made = {}
        for engine in plan.engines:
            stack.enter_context(registry.claim(name_of(engine)))
            if left := registry.find(name_of(engine)):
                left.destroy()
            made[engine] = registry.managed(spec_of(plan, engine, place))
            stack.callback(made[engine].destroy)
        yield Servers(made)
