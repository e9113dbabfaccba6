"""The servers of a comparison. Only one of them runs at a time; all are destroyed at the end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from openslob.core.errors import SlobError
from openslob.engines import registry
from openslob.engines.base import Engine
from openslob.engines.managed.base import ManagedServer, ServerSpec
from openslob.kinds.storage.comparison.plan import ComparisonPlan


def name_of(engine: str) -> str:
    """Return the name of the server that comparisons create for an engine."""
    return f"raw-compare-{engine}"


def spec_of(plan: ComparisonPlan, engine: str, data_dir: Path | None) -> ServerSpec:
    """Return the specification of an engine's server; its data lie below ``data_dir`` if one is given."""
    name = name_of(engine)
    return replace(
        registry.default_spec(name, engine),
        data_dir=data_dir / name if data_dir else None,
        block_size=plan.block_size,
        cache_bytes=plan.cache_bytes,
        log_bytes=plan.log_bytes,
        cpus=plan.cpus,
    )


def available(
    plan: ComparisonPlan, asked: Sequence[str] | None, data_dir: Path | None
) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the engines whose programs are installed, and why the others are left out.

    Raises SlobError if an engine that was requested by name is not installed.
    """
    installed, missing = [], {}
    for engine in asked or registry.managed_engines():
        try:
            registry.managed(spec_of(plan, engine, data_dir))
            installed.append(engine)
        except SlobError as error:
            if asked:
                raise
            missing[engine] = str(error)
    return tuple(installed), missing


class ComparisonServers:
    """Starts one server at a time.

    The running server is stopped first, so that it does not write its dirty blocks while another one is measured.
    """

    def __init__(self, servers: Mapping[str, ManagedServer]) -> None:
        self._servers = servers
        self._running = ""

    def start(self, name: str) -> tuple[Engine, ManagedServer]:
        """Start the server of an engine, after stopping another one. Return both."""
        if name != self._running:
            self.stop()
        self._running = name
        server = self._servers[name]
        return registry.engine_for(server.start().url), server

    def stop(self) -> None:
        """Stop the server that runs, if any."""
        if self._running:
            self._servers[self._running].stop()
        self._running = ""


@contextmanager
def comparison_servers(plan: ComparisonPlan, data_dir: Path | None) -> Iterator[ComparisonServers]:
    """Create servers for the block, not yet started, and destroy them with their data at its end.

    Servers that a killed comparison left behind are destroyed first. Raises SlobError if another comparison uses them.
    """
    with ExitStack() as stack:
        servers = {}
        for engine in plan.engines:
            stack.enter_context(registry.claim(name_of(engine), "raw compare"))
            if leftover := registry.find(name_of(engine)):
                leftover.destroy()
            servers[engine] = registry.managed(spec_of(plan, engine, data_dir))
            stack.callback(servers[engine].destroy)
        yield ComparisonServers(servers)
