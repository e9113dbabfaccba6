"""Servers of the fault suite: one of each engine for each worker."""

from __future__ import annotations

import pytest

from faults.database import DATABASES, Database
from faults.scene import DATA
from openslob.core.workload import Workload
from openslob.engines import registry


@pytest.fixture(scope="session")
def databases(make_server):
    """Return the server of an engine, made when it is first asked for."""
    made: dict[str, Database] = {}

    def database(engine: str) -> Database:
        if engine not in made:
            made[engine] = DATABASES[engine](make_server(name=f"f-{engine}", engine=engine, max_sessions=12))
        return made[engine]

    return database


def load(database: Database) -> None:
    """Let the server run with `DATA` in it, as the row before may have left something else."""
    values = {name.replace("-", "_"): str(value) if name == "scale" else value for name, value in DATA.items()}
    engine = registry.engine_for(database.url)
    spec = Workload(**values).data(engine.facts().block_size)
    engine.data.load(spec, 2, lambda _: None, lambda: False)
