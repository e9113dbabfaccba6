"""A database server that slob makes, starts, stops and destroys on this host, for its user only.

All of its state is in files, so any process can continue after another one died: ``server.json`` has its specification,
``slob.conf`` how it was last started, the pid file whether it runs. A subclass implements what is
specific to a product; the life cycle is the same for all.
"""

from __future__ import annotations

import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from subprocess import CompletedProcess
from typing import Generic, TypeVar

from openslob.core.disk import (
    bytes_on_disk,
    forget_cached,
    remove_tree,
    require_space,
    supports_direct_io,
    write_atomically,
)
from openslob.core.errors import SlobError, UsageError
from openslob.engines.managed import resources
from openslob.engines.managed import state as server_state
from openslob.engines.managed.account import ServerAccount, server_account
from openslob.engines.managed.base import RUNNING, ServerSpec, ServerStatus
from openslob.engines.managed.layout import DATA, Complaints, ServerFiles, check_socket_path
from openslob.engines.managed.processes import ServerProcesses
from openslob.engines.managed.resources import confine
from openslob.engines.patience import wait
from openslob.engines.settings import KnownSettings

_UNFINISHED = "data.new-"
# How long a server that starts may take until its main process is there.
_UNTIL_THERE_S = 60.0
# What a restart can't change once there are data.
_FIXED = ("version", "bin_dir", "block_size", "data_dir", "standby_of", "made_settings", "table_engine")


P = TypeVar("P")


