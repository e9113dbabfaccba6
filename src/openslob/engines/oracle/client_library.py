"""Oracle's client libraries (thick mode): loaded once a process, and only if a target asks for them."""

from __future__ import annotations

from threading import Lock

import oracledb

from openslob.engines.oracle.target import ConnectionParams

_once = Lock()


def require_mode(params: ConnectionParams) -> None:
    """Load the client libraries if the target asks for them. oracledb.Error when that fails.

    There is no way back: from then on, every connection of this process uses them.
    """
    if not params.thick:
        return
    with _once:
        if oracledb.is_thin_mode():
            oracledb.init_oracle_client(lib_dir=params.lib_dir, config_dir=params.arguments.get("config_dir"))
