"""A client that has nothing of Linux, as on another system: it measures a server, and what is local is unknown."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from openslob.engines.managed.base import ManagedServer

pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif(os.geteuid() != 0 or sys.platform != "linux", reason="needs root to hide /proc from a process"),
]

# Runs slob without /proc and without the calls that Linux alone has. What psutil knows it would know elsewhere, too.
AWAY = """
import os, subprocess, psutil
for name in ("virtual_memory", "swap_memory", "cpu_times", "cpu_count", "boot_time"):
    setattr(psutil, name, lambda *_, known=getattr(psutil, name)(), **__: known)
subprocess.run(["mount", "-t", "tmpfs", "none", "/proc"], check=True)
for name in dir(os):
    if name.startswith(("sched_", "posix_fa", "pidfd_", "fdatasync")) or name in ("O_DIRECT", "O_TMPFILE"):
        delattr(os, name)
from openslob.__main__ import main
main()
"""


def call_away(results: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command of slob in a mount namespace of its own."""
    command = ["unshare", "--mount", sys.executable, "-c", AWAY, *words]
    environment = {**os.environ, "SLOB_RESULTS": str(results)}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def test_a_client_without_linux_loads_and_runs_and_says_what_it_can_not_know(
    pg_buffered: ManagedServer, tmp_path: Path
):
    where = ("--target", pg_buffered.status().url)
    loaded = call_away(tmp_path, "load", *where, "--schemas", "1", "--scale", "8M")
    if "unshare" in loaded.stderr:
        pytest.skip(loaded.stderr.strip())
    assert loaded.returncode == 0, loaded.stderr
    ran = call_away(
        tmp_path, "run", *where, "--sessions", "2", "--run-time", "3", "--name", "away", "--update-pct", "20"
    )
    assert ran.returncode == 0, ran.stderr
    file = max(tmp_path.glob("*/run.json"))
    record = json.loads(file.read_text())
    assert (record["status"], record["errors"]) == ("complete", [])
    assert record["summary"]["ops_total"]["value"] > 0
    environment = record["environment"]
    assert environment["local"] is False
    assert {"cpu.model", "cpu.usable", "server_cpu_s", "data"} <= set(environment["unknown"])
    assert all(environment["unknown"].values())
    shown = call_away(tmp_path, "show", "latest", "--all")
    assert shown.returncode == 0, shown.stderr
    assert "unknown" in shown.stdout
