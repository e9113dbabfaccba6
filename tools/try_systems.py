#!/usr/bin/env python3
"""Run `make demo`, `make test` and the like from a fresh clone in minimal Debian systems, and print how each ended.

Usage: scripts/test-systems [--release NAME]... [--user NAME]... [--make TARGET]...

Each system has three users, in this order: `guest`, who can install nothing and finds nothing installed; `root`, whose
`make test` installs programs; and `member`, an ordinary user, who finds them. What HEAD has is tried, no later changes.
What the commands print stays in a folder beside the systems.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from filelock import FileLock

from factories.minimal_debian import MinimalDebian, minimal_debian, remove_leftovers
from factories.registries import CACHE, NotToBeHadError

ROOT = Path(__file__).parents[1]
RELEASES = ("bookworm", "trixie")
USERS = ("guest", "root", "member")
TARGETS = ("demo", "test")
# After `make deb`: who uses the package ("": who has made it), and how.
PACKAGED = (
    ("install", "root", "PATH=$PATH:/usr/sbin:/sbin dpkg --install dist/*.deb"),
    ("slob-demo", "", "cd && test -s /usr/share/man/man1/slob-run.1.gz && slob demo"),
    ("purge", "root", "PATH=$PATH:/usr/sbin:/sbin dpkg --purge openslob && test ! -e /opt/openslob"),
)
LOGS = CACHE / "systems"
# What is not at its end by then never ends.
LIMIT_S = 3 * 3600.0
_COUNT = re.compile(r"(\d+) (passed|failed|error|skipped)")
_SKIPPED = re.compile(r"^SKIPPED \[(\d+)\] (?:\S+:\d+: )?(.*)")
_FAILED = re.compile(r"^(?:FAILED|ERROR) (.*)")


@dataclass
class Outcome:
    """How a command ended. ``code``: None when it did not end. Counts, reasons and tests as pytest said them."""

    name: str
    code: int | None
    minutes: float
    counts: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    failed: list[str] = field(default_factory=list)

    def read(self, log: Iterable[str]) -> None:
        """Take what pytest said of its first run; later ones repeat what failed."""
        for line in log:
            if found := _SKIPPED.match(line):
                self.skipped[found[2]] += int(found[1])
            elif found := _FAILED.match(line):
                self.failed.append(found[1])
            elif line.startswith("=") and " in " in line and _COUNT.search(line):
                self.counts.update({what: int(count) for count, what in _COUNT.findall(line)})
                return


def main() -> int:
    """Try what was asked for; return 0 when every command succeeded."""
    asked = _arguments()
    if os.geteuid() != 0:
        sys.exit("test-systems: only root can make systems and enter them")
    if _run_git("status", "--porcelain"):
        print("test-systems: uncommitted changes are not tried", flush=True)
    # So that what must end, ends: a process that is stopped ends its systems first.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    LOGS.mkdir(parents=True, exist_ok=True)
    outcomes = []
    with FileLock(CACHE / ".systems.lock"):
        remove_leftovers()
        for release in asked.release or RELEASES:
            try:
                with minimal_debian(release) as debian:
                    outcomes += list(_try_all(debian, release, asked))
            except NotToBeHadError as error:
                print(f"test-systems: {release} can't be had: {error}")
                outcomes.append(Outcome(release, None, 0))
    _print(outcomes)
    return 0 if all(outcome.code == 0 for outcome in outcomes) else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Run the README's commands in minimal Debian systems.")
    parser.add_argument(
        "--release", action="append", help=f"of Debian, again for more; {' and '.join(RELEASES)} without"
    )
    parser.add_argument("--user", action="append", choices=USERS, help="again for more; all without, in this order")
    parser.add_argument(
        "--make", action="append", metavar="TARGET", help=f"again for more; {' and '.join(TARGETS)} without"
    )
    return parser.parse_args()


def _try_all(debian: MinimalDebian, release: str, asked: argparse.Namespace) -> Iterator[Outcome]:
    """Run every target as every user, one after the other."""
    for user in [user for user in USERS if user in (asked.user or USERS)]:
        if user != "root":
            debian.add_user(user)
        clone = debian.clone(ROOT, user)
        for target in asked.make or TARGETS:
            yield _try(debian, f"{release} {user} {target}", user, clone, ["make", target])
            for name, by, command in PACKAGED if target == "deb" else ():
                yield _try(debian, f"{release} {user} {name}", by or user, clone, ["sh", "-c", command])


def _try(debian: MinimalDebian, name: str, user: str, folder: str, command: Sequence[str]) -> Outcome:
    log = LOGS / f"{name.replace(' ', '-')}.log"
    print(f"{time.strftime('%H:%M:%S')} {name}: {command[-1]} > {log}", flush=True)
    start = time.monotonic()
    code = debian.run(user, folder, command, log, LIMIT_S)
    outcome = Outcome(name, code, (time.monotonic() - start) / 60)
    outcome.read(log.read_text(encoding="utf-8", errors="replace").splitlines())
    return outcome


def _print(outcomes: Iterable[Outcome]) -> None:
    """Print a table of all commands, then the reasons for skipping and what failed."""
    row = "{:26}{:>6}{:>8}{:>8}{:>8}{:>9}".format
    print("\n" + row("system, user, target", "exit", "passed", "failed", "skipped", "minutes"))
    for one in outcomes:
        failed = one.counts["failed"] + one.counts["error"]
        code = "-" if one.code is None else one.code
        print(row(one.name, code, one.counts["passed"], failed, one.counts["skipped"], f"{one.minutes:.1f}"))
    for one in outcomes:
        if one.skipped or one.failed:
            print(f"\n{one.name}")
            print("".join(f"  skipped {count:4} {reason}\n" for reason, count in one.skipped.most_common()), end="")
            print("".join(f"  failed {test}\n" for test in one.failed), end="")


def _run_git(*arguments: str) -> str:
    return subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    sys.exit(main())
