"""The command that installs an extra works as it is printed."""

import shlex
import sys
from importlib import metadata
from types import SimpleNamespace

import pytest

from openslob.core.extras import install_command

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
