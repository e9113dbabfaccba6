"""A connection to a made-up server that shows the views that counters and waits are read from."""

from __future__ import annotations

import re

import oracledb

ONE = {
    "clock": [("clock", "us", 5_000_000)],
    "epoch": [("epoch", "slob1 2026-11-22 09:00:00", 1)],
    "sysstat": [("sysstat", "user commits", 100), ("sysstat", "redo writes", 7)],
    "time_model": [("time_model", "DB CPU", 4), ("time_model", "background cpu time", 1)],
    "osstat": [("osstat", "BUSY_TIME", 5), ("osstat", "IDLE_TIME", 7)],
}
_VIEW = re.compile(r"\bFROM (v\$\w+)|JOIN (v\$\w+)", re.IGNORECASE)


def views_in(text):
    """Return the views that a statement reads, in lower case."""
    return {name.lower() for pair in _VIEW.findall(text) for name in pair if name}


class MadeUpViews:
    """A connection to a made-up server: rows by source, views that this user may not see, a container."""

    username = "SLOB"
    thin = False
    session_id = 42
    version = "19.3.0.0.0"

    def __init__(self, rows=ONE, hidden=(), container=0, refuse=None):
        self.rows = dict(rows)
        self.hidden = hidden
        self.container = container
        self.refuse = refuse or {}
        self.asked = []

    def cursor(self):
        return _Cursor(self)

    def is_healthy(self):
        return True

    def close(self):
        pass

    def answer(self, text):
        self.asked.append(text)
        for needle, error in self.refuse.items():
            if needle in text:
                raise oracledb.DatabaseError(error)
        if views_in(text) & set(self.hidden):
            raise oracledb.DatabaseError("ORA-00942: table or view does not exist")
        if "CON_ID" in text:
            if self.container is None:
                raise oracledb.DatabaseError("ORA-02003: invalid USERENV parameter")
            return ["CON_ID"], [(self.container,)]
        if "spid" in text:
            return ["SPID", "KIND"], [("77", "LGWR")]
        if "DISTINCT s.sql_id" in text:
            return ["SQL_ID"], self.rows.get("statements", [])
        if "AS sessions" in text:
            return ["OTHERS", "EVENT", "SESSIONS"], self.rows.get("look", [])
        found = [row for source, rows in self.rows.items() for row in rows if f"'{source}" in text]
        return ["SOURCE", "NAME", "VALUE"], found


class _Cursor:
    def __init__(self, server):
        self._server = server
        self._rows = []
        self.description = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def execute(self, text, _values):
        names, self._rows = self._server.answer(text)
        self.description = [(name,) for name in names]

    def fetchall(self):
        return self._rows
