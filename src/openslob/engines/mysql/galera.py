"""A Galera cluster of managed servers on this host, made for a test in which one of its nodes dies.

One node is made and stopped, and its files are copied for the others, so that all have the same state
(``grastate.dat`` names it). Each also gets the view of a cluster of all of them (``gvwstate.dat``), which they take up
again as soon as all are there: no node joins later than the others, so that no state is transferred.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from openslob.core.errors import SlobError
from openslob.engines.managed import state as server_state
from openslob.engines.managed.account import ServerAccount, server_account
from openslob.engines.managed.base import ServerSpec
from openslob.engines.mysql.binaries import MariaPrograms
from openslob.engines.mysql.connection import query_shown, statement
from openslob.engines.mysql.replication import connect_as_administrator
from openslob.engines.mysql.server import MariaServer, managed
from openslob.engines.patience import wait

_LIBRARIES = ("/usr/lib/galera/libgalera_smm.so", "/usr/lib/libgalera_smm.so", "/usr/lib64/galera-4/libgalera_smm.so")
_KEY, _CERTIFICATE = "cluster.key", "cluster.crt"
_VIEW, _CACHE = "gvwstate.dat", "galera.cache"
# How long all nodes may take to be one cluster, and others to go on without one of them.
_TOGETHER_S = 120.0


def key_command(key: Path, certificate: Path) -> list[str | Path]:
    """Return the command that makes a cluster's key and its certificate, which all nodes have and trust."""
    uses = "keyUsage=critical,digitalSignature,keyEncipherment,keyCertSign"
    options = ["-newkey", "rsa:2048", "-nodes", "-subj", "/CN=slob", "-days", "3650", "-addext", uses]
    return ["openssl", "req", "-x509", *options, "-keyout", key, "-out", certificate]


def library() -> str | None:
    """Return the library that makes a server a node; None where it is not installed."""
    return next((path for path in _LIBRARIES if Path(path).exists()), None)


class GaleraNode(MariaServer):
    """One node: its files are those of another one that is stopped, if there is one."""

    source: Path | None = None

    def initialise(self, data: Path, programs: MariaPrograms, account: ServerAccount) -> None:
        """Create the first node, with the key that its cluster's members have, or copy one."""
        if self.source is None:
            super().initialise(data, programs, account)
            self._run(account, "making a key", key_command(data / _KEY, data / _CERTIFICATE))
        else:
            copy = 'cp -a "$0/." "$1" && rm -f "$1/$2"'
            self._run(account, f"copying {self.source}", ["sh", "-c", copy, self.source, data, _CACHE])

    def make(self, source: Path) -> None:
        """Make it again from the files of a node that is stopped."""
        self.destroy()
        self.source = source
        account = server_account()
        with self._home.lock("making"):
            self._make(self._programs(account), account)

    def take_view(self, member: str, members: Sequence[str]) -> None:
        """Let it wait at its next start for all members of a cluster that was whole."""
        lines = [f"my_uuid: {member}", "#vwbeg", f"view_id: 3 {members[0]} 1", "bootstrap: 0"]
        text = "\n".join([*lines, *(f"member: {node} 0" for node in members), "#vwend", ""])
        self._run(server_account(), "writing its view", ["sh", "-c", 'cat >"$0"', self.layout.data / _VIEW], text)

    def _run(self, account: ServerAccount, what: str, command: Sequence[str | Path], text: str = "") -> None:
        self.check_done(account.run(command, text), f"{what} of the server {self.name}")

    def members(self) -> int:
        """Return how many members its cluster has, as far as it sees; 0 while it takes no writes."""
        try:
            with connect_as_administrator(self.url, f"{self.name} does not answer") as connection:
                status = query_shown(connection, statement("replication", "cluster"))
        except SlobError:
            return 0
        return int(status["wsrep_cluster_size"]) if status.get("wsrep_ready") == "ON" else 0


