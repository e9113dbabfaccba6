"""The server that a proof of durability crashes, on storage that can be cut off if that is asked for."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Thread

from openslob.core.disk import forget_cached
from openslob.core.errors import SlobError, UsageError
from openslob.core.units import MIB
from openslob.durability.cut import FAULTS, CutStorage, Fault, Files, Survival, remove_stale, require_fuse
from openslob.engines import registry
from openslob.engines.base import Engine
from openslob.engines.ledger import LedgerTables
from openslob.engines.managed.base import ManagedServer
from openslob.kinds.crash.record import CrashMethod

# A small log, and a cache that holds a part of the rows: pages are written all the time, and recovery is quick. A
# control has the same: what it shows is the power of the proof.
_CACHE_BYTES, _LOG_BYTES = 8 * MIB, 64 * MIB
LYING_DISK = "lying-disk"
PURPOSE = "crash"
_NO_FAULT = "it loses something only if a sync of tables fails (--fault {fault})"
_POWERED = "the storage keeps its power when the server's processes die"
_NOT_TORN = {
    CrashMethod.KILL: "torn pages are not tested: the operating system keeps what the server has written",
    CrashMethod.CUT: "torn pages are not tested: a cut that keeps only what was synced tears none (--survive random)",
}
# How often a server that starts is asked whether it takes queries.
_ASK_EVERY_S = 0.02
_UNTIL_READY_S = 330.0


def name_of(engine: str) -> str:
    """Return the name of the server that a proof makes for itself."""
    return f"crash-{engine}"


@dataclass(frozen=True)
class Crash:
    """A crash: when it was, in ns of the monotonic clock, and how many pages of tables and indexes it left torn.

    ``torn_pages`` is None where nothing was cut off: whatever the server had written is there.
    """

    at_ns: int
    torn_pages: int | None = None


@dataclass
class Rig:
    """A managed server and, if its storage can be cut, that storage.

    ``lying``: the storage acknowledges syncs and makes none, from `begin` on. ``made``: the server was made for this.
    ``data`` is its data directory, known from `begin` on.
    """

    server: ManagedServer
    engine: Engine
    tables: LedgerTables
    storage: CutStorage | None = None
    lying: bool = False
    made: bool = False
    data: Path = Path()

    def begin(self, sessions: int, rows: int) -> None:
        """Make the tables of the proof and keep all of it, whatever server and storage do from now on."""
        self.tables.create(sessions, rows)
        if self.made:
            # A server that was made unsafe writes everything at a clean stop.
            self.server.stop()
            self.server.start()
        if self.storage:
            self.storage.sync()
            self.storage.set_lying(self.lying)
            # The storage keeps or loses parts of its own pages, which are no larger.
            self.storage.block_bytes = max(self.engine.facts().block_size, self.storage.block_bytes)
            self.data = self.server.status().data_directory

    def crash(self, kind: CrashMethod, wait: Callable[[], None] = lambda: None) -> Crash:
        """Crash the server at one moment, as far as it sees: right after ``wait``.

        SlobError if it is down, or its main process is not found: then nothing would crash.
        """
        if self.server.status().pid is None:
            raise SlobError(f"the server {self.server.name} is not running, so it can't be crashed", "see its log")
        wait()
        crashed_ns = time.monotonic_ns()
        self.server.kill(self._cut_of(kind))
        return Crash(crashed_ns, self._restore(kind))

    def begin_fault(self, fault: Fault, seconds: float, files: Files, seed: str) -> None:
        """Let a fault of the storage begin. SlobError if the server's data are on no storage that has faults."""
        storage = self._require_storage()
        pages = [] if files is Files.ALL else self._find_pages(storage)
        storage.begin_fault(fault, seconds, pages, listed=files is Files.TABLES, seed=seed)
        if FAULTS[fault].fails_reads:
            # What the operating system has cached is not read from the storage.
            forget_cached(self.data)

    def fault_met(self) -> tuple[int, str]:
        """Return how many requests met the fault, and the first of them in words."""
        return self._require_storage().fault_met()

    def end_fault(self, kind: CrashMethod) -> Crash:
        """Kill what is left of the server, and switch its storage on again: without the fault, and nothing cached.

        What was written is kept as far as the fault let it, unless it is cut off.
        """
        storage, ended_ns = self._require_storage(), time.monotonic_ns()
        self.server.kill(self._cut_of(kind))
        if kind is CrashMethod.KILL:
            storage.sync()
            storage.restore()
        return Crash(ended_ns, self._restore(kind))

    def _require_storage(self) -> CutStorage:
        if self.storage is None:
            raise SlobError(f"the data of {self.server.name} are not on storage that can be made to fail")
        return self.storage

    def _find_pages(self, storage: CutStorage) -> list[Path]:
        """Return the files with pages of tables and indexes, below the mountpoint."""
        place = self.data.relative_to(storage.mountpoint)
        kept = storage.backing / place
        files = (Path(folder, name).relative_to(kept) for folder, _, names in os.walk(kept) for name in names)
        return [place / file for file in files if self.server.has_pages(file)]

    def crash_recovery(self, kind: CrashMethod, after_s: float) -> tuple[Crash, bool]:
        """Start the server and crash it so many seconds later; return whether it was not ready yet, too.

        SlobError when it did not start.
        """
        crashed_ns: list[int] = []

        def cut() -> None:
            crashed_ns.append(time.monotonic_ns())
            self._cut_of(kind)()

        recovered = self.server.kill_starting(after_s, cut)
        return Crash(crashed_ns[0], self._restore(kind)), recovered

    def _cut_of(self, kind: CrashMethod) -> Callable[[], None]:
        return self.storage.cut if self.storage and kind is CrashMethod.CUT else lambda: None

    def _restore(self, kind: CrashMethod) -> int | None:
        """Switch the storage on again if it was cut off; return how many pages of the server the cut left torn."""
        if self.storage is None or kind is not CrashMethod.CUT:
            return None
        self.storage.restore()
        torn = {self.storage.mountpoint / path: count for path, count in self.storage.torn.items()}
        files = {path: path.relative_to(self.data) for path in torn if path.is_relative_to(self.data)}
        return sum(torn[path] for path, name in files.items() if self.server.has_pages(name))

    def recover(self) -> float:
        """Start the server; return the seconds until it answered the first query. SlobError when it does not start."""
        began = time.monotonic()
        failures: list[SlobError] = []

        def start() -> None:
            try:
                self.server.start()
            except SlobError as error:
                failures.append(error)

        starter = Thread(target=start, name="start", daemon=True)
        starter.start()
        answered_s = self._until_answered(began, starter, failures)
        starter.join()
        if failures:
            raise failures[0]
        return answered_s

    def _until_answered(self, began: float, starter: Thread, failures: list[SlobError]) -> float:
        last: SlobError | None = None
        while not failures and time.monotonic() < began + _UNTIL_READY_S:
            was_started = not starter.is_alive()
            try:
                session = self.tables.open_session(0)
            except SlobError as error:
                last = error
                if was_started:
                    break
                time.sleep(_ASK_EVERY_S)
                continue
            answered_s = time.monotonic() - began
            session.close()
            return answered_s
        starter.join()
        raise failures[0] if failures else last or SlobError("the server did not become ready")


