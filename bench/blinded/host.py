"""The server of the blind bench: on a loop device, in control groups of its own, with a library preloaded.

What lies below the loop device, its file's disk, is not what the server's host shows as the device of its data.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import psutil

from blinded.raw import Numbers, compile_library
from common import Bench
from limits import GROUPS, group, move
from openslob.core.errors import SlobError
from openslob.core.units import MIB
from openslob.core.workload import Workload
from openslob.engines import registry
from openslob.engines.managed.account import server_account
from openslob.engines.managed.server import LocalServer

DISK_BYTES = 6 << 30
SHAPE = {"schemas": 2, "scale": "96M"}
CACHE_BYTES, LOG_BYTES = 32 * MIB, 512 * MIB
NEIGHBOURS_BYTES = 128 * MIB
START_S = 60.0
# Weights of CPU groups: without one of its own, a group has that of a single process, whatever it consists of. All of
# the bench is in one, so that what else runs on the host takes little from it; in that, the server has the weight of as
# many processes as a load has sessions.
ALL_SHARES, SERVER_SHARES = 32 * 1024, 16 * 1024


@dataclass(frozen=True)
class Host:
    """What an injector must know: the server's groups by controller, that of all beside it, devices, and files.

    Devices are as ``major:minor``: that of the data, and the disk below it.
    """

    groups: Mapping[str, str]
    beside: str
    device: str
    below: str
    numbers: str
    neighbours_file: str

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), indent=1))

    @classmethod
    def read(cls, path: Path) -> Host:
        return cls(**json.loads(path.read_text()))

    def limit(self, controller: str, file: str, text: str) -> None:
        """Write a limit of the server's group."""
        Path(self.groups[controller], file).write_text(text)


class PreloadedServer(Bench):
    """A managed server that, once its data are loaded, runs with the library preloaded and in its groups."""

    def __init__(self, server: LocalServer[Any], results: Path, library: Path, numbers: Path) -> None:
        super().__init__(server, results)
        self._library, self._numbers = library, numbers
        self.folders: list[Path] = []

    def load_again(self) -> None:
        """Load the data, which restarts the server, and start it with the library."""
        self.load(Workload.model_validate(SHAPE))
        self._preload()

    def _preload(self) -> None:
        """Stop the server, and start its program again as it was, but with the library."""
        assert isinstance(self.server, LocalServer)
        pid = self.server.status().pid
        assert pid is not None
        process = psutil.Process(pid)
        argv = [process.exe(), *process.cmdline()[1:]]
        self.server.stop()
        preload = ["env", f"LD_PRELOAD={self._library}", f"SLOW_IO={self._numbers}"]
        server_account().launch([*preload, *argv], self.server.layout.log)
        deadline = time.monotonic() + START_S
        while not self.server.is_ready():
            if time.monotonic() > deadline:
                raise SlobError(f"the server with the library was not ready in {START_S:.0f} s")
            time.sleep(0.05)
        for folder in self.folders:
            move(self, folder)


@contextmanager
def loop_device() -> Iterator[tuple[Path, str, str]]:
    """Mount a file system on a loop device; yield its folder, the device's number and that of the disk below it."""
    top = Path("/var/tmp") / f"slob-bench-{os.getpid()}"
    image, folder = top / "image", top / "mnt"
    folder.mkdir(parents=True)
    with ExitStack() as undone:
        undone.callback(lambda: subprocess.run(["rm", "-rf", str(top)], check=True))
        with image.open("wb") as file:
            file.truncate(DISK_BYTES)
        subprocess.run(["mkfs.ext4", "-q", "-E", "lazy_itable_init=0", str(image)], check=True)
        device = _said("losetup", "--find", "--show", "--direct-io=on", str(image))
        undone.callback(lambda: subprocess.run(["losetup", "--detach", device], check=True))
        subprocess.run(["mount", device, str(folder)], check=True)
        undone.callback(lambda: subprocess.run(["umount", str(folder)], check=True))
        folder.chmod(0o755)
        below = image.stat().st_dev
        disk = Path(f"/sys/dev/block/{os.major(below)}:{os.minor(below)}").resolve()
        disk = disk.parent if (disk / "partition").exists() else disk
        yield folder, _said("lsblk", "-ndo", "MAJ:MIN", device), (disk / "dev").read_text().strip()


def _said(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@contextmanager
def preloaded_server(engine: str, results: Path) -> Iterator[tuple[PreloadedServer, Host]]:
    """Make a server with loaded data and everything that faults need; undo all of it at the end of the block."""
    with ExitStack() as opened:
        folder, device, below = opened.enter_context(loop_device())
        # In memory: what is counted must not be written to the device that is counted.
        shared = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="slob-bench-", dir="/dev/shm")))
        shared.chmod(0o755)
        numbers, file = shared / "numbers", folder / "neighbours"
        Numbers(numbers)
        subprocess.run(
            ["dd", "if=/dev/zero", f"of={file}", "bs=1M", f"count={NEIGHBOURS_BYTES // MIB}", "oflag=direct"],
            check=True, capture_output=True,
        )  # fmt: skip
        name = f"blind-{os.getpid()}"
        spec = replace(
            registry.default_spec(name, engine),
            cache_bytes=CACHE_BYTES, log_bytes=LOG_BYTES, data_dir=folder / "data",
        )  # fmt: skip
        server = registry.managed(spec)
        assert isinstance(server, LocalServer)
        opened.callback(server.destroy)
        target = PreloadedServer(server, results, compile_library(folder), numbers)
        server_name, name_of_all = f"slob-bench-{os.getpid()}", f"slob-bench-{os.getpid()}-all"
        all_of_it, beside = (opened.enter_context(group(each, name_of_all)) for each in ("cpu", "cpuacct"))
        cpu = opened.enter_context(group("cpu", f"{name_of_all}/{server_name}"))
        for folder_of_group, shares in ((all_of_it, ALL_SHARES), (cpu, SERVER_SHARES)):
            (folder_of_group / "cpu.shares").write_text(str(shares))
        for folder_of_group in (all_of_it, beside):
            (folder_of_group / "cgroup.procs").write_text(str(os.getpid()))
        target.folders = [cpu, *(opened.enter_context(group(each, server_name)) for each in ("blkio", "cpuacct"))]
        target.load_again()
        groups = {folder.relative_to(GROUPS).parts[0]: str(folder) for folder in target.folders}
        yield target, Host(groups, str(beside), device, below, str(numbers), str(file))
