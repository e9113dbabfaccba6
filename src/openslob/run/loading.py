"""A whole load: takes the target's lock, and runs a managed server in its bulk-loading configuration meanwhile."""

from __future__ import annotations

from collections.abc import Callable

from openslob.engines.base import Engine, Hold
from openslob.engines.facts import LoadResult, ProgressSink
from openslob.engines.managed.base import ManagedServer
from openslob.run.aftermath import explained
from openslob.workload import Workload


def load(
    engine: Engine,
    server: ManagedServer | None,
    workload: Workload,
    progress: ProgressSink,
    cancelled: Callable[[], bool],
    notify: Callable[[str], None],
    outer: Hold | None = None,
) -> LoadResult:
    """Load what ``workload`` needs; ``server`` is the target's managed server, if it is one.

    ``outer`` is the target's lock, if the caller has it already; not of a managed server, which may be restarted.
    ``notify`` gets a line for each change to the server. There is none when the data are already loaded.
    """
    facts = engine.facts()
    spec = workload.data(facts.block_size, facts.tablespace)
    with outer.part() if outer else engine.exclusive("load") as held:
        for line in held.restored:
            notify(line)
        state = engine.data.state()
        loaded = state is not None and state.verified and state.spec == spec
        if loaded or server is None:
            with explained(engine):
                return engine.data.load(spec, workload.load_parallel_degree, progress, cancelled)
    # The restart ends every connection, also the one that holds the lock, so the lock is taken again.
    notify(f"restarting {server.name} in its configuration for loads; afterwards it is restarted as it was")
    with server.bulk_loading(), engine.exclusive("load"), explained(engine):
        return engine.data.load(spec, workload.load_parallel_degree, progress, cancelled)
