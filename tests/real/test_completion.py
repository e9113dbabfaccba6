"""TAB in real shells, each in a terminal: names of records, servers and files that hold commands are never executed."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import signal
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

RECORD = "20260301-120000-plain"
# Each would make the file `pwn` where it is executed. The first letters tell them apart, so that each is offered alone.
HOSTILE = (
    *(
        "a$(touch pwn)",
        "b`touch pwn`",
        "c;touch pwn;",
        "d\ntouch pwn\n",
        "e\\$(touch pwn)",
        "f'$(touch pwn)'",
        "g|touch pwn|",
    ),
    *('h"$(touch pwn)"', "i&touch pwn&", "j:$(touch pwn)", "k[$(touch pwn)]", "-rf", "--l=$(touch pwn)"),
)
# What is typed before TAB. After the first one the whole name of the record must be there.
TYPED = (
    "slob show 20260301-1",
    *(f"slob show {name[0]}" for name in HOSTILE if name[0] != "-"),
    *("slob show -", "slob report ./a", "slob drop --target a", "slob drop --target embedded,e", "slob show a$(touch"),
)
# How each shell is started without anybody's files, and how it completes `slob`.
_QUIET = 'bind "set page-completions off"; bind "set completion-query-items 0"'
SHELLS = {
    "bash": (["--norc", "--noprofile", "-i"], f'{_QUIET}; eval "$(_SLOB_COMPLETE=source_bash slob)"'),
    # Without the sign that stands for a missing end of line: it looks like a prompt, and comes before it.
    "zsh": (
        ["-f", "-i", "+o", "promptsp"],
        'autoload -Uz compinit; compinit -u -D; eval "$(_SLOB_COMPLETE=source_zsh slob)"',
    ),
    "fish": (["--no-config", "-i"], "_SLOB_COMPLETE=source_fish slob | source"),
}
LONG_S = 120
ESCAPES = re.compile(r"\x1b(\[[0-9;?<>=]*[A-Za-z]|\][^\x07\x1b]*(\x07|\x1b\\)|[()][A-Z0-9]|[=>])")


class Terminal:
    """A shell in a terminal. It prints a mark that is not what is typed, so that its end is known."""

    def __init__(self, words, environment, folder):
        self._pid, self._fd = pty.fork()
        if not self._pid:
            try:
                os.chdir(folder)
                os.execvpe(words[0], words, environment)
            finally:
                os._exit(127)
        self.text = ""
        self._marks = 0

    def type(self, text):
        os.write(self._fd, text.encode())

    def read_until(self, done, seconds=LONG_S):
        """Read what it shows until ``done`` says that it is all there; return whether it does so in time."""
        deadline = time.monotonic() + seconds
        while not done(ESCAPES.sub("", self.text)):
            if time.monotonic() > deadline:
                return False
            if select.select([self._fd], [], [], 0.2)[0]:
                self.text += os.read(self._fd, 65536).decode(errors="replace")
        return True

    def settle(self):
        """Empty the line once everything before has been done: a Ctrl-C would end a completion instead.

        Before the next prompt the terminal itself would take what is typed, Ctrl-U too, and the shell none of it.
        """
        self._marks += 1
        self.type(f"\x15printf '%s-%s-done\\n' mark {self._marks}\r")
        prompt = re.compile(rf"mark-{self._marks}-done\s[\s\S]*[$#%>] ")
        assert self.read_until(lambda text: prompt.search(text) is not None), self.text

    def end(self):
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        os.close(self._fd)


@contextmanager
def shell_in(name, folder):
    program = shutil.which(name)
    if program is None:
        pytest.skip(f"{name} is not installed")
    slob = Path(sys.executable).with_name("slob")
    if not slob.exists():
        pytest.skip("slob is not installed beside this Python")
    home = folder / "home"
    for place in (folder / "results", home / "servers", folder / "here"):
        place.mkdir(parents=True)
        for hostile in HOSTILE:
            (place / hostile).mkdir()
    (folder / "results" / RECORD).mkdir()
    environment = {
        "PATH": f"{slob.parent}:{os.environ['PATH']}", "HOME": str(home), "OPENSLOB_HOME": str(home), "TERM": "xterm",
        "SLOB_RESULTS": str(folder / "results"), "LC_ALL": "C.UTF-8", "PS1": "$ ",
        "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_DATA_HOME": str(home / "data"), "XDG_CACHE_HOME": str(home / "cache"), "COLUMNS": "200", "LINES": "50",
    }  # fmt: skip
    arguments, complete = SHELLS[name]
    terminal = Terminal([program, *arguments], environment, folder / "here")
    try:
        terminal.settle()
        terminal.type(f"{complete}\r")
        terminal.settle()
        yield terminal
    finally:
        terminal.end()


# zsh evaluates what it is offered.
@pytest.mark.parametrize("name", ["zsh", *(pytest.param(each, marks=pytest.mark.nightly) for each in ("bash", "fish"))])
def test_names_are_completed_and_none_is_executed(name, tmp_path):
    with shell_in(name, tmp_path) as terminal:
        for typed in TYPED:
            terminal.text = ""
            terminal.type(f"{typed}\t")
            terminal.settle()
            assert typed != TYPED[0] or RECORD in ESCAPES.sub("", terminal.text), terminal.text
    assert list(tmp_path.rglob("pwn")) == []
