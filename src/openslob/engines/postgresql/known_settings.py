"""The server's settings: which there are, how each takes effect, and whether the server takes a value.

A managed server is not asked itself, as it may be down, or not be there yet: an empty one is made of the same programs,
started without a network in single-user mode with each value, and removed.
"""

from __future__ import annotations

import csv
import difflib
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openslob.core.errors import SlobError, UsageError
from openslob.engines.managed.account import ServerAccount
from openslob.engines.postgresql import PACKAGE
from openslob.engines.postgresql import server_config as config
from openslob.engines.postgresql.binaries import PostgresPrograms, find_linked_with, is_linked_with, major
from openslob.engines.settings import Effect, ServerSetting, not_known
from openslob.engines.sql import read_statements

PRODUCT = "PostgreSQL"
# How a setting takes effect, by pg_settings.context. A managed server is restarted for those that a reload would do:
# then all of its processes have the new value from their begin.
EFFECTS = {
    "user": Effect.SESSION,
    "superuser": Effect.SESSION,
    "backend": Effect.RESTART,
    "superuser-backend": Effect.RESTART,
    "sighup": Effect.RESTART,
    "postmaster": Effect.RESTART,
}
_INTERNAL = "internal"
_SWITCH = ("on", "off")
# Settings that slob makes of something else, with that.
_OURS = {
    "shared_buffers": "--cache",
    "debug_io_direct": "--io",
    "huge_pages": "--huge-pages",
    "block_size": "--bin-dir, with a build for each size",
    "max_connections": "slob server start --max-sessions",
}
_PARAMETERS = {"synchronous_commit": ("commit_mode", "engine")}
# Values that only programs built with a library have, with that library.
_LIBRARIES = {
    ("io_method", "io_uring"): "liburing",
    ("wal_compression", "lz4"): "liblz4",
    ("wal_compression", "zstd"): "libzstd",
    ("default_toast_compression", "lz4"): "liblz4",
}
TRIAL_S = 60.0
_SMALL = {"shared_buffers": "16MB"}
# The server chooses values of other settings by these.
_SIZES = frozenset({"shared_buffers", "max_connections"})


def make_options(name: str, value: str) -> list[str]:
    """Return initdb's options for a setting that a cluster is made with. UsageError for another one."""
    if name == "data_checksums":
        if value not in _SWITCH:
            raise UsageError(f"data_checksums={value} is neither on nor off", "give on, off or both")
        return ["--data-checksums" if value == "on" else "--no-data-checksums"]
    if name == "wal_segment_size":
        match = re.fullmatch(r"(\d+) ?MB", value)
        if not match:
            raise UsageError(f"wal_segment_size={value} is not a size in MB", "such as 16MB")
        return [f"--wal-segsize={match[1]}"]
    raise UsageError(f"{name} is fixed in the programs of {PRODUCT}", "leave it out")


def initdb_options(programs: PostgresPrograms, account: ServerAccount, made: Mapping[str, str]) -> list[str]:
    """Return the options that make a cluster with these settings.

    Versions that make one without checksums unless asked have no option for that, and need none.
    """
    options = [option for name, value in made.items() for option in make_options(name, value)]
    known = account.run([programs.program("initdb"), "--help"]).stdout if options else ""
    return [option for option in options if option in known or not option.startswith("--no-")]


@dataclass(frozen=True)
class _Row:
    name: str
    context: str
    type: str
    choices: tuple[str, ...]
    value: str


class PostgresCatalogue:
    """The rows of pg_settings by name."""

    def __init__(self, product: str, rows: Sequence[Sequence[Any]]) -> None:
        self.product = product
        self._rows = {
            str(name).lower(): _Row(name, context, kind, tuple((choices or "").split(",")) if choices else (), value)
            for name, context, kind, choices, value in rows
        }

    def row(self, name: str) -> _Row:
        """Return the row of a setting. UsageError when there is none."""
        found = self._rows.get(name.lower())
        if found is None:
            near = difflib.get_close_matches(name.lower(), self._rows, 2)
            raise not_known(self.product, name, [self._rows[key].name for key in near])
        return found

    def setting(self, row: _Row, effect: Effect) -> ServerSetting:
        choices = _SWITCH if row.type == "bool" else row.choices
        return ServerSetting(row.name, effect, choices, row.value or "", _PARAMETERS.get(row.name))