class GaleraCluster:
    """All nodes. Implements `engines.managed.base.ManagedCluster`."""

    def __init__(self, specs: Sequence[ServerSpec]) -> None:
        self._library = library()
        if self._library is None:
            raise SlobError("the library of Galera is not installed on this host", "apt-get install galera-4")
        ports: list[int] = []
        while len(ports) < 2 * len(specs):
            ports += [port for port in [server_state.free_port()] if port not in ports]
        pairs = list(zip(ports[::2], ports[1::2], strict=True))
        together = ",".join(f"127.0.0.1:{port}" for port, _ in pairs)
        self._alone = self._node(specs[0], *pairs[0], "")
        self.nodes: list[GaleraNode] = [
            self._node(spec, *pair, together) for spec, pair in zip(specs, pairs, strict=True)
        ]

    def _node(self, spec: ServerSpec, port: int, transfer_port: int, addresses: str) -> GaleraNode:
        """Return a node that joins the members at these addresses, or is a cluster of its own."""
        node = GaleraNode(spec)
        key, certificate = node.layout.data / _KEY, node.layout.data / _CERTIFICATE
        options = {
            "gmcast.listen_addr": f"ssl://127.0.0.1:{port}", "ist.recv_addr": f"127.0.0.1:{transfer_port}",
            "gcache.size": "32M", "socket.ssl_key": key, "socket.ssl_cert": certificate, "socket.ssl_ca": certificate,
        }  # fmt: skip
        settings = {
            "wsrep_on": "ON", "wsrep_provider": self._library, "wsrep_cluster_name": "slob",
            "wsrep_cluster_address": f"gcomm://{addresses}", "wsrep_node_name": spec.name,
            "wsrep_node_address": f"127.0.0.1:{port}", "wsrep_slave_threads": 2, "binlog_format": "ROW",
            "innodb_autoinc_lock_mode": 2,
            # A session's own changes: the user statistics of other servers have those of all nodes here.
            "performance_schema_instrument": "wait/io/table/%=ON",
            "wsrep_provider_options": ";".join(f"{name}={value}" for name, value in options.items()),
        }  # fmt: skip
        text = "\n".join(f"{name}={value}" for name, value in settings.items())
        return GaleraNode(replace(spec, settings=text))

    def start(self) -> None:
        """Make the first node, copy it for the others, and start all of them together."""
        self._alone.start()
        self._alone.stop()
        self._spread(self.nodes[0])

    def mend(self) -> None:
        """Make those that were killed again from one that goes on, and start all of them together."""
        living = [node for node in self.nodes if node.is_ready()]
        if not living:
            raise SlobError("no node of the cluster is left", "their logs may say why")
        for node in living:
            node.stop()
        # The one that was stopped last has everything.
        self._spread(living[-1])

    def _spread(self, source: GaleraNode) -> None:
        for node in self.nodes:
            if node.name != source.name:
                node.make(source.layout.data)
        members = [str(uuid.uuid1()) for _ in self.nodes]
        for node, member in zip(self.nodes, members, strict=True):
            node.take_view(member, members)
        with ThreadPoolExecutor(len(self.nodes)) as together:
            list(together.map(GaleraNode.start, self.nodes))
        self._await(lambda: all(node.members() == len(self.nodes) for node in self.nodes), self.nodes)

    def await_others(self, name: str) -> int:
        others = [node for node in self.nodes if node.name != name]
        self._await(lambda: any(node.members() == len(others) for node in others), others)
        return time.monotonic_ns()

    def _await(self, done: Callable[[], bool], nodes: Sequence[GaleraNode]) -> None:
        if not wait(done, _TOGETHER_S):
            names = ", ".join(node.name for node in nodes)
            raise SlobError(
                f"the nodes {names} take no writes as a cluster", f"the log of one is {nodes[0].layout.log}"
            )


def cluster(specs: Sequence[ServerSpec]) -> GaleraCluster:
    """Return a cluster of nodes that are to be made by these specifications; nothing is changed yet."""
    return GaleraCluster([managed(spec).spec for spec in specs])
