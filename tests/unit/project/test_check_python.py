"""What the lowest promised Python lacks is found, wherever it is used."""

from __future__ import annotations

import sys

import pytest

from factories.paths import ROOT

sys.path.insert(0, str(ROOT / "tools"))

import check_python


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('import tarfile\nwith tarfile.open("x") as packed:\n    packed.extractall("y", filter="data")\n', [3]),
        ('from shutil import unpack_archive\nunpack_archive("x", filter="data")\n', [2]),
        ("import tarfile\ntarfile.TarFile.extraction_filter = tarfile.data_filter\n", [2, 2]),
        ("from os.path import ALLOW_MISSING\n", [1]),
        ('packed.extractall("y")\npacked.getaddresses("x", realname="y")\n', []),
        ('filter = "data_filter"\n', []),
    ],
)
def test_what_came_with_a_later_patch_of_the_lowest_python_is_found(tmp_path, capsys, source, found):
    (tmp_path / "some.py").write_text(source)
    assert check_python.main([str(tmp_path)]) == bool(found)
    lines = capsys.readouterr().out.splitlines()
    assert [int(line.split(":")[1]) for line in lines] == found
    assert all("came with Python 3.11." in line for line in lines)