class ManagedPostgresSettings:
    """The settings of a managed server. Implements `openslob.engines.settings.KnownSettings`."""

    def __init__(
        self, programs: PostgresPrograms, account: ServerAccount, place: Path, ours: Mapping[str, str]
    ) -> None:
        self._programs, self._account, self._place = programs, account, place
        self._own = {name: value for name, value in ours.items() if name not in {*_OURS, *config.ACCESS}} | _SMALL
        self._product = f"{PRODUCT} {programs.version()}"
        self._data = self._initialise("data", {})
        self._catalogue = PostgresCatalogue(
            self._product, self._values({name: ours[name] for name in _SIZES & ours.keys()})
        )

    def _values(self, sizes: Mapping[str, str]) -> list[list[str]]:
        """Return the catalogue of a server of these sizes; of a small one if there is no room."""
        try:
            return self._ask(sizes)
        except SlobError:
            return self._ask({})

    def find(self, name: str) -> ServerSetting:
        row = self._catalogue.row(name)
        if row.name in _OURS:
            raise UsageError(f"slob sets {row.name} of its servers itself", f"use {_OURS[row.name]}")
        if row.name in config.ACCESS:
            raise UsageError(f"slob reaches its servers by {row.name}", "leave it as it is")
        if row.context == _INTERNAL:
            make_options(row.name, row.value)
            return self._catalogue.setting(row, Effect.NEW_SERVER)
        return self._catalogue.setting(row, EFFECTS[row.context])

    def require(self, setting: ServerSetting, value: str) -> None:
        """Start the empty server with the value. UsageError if it refuses."""
        try:
            if setting.effect is Effect.NEW_SERVER:
                self._initialise(f"with-{setting.name}-{value}", {setting.name: value})
            else:
                self._ask({"fsync": "off", setting.name: value})
        except UsageError:
            raise
        except SlobError as error:
            library = _LIBRARIES.get((setting.name, value.lower()))
            if library and not is_linked_with(self._programs, library):
                raise self._without(library, f"{setting.name}={value}") from error
            raise UsageError(f"{self._product} refuses {setting.name}={value}: {error.what}", error.remedy) from error

    def _without(self, library: str, needs: str) -> UsageError:
        """Return the error of a value that these programs lack, with the way to programs that have it."""
        found = find_linked_with(library, major(self._programs.version()))
        where = str(found) if found else "DIR of a server with it (docs/lab.md)"
        return UsageError(
            f"{needs} needs {library}, and this {self._product} is built without it",
            f"slob server start NAME --bin-dir {where}, then --target NAME",
        )

    def _initialise(self, name: str, made: Mapping[str, str]) -> Path:
        data = self._place / name
        options = initdb_options(self._programs, self._account, made)
        command: list[str | Path] = [self._programs.program("initdb"), "--pgdata", data, "--no-sync", *options]
        role = ["--username", config.ROLE, "--auth", "reject", "--locale", "C.UTF-8"]
        done = self._account.run([*command, *role], timeout=TRIAL_S)
        if done.returncode:
            raise SlobError(_complaint(done.stderr))
        return data

    def _ask(self, settings: Mapping[str, str]) -> list[list[str]]:
        """Return the catalogue of a server with these settings. SlobError with its complaint if it does not start."""
        query = " ".join(read_statements(PACKAGE, "catalogue")["settings"].split())
        options = [part for name, value in {**self._own, **settings}.items() for part in ("-c", f"{name}={value}")]
        command: list[str | Path] = [
            self._programs.program("postgres"),
            "--single",
            "-D",
            self._data,
            *options,
            "postgres",
        ]
        done = self._account.run(command, f"COPY ({query}) TO STDOUT (FORMAT csv)\n", timeout=TRIAL_S)
        if done.returncode:
            raise SlobError(_complaint(done.stderr))
        # Its prompt stands before the first row and after the last.
        said = done.stdout.partition("backend> ")[2].rpartition("backend> ")[0]
        return list(csv.reader(io.StringIO(said)))


def _complaint(said: str) -> str:
    """Return what a program complained of, with its hint, in one line."""
    hint = next((line.partition("HINT:")[2].strip().rstrip(".") for line in said.splitlines() if "HINT:" in line), "")
    text = re.sub(r"^(FATAL|ERROR|initdb: error):\s+", "", config.COMPLAINTS.find_last(said)) or "it gave no reason"
    return f"{text} ({hint[0].lower()}{hint[1:]})" if hint else text
