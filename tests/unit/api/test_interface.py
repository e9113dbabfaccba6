"""The Python interface as such: quick to import, typed, complete, and the same as the command line."""

from __future__ import annotations

import importlib
import inspect
import io
import os
import signal
import subprocess
import sys
import threading

import pytest

import openslob
from factories.paths import ROOT
from openslob import cli
from openslob.api import asking, functions, progress, targets
from openslob.api.parameters import Parameters, SweptParameters
from openslob.cli import server as server_command
from openslob.config.parameters import parameters
from openslob.config.server_parameters import SERVER_PARAMETERS
from openslob.core.errors import SlobError, UsageError
from openslob.core.interrupt import interruptible
from openslob.engines.facts import LoadProgress
from openslob.kinds.run import progress as run_progress

# What a program that only reads records must not wait for.
HEAVY = ("altair", "vl_convert", "psycopg", "pymysql", "openslob.engines", "pandas", "polars", "IPython", "typer")


def python(code: str) -> str:
    """What a new interpreter prints."""
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def test_the_types_of_parameters_are_up_to_date():
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        generate = importlib.import_module("generate_api")
    finally:
        sys.path.remove(str(ROOT / "tools"))
    assert generate.module() == generate.FILE.read_text(), "run tools/generate_api.py"
    assert list(Parameters.__annotations__) == list(parameters())
    assert list(SweptParameters.__annotations__) == [*parameters(), *SERVER_PARAMETERS]


def test_importing_the_package_imports_nothing_else():
    loaded = python("import sys, openslob; print(*sorted(name for name in sys.modules if name.count('.') < 2))")
    assert [name for name in loaded.split() if name.startswith("openslob.")] == ["openslob._version"]
    assert "pydantic" not in loaded


def test_objects_of_records_need_neither_engines_nor_pictures():
    code = f"import sys, openslob.api.results; print([name for name in {HEAVY} if name in sys.modules])"
    assert python(code).strip() == "[]"


def test_every_public_name_is_there_and_described():
    for name in openslob.__all__:
        assert getattr(openslob, name) is not None
        assert name in dir(openslob)
        assert name == "__version__" or inspect.getdoc(getattr(openslob, name))
    with pytest.raises(AttributeError, match="no attribute 'servers'"):
        _ = openslob.servers


def test_a_server_that_is_not_there_is_said_to_be_missing():
    with pytest.raises(openslob.UsageError, match="there is no server 'no-such'"):
        openslob.run(target="no-such", sessions=2)


@pytest.mark.parametrize("name", ["load", "run", "check", "endure", "repeat"])
def test_editors_see_every_parameter(name):
    for function in (getattr(targets.Target, name), getattr(openslob, name, targets.Target.check)):
        assert set(parameters()) <= set(inspect.signature(function).parameters)


@pytest.mark.parametrize("name", ["load", "run", "sweep", "endure", "repeat"])
def test_a_function_takes_what_the_method_takes(name):
    method, function = (inspect.signature(getattr(each, name)).parameters for each in (targets.Target, functions))
    assert [each for each in function if each not in ("target", "path")] == [each for each in method if each != "self"]


def test_servers_have_the_settings_of_the_command():
    command = set(inspect.signature(server_command.start).parameters) - {"as_json", "ctx"}
    assert set(inspect.signature(openslob.server).parameters) == command


def test_sweeps_have_the_options_of_the_command():
    options = set(inspect.signature(importlib.import_module("openslob.cli.sweep").sweep).parameters)
    left_out = {
        "dry_run",
        "whole",
        "ctx",
        "json",
        "live",
        "ceiling",
        "report_interval",
        "server_pid",
        "host",
        "direct",
        "consent",
        "target",
        "engine",
        "ask_password",
        "profile",
        # Of the target; Dask's own configuration has its files.
        "drivers",
        "tls_ca_file",
        "tls_cert",
        "tls_key",
    }
    assert options - left_out <= set(inspect.signature(targets.Target.sweep).parameters)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sessions": 0}, "SESSIONS=0 (--sessions) is not allowed"),
        ({"sesions": 1}, "there is no parameter 'sesions'; did you mean sessions?"),
        ({"run_time": "soon"}, "RUN_TIME=soon"),
        ({"sessions": [1, 2]}, "sessions takes one value here; sweep() takes several"),
        ({"mode": "fast"}, "MODE=fast (--mode) is not allowed"),
    ],
)
def test_parameters_are_checked_as_flags_are(given, message):
    with pytest.raises(UsageError) as raised:
        asking.resolve_parameters(given, None)
    assert message in str(raised.value)


def test_values_mean_what_they_mean_as_flags():
    given = {"sessions": 3, "run_time": "1m", "scale": "64M", "do_hotspot": True, "target_ops": 1234567.5, "mode": None}
    workload = asking.resolve_parameters(given, None).workload
    assert (workload.sessions, workload.run_time, str(workload.scale)) == (3, 60, "64M")
    assert (workload.do_hotspot, workload.target_ops, workload.mode) == (True, 1234567.5, None)


