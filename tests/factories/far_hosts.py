"""A host that is reached over ssh, or by a node_exporter: daemons of this host, for who runs the tests."""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from factories.foreign_postgresql import free_port
from factories.running import eventually

CONFIG = """
Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host
AuthorizedKeysFile {folder}/own.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
"""
# What `slob` finds as ssh: the system's, with a configuration of this test.
CLIENT = """#!/bin/sh
echo $$ >> {folder}/clients
exec {ssh} -F none -i {folder}/own -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR "$@"
"""


@contextmanager
def sshd(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Yield the address of this host by ssh. The pids of its clients are in the file ``clients``."""
    program = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin")
    client = shutil.which("ssh")
    if program is None or client is None:
        pytest.skip("there is no sshd")
    for name in ("host", "own"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    port = free_port()
    (folder / "config").write_text(CONFIG.format(port=port, folder=folder))
    (folder / "bin").mkdir()
    (folder / "bin/ssh").write_text(CLIENT.format(folder=folder, ssh=client))
    (folder / "bin/ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder / 'bin'}:{os.environ['PATH']}")
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    with (folder / "log").open("w") as log:
        server = subprocess.Popen([program, "-D", "-e", "-f", folder / "config"], stderr=log)
    try:
        assert eventually(lambda: answers(port)), (folder / "log").read_text()
        yield f"ssh://{getpass.getuser()}@127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()


@contextmanager
def node_exporter() -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Yield the address of a node_exporter of this host, and its process."""
    program = shutil.which("prometheus-node-exporter") or shutil.which("node_exporter")
    if program is None:
        pytest.skip("there is no prometheus-node-exporter")
    port = free_port()
    process = subprocess.Popen([program, f"--web.listen-address=127.0.0.1:{port}"], stderr=subprocess.DEVNULL)
    try:
        assert eventually(lambda: answers(port))
        yield f"http://127.0.0.1:{port}/metrics", process
    finally:
        process.kill()
        process.wait()


def clients(folder: Path) -> list[int]:
    """Return the processes of the client that are there."""
    pids = map(int, (folder / "clients").read_text().split())
    return [pid for pid in pids if Path(f"/proc/{pid}").exists()]


def answers(port: int) -> bool:
    """Return whether somebody listens."""
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0