def check(engine: str, kinds: frozenset[CrashMethod], control: str | None, fault: Fault | None = None) -> None:
    """Raise UsageError for a control that the engine or the kinds of crashes do not have.

    SlobError if storage is to be cut off or to fail, and this host can't do that.
    """
    if control is not None:
        _require_control(engine, kinds, control)
    if CrashMethod.CUT in kinds or fault:
        require_fuse()


def _require_control(engine: str, kinds: frozenset[CrashMethod], control: str) -> None:
    known = [each.name for each in registry.controls(engine)]
    if control != LYING_DISK and control not in known:
        raise UsageError(
            f"--control {control} is not known for {engine}", f"choose one of {', '.join([*known, LYING_DISK])}"
        )
    if control == LYING_DISK and CrashMethod.CUT not in kinds:
        raise UsageError(f"--control {LYING_DISK} loses nothing by --kind kill: {_POWERED}", "use --kind cut or both")


def excuses(
    engine: str, control: str, survive: Survival | None, fault: Fault | None = None
) -> tuple[str, dict[str, str]]:
    """Return the settings of a control, and by kind of crash why it may lose nothing with what survives a cut.

    ``fault`` is one of storage that is on tables, too.
    """
    if control == LYING_DISK:
        return "", {CrashMethod.KILL.value: _POWERED}
    found = next(each for each in registry.controls(engine) if each.name == control)
    why = {CrashMethod.KILL: found.kill, CrashMethod.CUT: found.cut}
    if found.fault and found.fault != fault:
        why = dict.fromkeys(CrashMethod, _NO_FAULT.format(fault=found.fault))
    if found.torn:
        why = {kind: reason for kind, reason in _NOT_TORN.items() if kind is CrashMethod.KILL or survive != "random"}
    return found.settings, {kind.value: reason for kind, reason in why.items() if reason}


