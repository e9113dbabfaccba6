"""Which installed programs of a server use a library, such as the one that a value of a setting needs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from openslob.engines.postgresql.binaries import PostgresPrograms, find_linked_with, is_linked_with


@pytest.fixture
def places(tmp_path: Path) -> list[str]:
    """Three versions whose programs are scripts: the loader tells the libraries of their shell."""
    for version in ("9.6", "17.2", "18.4"):
        folder = tmp_path / version / "bin"
        folder.mkdir(parents=True)
        program = folder / "postgres"
        program.write_text(f"#!/bin/sh\necho 'postgres (PostgreSQL) {version}'\n")
        program.chmod(0o755)
    broken = tmp_path / "broken" / "bin"
    broken.mkdir(parents=True)
    (broken / "postgres").write_text("")
    return [f"{tmp_path}/*/bin"]


@pytest.mark.skipif(os.uname().sysname != "Linux", reason="asks the loader of Linux")
def test_the_newest_programs_with_a_library_are_found(places: list[str], tmp_path: Path) -> None:
    newest = tmp_path / "18.4" / "bin"
    assert is_linked_with(PostgresPrograms(newest), "libc")
    assert not is_linked_with(PostgresPrograms(newest), "liburing")
    assert find_linked_with("libc", 17, places) == newest
    assert find_linked_with("libc", 19, places) is None
    assert find_linked_with("liburing", 17, places) is None
