"""A whole load: takes the target's lock, and runs a managed server in its bulk-loading configuration meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from openslob.config.layers import DATA_SIZE, LOADED, data_text, describe_taken, loaded_layer
from openslob.config.resolve import Resolution
from openslob.core.errors import DeniedError, SlobError
from openslob.core.workload import DataSpec, Workload
from openslob.engines import registry
from openslob.engines.base import Engine, Hold
from openslob.engines.facts import RIGHTS, LoadResult, ProgressSink
from openslob.engines.managed.base import ManagedServer, ServerSpec, require_writes
from openslob.kinds.run.explain import explain_errors

if TYPE_CHECKING:
    from openslob.kinds.run.context import Context


def find_loaded(engine: Engine) -> tuple[DataSpec, int] | None:
    """Return what is loaded and the block size of its tables; None if nothing is, or this user may not see it.

    SlobError when the server can't say. Whether the data are whole is not examined.
    """
    block_size = engine.facts().block_size
    try:
        state = engine.data.state()
    except DeniedError:
        # The check before a run says what this user may not see.
        return None
    return (state.spec, state.spec.block_size or block_size) if state else None


def take_loaded(found: Resolution, engine: Engine, tell: Callable[[str], None]) -> Resolution:
    """Return the parameters with those of the data that are loaded, where the user gave no others, and say so.

    SlobError when the server can't be reached.
    """
    present = find_loaded(engine)
    on_data = found.with_loaded(loaded_layer(*present) if present else {})
    taken = [name for name in DATA_SIZE if on_data.sources[name] == LOADED]
    if present and taken:
        tell(f"data: {describe_taken(taken, *present)}, {origin(engine)}")
    return on_data


def origin(engine: Engine) -> str:
    """Return where sizes that `loaded` gives come from: data that are whole, or a load that did not finish."""
    state = engine.data.state()
    return "as loaded" if state and state.verified else "as the last load asked for"


def execute(workload: Workload, context: Context, announce: Callable[[ServerSpec], ServerSpec]) -> LoadResult:
    """Load what a workload needs into the context's target, and verify it, or verify what is there.

    ``announce`` gets the specification of a managed server that is not there yet, and returns that to create it with.
    SlobError when the load fails, UsageError if the target takes no writes.
    """
    engine, server = registry.resolve(context.address, announce)
    with context.stopping():
        context.adopt(engine)
        _tell_what_is_replaced(engine, workload, context.tell)
        return context.load(engine, server, workload)


def _tell_what_is_replaced(engine: Engine, workload: Workload, tell: Callable[[str], None]) -> None:
    facts, present = engine.facts(), find_loaded(engine)
    asked = workload.data(facts.block_size, facts.tablespace)
    # On one that takes no writes nothing is replaced: the load is refused.
    if present and present[0] != asked and not facts.read_only:
        tell(f"the data that are loaded, {data_text(*present)}, are replaced by {data_text(asked, facts.block_size)}")


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
    ``notify`` gets a line for each change to the server. There is none when the data are already loaded. UsageError if
    they are not, and the target takes no writes.
    """
    with _with_grants(engine, workload):
        return _load(engine, server, workload, progress, cancelled, notify, outer)


def _load(
    engine: Engine,
    server: ManagedServer | None,
    workload: Workload,
    progress: ProgressSink,
    cancelled: Callable[[], bool],
    notify: Callable[[str], None],
    outer: Hold | None,
) -> LoadResult:
    facts = engine.facts()
    spec = workload.data(facts.block_size, facts.tablespace)
    with outer.part() if outer else engine.exclusive("load") as held:
        for line in held.restored:
            notify(line)
        state = engine.data.state()
        loaded = state is not None and state.verified and state.spec == spec
        if not loaded:
            require_writes(engine, server)
        if loaded or server is None:
            with explain_errors(engine):
                return engine.data.load(spec, workload.load_parallel_degree, progress, cancelled)
    # The restart ends every connection, also the one that holds the lock, so the lock is taken again.
    notify(f"restarting {server.name} in its configuration for loads; afterwards it is restarted as it was")
    with server.bulk_loading(), engine.exclusive("load"), explain_errors(engine):
        return engine.data.load(spec, workload.load_parallel_degree, progress, cancelled)


def drop(engine: Engine, server: ManagedServer | None, notify: Callable[[str], None]) -> list[str]:
    """Remove everything that loads and runs made in the target, and return the names of what was removed.

    ``server`` is the target's managed server, if it is one; ``notify`` gets a line for each change to the server.
    UsageError if the target takes no writes.
    """
    require_writes(engine, server)
    with engine.exclusive("drop") as held:
        for line in held.restored:
            notify(line)
        return list(engine.data.drop())


@contextmanager
def _with_grants(engine: Engine, workload: Workload) -> Iterator[None]:
    """Give an error inside the block the statement that grants a missing right as its remedy, if one is missing."""
    try:
        yield
    except SlobError as error:
        if grant := _missing_grant(engine, workload):
            raise SlobError(error.what, grant) from error
        raise


def _missing_grant(engine: Engine, workload: Workload) -> str:
    """Return the statement that grants a right that a run needs and lacks; empty if the server does not answer."""
    found = engine.findings(workload)
    try:
        return next((each.advice for each in found if each.name == RIGHTS and each.blocking), "")
    except SlobError:
        return ""
