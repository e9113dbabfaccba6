"""A minimal Debian beside this one: its own files, mounts, processes and users, all gone at the end."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from factories.registries import CACHE, from_debian, mirror_of_host

# What the README asks for, and what a copy of the project needs to be got.
PACKAGES = ("python3", "make", "git", "ca-certificates")
# Ordinary users have no folder of system programs in theirs.
PATH = "/usr/local/bin:/usr/bin:/bin"
SYSTEM_PATH = "/usr/local/sbin:/usr/sbin:/sbin:" + PATH
# How this host reaches its registries is all that a process there gets of this one's environment.
_REGISTRIES = re.compile(
    r"(pip_.*|(https?|ftp|all|no)_proxy|ssl_cert_(file|dir)|requests_ca_bundle|curl_ca_bundle)", re.IGNORECASE
)
# Settings of apt that say how archives are reached, not what is got from them.
_NOT_OF_THE_WAY = re.compile(r"Acquire::(IndexTargets|Languages|Changelogs|cdrom|CompressionTypes|Gzip)")
_OWN_CERTIFICATES = Path("/usr/local/share/ca-certificates")

# The mounts of a container, in a namespace that ends with its processes. The shell stays, and reaps orphans.
_ENTER = r"""
set -e
root=$1; shift
mount --bind "$root" "$root"
mount -t proc -o nosuid,nodev,noexec proc "$root/proc"
mount --bind "$root/proc/sys" "$root/proc/sys"
mount -o remount,bind,ro "$root/proc/sys"
mount -t sysfs -o ro,nosuid,nodev,noexec sysfs "$root/sys"
mount -t cgroup2 -o ro,nosuid,nodev,noexec cgroup2 "$root/sys/fs/cgroup"
mount -t tmpfs -o nosuid,mode=755 tmpfs "$root/dev"
for device in full null random tty urandom zero; do
    : >"$root/dev/$device"
    mount --bind "/dev/$device" "$root/dev/$device"
