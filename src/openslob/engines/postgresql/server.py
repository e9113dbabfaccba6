"""A PostgreSQL server that the product makes, starts, stops and destroys by itself, on this host, for its user only.

Everything about it is found again from its files, so any process can carry on after another one died: ``server.json``
says what was asked for, ``slob.conf`` how it was last started, ``postmaster.pid`` whether it runs.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from subprocess import CompletedProcess

from openslob.disk import bytes_on_disk, forget_cached, require_space, supports_direct_io, write_atomically
from openslob.engines.base import ServerSpec, ServerStatus
from openslob.engines.hosting import home as homes
from openslob.engines.hosting import huge_pages
from openslob.engines.hosting.account import Account, current_user, server_account
from openslob.engines.hosting.cpus import confined
from openslob.engines.postgresql import server_config as config
from openslob.engines.postgresql import standby
from openslob.engines.postgresql.binaries import Installation, find_installation, major, readable_installation
from openslob.engines.postgresql.processes import clear_remains, is_ready, postmaster_pid, stop_postmaster
from openslob.errors import SlobError, UsageError
from openslob.units import MIB

ENGINE = "postgresql"
# Recovery after a crash may have to replay all of the WAL with direct I/O.
_START_TIMEOUT_S = 300
# A fresh cluster of version 18 takes 39 MB and its first WAL files 16 MB each.
_EMPTY_BYTES = 100 * MIB
_UNFINISHED = "data.new-"


def default_spec(name: str) -> ServerSpec:
    """A server as it is made when nothing else is asked for: a cache so small that physical I/O is easy to reach."""
    return ServerSpec(
        name=name,
        version="18",
        bin_dir=None,
        data_dir=None,
        cache_bytes=128 * MIB,
        log_bytes=4096 * MIB,
        io="direct",
        cpus=None,
        max_sessions=320,
    )


def managed(spec: ServerSpec) -> PostgresServer:
    """The server of this name, to be run as specified. Nothing is touched yet."""
    if spec.standby_of:
        primary = _primary(spec)
        spec = replace(spec, version=primary.spec.version, bin_dir=primary.spec.bin_dir)
    if spec.bin_dir:
        spec = replace(spec, version=str(major(find_installation(spec).version())))
    return PostgresServer(spec)


def known() -> list[str]:
    """Names of the managed servers of this engine."""
    return [name for name in homes.names() if find(name)]


def find(name: str) -> PostgresServer | None:
    """The managed server of this name as it was last asked for, or None."""
    state = homes.ServerHome(name).read()
    return PostgresServer(homes.spec_from(state["spec"])) if state and state["engine"] == ENGINE else None


def _primary(spec: ServerSpec) -> PostgresServer:
    """The server that a standby follows. UsageError unless there is one of this engine that is no standby itself."""
    primary = find(str(spec.standby_of))
    if primary is None or primary.spec.standby_of or primary.name == spec.name:
        there = ", ".join(name for name in known() if name != spec.name) or "none"
        raise UsageError(f"there is no {ENGINE} server {spec.standby_of} to be a standby of", f"known are {there}")
    return primary


class PostgresServer:
    """One managed server; see `engines.base.ManagedServer`."""

    def __init__(self, spec: ServerSpec) -> None:
        self.spec = spec
        self.name = spec.name
        self._home = homes.ServerHome(spec.name)
        self.layout = config.Layout(self._home.path, spec.data_dir.absolute() if spec.data_dir else self._home.path)

    def start(self) -> ServerStatus:
        """Make it if it is new, start it if it is down, restart it if it runs with other settings than asked for."""
        config.check_spec(self.spec)
        config.check_socket_path(self.layout)
        if self.spec.standby_of and not self.layout.data.exists():
            _primary(self.spec).start()
        with self._home.locked("starting"):
            self._serve(bulk=False)
        return self.status()

    def stop(self) -> ServerStatus:
        """Stop it cleanly; nothing to do if it is down."""
        if self._home.read():
            with self._home.locked("stopping"):
                self._halt()
        return self.status()

    def destroy(self) -> None:
        """Stop it and remove its data; nothing to do if it is not there."""
        if not self._home.read():
            return
        with self._home.locked("destroying"):
            self._halt(at_once=True)
            self._remove()
        if self.spec.standby_of and (primary := find(self.spec.standby_of)):
            standby.forget(primary.status(), self.name)

    def status(self) -> ServerStatus:
        """How it is now, by its files and processes."""
        state = self._home.read()
        pid = postmaster_pid(self.layout.data)
        stopped = "stopped" if self.layout.data.exists() else "gone"
        return ServerStatus(
            spec=homes.spec_from(state["spec"]) if state else self.spec,
            state="running" if pid else stopped,
            pid=pid,
            url=self.layout.url,
            data_directory=self.layout.data,
            bytes_on_disk=bytes_on_disk(self.layout.place),
        )

    def bulk_loading(self) -> AbstractContextManager[None]:
        """Run the server as is best for a load, and as asked for again afterwards, its files out of the page cache."""
        return self._bulk_loading()

    @contextmanager
    def _bulk_loading(self) -> Iterator[None]:
        if self._standbys():
            # A load without log could not be followed: with standbys the server stays as it is.
            yield
            return
        with self._home.locked(homes.LOADING):
            self._serve(bulk=True)
            try:
                yield
            except BaseException:
                # The failure of the load is the one to tell; should this one fail too, the next start() sees
                # settings that differ and puts them right.
                with suppress(SlobError):
                    self._serve(bulk=False)
                raise
            self._serve(bulk=False)

    def _standbys(self) -> list[str]:
        return [name for name in known() if (server := find(name)) and server.spec.standby_of == self.name]

    def _serve(self, bulk: bool) -> None:
        account = server_account()
        self._refuse_other_data()
        programs = readable_installation(find_installation(self.spec), account)
        if not self.layout.data.exists():
            self._make(programs, account)
        wanted = config.config_text(self.spec, self.layout, programs.bin, bulk)
        if wanted != self._config_on_disk() or not is_ready(self.layout.data):
            self._halt()
            # only now are all pages clean, so that they can go; cached ones would serve a buffered run's first reads
            forget_cached(self.layout.data)
            self._write_config(wanted, account)
            self._launch(programs, account)
        self._home.write(ENGINE, self.spec)

    def _refuse_other_data(self) -> None:
        """A cluster can't change its version, block size or place by a restart."""
        state = self._home.read()
        if not state:
            return
        if state["engine"] != ENGINE:
            raise UsageError(f"the server {self.name} is one of {state['engine']}", "use another name")
        had = homes.spec_from(state["spec"])
        if not PostgresServer(had).layout.data.exists():
            return
        for field in ("version", "bin_dir", "block_size", "data_dir", "standby_of"):
            before, now = getattr(had, field), getattr(self.spec, field)
            if before != now:
                raise UsageError(
                    f"the server {self.name} was made with --{field.replace('_', '-')} {before or '(default)'}, "
                    f"not {now or '(default)'}",
                    f"use another name or destroy it first: slob server destroy {self.name}",
                )

    def _make(self, programs: Installation, account: Account) -> None:
        """Make the cluster under a temporary name, so that a data directory that exists is always whole."""
        self._home.write(ENGINE, self.spec)
        try:
            self._prepare_place(account)
            unfinished = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=self.layout.place))
            account.make_private(unfinished)
            if self.spec.standby_of:
                self._copy_primary(unfinished, programs, account)
            else:
                self._initialise(unfinished, programs, account)
            self._check_block_size(unfinished, programs, account)
            standby.include(unfinished / "postgresql.conf", self.layout.config)
            unfinished.rename(self.layout.data)
        except BaseException:
            self._remove()
            raise

    def _prepare_place(self, account: Account) -> None:
        """Check everything that could stop us before anything is filled."""
        place = self.layout.place
        account.share(self.layout.base, 0o750)
        if self.spec.data_dir:
            homes.claim(place, self.name)
        self._remove_unfinished()
        if not account.can("x", place):
            raise UsageError(
                f"the user {account.name}, who runs the server, can't enter {place}",
                "choose another place by --data-dir or OPENSLOB_HOME, or open its parents to others (chmod o+x)",
            )
        require_space(place, _EMPTY_BYTES + self.spec.log_bytes, f"the server {self.name} with its WAL")
        if self.spec.io == "direct" and not supports_direct_io(place):
            raise SlobError(f"the file system of {place} has no direct I/O", "use another --data-dir or --io buffered")

    def _initialise(self, data: Path, programs: Installation, account: Account) -> None:
        options = ["--username", config.ROLE, "--auth", "peer", "--encoding", "UTF8", "--locale", "C.UTF-8"]
        _check(account.run([programs.program("initdb"), "--pgdata", data, *options]), "initdb")
        single: list[str | Path] = [
            programs.program("postgres"),
            "--single",
            "-D",
            data,
            "-c",
            "exit_on_error=on",
            "postgres",
        ]
        _check(account.run(single, text=f"CREATE DATABASE {config.DATABASE}\n"), "making the database")

    def _copy_primary(self, data: Path, programs: Installation, account: Account) -> None:
        primary = _primary(self.spec)
        if self.spec.max_sessions < primary.spec.max_sessions:
            raise UsageError(
                f"a standby needs --max-sessions as its primary has it: {primary.spec.max_sessions}", "give as many"
            )
        standby.forget(primary.status(), self.name)
        command = standby.copy_command(programs.program("pg_basebackup"), primary.layout, data, self.name)
        _check(account.run(command), f"copying {primary.name}")

    def _check_block_size(self, data: Path, programs: Installation, account: Account) -> None:
        block_size = int(self._ask("block_size", data, programs, account))
        if self.spec.block_size not in (None, block_size):
            raise UsageError(
                f"{programs.bin} was built for blocks of {block_size} bytes, not {self.spec.block_size}",
                "name the --bin-dir of a PostgreSQL built for that size",
            )

    def _ask(self, setting: str, data: Path, programs: Installation, account: Account) -> str:
        """The value a setting would have, by the server program of a stopped server."""
        done = account.run([programs.program("postgres"), "-D", data, "-C", setting])
        _check(done, f"asking for {setting}")
        return done.stdout.strip()

    def _config_on_disk(self) -> str | None:
        try:
            return self.layout.config.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None

    def _write_config(self, text: str, account: Account) -> None:
        files = {
            self.layout.config: text,
            self.layout.hba: config.HBA_TEXT,
            self.layout.ident: config.ident_text({current_user(), account.name}),
        }
        for path, content in files.items():
            write_atomically(path, content, mode=0o640)
            account.share(path, 0o640)
        account.make_private(self.layout.run)
        account.make_private(self.layout.log.parent)

    def _launch(self, programs: Installation, account: Account) -> None:
        layout = self.layout
        logged = layout.log.stat().st_size if layout.log.exists() else 0
        if self.spec.huge_pages:
            self._take_huge_pages(programs, account)
        command: list[str | Path] = [
            programs.program("pg_ctl"),
            "start",
            "-D",
            layout.data,
            "-l",
            layout.log,
            "--wait",
            "--silent",
        ]
        with confined(self.spec.cpus):
            done = account.run([*command, "-t", str(_START_TIMEOUT_S)], timeout=_START_TIMEOUT_S + 60)
        if done.returncode != 0:
            self._halt(at_once=True)
            said = layout.log.read_text(encoding="utf-8", errors="replace")[logged:] if layout.log.exists() else ""
            reason = config.last_complaint(said) or config.last_complaint(done.stderr) or "it gave no reason"
            raise SlobError(f"the server {self.name} did not start: {reason}", f"its log is {layout.log}")

    def _halt(self, at_once: bool = False) -> None:
        """Bring it down and clear away what a crash left; ``at_once`` without a checkpoint."""
        if not stop_postmaster(self.layout.data, at_once):
            raise SlobError(f"the server {self.name} does not stop", f"its log is {self.layout.log}")
        clear_remains(self.layout.data, self.layout.socket)
        self._return_huge_pages()

    def _take_huge_pages(self, programs: Installation, account: Account) -> None:
        needed = int(self._ask("shared_memory_size_in_huge_pages", self.layout.data, programs, account))
        added = {"added": huge_pages.reserve(needed), "boot": huge_pages.boot_id()}
        self._home.write(ENGINE, self.spec, huge_pages=added)

    def _return_huge_pages(self) -> None:
        state = self._home.read()
        taken = state and state.get("huge_pages")
        if not state or not taken:
            return
        if taken["boot"] == huge_pages.boot_id():
            huge_pages.give_back(taken["added"])
        self._home.write(ENGINE, homes.spec_from(state["spec"]), huge_pages=None)

    def _remove_unfinished(self) -> None:
        """What an interrupted start left; an initdb of it that still runs finds its directory gone and ends."""
        for path in self.layout.place.glob(f"{_UNFINISHED}*"):
            shutil.rmtree(path, ignore_errors=True)

    def _remove(self) -> None:
        """The data first, so that an interrupted removal is found again; never a directory that is not ours."""
        if not self.spec.data_dir or homes.is_ours(self.layout.place, self.name):
            self._remove_unfinished()
            if self.layout.data.exists():
                shutil.rmtree(self.layout.data)
        if self.spec.data_dir and homes.is_ours(self.layout.place, self.name):
            homes.unclaim(self.layout.place)
        self._home.remove()


def _check(done: CompletedProcess[str], what: str) -> None:
    if done.returncode != 0:
        raise SlobError(f"{what} failed: {config.last_complaint(done.stderr) or f'exit code {done.returncode}'}", "")