@contextmanager
def use_server(name: str) -> Iterator[Callable[[], Rig]]:
    """Provide a managed server of the user's, whose processes are killed."""
    server = registry.require_server(name)
    with registry.claim(name, PURPOSE):
        rigs: list[Rig] = []

        def make() -> Rig:
            rigs.append(_start(server))
            return rigs[-1]

        try:
            yield make
        finally:
            with suppress(SlobError):  # the server may be down for good: what was found says so
                server.start()
                for rig in rigs[:1]:
                    rig.tables.drop()


@contextmanager
def make_servers(
    engine: str, version: str | None, control: str | None, seed: int, survive: Survival | None
) -> Iterator[Callable[[], Rig]]:
    """Provide what makes a new server, in place of the one before; it is destroyed at the end.

    With ``survive`` its data are on storage that can be cut off, where so much of what was not synced survives.
    """
    name = name_of(engine)
    default = registry.default_spec(name, engine)
    spec = replace(
        default,
        version=version or default.version,
        cache_bytes=_CACHE_BYTES,
        log_bytes=_LOG_BYTES,
        settings=excuses(engine, control, survive)[0] if control else "",
        made_for=PURPOSE,
    )
    stack = ExitStack()

    def make() -> Rig:
        stack.close()
        storage = _storage(stack, name, seed, survive) if survive else None
        mine = replace(spec, data_dir=storage.mountpoint / "server", io="buffered") if storage else spec
        server = registry.managed(mine)
        stack.callback(_destroy, server, storage)
        rig = _start(server)
        rig.storage, rig.lying, rig.made = storage, control == LYING_DISK, True
        return rig

    with registry.claim(name, PURPOSE), stack:
        _remove_left(name)
        yield make


def _remove_left(name: str) -> None:
    """Remove what a proof left that was killed."""
    remove_stale()
    registry.remove_left(name, PURPOSE)
    for folder in registry.servers_place().glob(f"{name}-*"):
        shutil.rmtree(folder, ignore_errors=True)


def _destroy(server: ManagedServer, storage: CutStorage | None) -> None:
    server.kill()
    if storage:
        storage.set_lying(lying=False)
    server.destroy()


def _storage(stack: ExitStack, name: str, seed: int, survive: Survival) -> CutStorage:
    place = registry.servers_place()
    place.mkdir(mode=0o755, parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=place))
    stack.callback(shutil.rmtree, folder, ignore_errors=True)
    folder.chmod(0o755)  # the servers' account must get in
    for part in ("kept", "disk"):
        (folder / part).mkdir(mode=0o755)
    return stack.enter_context(CutStorage(folder / "kept", folder / "disk", survive=survive, seed=seed))


def _start(server: ManagedServer) -> Rig:
    engine = registry.engine_for(server.start().url)
    tables = engine.ledger()
    if tables is None:
        raise UsageError(f"{engine.name} has no proof of durability yet", "use another engine's server")
    return Rig(server, engine, tables)
