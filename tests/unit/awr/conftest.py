"""What tests of the command `slob awr` share."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from openslob.cli import main


@pytest.fixture
def slob(monkeypatch, capsys):
    """Run `slob awr` in this process; return its exit code and what it wrote to both streams."""
    monkeypatch.delenv("COLUMNS", raising=False)

    def run(*words: str | Path) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["slob", "awr", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            main()
        out, err = capsys.readouterr()
        return int(end.value.code or 0), out, err

    return run
