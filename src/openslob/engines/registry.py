"""Which engine serves which target. A new engine adds a line here and nothing elsewhere."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from openslob.engines.base import Engine
from openslob.errors import UsageError

# scheme of a target URL -> module with `connect(url) -> Engine`
_SCHEMES = {
    "postgresql": "openslob.engines.postgresql.adapter",
    "postgres": "openslob.engines.postgresql.adapter",
}
# --engine -> module with `managed(spec) -> ManagedServer`, `known() -> names` and `find(name)`
_MANAGED = {"postgresql": "openslob.engines.postgresql.server"}

DEFAULT_ENGINE = "postgresql"


def engine_for(url: str) -> Engine:
    """The engine for a target URL. UsageError when no engine takes its scheme."""
    scheme = url.partition("://")[0]
    if "://" not in url or scheme not in _SCHEMES:
        known = ", ".join(f"{name}://" for name in sorted(_SCHEMES))
        raise UsageError(f"no engine takes the target {url.partition('@')[2] or url!r}", f"known are {known}")
    return cast(Engine, import_module(_SCHEMES[scheme]).connect(url))
