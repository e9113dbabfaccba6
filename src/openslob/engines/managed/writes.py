"""Targets that take no writes."""

from __future__ import annotations

from openslob.core.errors import UsageError
from openslob.engines.base import Engine
from openslob.engines.managed.base import ManagedServer


def require_writes(engine: Engine, server: ManagedServer | None = None) -> None:
    """Raise UsageError if the target takes no writes; ``server`` is its managed server, if it is one.

    It can't be left to the server to refuse: some let a superuser write to a standby, which can't follow its primary
    any more then.
    """
    if engine.facts().read_only:
        if server:
            require_primary(server)
        raise UsageError(f"{engine.target} takes no writes: it is a standby, or read-only", "name the primary")


def require_primary(server: ManagedServer) -> None:
    """Raise UsageError for a managed standby; it need not run."""
    if primary := server.status().spec.standby_of:
        raise UsageError(
            f"the server {server.name} is a standby, which takes no writes", f"name its primary instead: {primary}"
        )
