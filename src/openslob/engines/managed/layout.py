"""The files of a managed server, the lines of its configuration, and checks of every specification."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from openslob.core.errors import UsageError
from openslob.engines.managed.base import ServerSpec
from openslob.engines.managed.resources import check_allowed, check_cpus

# sun_path has 108 bytes, one of them the closing zero
_SOCKET_PATH_MAX = 107
DATA = "data"
RUN = "run"
# Unicode's categories of control characters and of bytes that are not UTF-8.
_SETTING = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_UNWRITABLE = ("Cc", "Cs")


@dataclass(frozen=True)
class ServerFiles:
    """Paths of one server's files; ``place`` holds the data directory and may be on another disk."""

    base: Path
    place: Path
    socket_name: str

    @property
    def data(self) -> Path:
        return self.place / DATA

    @property
    def run(self) -> Path:
        """The directory of the socket."""
        return self.base / RUN

    @property
    def socket(self) -> Path:
        return self.run / self.socket_name

    @property
    def log(self) -> Path:
        return self.base / "log" / "server.log"

    @property
    def config(self) -> Path:
        """The configuration file that slob writes."""
        return self.base / "slob.conf"


@dataclass(frozen=True)
class ConfigLine:
    """One line of a configuration file and the reason for it."""

    name: str
    value: str
    why: str = ""


@dataclass(frozen=True)
class Complaints:
    """How a product's programs complain: marks of ``grave`` lines, and of lines that only report the end after those.

    ``stamp`` is the pattern of what stands before a line in a log.
    """

    grave: tuple[str, ...]
    epilogue: tuple[str, ...]
    stamp: str

    def find_last(self, said: str) -> str:
        """Return the last line of a server's log or a program's errors that reports a cause, without its time stamp."""
        lines = [line for line in said.splitlines() if line.strip()]
        grave = [line for line in lines if any(mark in line for mark in self.grave)]
        # After the cause come lines, some of them grave, that only report the end.
        left = self._leave_out_epilogue(grave) or self._leave_out_epilogue(lines) or lines
        return re.sub(self.stamp, "", left[-1].strip()) if left else ""

    def _leave_out_epilogue(self, lines: list[str]) -> list[str]:
        return [line for line in lines if not any(mark in line for mark in self.epilogue)]


def more_settings(texts: str) -> list[ConfigLine]:
    """Return the lines of `ServerSpec.settings` or ``made_settings``. UsageError for one that is not ``NAME=VALUE``."""
    lines = []
    for text in texts.splitlines():
        name, equals, value = text.partition("=")
        if not equals or not _SETTING.fullmatch(name):
            raise UsageError(f"{text!r} is not a setting", "write NAME=VALUE")
        lines.append(ConfigLine(name, value, "asked for"))
    return lines


def header(spec: ServerSpec, bin_dir: Path, bulk: bool) -> Iterable[str]:
    """Return the first lines of a configuration file: programs, CPUs and purpose, which are not settings.

    With them two servers run in the same way exactly if their files are equal.
    """
    return (
        f"# Written by slob for the managed server {spec.name}; changes are overwritten at the next start.",
        f"# programs: {bin_dir}",
        f"# CPUs: {spec.cpus or 'all'}",
        f"# purpose: {'load' if bulk else 'measurement'}",
    )


def check_layout(spec: ServerSpec, table_engines: Collection[str] = ()) -> None:
    """Raise UsageError for the first value that no server supports on this host.

    ``table_engines`` are those of the product, if it has several.
    """
    if spec.table_engine and spec.table_engine not in table_engines:
        known = f"there are {', '.join(table_engines)}" if table_engines else f"{spec.engine} has no choice of them"
        raise UsageError(f"--table-engine {spec.table_engine} is not known", known)
    if spec.io not in ("direct", "buffered"):
        raise UsageError(f"--io {spec.io} is not known", "use direct or buffered")
    if spec.max_sessions < 1:
        raise UsageError(f"--max-sessions {spec.max_sessions} is too small", "give at least 1")
    check_cpus(spec.cpus)
    check_path(spec.data_dir)
    more_settings(spec.settings)
    more_settings(spec.made_settings)
    if spec.huge_pages:
        check_allowed()


def check_path(path: Path | None, unsafe: str = "") -> None:
    """Raise UsageError for a name that can't be written into configuration files, or that has an ``unsafe`` character.

    All of the others are written with the quotes of their format.
    """
    if bad := [sign for sign in str(path or "") if unicodedata.category(sign) in _UNWRITABLE or sign in unsafe]:
        raise UsageError(f"the path {str(path)!r} has the character {bad[0]!r}", "choose another directory")


def check_socket_path(layout: ServerFiles) -> None:
    """Raise UsageError when the operating system can't bind a socket with so long a path."""
    length = len(str(layout.socket).encode())
    if length > _SOCKET_PATH_MAX:
        raise UsageError(
            f"the socket path {layout.socket} has {length} bytes and {_SOCKET_PATH_MAX} are allowed",
            "set OPENSLOB_HOME to a shorter directory (the data can stay elsewhere by --data-dir) or shorten the name",
        )
