"""A Galera cluster on this host for tests: nodes on loopback, run by the servers' unprivileged account, stopped by pid.

One node is made and shut down cleanly, and its data directory copied for the others, so that all have the same state
(``grastate.dat`` names it). Each also gets the view of a cluster of all of them that was cut off (``gvwstate.dat``),
which they take up again as soon as all are there: no node joins later than the others, so that no state is transferred
and no scripts for that are needed. By hand::

    python tests/factories/galera.py 3      # prints the nodes' URLs, runs until Ctrl-C
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from openslob.engines.managed.account import Account, current_user, server_account

PROVIDERS = ("/usr/lib/galera/libgalera_smm.so", "/usr/lib/libgalera_smm.so", "/usr/lib64/galera-4/libgalera_smm.so")
PROGRAMS = ("mariadbd", "mariadb", "mariadb-install-db")
DATABASE = "slob"
# Only a node that does not come at all takes as long, or a host with much else to do.
PATIENCE_S = 180.0
# A node that has not joined yet may take a connection and not answer.
ANSWER_S = 10.0
# A node that comes into the cluster tells so by this status.
SYNCED = "Synced"


def why_not() -> str:
    """What is missing on this host for a Galera cluster; empty when nothing is."""
    missing = [program for program in PROGRAMS if not shutil.which(program, path=_path())]
    missing += [] if provider() else ["galera-4"]
    return f"not installed: {', '.join(missing)}" if missing else ""


def provider() -> str | None:
    """The Galera library."""
    return next((path for path in PROVIDERS if Path(path).exists()), None)


class Node:
    """One node: its data, socket and ports in ``place``."""

    def __init__(self, place: Path, number: int, account: Account, ports: Sequence[int]) -> None:
        self.place, self.number, self.account = place, number, account
        self.port, self.transfer_port = ports
        self.data, self.socket = place / f"data{number}", place / f"{number}.sock"
        self.log = place / f"{number}.log"
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Target URL."""
        return f"mariadb://{current_user()}@localhost/{DATABASE}?unix_socket={self.socket}"

    def start(self, addresses: str) -> None:
        """Start it as a member of the cluster at these addresses, which need not be one yet."""
        provider_options = (
            f"gmcast.listen_addr=tcp://127.0.0.1:{self.port};ist.recv_addr=127.0.0.1:{self.transfer_port};"
            "gcache.size=32M"
        )
        options = {
            "tmpdir": self.data,
            "datadir": self.data, "socket": self.socket, "pid-file": self.data / "node.pid", "skip-networking": 1,
            "log-error": self.log, "max-connections": 100,
            "innodb-buffer-pool-size": "32M", "innodb-log-file-size": "64M", "innodb-flush-method": "O_DIRECT",
            "innodb-flush-log-at-trx-commit": 1, "innodb-autoinc-lock-mode": 2, "innodb-adaptive-hash-index": 0,
            "innodb-buffer-pool-load-at-startup": 0, "innodb-buffer-pool-dump-at-shutdown": 0,
            "innodb-read-ahead-threshold": 0, "performance-schema": 1, "userstat": 1, "binlog-format": "ROW",
            "wsrep-on": 1, "wsrep-provider": provider(), "wsrep-provider-options": provider_options,
            "wsrep-cluster-name": "slob-test", "wsrep-cluster-address": f"gcomm://{addresses}",
            "wsrep-node-name": f"node{self.number}", "wsrep-node-address": f"127.0.0.1:{self.port}",
            "wsrep-sst-method": "skip", "wsrep-slave-threads": 2,
        }  # fmt: skip
        flags = [f"--{name}={value}" for name, value in options.items()]
        self.process = subprocess.Popen(
            [_program("mariadbd"), "--no-defaults", *flags],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/",
            **_as(self.account),
        )  # fmt: skip

    def wait_until(self, name: str, value: str) -> None:
        """Wait for a status variable to have this value."""
        deadline = time.monotonic() + PATIENCE_S
        while self.status(name) != value:
            assert self.process is not None
            ended = self.process.poll()
            if ended is not None or time.monotonic() > deadline:
                said = self.log.read_text(errors="replace").splitlines()[-15:] if self.log.exists() else []
                raise RuntimeError(f"node {self.number} has no {name} {value} (exit code {ended}):\n" + "\n".join(said))
            time.sleep(0.1)

    def ask(self, statement: str) -> str:
        """What the command-line client prints; empty when the node does not answer."""
        command = [_program("mariadb"), "--no-defaults", f"--socket={self.socket}", "--batch", "--skip-column-names"]
        try:
            done = subprocess.run(
                [*command, "--execute", statement], capture_output=True, text=True, check=False, timeout=ANSWER_S
            )
        except subprocess.TimeoutExpired:
            return ""
        return done.stdout.strip()

    def status(self, name: str) -> str:
        """A status variable's value."""
        return self.ask(f"SHOW GLOBAL STATUS LIKE '{name}'").partition("\t")[2]

    def stop(self) -> None:
        """Shut it down cleanly; by force when that takes too long."""
        if self.process is None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None


