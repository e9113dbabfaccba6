"""The counters of the whole database, or of the pluggable one that the connection is to, whoever its clients are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from openslob.engines.oracle.counters import VIEWS, OracleCounters
from openslob.engines.oracle.delta import Values, to_delta
from openslob.metrics.measurement import EngineDelta, ObjectIo

_ROWS = ("rows_read", "rows_updated", "rows_updated_in_place")
_OF_TABLES = "the whole server is observed: only the work loop's own tables tell it"
_UNCOUNTED = "this version of the server does not count them"
_ENDED = ("sysstat.user commits", "sysstat.user rollbacks")
_READS, _WRITES = "io.reads.", "io.writes."


class OracleServerCounters(OracleCounters):
    """Reads what is counted of all sessions."""

    _parts = tuple(name for name in VIEWS if name not in ("sql", "sessions", "objects"))

    def _search(self) -> Sequence[str]:
        """Return no statements: the work loop's are of no interest."""
        return ()

    def _delta(self, change: Values) -> EngineDelta:
        return server_delta(change, self._missing, self._pluggable)


def server_delta(change: Values, missing: Mapping[str, str] | None = None, pluggable: bool = False) -> EngineDelta:
    """Return the changes of an interval as `EngineDelta` of the whole server; ``missing`` as in `to_delta`.

    Our samplers only query, which ends no transaction.
    """
    delta = to_delta(change, missing, pluggable)
    ended = [change[name] for name in _ENDED if name in change]
    known = len(ended) == len(_ENDED)
    unknown = {**delta.unknown, **dict.fromkeys(_ROWS, _OF_TABLES)}
    return replace(
        delta,
        transactions=sum(ended) if known else None,
        by_object={**delta.by_object, **_by_function(change)},
        unknown=unknown if known else {**unknown, "transactions": unknown.get("commits", _UNCOUNTED)},
        server_wide=frozenset(),
        others={},
    )


def _by_function(change: Values) -> dict[str, ObjectIo]:
    """Return the requests by what the server did them for; it shows their bytes in whole MB, which is too coarse."""
    names = [name.removeprefix(_READS) for name in change if name.startswith(_READS)]
    return {
        name: ObjectIo(None, change[f"{_READS}{name}"], None, change.get(f"{_WRITES}{name}"), None) for name in names
    }