def test_a_sweep_takes_values_and_lists():
    texts, servers = asking.write_several({"sessions": [1, 2], "update_pct": 20, "scale": "16M, 32M", "cache": ["64M"]})
    assert texts == {"sessions": ["1", "2"], "update_pct": ["20"], "scale": ["16M", "32M"]}
    assert servers == {"cache": ["64M"]}
    assert asking.write_several({"sessions": range(1, 3)})[0] == {"sessions": ["1", "2"]}
    with pytest.raises(UsageError, match="sessions has no value"):
        asking.write_several({"sessions": []})
    with pytest.raises(UsageError, match="did you mean"):
        asking.write_several({"cash": "1G"})


def test_sizes_and_places_are_checked(monkeypatch, tmp_path):
    with pytest.raises(UsageError, match="cache: "):
        openslob.server("x", cache="much")
    with pytest.raises(UsageError, match="no engine"):
        openslob.target("nothing://me@there/db").run(sessions=1)
    monkeypatch.setenv("SLOB_RESULTS", str(tmp_path))
    assert asking.find_results(None) == tmp_path
    monkeypatch.setenv("SLOB_TARGET", "big")
    assert asking.find_target() == "big"


def test_target_and_place_come_from_slob_toml_too(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    for name in ("SLOB_TARGET", "SLOB_RESULTS", "SLOB_ENGINE"):
        monkeypatch.delenv(name, raising=False)
    file = tmp_path / "slob.toml"
    file.write_text('target = "big"\nresults = "kept"\nsessions = 3\n')
    assert asking.find_target(file) == "big"
    assert asking.find_results(None, file) == tmp_path / "kept"
    assert asking.find_results("given", file).name == "given"
    assert asking.resolve_parameters({}, file).workload.sessions == 3
    monkeypatch.chdir(tmp_path)
    assert asking.find_target() == "big"


def test_a_password_is_not_shown():
    target = openslob.target("postgresql://me:hunter2@db1/test")
    assert "hunter2" not in repr(target) + str(vars(target))


RATES = run_progress.Rates(ops=100.0, visits=6400.0, commits=10.0, reads=2000.0, mean_us=10.0, p99_us=12.0)
STATE = run_progress.RunProgress("window", 5, 10, RATES)


def test_progress_goes_to_a_function():
    seen = []
    with progress.Shown(progress.display_for(seen.append)).running("point 1", 7530) as sink:
        sink(STATE)
    with progress.Shown(progress.display_for(seen.append)).loading(8192) as sink:
        sink(LoadProgress("rows", 10, 1000))
    assert list(map(str, seen)) == [
        "point 1: window 5 of 10 s · 6,400 visits/s · 2,000 reads/s · 10 commits/s · 12 µs p99 · 2 h 5 min left in all",
        "rows 10 of 1,000 blocks",
    ]


def test_progress_is_a_line_in_a_terminal_and_nothing_elsewhere(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    for stream, expected in ((Terminal(), True), (io.StringIO(), False)):
        monkeypatch.setattr(sys, "stderr", stream)
        with progress.Shown(progress.display_for(None)).running("", None) as sink:
            sink(STATE)
        assert ("window 5 of 10 s" in stream.getvalue()) is expected
        assert stream.getvalue().count("\n") == 0
        assert stream.getvalue().endswith("\r\x1b[K") is expected
        with progress.Shown(progress.display_for(False)).running("", None) as sink:
            sink(STATE)
        assert stream.getvalue().count("window") == int(expected)


@pytest.fixture
def python_handles_interrupts():
    """Python's own handler of SIGINT, which is missing where a shell started the tests in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("python_handles_interrupts")
def test_an_interrupt_ends_the_block_first_and_goes_to_the_caller_then():
    ended = []
    with pytest.raises(KeyboardInterrupt), interruptible() as interrupt:
        os.kill(os.getpid(), signal.SIGINT)
        ended.append(interrupt.stop.wait(60))
    assert ended == [True]
    with pytest.raises(KeyboardInterrupt), interruptible():
        os.kill(os.getpid(), signal.SIGINT)
        raise SlobError("stopped during the warm-up")
    with pytest.raises(SlobError, match="no server"), interruptible():
        raise SlobError("no server")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_thread_runs_without_handlers_of_signals():
    before, seen = signal.getsignal(signal.SIGINT), []

    def work():
        with interruptible() as interrupt:
            seen.append((interrupt.requested, signal.getsignal(signal.SIGINT)))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [(False, before)]


def test_the_command_line_is_not_imported_by_the_interface():
    assert cli.app
    code = "import sys, openslob.api.functions; print('typer' in sys.modules, 'rich' in sys.modules)"
    assert python(code).strip() == "False False"