done
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts -o nosuid,noexec,newinstance,ptmxmode=0666,mode=0620,gid=5 devpts "$root/dev/pts"
mount -t tmpfs -o nosuid,nodev,noexec,size=64m,mode=1777 tmpfs "$root/dev/shm"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
ln -s /proc/self/fd/0 "$root/dev/stdin"
ln -s /proc/self/fd/1 "$root/dev/stdout"
ln -s /proc/self/fd/2 "$root/dev/stderr"
set +e
chroot "$root" "$@"
exit $?
"""


@dataclass(frozen=True)
class MinimalDebian:
    """One that can be entered. ``root``: the folder that it takes for /."""

    root: Path

    def add_user(self, name: str) -> None:
        """Add an ordinary user with an empty home."""
        self.manage("useradd", "--create-home", "--skel", "/nonexistent", "--shell", "/bin/bash", name)

    def home(self, user: str) -> str:
        """Return the home of a user."""
        return "/root" if user == "root" else f"/home/{user}"

    def clone(self, checkout: Path, user: str) -> str:
        """Give a user a fresh clone of a checkout's HEAD; return its folder, as it is named there."""
        place = f"{self.home(user)}/openslob"
        subprocess.run(["git", "clone", "--quiet", checkout.as_uri(), f"{self.root}{place}"], check=True)
        self.manage("chown", "-R", f"{user}:", place)
        return place

    def manage(self, *command: str) -> None:
        """Run a program as root, which must succeed."""
        bare = {"PATH": SYSTEM_PATH, "DEBIAN_FRONTEND": "noninteractive"}
        done = subprocess.run(self._entering(command), env=bare, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)}: {done.stdout}{done.stderr}")

    def run(self, user: str, folder: str, command: Sequence[str], log: Path, limit_s: float) -> int | None:
        """Run a user's command with a bare environment; return its exit code, or None when it did not end in time."""
        bare = {"HOME": self.home(user), "PATH": PATH, "LANG": "C", **self._registries()}
        as_user = ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups"]
        variables = [f"{name}={value}" for name, value in bare.items()]
        inside = [*as_user, "env", "-i", "-C", folder, *variables, *command]
        with log.open("wb") as output:
            process = subprocess.Popen(
                self._entering(inside),
                env={"PATH": SYSTEM_PATH},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                return process.wait(limit_s)
            except subprocess.TimeoutExpired:
                return None
            finally:
                # The first process of the namespace is gone only when all others are.
                for first in psutil.Process(process.pid).children() if process.poll() is None else ():
                    first.kill()
                process.wait()

    def _entering(self, command: Sequence[str]) -> list[str]:
        """Return the command that runs one there; all that it started ends with it, and it with this process."""
        spaces = ["unshare", "--mount", "--pid", "--ipc", "--uts", "--cgroup", "--fork", "--kill-child=KILL"]
        return ["setpriv", "--pdeathsig", "KILL", *spaces, "sh", "-c", _ENTER, "sh", str(self.root), *command]

    def _registries(self) -> dict[str, str]:
        """Return this host's variables that say how registries are reached, without paths that are not there."""
        found = {name: value for name, value in os.environ.items() if _REGISTRIES.fullmatch(name)}
        return {
            name: value
            for name, value in found.items()
            if not value.startswith("/") or (self.root / value.lstrip("/")).exists()
        }


@contextmanager
def minimal_debian(release: str) -> Iterator[MinimalDebian]:
    """Make one of this release for the block, which reaches registries as this host does; only root can."""
    original = from_debian(release, *PACKAGES)
    place = Path(tempfile.mkdtemp(prefix="trial-", dir=CACHE))
    try:
        subprocess.run(["cp", "-a", "--reflink=auto", f"{original}/.", str(place)], check=True)
        place.chmod(0o755)
        (place / "dev").mkdir(exist_ok=True)
        debian = MinimalDebian(place)
        _connect(debian, release)
        yield debian
    finally:
        # Nothing is mounted there: mounts end with the processes of their namespace.
        shutil.rmtree(place)


def remove_leftovers() -> None:
    """Remove what a process that was killed has left."""
    for place in CACHE.glob("trial-*"):
        shutil.rmtree(place)


def _connect(debian: MinimalDebian, release: str) -> None:
    """Carry over names, certificates and the ways to registries; no home there has anything in it."""
    etc = debian.root / "etc"
    for name in ("resolv.conf", "hosts"):
        (etc / name).unlink(missing_ok=True)
        shutil.copyfile(Path("/etc") / name, etc / name)
    (etc / "apt" / "sources.list").write_text("".join(_sources(release)) or (etc / "apt" / "sources.list").read_text())
    (etc / "apt" / "apt.conf.d" / "99host").write_text(_apt_settings())
    for configuration in _pip_configurations():
        shutil.copyfile(configuration, etc / "pip.conf")
    for home in (debian.root / "root").iterdir():
        home.unlink() if home.is_file() else shutil.rmtree(home)
    if _OWN_CERTIFICATES.is_dir():
        shutil.copytree(_OWN_CERTIFICATES, debian.root / _OWN_CERTIFICATES.relative_to("/"), dirs_exist_ok=True)
        debian.manage("update-ca-certificates")


def _sources(release: str) -> Iterator[str]:
    """Yield the lines of a sources.list: this host's mirrors, for another release."""
    for archive in ("", "-updates", "-security"):
        for uri in mirror_of_host(archive):
            yield f"deb {uri} {release}{archive} main\n"


def _apt_settings() -> str:
    """Return how this host's apt reaches archives: proxies, limits and checks."""
    if shutil.which("apt-config") is None:
        return ""
    said = subprocess.run(["apt-config", "dump", "--no-empty", "Acquire"], capture_output=True, text=True, check=True)
    return "".join(f"{line}\n" for line in said.stdout.splitlines() if not _NOT_OF_THE_WAY.match(line))


def _pip_configurations() -> Iterator[Path]:
    """Yield this user's configurations of pip, the one that counts most last."""
    named = os.environ.get("PIP_CONFIG_FILE", "")
    home = Path.home()
    for place in (Path("/etc/pip.conf"), home / ".pip/pip.conf", home / ".config/pip/pip.conf", Path(named)):
        if place.is_file():
            yield place