class LocalServer(ABC, Generic[P]):
    """One managed server. Implements `engines.managed.base.ManagedServer`; ``P`` describes the product's programs."""

    def __init__(self, spec: ServerSpec, socket_name: str, complaints: Complaints) -> None:
        self._complaints = complaints
        self.spec = self.complete(spec)
        self.name = spec.name
        self._found: P | None = None
        self._note = ""
        self._for_now = False
        self._home = server_state.ServerState(spec.name)
        self.layout = ServerFiles(self._home.path, self._place_of(spec), socket_name)

    # What a product's subclass provides.

    def complete(self, spec: ServerSpec) -> ServerSpec:
        """Return a specification with what the product has where none was asked for."""
        return spec

    @property
    @abstractmethod
    def url(self) -> str:
        """The target URL of its database."""

    @property
    @abstractmethod
    def processes(self) -> ServerProcesses:
        """Its processes."""

    @abstractmethod
    def check_spec(self) -> None:
        """Raise UsageError for the first value that the product does not support on this host."""

    @abstractmethod
    def has_pages(self, path: Path) -> bool:
        """Return whether a file of its data directory, by its path there, has pages of tables and indexes."""

    @abstractmethod
    def is_ready(self) -> bool:
        """Return whether it runs and accepts connections."""

    @abstractmethod
    def find_programs(self, account: ServerAccount) -> P:
        """Return the specified programs, where the account can run them. SlobError when there are none."""

    @abstractmethod
    def bytes_at_first(self) -> int:
        """Return the bytes that its data take before anything is loaded, log included."""

    @abstractmethod
    def initialise(self, data: Path, programs: P, account: ServerAccount) -> None:
        """Make an empty database in an empty directory that the account owns."""

    @abstractmethod
    def config_text(self, programs: P, bulk: bool) -> str:
        """Return the whole configuration file, with everything that decides how the server runs."""

    @abstractmethod
    def other_files(self, account: ServerAccount) -> Mapping[Path, str]:
        """Return the files beside the configuration, with their text."""

    @abstractmethod
    def launch(self, programs: P, account: ServerAccount) -> str | None:
        """Start the stopped server and wait until it is ready; return why it is not, for a log that does not say so."""

    @abstractmethod
    def huge_pages_needed(self, programs: P, account: ServerAccount) -> int:
        """Return how many huge pages it will request."""

    @abstractmethod
    def list_settings(self, programs: P, account: ServerAccount, place: Path) -> KnownSettings:
        """Return the settings of such servers, asked of an empty one that is made in the directory ``place``."""

    @abstractmethod
    def end_replication(self) -> None:
        """Let the running standby take writes, and return as soon as it does."""

    @abstractmethod
    def await_copies(self, on: bool) -> None:
        """Let commits of the running server wait for a standby to have them, or no longer."""

    def release_memory(self) -> None:
        """Release shared memory that a crash of the server left on the host; the server is stopped, its data are there.

        Most products have none: the operating system releases what no process has.
        """

    @property
    def remains(self) -> Collection[Path]:
        """The files, besides the pid file, that a running server has and a stopped one must not have."""
        return [self.layout.socket]

    # The life cycle.

    def start(self, *, for_now: bool = False) -> ServerStatus:
        self._for_now = for_now
        self.check_spec()
        check_socket_path(self.layout)
        with self._home.lock("starting"):
            self._serve(bulk=False)
        return self.status()

    def stop(self) -> ServerStatus:
        """Stop it cleanly; nothing to do if it is down. SlobError while another process uses it."""
        if self._home.read():
            with self._home.reserve("stop"), self._home.lock("stopping"):
                self._require_own_data()
                self._halt()
        return self.status()

    def kill(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Kill all of its processes at one moment; its files stay as they are, and so do those of a running server."""
        with self._home.reserve("kill"), self._home.lock("killing"):
            self._require_own_data()
            self.processes.kill(meanwhile)

    def kill_starting(self, after_s: float, meanwhile: Callable[[], None]) -> bool:
        with ThreadPoolExecutor(1) as aside:
            started = aside.submit(self.start)
            wait(lambda: started.done() or self.processes.is_there(), _UNTIL_THERE_S)
            time.sleep(after_s)
            recovers = not self.is_ready()
            if started.done():
                started.result()
            self.processes.kill(meanwhile)
            # How the start complains of a server that is killed, on storage that may be cut off, says nothing.
            with suppress(SlobError, OSError):
                started.result()
        return recovers

    def destroy(self) -> None:
        """Stop it and remove its data; nothing to do if it is not there. SlobError while another process uses it."""
        if not self._home.read():
            return
        with self._home.reserve("destroy"), self._home.lock("destroying"):
            self._require_own_data()
            self._halt(at_once=True)
            self.release_memory()
            self._remove()

    def promote(self) -> int:
        if not self.spec.standby_of:
            raise UsageError(f"the server {self.name} is not a standby", "name the one to promote")
        with self._home.reserve("promote"), self._home.lock("promoting"):
            self.end_replication()
            promoted_ns = time.monotonic_ns()
            self.spec = replace(self.spec, standby_of=None)
            self._home.write(self.spec)
        return promoted_ns

    def status(self) -> ServerStatus:
        state = self._home.read()
        pid = self.processes.main_pid()
        stopped = "stopped" if self.layout.data.exists() else "gone"
        return ServerStatus(
            spec=server_state.spec_from(state) if state else self.spec,
            state=RUNNING if pid else stopped,
            pid=pid,
            url=self.url,
            data_directory=self.layout.data,
            bytes_on_disk=bytes_on_disk(self.layout.place),
            note=self._note,
        )

    def bulk_loading(self) -> AbstractContextManager[None]:
        """Run the server in its configuration for loads; afterwards as specified, its files out of the page cache.

        One with standbys stays as it is: they could not follow such a load.
        """
        return nullcontext() if server_state.is_followed(self.name) else self._bulk_loading()

    @contextmanager
    def known_settings(self) -> Iterator[KnownSettings]:
        account = server_account()
        with account.scratch("settings") as place:
            yield self.list_settings(self._programs(account), account, place)

    @contextmanager
    def _bulk_loading(self) -> Iterator[None]:
        with self._home.reserve("load"), self._home.lock(server_state.LOADING):
            self._serve(bulk=True)
            try:
                yield
            except BaseException:
                # The failure of the load is the one to report; should this one fail too, the next start() sees
                # settings that differ and restores them.
                with suppress(SlobError):
                    self._serve(bulk=False)
                raise
            self._serve(bulk=False)

    def _serve(self, bulk: bool) -> None:
        account = server_account()
        self._refuse_other_data()
        self._require_own_data()
        programs = self._programs(account)
        if not self.layout.data.exists():
            self._make(programs, account)
        wanted = self.config_text(programs, bulk)
        if wanted != self._config_on_disk() or not self.is_ready():
            with self._home.reserve("start"):
                self._restart(wanted, programs, account)
        self._home.write(self._lasting_spec)

    @property
    def _lasting_spec(self) -> ServerSpec:
        """The specification that the next start goes by."""
        state = self._home.read() if self._for_now else None
        return server_state.spec_from(state) if state else self.spec

    def _restart(self, config: str, programs: P, account: ServerAccount) -> None:
        """Stop it if it runs, and start it with this configuration."""
        self._halt()
        # A stopped server has no dirty pages, so its files can leave the page cache, which would otherwise serve
        # the first reads of a buffered run. This takes about as long as the start, so both run at the same time.
        with ThreadPoolExecutor(1) as aside:
            forgotten = aside.submit(forget_cached, self.layout.data)
            self._write_config(config, account)
            self._launch(programs, account)
        forgotten.result()

    def _programs(self, account: ServerAccount) -> P:
        """Find the programs once: checking what the account may run starts processes."""
        if self._found is None:
            self._found = self.find_programs(account)
        return self._found

    def _refuse_other_data(self) -> None:
        """Raise UsageError for a change of product, version, block size or place, which no restart can make."""
        state = self._home.read()
        if not state:
            return
        had = self.complete(server_state.spec_from(state))
        if had.engine != self.spec.engine:
            raise UsageError(f"the server {self.name} is a {had.engine} server", "use another name")
        if not self._place_of(had).joinpath(DATA).exists():
            return
        for field in _FIXED:
            before, now = getattr(had, field), getattr(self.spec, field)
            if before != now:
                raise UsageError(
                    f"the server {self.name} was created with --{field.replace('_', '-')} {before or '(default)'}, "
                    f"not {now or '(default)'}",
                    f"use another name or destroy it first: slob server destroy {self.name}",
                )

    def _require_own_data(self) -> None:
        """Raise SlobError for data that are not this server's: whatever runs on them must not be stopped or removed."""
        data, elsewhere = self.layout.data, self.spec.data_dir is not None
        if data.is_symlink():
            raise SlobError(
                f"{data} is a symbolic link, and slob never creates one",
                "replace the link by the directory it points to, or remove it",
            )
        if elsewhere and data.exists() and not server_state.is_ours(self.layout.place, self.name):
            raise SlobError(
                f"{self.layout.place} is not marked as the data directory of the server {self.name}",
                f"give --data-dir an empty or a new directory, or correct data_dir in {self.layout.base}",
            )

    def _place_of(self, spec: ServerSpec) -> Path:
        return spec.data_dir.absolute() if spec.data_dir else self._home.path

    def _make(self, programs: P, account: ServerAccount) -> None:
        """Make the data under a temporary name, so that a data directory that exists is always whole."""
        self._home.write(self.spec)
        try:
            self._prepare_place(account)
            unfinished = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=self.layout.place))
            account.make_private(unfinished)
            self.initialise(unfinished, programs, account)
            unfinished.rename(self.layout.data)
        except BaseException:
            self._remove()
            raise

    def _prepare_place(self, account: ServerAccount) -> None:
        """Check account, space and direct I/O before anything is written."""
        place = self.layout.place
        account.share(self.layout.base, 0o750)
        if self.spec.data_dir:
            server_state.claim(place, self.name)
        self._remove_unfinished()
        if not account.can("x", place):
            raise UsageError(
                f"the user {account.name}, who runs the server, can't enter {place}",
                "choose another place by --data-dir or OPENSLOB_HOME, or open its parents to others (chmod o+x)",
            )
        require_space(place, self.bytes_at_first(), f"the server {self.name} with its log")
        if self.spec.io == "direct" and not supports_direct_io(place):
            raise SlobError(f"the file system of {place} has no direct I/O", "use another --data-dir or --io buffered")

    def _config_on_disk(self) -> str | None:
        try:
            return self.layout.config.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return None

    def _write_config(self, text: str, account: ServerAccount) -> None:
        for path, content in {self.layout.config: text, **self.other_files(account)}.items():
            write_atomically(path, content, mode=0o640)
            account.share(path, 0o640)
        account.make_private(self.layout.run)
        account.make_private(self.layout.log.parent)

    def _launch(self, programs: P, account: ServerAccount) -> None:
        log = self.layout.log
        logged = log.stat().st_size if log.exists() else 0
        if self.spec.huge_pages:
            self._take_huge_pages(programs, account)
        with confine(self.spec.cpus):
            complaint = self.launch(programs, account)
        if complaint is not None:
            self._halt(at_once=True)
            said = log.read_bytes()[logged:].decode("utf-8", "replace") if log.exists() else ""
            reason = self._complaints.find_last(said) or complaint
            raise SlobError(f"the server {self.name} did not start: {reason}", f"its log is {log}")

    def _halt(self, at_once: bool = False) -> None:
        """Stop it and clear away what a crash left; ``at_once``: without a checkpoint."""
        self._note = self.processes.stop(at_once)
        self.processes.clear_remains(self.remains)
        self._return_huge_pages()

    def _take_huge_pages(self, programs: P, account: ServerAccount) -> None:
        needed = self.huge_pages_needed(programs, account)
        added = {"added": resources.reserve(needed), "boot": resources.boot_id()}
        self._home.write(self._lasting_spec, huge_pages=added)

    def _return_huge_pages(self) -> None:
        state = self._home.read()
        taken = state and state.get("huge_pages")
        if not state or not taken:
            return
        if taken["boot"] == resources.boot_id():
            resources.restore(taken["added"])
        self._home.write(server_state.spec_from(state), huge_pages=None)

    def _remove_unfinished(self) -> None:
        """Remove what an interrupted start left, after ending the programs of it that still run."""
        for path in list(self.layout.place.glob(f"{_UNFINISHED}*")):
            doomed = path.rename(f"{path}-")
            if not doomed.is_symlink():
                replace(self.processes, data=doomed).clear_remains(())
            with suppress(OSError):  # the next start or the removal tries again
                remove_tree(doomed)

    def _remove(self) -> None:
        """Remove the data first, so that an interrupted removal is found again; a directory only if it is marked."""
        if not self.spec.data_dir or server_state.is_ours(self.layout.place, self.name):
            self._remove_unfinished()
            if self.layout.data.exists():
                remove_tree(self.layout.data)
        if self.spec.data_dir and server_state.is_ours(self.layout.place, self.name):
            server_state.unclaim(self.layout.place)
        self._home.remove()

    def check_done(self, done: CompletedProcess[str], what: str) -> None:
        """Raise SlobError with a program's complaint unless it succeeded."""
        if done.returncode != 0:
            reason = self._complaints.find_last(done.stderr) or f"exit code {done.returncode}"
            raise SlobError(f"{what} failed: {reason}", f"its log is {self.layout.log}")
