"""The command that installs an extra works as it is printed."""

import shlex
import sys
from importlib import metadata
from types import SimpleNamespace

import pytest

from factories.tables import table
from openslob.core import extras
from openslob.core.errors import SlobError
from openslob.core.extras import install_command, require_extra

PIP = [sys.executable, "-m", "pip", "install"]


@pytest.mark.parametrize(
    ("noted", "then"),
    [
        ('{{"dir_info": {{"editable": true}}, "url": "file://{}"}}', ["-e", "{}[web]"]),
        ('{{"dir_info": {{}}, "url": "file://{}"}}', ["{}[web]"]),
    ],
)
def test_it_is_installed_from_the_folder_that_slob_is_from(monkeypatch, tmp_path, noted, then):
    place = tmp_path / "a clone"
    place.mkdir()
    text = noted.format(str(place).replace(" ", "%20"))
    monkeypatch.setattr(metadata, "distribution", lambda _: SimpleNamespace(read_text=lambda _: text))
    assert shlex.split(install_command("openslob[web]")) == [*PIP, *(each.format(place) for each in then)]
    place.rmdir()
    assert install_command("openslob[web]") == f"in a clone of openslob: {shlex.join([*PIP, '.[web]'])}"


def test_what_another_distribution_needs_is_on_the_index():
    assert shlex.split(install_command("not-installed[driver]")) == [*PIP, "not-installed[driver]"]


@table(
    ("extra", "absent", "begins"),
    [
        ("cut", "mfusepy", "storage that can be cut off needs"),
        ("distributed", "cryptography", "many drivers need"),
        ("parquet", "pyarrow", "Parquet needs"),
        ("pictures", "vl_convert", "pages and pictures need"),
        ("web", "uvicorn", "slob live --web needs"),
        ("web", "altair", "slob live --web needs"),
    ],
)
def test_what_is_missing_is_named_with_the_command_that_installs_it(monkeypatch, extra, absent, begins):
    monkeypatch.setattr(extras, "find_spec", lambda name: None if name == absent else object())
    with pytest.raises(SlobError) as missing:
        require_extra(extra)
    assert missing.value.what == f"{begins} the Python package {absent}, which is not installed"
    assert missing.value.remedy == install_command(f"openslob[{extra}]")


def test_nothing_is_said_of_an_extra_that_is_installed(monkeypatch):
    monkeypatch.setattr(extras, "find_spec", lambda name: object())
    require_extra("web")
