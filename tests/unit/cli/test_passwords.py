"""No password in any output, however a target is written: a canary stands where passwords stand."""

from __future__ import annotations

import traceback
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from factories import effort, running
from factories.tables import table
from openslob.cli.console import remark
from openslob.core.errors import SlobError
from openslob.core.secrets import Address, conceal, redact_text
from openslob.engines import registry

CANARY = "cAnArY"
# Nothing answers at any of these.
HOSTS = ("127.0.0.1:1", "[::1]:1", "[::1", "127.0.0.1:x", "127.0.0.1:1,127.0.0.1:2", "", "127.0.0.1:99999", "%zz")
SCHEMES = ("postgresql", "mariadb", "mysql", "postgres", "oracle", "", "http", "post gres", "jdbc:postgresql")
# Signs that end a part of a URL, begin an escape, quote, or mean something to a shell or a terminal.
ODD = st.text(alphabet="a:/@?#[]%;&= '\"\\$`,\t\né\x1b", max_size=4) | st.sampled_from(["%zz", "%00", "%", "%4", "://"])
SECRET = st.builds("{}{}{}".format, ODD, st.just(CANARY), ODD)
KEYS = st.sampled_from(["password", "sslpassword", "PASSWORD", "passw%6Frd", "pwd", "token", "scram_client_key"])
SHAPES = st.sampled_from(
    [
        "{scheme}://u:{secret}@{host}/db",
        "{scheme}://u:{secret}@{host}",
        "{scheme}://:{secret}@{host}/db",
        "{scheme}://u@x:{secret}@{host}/db",
        "{scheme}://a/b:{secret}@{host}/db",
        "{scheme}:/u:{secret}@{host}/db",
        "{scheme}:u:{secret}@{host}/db",
        "{scheme}://{host}/db?user=u&{key}={secret}",
        "{scheme}://{host}/db;{key}={secret}",
        "{scheme}://{host}/db {key}={secret}",
        "{scheme}://u:{secret}@{host}/db?sslmode=odd&connect_timeout=x",
        "host={host} {key}={secret}",
        "host={host} {key} = '{secret}'",
        "u:{secret}@{host}/db",
        "embedded,{scheme}://u:{secret}@{host}/db",
        "{scheme}://u:x@{host}/db,{scheme}://u:{secret}@{host}/db",
        "{scheme}://u:{secret}@{host},{host}/db",
    ]
)
TARGETS = st.builds(
    str.format, SHAPES, scheme=st.sampled_from(SCHEMES), secret=SECRET, host=st.sampled_from(HOSTS), key=KEYS
)


def _everything(error: BaseException) -> str:
    chain = [error]
    while cause := chain[-1].__cause__:
        chain.append(cause)
    return "".join([*map(repr, chain), *traceback.format_exception(error), str(error)])


@settings(
    max_examples=effort.number(200, 1000), deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
@given(target=TARGETS)
def test_a_malformed_target_is_one_error_without_its_password(target: str):
    for action in (Address.parse, registry.resolve, registry.engine_for):
        try:
            found = action(target)
        except SlobError as error:
            assert CANARY not in _everything(error)
            assert "\n" not in str(error)
        else:
            assert CANARY not in f"{found} {found!r}"
    assert CANARY not in conceal(f"{target} {target!r}", [target])


COMMANDS = (("check",), ("load",), ("run",), ("sweep", "--sessions", "1,2"), ("drop",))
MALFORMED = (
    f"postgresql://u:{CANARY}@[::1/db",
    f"mariadb://u:%zz{CANARY}@127.0.0.1:1/db",
    f"postgresql://u:{CANARY}%00@127.0.0.1:1/db",
    f"postgresql://u:,{CANARY}://@127.0.0.1:1/db",
    f"host=127.0.0.1 password={CANARY}",
    f"mysql://127.0.0.1:1/db?password={CANARY}",
    f"u:{CANARY}@127.0.0.1/db",
    f"postgresql://u:a {CANARY} b@127.0.0.1:1/db",
    f"postgresql://u:{CANARY}@127.0.0.1:1/db,postgresql://u:{CANARY}@127.0.0.1:1/db",
)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No servers, and no configuration file."""
    monkeypatch.setenv("OPENSLOB_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


def _is_silent(*words: str, env: dict[str, str] | None = None) -> None:
    done = running.slob(*words, env=env)
    assert CANARY not in done.stdout + done.stderr
    assert done.returncode in (1, 2), (words, done)
    assert "Traceback" not in done.stderr


@table("command", COMMANDS)
def test_no_command_shows_it(command: tuple[str, ...], tmp_path: Path):
    for target in MALFORMED:
        _is_silent(*command, "--target", target)
    for target in MALFORMED[3:6]:
        _is_silent(*command, target)
    _is_silent(*command, f"--target={MALFORMED[0]}")
    _is_silent(*command, "--traget", MALFORMED[0])
    _is_silent(*command, env={"SLOB_TARGET": MALFORMED[0], "OPENSLOB_HOME": "home", "PGPASSWORD": CANARY})
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and CANARY in path.read_text(errors="replace")]


@table("words", [("show",), ("report",), ("export",), ("compare", "x"), ("server", "start"), ("server", "stop")])
def test_a_target_in_the_wrong_place_is_not_repeated(words: tuple[str, ...]):
    for target in MALFORMED[::2]:
        _is_silent(*words, target)


def test_a_traceback_is_without_it(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.argv", ["slob", "run", f"--target=postgresql://u:{CANARY} x@h/db"])
    remark(f"ValueError: postgresql://u:{CANARY} x@h/db \x1b]0;title\x07")
    assert capsys.readouterr().err == "ValueError: *** \\u001b]0;title\\u0007\n"


def test_what_is_no_secret_is_left_alone():
    line = "no record in results has an id that begins with 'mode=pio'; see docs at https://example.org/a"
    assert conceal(line, ["--mode=pio", "https://example.org/a"]) == redact_text(line) == line
