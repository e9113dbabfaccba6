"""The measuring side of the blind bench: runs `slob endure`, and keeps what it says. It reads no truth."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path

from blinded.host import SHAPE, PreloadedServer, preloaded_server
from blinded.plan import Load
from common import notify
from openslob.core.errors import SlobError

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "bench" / "blind.py"
SLOB = [sys.executable, "-m", "openslob"]
# The time of a run, with everything before and after its load, and that of the injector to undo and to write.
MOST_S, ENDING_S = 90.0, 20.0
# Control groups are not there for a process that does not see where they are mounted, as in a container.
HIDING = 'umount --lazy /sys/fs/cgroup && exec "$@"'
ANSWER, FAILED, FACTS = "answer.json", "failed.txt", "facts.json"


def ask_for_plan(folder: Path, runs: int, seed: int | None) -> None:
    """Let another process draw the plan, so that this one does not know it; without ``runs``, each kind once."""
    drawn = [] if seed is None else ["--seed", str(seed)]
    subprocess.run([sys.executable, PROGRAM, "plan", folder, f"--runs={runs}", *drawn], check=True)


def measure(folder: Path, engine: str, seconds: float) -> None:
    """Make all runs of a folder that are not done yet."""
    left = [load for load in read_loads(folder) if not is_done(folder, load.number)]
    with ExitStack() as opened:
        target, host = opened.enter_context(preloaded_server(engine, folder / "runs"))
        # From here on everything is undone, whatever key is pressed once more.
        opened.callback(signal.signal, signal.SIGINT, signal.SIG_IGN)
        host.write(folder / "host.json")
        for load in left:
            begun = time.monotonic()
            said = run(folder, target, load, seconds)
            notify(f"run {load.number}: {said} in {time.monotonic() - begun:.0f} s")
            # Updates make tables grow, up to a size that no run accepts; and a server that failed may not be there.
            if load.writes or said != "done":
                target.load_again()


def read_loads(folder: Path) -> list[Load]:
    return [Load(**each) for each in json.loads((folder / "loads.json").read_text())]


def is_done(folder: Path, number: int) -> bool:
    return (folder / "runs" / f"{number:03}" / ANSWER).exists() and (folder / "truth" / f"{number:03}.json").exists()


def run(folder: Path, target: PreloadedServer, load: Load, seconds: float) -> str:
    """Make one run beside its injector; return whether it is done, or why not."""
    path = folder / "runs" / f"{load.number:03}"
    subprocess.run(["rm", "-rf", str(path)], check=True)
    path.mkdir(parents=True)
    facts = {"commit": commit(), "engine": target.engine.facts().product, "version": target.engine.facts().version}
    probe = ("on" if load.probe else "off") if takes_probe() else "unknown"
    (path / FACTS).write_text(json.dumps({**facts, "probe": probe, "seconds": seconds}, indent=1))
    command = [sys.executable, str(PROGRAM), "inject", str(folder), str(load.number), "--seconds", str(seconds)]
    # In a session of its own, no Ctrl-C reaches it: it undoes what it did when its input is closed.
    with subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True) as injector:
        try:
            why = _endure(path, target.url, load, seconds, [] if probe == "unknown" else [f"--probe={probe}"])
        finally:
            ended = _end(injector)
    why = why or (f"the injector ended with {ended}" if ended else "")
    if why:
        (path / FAILED).write_text(f"{why}\n")
        (path / ANSWER).unlink(missing_ok=True)
    return why or "done"


def _end(injector: subprocess.Popen[bytes]) -> int:
    """Let the injector undo its fault and write the truth; return its exit code."""
    assert injector.stdin is not None
    injector.stdin.close()
    try:
        return injector.wait(ENDING_S)
    except subprocess.TimeoutExpired:
        injector.kill()
        # What it left is undone with the server's control groups.
        raise SlobError(f"the injector did not end within {ENDING_S:.0f} s") from None


def _endure(path: Path, url: str, load: Load, seconds: float, more: Sequence[str]) -> str:
    """Run `slob endure` and keep what it prints; return why there is no answer."""
    given = {**SHAPE, **load.flags}.items()
    flags = [*(f"--{name}" if value is True else f"--{name}={value}" for name, value in given), *more]
    command = [*SLOB, "endure", f"--for={seconds:g}s", f"--target={url}", f"--results={path / 'results'}", "--json"]
    if not load.groups_visible:
        command = ["unshare", "--mount", "sh", "-c", HIDING, "sh", *command]
    try:
        with (path / "answer.part").open("w") as said, (path / "messages.txt").open("w") as messages:
            done = subprocess.run([*command, *flags], stdout=said, stderr=messages, timeout=MOST_S, check=False)
    except subprocess.TimeoutExpired:
        return f"slob took more than {MOST_S:.0f} s"
    if done.returncode:
        return f"slob ended with {done.returncode}: {(path / 'messages.txt').read_text()[-500:]}"
    with suppress(ValueError):
        json.loads((path / "answer.part").read_text())
        (path / "answer.part").rename(path / ANSWER)
        return ""
    return "slob printed no JSON"


@cache
def takes_probe() -> bool:
    """Return whether this version of `slob endure` may vary the number of sessions to find a cap."""
    return "--probe" in subprocess.run([*SLOB, "endure", "--help"], capture_output=True, text=True, check=True).stdout


@cache
def commit() -> str:
    """Return the newest commit of the product that is measured; with a plus sign if it has changes that are in none."""
    git = ["git", "-C", str(ROOT)]
    newest = subprocess.run([*git, "log", "-1", "--format=%h", "--", "src"], capture_output=True, text=True, check=True)
    same = subprocess.run([*git, "diff", "--quiet", "HEAD", "--", "src"], check=False).returncode == 0
    return newest.stdout.strip() + ("" if same else "+")
