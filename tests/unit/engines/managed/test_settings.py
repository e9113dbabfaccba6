"""Settings of the server's own that come after those that slob makes."""

from dataclasses import replace
from pathlib import Path

import pytest

from openslob.core.errors import UsageError
from openslob.engines import registry
from openslob.engines.managed import layout
from openslob.engines.managed.layout import ServerFiles
from openslob.engines.mysql import server_config as maria
from openslob.engines.postgresql import server_config as postgres

FILES = ServerFiles(Path("/x"), Path("/x"), "socket")


@pytest.mark.parametrize(("engine", "config"), [("postgresql", postgres), ("mariadb", maria)])
def test_every_control_is_the_last_line_that_sets_it(engine, config):
    assert registry.controls(engine)
    for control in registry.controls(engine):
        spec = replace(registry.default_spec("x", engine), settings=control.settings)
        lines = config.config_text(spec, FILES, Path("/bin"), bulk=True).splitlines()
        for setting in control.settings.splitlines():
            name, value = setting.split("=")
            assert [line for line in lines if line.startswith(f"{name} ")][-1].startswith(f"{name} = '{value}'")


@pytest.mark.parametrize("text", ["fsync", "=off", "a b=1", "fsync=off\n\nx=1", "include '/etc'=1"])
def test_what_is_no_setting_is_refused(text):
    spec = replace(registry.default_spec("x"), settings=text)
    with pytest.raises(UsageError, match="is not a setting; write NAME=VALUE"):
        layout.check_layout(spec)