@contextmanager
def galera(size: int = 3) -> Iterator[list[Node]]:
    """A running cluster of ``size`` nodes, all joined; stopped and removed at the end."""
    # Short, since a socket's path has at most 107 bytes.
    place = Path(tempfile.mkdtemp(prefix="slob-g-"))
    account = server_account()
    nodes: list[Node] = []
    try:
        place.chmod(0o755)
        account.share(place, 0o775)
        ports = _free_ports(2 * size)
        nodes = [Node(place, n, account, ports[2 * n : 2 * n + 2]) for n in range(size)]
        _make(nodes[0], account)
        for node in nodes[1:]:
            _copy(nodes[0].data, node.data)
        _start(nodes)
        yield nodes
    finally:
        for node in reversed(nodes):
            node.stop()
        shutil.rmtree(place)


def _start(nodes: Sequence[Node]) -> None:
    """Start nodes of the same state and let them take up the view of them all."""
    addresses = ",".join(f"127.0.0.1:{node.port}" for node in nodes)
    members = [str(uuid.uuid1()) for _ in nodes]
    for node, member in zip(nodes, members, strict=True):
        lines = [f"my_uuid: {member}", "#vwbeg", f"view_id: 3 {members[0]} 1", "bootstrap: 0"]
        lines += [*(f"member: {each} 0" for each in members), "#vwend", ""]
        view, owner = node.data / "gvwstate.dat", node.data.stat()
        view.write_text("\n".join(lines))
        os.chown(view, owner.st_uid, owner.st_gid)
        node.start(addresses)
    for node in nodes:
        node.wait_until("wsrep_local_state_comment", SYNCED)


def _make(node: Node, account: Account) -> None:
    """The first node's data: system tables, our database, a user by socket; shut down as a cluster of one."""
    owner = f"--auth-root-socket-user={current_user()}"
    installer = [_program("mariadb-install-db"), "--no-defaults", f"--datadir={node.data}", "--skip-test-db", owner]
    installer.append(
        f"--tmpdir={node.data}"
    )  # a server that starts removes temporary tables of other servers from /tmp
    done = account.run([*installer, "--auth-root-authentication-method=socket", "--innodb-log-file-size=64M"])
    if done.returncode:
        raise RuntimeError(f"mariadb-install-db: {done.stdout} {done.stderr}")
    node.start("")
    node.wait_until("wsrep_local_state_comment", SYNCED)
    node.ask(f"CREATE DATABASE {DATABASE}")
    node.stop()


def _copy(source: Path, copy: Path) -> None:
    """A data directory with the cluster's state in it, but not the node's own view of it or its write-set cache."""
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns("galera.cache", "gvwstate.dat", "*.pid"))
    for path in (copy, *copy.rglob("*")):
        owner = source.stat()
        os.chown(path, owner.st_uid, owner.st_gid)


def _free_ports(count: int) -> list[int]:
    """Ports that nobody listens on now; held open together, so that none is given twice."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def _path() -> str:
    return f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/bin"


def _program(name: str) -> str:
    found = shutil.which(name, path=_path())
    assert found, f"{name} is not installed"
    return found


def _as(account: Account) -> dict[str, object]:
    return {"user": account.uid, "group": account.gid, "extra_groups": []} if account.switched else {}


if __name__ == "__main__":
    with galera(int(sys.argv[1]) if len(sys.argv) > 1 else 3) as running:
        sys.stdout.write("".join(f"{node.url}\n" for node in running))
        sys.stdout.flush()
        signal.sigwait({signal.SIGINT, signal.SIGTERM})
