"""The command line as a whole: errors of options in one line, help at 80 columns, plain signs on plain terminals."""

from __future__ import annotations

import gc
import io
import re
import shutil
import signal
import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

from factories.paths import FIXTURES, SOURCE
from factories.tables import table
from openslob import __main__, __version__, cli
from openslob.cli.outline import add_outline
from openslob.config.parameters import parameters
from openslob.core.errors import SlobError
from openslob.record import finding
from openslob.record.store import save_text


def called(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["slob", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return ended.value.code, *capsys.readouterr()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["frob"], "no such command 'frob'; see slob --help"),
        (["run", "--bogus"], "no such option: --bogus"),
        (["run", "--sessions"], "'--sessions' requires an argument"),
        (["show", "a", "b"], "(b); see slob show --help"),
        (["compare", "a"], "a comparison has two sides; give A and B"),
        (["export", "x", "-f", "pdf"], "'pdf' is not one of 'csv'"),
        (["sweep", "--repeats", "0"], "invalid value for '--repeats'"),
        (["raw", "dd", "--size", "1X"], "invalid value for '--size': '1X' is not a size"),
        (["raw", "calibrate", "--block-size", "3"], "'--block-size': 3 is not a multiple of 512 bytes"),
        (["raw", "calibrate", "--latency-limit", "5"], "'--latency-limit': '5' is not a latency"),
        (["server", "start", "x", "--cache", "5x"], "'--cache': '5x' is not a size"),
        (["sweep", "--find-max-iops-under", "5"], "--find-max-iops-under: '5' is not a latency"),
        (["run", "--require", "nosuch"], "--require nosuch: there is no such verdict; there are valid, read, "),
    ],
)
def test_a_wrong_option_is_one_line_that_names_it(monkeypatch, capsys, arguments, says):
    code, out, err = called(monkeypatch, capsys, *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("slob: ")
    assert err.count("\n") == 1
    assert says in err


def test_without_a_command_there_is_help_and_no_error(monkeypatch, capsys):
    code, out, err = called(monkeypatch, capsys, "raw")
    assert (code, err) == (2, "")
    assert "calibrate" in out


def test_the_version_is_told(monkeypatch, capsys):
    assert called(monkeypatch, capsys, "--version") == (0, f"slob {__version__}\n", "")


def test_the_version_waits_for_nothing_else():
    code = (
        "import sys; from openslob.__main__ import main; main()\n"
        "print([name for name in ('typer', 'importlib.metadata', 'openslob.cli') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code, "--version"], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines() == [f"slob {__version__}", "[]"]


@table("command", ["run", "load", "sweep", "check"])
def test_every_flag_can_be_read_at_80_columns(command):
    text = CliRunner().invoke(cli.app, [command, "--help-all"], env={"COLUMNS": "80", "TERM": "dumb"}).stdout
    for one in parameters().values():
        assert re.search(rf"{one.flag}[ |│]", text), one.flag
    assert "<bool>" not in text.replace("--help     -h", "").split("--json")[1].split("\n", maxsplit=1)[0]


def test_signs_that_a_terminal_does_not_have_become_plain_ones(monkeypatch):
    plain = io.TextIOWrapper(io.BytesIO(), encoding="ascii", write_through=True)
    monkeypatch.setattr(sys, "stderr", plain)
    monkeypatch.setattr(sys, "argv", ["slob", "--version"])
    with pytest.raises(SystemExit):
        cli.main()
    print("1 ops/s · 5 µs ± 2 ≥ ü", file=plain)
    assert plain.buffer.getvalue() == b"1 ops/s - 5 us +- 2 >= ?\n"


def test_ctrl_c_is_back_when_the_command_line_is_there(monkeypatch):
    seen = []
    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(cli, "main", lambda: seen.append(signal.getsignal(signal.SIGINT)))
    monkeypatch.setattr(gc, "disable", lambda: None)
    __main__.main()
    assert seen == [before]


def test_ctrl_c_in_a_command_that_leaves_it_to_the_program_is_one_line(monkeypatch, capsys):
    def interrupted(_results, _count):
        raise KeyboardInterrupt

    monkeypatch.setattr(finding, "newest", interrupted)
    assert called(monkeypatch, capsys, "list") == (1, "", "slob: stopped\n")


def test_a_file_in_a_place_that_is_gone_is_told_with_what_to_do(tmp_path):
    with pytest.raises(SlobError, match="No such file or directory; what was measured up to here is kept"):
        save_text(tmp_path / "no" / "report.html", "text")


@table(
    ("words", "needed"),
    [
        (["run", "--sessions", "8"], ("run",)),
        (["-q", "run"], ("run",)),
        (["--color", "never", "run"], cli.find_needed([])),  # "never" could be a command: the program finds out
        (["frob"], cli.find_needed([])),
        (["help", "run"], cli.find_needed([])),
        (["--help"], cli.find_needed([])),
        (["--version"], ()),
        (["--version", "--help"], cli.find_needed([])),  # the help, with all commands
    ],
)
def test_only_the_command_that_is_named_is_imported(words, needed):
    assert cli.find_needed(words) == needed


def test_help_completions_and_lists_do_not_wait_for_libraries_that_compute_draw_or_connect():
    heavy = (
        "numpy",
        "rich",
        "psycopg",
        "pymysql",
        "altair",
        "distributed",
        "openslob.analyze.verdicts",
    )
    quick = ("check", "config", "drop", "list", "load", "run", "server", "show")
    code = (
        f"import sys; from openslob import cli; [cli.application((name,)) for name in {quick}]; "
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


# Of signs that a program whose language is C prints, too.
END = "=next="


def printed_in_turn(*lines):
    """What each command line prints, all of them in one process, and whether each had imported what takes long."""
    code = (
        "import sys; from openslob.__main__ import main\n"
        f"for words in {lines}:\n"
        "    sys.argv[1:] = words\n"
        "    try: main()\n"
        "    except SystemExit: pass\n"
        "    long = ('numpy', 'openslob.metrics', 'openslob.cli.run', 'openslob.awr')\n"
        "    found = [name for name in sys.modules if name in long]\n"
        f"    print(found, end='{END}', flush=True)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return [tuple(printed.rsplit("\n", 1)) for printed in done.stdout.removesuffix(END).split(END)]


def test_the_list_of_commands_is_that_of_the_whole_program_and_imports_none_of_them():
    lines = [(), ("--help",), ("-h",), ("--help-all",)]
    for words, (shown, imported) in zip(lines, printed_in_turn(*lines), strict=True):
        assert imported == "[]", words
        said = CliRunner().invoke(cli.app, list(words or ("--help",)), prog_name="slob").output
        assert shown.split() == said.split(), words


def test_the_help_of_a_command_is_found_in_its_file_or_the_command_is_imported(tmp_path):
    for name in cli.find_needed([]):
        assert add_outline(typer.Typer(), name, SOURCE / "cli" / f"{name}.py"), name
    for text in ("", "def register(app): app.command()(of_another_file)", "def register(app:"):
        (tmp_path / "odd.py").write_text(text)
        assert not add_outline(typer.Typer(), "odd", tmp_path / "odd.py")
    assert not add_outline(typer.Typer(), "gone", tmp_path / "gone.py")


@table(
    ("words", "is_wanted"),
    [("slob ", True), ("slob ru", True), ("slob run", False), ("slob run --ta", False), ("slob frob ", True)],
)
def test_a_shell_completes_the_names_of_commands_without_importing_them(monkeypatch, words, is_wanted):
    monkeypatch.setenv("_SLOB_COMPLETE", "complete_zsh")
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", words)
    assert cli.is_list_wanted(cli.typed_words()) is is_wanted


def test_a_list_of_records_and_a_short_answer_do_not_wait_for_what_computes(tmp_path):
    shutil.copytree(FIXTURES / "records" / "v2" / "measured", tmp_path / "results" / "measured")
    results = str(tmp_path / "results")
    printed = printed_in_turn(("list", "--results", results), ("show", f"{results}/measured"))
    assert [imported for _, imported in printed] == ["[]", "['openslob.metrics']"]
    assert all(len(shown.splitlines()) > 1 for shown, _ in printed)


def test_a_shell_s_line_names_the_command_too(monkeypatch):
    monkeypatch.setenv("_SLOB_COMPLETE", "complete_zsh")
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", "slob run --ta")
    assert cli.find_needed(cli.typed_words()) == ("run",)


def commands_of(program):
    return set(getattr(typer.main.get_command(program), "commands", ()))


def test_every_command_works_alone():
    for name in cli.find_needed([]):
        assert commands_of(cli.application((name,))) == {name}
    assert commands_of(cli.app) == set(cli.find_needed([]))
