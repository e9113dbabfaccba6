"""slob.toml of the user and of the working directory, profiles, and the settings of commands and servers in them."""

from __future__ import annotations

import inspect
import os
from pathlib import Path

import pytest

from factories.tables import table
from openslob.cli import server
from openslob.config.configuration import read_configuration
from openslob.config.resolve import resolve
from openslob.config.slob_toml import SERVER_KEYS, read_toml, setting_variables
from openslob.core.errors import UsageError

URL = "postgresql://bench:hunter2@db1/bench"


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """The user's folder of configuration files; the working directory is another one."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    folder = tmp_path / "xdg" / "openslob"
    folder.mkdir(parents=True)
    return folder


def here(text: str, mode: int = 0o644) -> Path:
    path = Path("slob.toml")
    path.write_text(text)
    path.chmod(mode)
    return path


def settings(profile: str = "", config: Path | None = None) -> dict[str, str]:
    found = read_configuration(config, {"SLOB_PROFILE": profile})
    return {name.removeprefix("SLOB_").lower(): setting.value for name, setting in found.settings.items()}


def update_pct(profile: str = "", environment=None, **flags: str) -> tuple[int, str]:
    found = resolve(flags, None, {"SLOB_PROFILE": profile, **(environment or {})})
    return found.workload.update_pct, found.sources["update_pct"]


def error_of(text: str, profile: str = "", mode: int = 0o644) -> str:
    with pytest.raises(UsageError) as caught:
        read_configuration(here(text, mode), {"SLOB_PROFILE": profile})
    assert "hunter2" not in str(caught.value)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_the_order_of_sources(home):
    assert update_pct() == (0, "default")
    (home / "slob.toml").write_text("update_pct = 10\n[profiles.p.workload]\nUPDATE_PCT = 20\n")
    assert update_pct() == (10, f"{home}/slob.toml:1")
    assert update_pct("p") == (20, f"{home}/slob.toml:3")
    here("[workload]\nupdate_pct = 30\n[profiles.p]\nupdate_pct = 40\n")
    assert update_pct() == (30, "slob.toml:2")
    assert update_pct("p") == (40, "slob.toml:4")
    assert update_pct("p", {"SLOB_UPDATE_PCT": "50"}) == (50, "environment")
    assert update_pct("p", {"SLOB_UPDATE_PCT": "50"}, update_pct="60") == (60, "flag")


def classes(environment=None, **flags: str) -> tuple[str | None, str]:
    found = resolve(flags, None, environment or {})
    return found.workload.classes, found.sources["classes"]


def test_classes_of_sessions_are_tables_or_one_text():
    readers = "readers:sessions=16,update_pct=0"
    here("[classes.readers]\nsessions = 16\nupdate_pct = 0\n[classes.writers]\nsessions = 4\ndo_hotspot = true\n")
    assert classes() == (f"{readers};writers:sessions=4,do_hotspot=True", "slob.toml:1")
    here("[workload]\nseed = 2\n[workload.classes.readers]\nsessions = 16\nupdate_pct = 0\n")
    assert classes() == (readers, "slob.toml:1")
    here(f'classes = "{readers}"\n')
    assert classes() == (readers, "slob.toml:1")
    assert classes({"SLOB_CLASSES": "a:sessions=1"}) == ("a:sessions=1", "environment")
    assert classes(classes="b:sessions=1;c:sessions=2") == ("b:sessions=1;c:sessions=2", "flag")
    assert "slob.toml:1: class readers is not a table" in error_of("[classes]\nreaders = 16\n")


def test_classes_take_the_place_of_a_weaker_number_of_sessions_and_of_no_other(home):
    (home / "slob.toml").write_text("sessions = 8\n")
    found = resolve({"classes": "a:sessions=3"}, None, {})
    assert found.workload.total_sessions == 3
    assert f"CLASSES (flag) overrides sessions ({home}/slob.toml:1)" in found.notices
    for flags in ({"sessions": "8"}, {"threads_per_schema": "2"}):
        with pytest.raises(UsageError, match=r"\(flag\) and CLASSES \(flag\) both say how many sessions there are"):
            resolve({"classes": "a:sessions=3", **flags}, None, {})
    (home / "slob.toml").write_text('classes = "a:sessions=3"\n')
    with pytest.raises(UsageError, match=r"SESSIONS \(flag\) and CLASSES \(.*slob.toml:1\) both say"):
        resolve({"sessions": "8"}, None, {})


def test_a_class_that_is_wrong_is_refused_in_a_line_with_its_origin():
    with pytest.raises(UsageError) as caught:
        resolve({"classes": "readers:sessions=1,run_time=5"}, None, {})
    assert str(caught.value).startswith("class readers: run_time is of all sessions; a class may have sessions, ")


def test_a_file_that_is_named_takes_the_place_of_the_one_here_and_not_of_the_users(home):
    (home / "slob.toml").write_text('results = "/data"\nname = "user"\n')
    here('name = "here"\nengine = "mariadb"\n')
    named = Path("named.toml")
    named.write_text('name = "named"\n')
    assert settings() == {"results": "/data", "name": "here", "engine": "mariadb"}
    assert settings(config=named) == {"results": "/data", "name": "named"}
    conf = Path("slob.conf")
    conf.write_text("UPDATE_PCT=5\n")
    assert settings(config=conf) == {"results": "/data", "name": "user"}


def test_which_files_are_read_is_told(home):
    (home / "slob.toml").write_text('name = "x"\n[profiles.p]\n')
    here("seed = 2\n")
    assert read_configuration(None, {}).notices == [f"{home}/slob.toml is read", "./slob.toml is read"]
    assert read_configuration(None, {"SLOB_PROFILE": "p"}).notices[0] == f"{home}/slob.toml is read, profile p"


def test_a_file_that_is_both_is_read_once(home, monkeypatch):
    (home / "slob.toml").write_text('name = "x"\n')
    monkeypatch.chdir(home)
    assert read_configuration(None, {}).notices == ["./slob.toml is read"]


def test_paths_are_relative_to_their_file(home, monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    (home / "slob.toml").write_text('results = "runs"\n[server]\ndata-dir = "~/data"\n')
    assert settings() == {"results": f"{home}/runs", "server_data_dir": "/home/me/data"}
    here('results = "runs"\n')
    assert settings()["results"] == "runs"


def test_a_profile_changes_what_it_names_and_nothing_else():
    here(
        'name = "n"\n[server]\ncache = "1G"\ncpus = 0\n'
        '[profiles.big]\ntarget = "t"\n[profiles.big.server]\ncache = "2G"\n'
    )
    assert settings() == {"name": "n", "server_cache": "1G", "server_cpus": "0"}
    assert settings("big") == {"name": "n", "target": "t", "server_cache": "2G", "server_cpus": "0"}


@table(
    ("weak", "strong", "expected"),
    [
        ('engine = "mariadb"', 'target = "big"', {"target": "big"}),
        ('target = "big"', 'engine = "mariadb"', {"engine": "mariadb"}),
        ('target = "big"', 'name = "n"', {"target": "big", "name": "n"}),
    ],
)
def test_a_target_and_an_engine_replace_each_other(weak, strong, expected):
    here(f"{weak}\n[profiles.p]\n{strong}\n")
    assert settings("p") == expected


@table(
    ("text", "profile", "why"),
    [
        ("[profiles.prod]\n", "prd", "there is no profile 'prd' in slob.toml; did you mean prod?"),
        ("[profiles.one]\n[profiles.two]\n", "x", "there is no profile 'x' in slob.toml; there are one, two"),
        ("seed = 1\n", "x", "there is no profile 'x' in slob.toml; add a table [profiles.x]"),
        ('tagret = "x"\n', "", "slob.toml:1: tagret is not a parameter; did you mean target?"),
        ("[profiles.p]\nresluts = 1\n", "", "slob.toml:2: resluts is not a parameter; did you mean results?"),
        ("\n[sever]\ncache = 1\n", "", "slob.toml:2: sever is not"),
        ("[server]\ncahce = 1\n", "", "slob.toml:2: cahce is not a setting of servers; did you mean cache?"),
        ("[server]\nwheels = 4\n", "", "slob.toml:2: wheels is not a setting of servers; there are version, bin_dir"),
        ("profiles = 1\n", "", "slob.toml: profiles must be a table; write [profiles] on a line of its own"),
        ("[profiles]\np = 1\n", "", "slob.toml: profiles.p must be a table"),
        ("[profiles.p]\nserver = 1\n", "", "slob.toml: profiles.p.server must be a table"),
        ("[profiles.p]\nseed = 1\n[profiles.q]\nsede = 2\n", "", "slob.toml:4: sede is not a parameter"),
        ('target = "postgresql://u:hunter2@[::1/db"\n', "", "slob.toml:1: the target postgresql://*** can't be read"),
    ],
)
def test_mistakes(text, profile, why):
    assert error_of(text, profile).startswith(why)


@table("mode", [0o644, 0o640, 0o604, 0o660])
def test_a_password_in_a_file_that_others_may_read_is_refused(mode):
    why = error_of(f'\ntarget = "{URL}"\n', mode=mode)
    assert why.startswith("slob.toml:2: the target has a password, and others may read the file; `chmod 600 slob.toml`")


def test_a_password_in_a_private_file_is_taken():
    here(f'target = "{URL}"\n', mode=0o600)
    assert settings() == {"target": URL}


def test_a_profile_with_a_password_counts_only_when_it_is_chosen():
    assert "a password" in error_of(f'[profiles.p]\ntarget = "{URL}"\n', profile="p")
    assert settings() == {}


def test_every_setting_of_a_server_is_an_option_of_its_start():
    options = set(inspect.signature(server.start).parameters) - {"ctx", "name", "engine", "standby_of", "as_json"}
    assert set(SERVER_KEYS) == options == set(server.SPEC_FIELDS)


def test_variables_of_settings_are_no_unknown_parameters():
    given = dict.fromkeys(setting_variables(), "x")
    assert resolve({}, None, given).notices == ()
    with pytest.raises(UsageError, match="did you mean SLOB_TARGET"):
        resolve({}, None, {"SLOB_TARGTE": "x"})


def test_broken_toml_names_the_line():
    with pytest.raises(UsageError, match=r"f: .*line 2"):
        read_toml("a = 1\nb = \n", "f")


@pytest.mark.parametrize(
    ("file", "folder", "said"),
    [(0o646, 0o755, "may be written by others"), (0o644, 0o777, "is in a directory that others may write to")],
)
def test_a_file_that_others_may_have_written_is_not_obeyed_unless_it_is_named(home, file, folder, said):
    path = here("target = 'postgresql://u@elsewhere/d'\n", file)
    Path().chmod(folder)
    with pytest.raises(UsageError, match=rf"^\./slob\.toml {said}; name it on purpose \(--config slob\.toml\)"):
        settings()
    assert settings(config=path) == {"target": "postgresql://u@elsewhere/d"}
    # What nobody else can replace is one's own.
    path.chmod(0o644)
    Path().chmod(0o1777)
    assert settings() == {"target": "postgresql://u@elsewhere/d"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")
def test_the_file_of_another_user_is_not_obeyed(home):
    os.chown(here("target = 'postgresql://u@elsewhere/d'\n"), 12345, 12345)
    with pytest.raises(UsageError, match=r"^\./slob\.toml belongs to another user"):
        settings()


def test_a_file_that_is_nested_too_deeply_is_one_line(home):
    assert error_of("a = " + "[" * 200_000) == "slob.toml: it is nested too deeply"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a." * 50_000 + "b = 1", "it has a key of more than 100 parts"),
        ("['a' . " + '"a".' * 50_000 + "b]", "it has a key of more than 100 parts"),
        ("#" * 1_000_001, "it has 1,000,001 characters, and may have 1,000,000"),
        ("a = " + "9" * 5000, "it has a number of thousands of digits"),
    ],
)
def test_a_file_that_would_be_read_for_minutes_is_one_line(home, text, why):
    assert error_of(text) == f"slob.toml: {why}"


def test_many_hosts_are_no_long_key(home):
    hosts = ",".join(f"db{number}.europe.example.org" for number in range(60))
    here(f'target = "postgresql://u@{hosts}/d"\n')
    assert settings() == {"target": f"postgresql://u@{hosts}/d"}
