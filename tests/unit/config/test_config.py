"""Configuration: what files, environment and flags may say, which of them wins, and how a mistake is told."""

from __future__ import annotations

import json
import re
import shlex
import string
import subprocess
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factories.paths import ROOT
from factories.tables import table
from openslob.config.configuration import read_configuration
from openslob.config.files import read_shell
from openslob.config.parameters import by_slob_name, format_value, parameters
from openslob.config.resolve import Resolution, resolve
from openslob.config.slob_toml import read_toml
from openslob.core.errors import UsageError
from openslob.core.units import Extent
from openslob.core.workload import Mode, RedoStress, Workload

FIXTURES = ROOT / "tests" / "fixtures" / "config"
DATA_FIXTURES = {path.name for path in FIXTURES.iterdir()}


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def resolved(text: str | None = None, name: str = "slob.conf", environment=None, **flags: str) -> Resolution:
    path = Path(name)
    if text is not None:
        path.write_text(text)
    return resolve(flags, path if text is not None else None, environment or {})


def fixture(name: str, environment=None) -> Resolution:
    return resolve({}, FIXTURES / name, environment or {})


def changed(resolution: Resolution) -> dict[str, object]:
    """The values that did not come from the defaults."""
    return {name: getattr(resolution.workload, name) for name, at in resolution.sources.items() if at != "default"}


def error_of(*args, **kwargs) -> str:
    with pytest.raises(UsageError) as caught:
        resolved(*args, **kwargs)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# --- sizes and quoting


@given(st.builds(Extent, st.integers(0, 2**56), st.booleans()))
def test_extent_text_reads_back_as_the_same_extent(extent):
    assert Extent.parse(str(extent)) == extent


@table("text", ["", "1.5", "-5", "five", "5Q", "10 20", "1e3"])
def test_extent_refuses_what_is_neither_blocks_nor_a_size(text):
    with pytest.raises(ValueError, match="size"):
        Extent.parse(text)


@given(st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"])))
def test_shell_reads_back_whatever_was_quoted(value):
    value = value.replace("\r", "")
    (setting,) = read_shell(f"# before\nKEY={shlex.quote(value)} # after\n", "f", {})
    assert (setting.key, setting.value, setting.where) == ("KEY", value, "f:2")


@given(st.text(string.printable))
def test_shell_reads_or_refuses_any_text_in_one_line(text):
    try:
        settings = read_shell(text, "f", {})
    except UsageError as error:
        assert "\n" not in str(error)
        assert str(error).startswith("f:")
    else:
        assert all(setting.key.isidentifier() for setting in settings)


@table(
    ("text", "value"),
    [
        ("K=a#b", "a#b"),
        ("K=a # b", "a"),
        ("K=", ""),
        ("K=''", ""),
        ("K='a b'\"c d\"e", "a bc de"),
        (r"K=a\ b", "a b"),
        (r'K="a\"b\$c\n"', r'a"b$c\n'),
        ("K='$X'", "$X"),
        ("K=$X", "from outside"),
        ('K="<${X}>"', "<from outside>"),
        ("X=inside;K=$X", "inside"),
        ("K=${Y:-80M}", "80M"),
        ("K=${Y:='8 M'}", "8 M"),
        ("K=${EMPTY:-d}", "d"),
        ("K=${EMPTY-d}", ""),
        ("K=$Y", ""),
        ("K=a\\\nb", "ab"),
        ("K=1\nK=2", "2"),
        ("K=a=b", "a=b"),
    ],
)
def test_shell_words(text, value):
    environment = {"X": "from outside", "EMPTY": ""}
    assert [one.value for one in read_shell(text, "f", environment) if one.key == "K"][-1] == value
    assert by_a_real_shell(text, ["K"], environment) == [value]


@table("name", ["oracle_lab.conf", "odd_shell.conf", "think_2.2.conf", "cloud_pgio.conf"])
def test_a_real_shell_reads_the_same(name):
    text = (FIXTURES / name).read_text()
    ours = {one.key: one.value for one in read_shell(text, name, {})}
    assert by_a_real_shell(text, list(ours), {}) == list(ours.values())


def by_a_real_shell(text: str, keys: list[str], environment: dict[str, str]) -> list[str]:
    """The values of ``keys`` after the system's own shell has run ``text``."""
    show = "".join(f"\nprintf '%s\\0' \"${key}\"" for key in keys)
    ended = subprocess.run(["/bin/sh", "-c", text + show], env=environment, capture_output=True, text=True, check=True)
    return ended.stdout.split("\0")[:-1]


@table(
    ("text", "expected"),
    [
        ("\nK=$(date)", "f:2: '$' would need a shell"),
        ("K=`date`", "f:1: '`' would need a shell"),
        ('K="$(date)"', "f:1: '$' would need a shell"),
        ("K=$((8*8))", "f:1: '$' would need a shell"),
        ("\n\nif true; then", "f:3: 'if' would need a shell"),
        ("K=${A:-${B:-c}}", "f:1: '$' would need a shell"),
        ("K=${A:?c}", "f:1: '$' would need a shell"),
        ("A='\n'\nK=a\\\nb\nK=(", "f:5: '(' would need a shell"),
        ("source other.conf", "f:1: 'source' would need a shell"),
        ("K=1 | cat", "f:1: '|' would need a shell"),
        ("K = 1", "f:1: there is a space beside the ="),
        ("K= hidden", "f:1: there is a space beside the ="),
        ("A=1\nK='x", "f:2: the quote that begins here does not end"),
        ("K+=1", "f:1: a command would need a shell"),
    ],
)
def test_what_needs_a_shell_is_one_clear_error(text, expected):
    with pytest.raises(UsageError) as caught:
        read_shell(text, "f", {})
    assert str(caught.value).startswith(expected)
    assert "hidden" not in str(caught.value)


# --- files as found in the wild


def test_slob_conf():
    resolution = fixture("oracle_lab.conf")
    assert changed(resolution) == {
        "update_pct": 25, "scan_pct": 0, "run_time": 300, "work_loop": 0, "scale": Extent.parse("2G"),
        "scan_table_sz": Extent.parse("1M"), "work_unit": 64, "redo_stress": RedoStress.HEAVY,
        "load_parallel_degree": 2, "threads_per_schema": 8, "obfuscate_columns": True, "do_hotspot": False,
        "hotspot_mb": 8, "hotspot_offset_mb": 16, "hotspot_frequency": 0, "hot_schema_frequency": 0,
        "think_tm_frequency": 7, "think_tm_min": 0.1, "think_tm_max": 0.5, "database_statistics_type": "awr",
    }  # fmt: skip
    assert resolution.sources["redo_stress"] == f"{FIXTURES / 'oracle_lab.conf'}:9"
    told = "\n".join(resolution.notices)
    unused = ("DBA_PRIV_USER", "SYSDBA_PASSWD")
    assert all(f"{key} is not used" in told for key in unused)
    assert "WORK_UNIT=64 visits 64 rows here; SLOB visits 63" in told
    assert "gives no number of schemas: that of loaded data is used, else --schemas 4" in told
    assert "Tiger" not in json.dumps([told, resolution.sources, resolution.workload.to_record()])


@pytest.fixture
def scripted(tmp_path):
    """A slob.conf that names a script beside it."""
    tmp_path.chmod(0o700)
    path = tmp_path / "slob.conf"
    path.write_text("SCALE=10M\nEXTERNAL_SCRIPT=./collect.sh\n")
    path.chmod(0o600)
    return path


def test_a_script_of_slob_conf_is_beside_the_file_and_a_notice_says_when_it_runs(scripted):
    found = read_configuration(scripted, {})
    script = str(scripted.parent / "collect.sh")
    assert found.settings["EXTERNAL_SCRIPT"].value == script
    (notice,) = (each for each in found.notices if "EXTERNAL_SCRIPT" in each)
    assert f"{script} pre before a run, and {script} post after it" in notice


@table("mode", [0o606, 0o666])
def test_a_script_of_a_file_that_others_may_write_is_refused(scripted, mode):
    scripted.chmod(mode)
    with pytest.raises(UsageError, match=r"slob.conf:2: EXTERNAL_SCRIPT is a program.* may be written by others"):
        read_configuration(scripted, {})
    scripted.write_text("SCALE=10M\n")
    read_configuration(scripted, {})
    scripted.write_text("SCALE=10M\nEXTERNAL_SCRIPT=./collect.sh\n")


def test_pgio_conf():
    resolution = fixture("cloud_pgio.conf")
    assert changed(resolution) == {
        "update_pct": 10, "run_time": 600, "schemas": 16, "threads_per_schema": 4, "work_unit": 255,
        "update_work_unit": 8, "scale": Extent.parse("4G"),
    }  # fmt: skip
    told = "\n".join(resolution.notices)
    assert all(f"{key} is not used" in told for key in ("DBNAME", "CONNECT_STRING", "CREATE_BASE_TABLE"))
    assert "WORK_UNIT=255 visits 255 rows here; pgio visits 256" in told
    assert "UPDATE_WORK_UNIT=8 visits 8 rows here; pgio visits 9" in told
    assert "one transaction" in told
    assert "NUM_THREADS is sessions per schema " in told
    assert "number of schemas" not in told


def test_odd_but_right_shell_syntax():
    resolution = fixture("odd_shell.conf", {"SCALE": "48M"})
    assert changed(resolution) == {
        "update_pct": 11, "scan_pct": 5, "run_time": 45, "scale": Extent.parse("48M"), "warmup": 3, "work_unit": 16,
        "update_work_unit": 16, "seed": 12, "threads_per_schema": 2, "hot_schema_frequency": 5,
    }  # fmt: skip
    assert any("WORK_LOOP is empty: " in notice and notice.endswith(", 0") for notice in resolution.notices)


def test_byte_order_mark_and_carriage_returns():
    assert changed(fixture("windows.conf")) == {
        "update_pct": 30, "scale": Extent.parse("80M"), "schemas": 2, "redo_stress": RedoStress.LITE,
    }  # fmt: skip


def test_older_slob_conf_with_its_extensions_off():
    resolution = fixture("think_2.2.conf")
    assert resolution.workload.think_tm_frequency == 13
    assert resolution.workload.scale == Extent(10000)
    for key in ("SHARED_DATA_MODULUS", "DO_UPDATE_HOTSPOT", "HOTSPOT_PCT"):
        assert any(f"{key} is not used" in notice for notice in resolution.notices)


def test_toml():
    resolution = fixture("full.toml")
    assert changed(resolution) == {
        "schemas": 2, "scale": Extent.parse("512M"), "update_pct": 33, "run_time": 12.5, "do_hotspot": True,
        "redo_stress": RedoStress.HEAVY, "mode": Mode.PIO,
    }  # fmt: skip
    assert resolution.sources["mode"].endswith("full.toml:10")
    assert not resolution.notices


def test_a_file_that_is_a_program_is_refused():
    with pytest.raises(UsageError, match=r"needs_shell\.conf:2: 'if' would need a shell"):
        fixture("needs_shell.conf")


def test_every_fixture_is_used():
    source = Path(__file__).read_text()
    assert all(f'"{name}"' in source or name == "needs_shell.conf" for name in DATA_FIXTURES)


# --- precedence and origin


def test_flag_beats_environment_beats_file_beats_default():
    environment = {"SLOB_UPDATE_PCT": "20", "SLOB_SCAN_PCT": "21", "PATH": "/bin"}
    found = resolved("UPDATE_PCT=30\nSCAN_PCT=31\nWORK_UNIT=32\n", environment=environment, update_pct="10")
    workload = found.workload
    assert (workload.update_pct, workload.scan_pct, workload.work_unit, workload.run_time) == (10, 21, 32, 60)
    names = ("update_pct", "scan_pct", "work_unit", "run_time")
    assert [found.sources[name] for name in names] == ["flag", "environment", "slob.conf:3", "default"]
    assert set(found.sources) == set(Workload.model_fields)


def test_only_slob_toml_is_read_unasked_and_that_is_told():
    Path("slob.conf").write_text("UPDATE_PCT=50\n")
    assert resolve({}, None, {}).workload.update_pct == 0
    Path("slob.toml").write_text("update_pct = 40\n")
    found = resolve({}, None, {})
    assert found.workload.update_pct == 40
    assert "./slob.toml is read" in found.notices


def test_the_stronger_of_sessions_and_threads_per_schema_counts():
    found = resolved("SESSIONS=3\n", threads_per_schema="5")
    assert found.workload.total_sessions == 4 * 5
    assert "THREADS_PER_SCHEMA (flag) overrides SESSIONS (slob.conf:1)" in found.notices
    both = resolved("SESSIONS=3\nTHREADS_PER_SCHEMA=5\n")
    assert both.workload.total_sessions == 3
    assert any("THREADS_PER_SCHEMA is not" in notice for notice in both.notices)


def test_empty_environment_variable_is_no_value():
    assert resolved(environment={"SLOB_UPDATE_PCT": ""}).sources["update_pct"] == "default"


# --- mistakes


def test_unknown_key_names_file_line_key_and_the_nearest():
    assert re.fullmatch(r"slob\.conf:2: UPDATE_PTC .* UPDATE_PCT\?", error_of("\nUPDATE_PTC=5\n"))
    assert re.fullmatch(
        r"slob\.toml:2: work_unti .* WORK_UNIT\?", error_of("[workload]\nwork_unti = 5\n", name="slob.toml")
    )
    assert re.fullmatch(r"slob\.conf:1: colour .*`slob run --help-all` .*", error_of("colour=red\n"))


def test_value_of_an_unknown_key_is_not_repeated():
    assert "hunter2" not in error_of("ROOT_PWT=hunter2\n")


def test_unknown_environment_variable_is_refused_when_it_is_a_slip_and_told_when_not():
    assert re.search(r" SLOB_UPDATE_PTC .* SLOB_UPDATE_PCT\?$", error_of(environment={"SLOB_UPDATE_PTC": "5"}))
    (notice,) = resolved(environment={"SLOB_XYZZY": "5", "SLOB_TARGET": "a"}).notices
    assert " SLOB_XYZZY " in notice


def test_one_parameter_by_two_names_is_refused():
    assert error_of("scale = 5000\nSCALE = 6000\n", name="slob.toml").endswith("keep one of them")
    assert "NUM_THREADS (slob.conf:1)" in error_of("NUM_THREADS=2\nTHREADS_PER_SCHEMA=3\n")


def test_extensions_that_would_change_the_work_are_refused():
    assert re.search(r"DO_UPDATE_HOTSPOT .* FALSE; use DO_HOTSPOT", error_of("DO_UPDATE_HOTSPOT=TRUE"))
    assert "use HOT_SCHEMA_FREQUENCY" in error_of("SHARED_DATA_MODULUS=7")


@table("text", ["update_pct = [1]", "update_pct = 2024-01-01", "workload = 5"])
def test_toml_values_of_the_wrong_kind(text):
    assert error_of(text, name="slob.toml").startswith("slob.toml")


def test_toml_that_is_broken_names_the_line():
    with pytest.raises(UsageError, match=r"f: .*line 2"):
        read_toml("a = 1\nb = \n", "f")


def test_missing_file():
    with pytest.raises(UsageError, match=r"nowhere\.toml can't be read: No such file"):
        resolve({}, Path("nowhere.toml"), {})


def test_where_a_wrong_value_came_from_is_told():
    allowed = "is not allowed; allowed is a whole number from 0 to 100"
    assert error_of(update_pct="101") == f"UPDATE_PCT=101 (--update-pct) {allowed}"
    assert error_of(environment={"SLOB_UPDATE_PCT": "x"}) == f"UPDATE_PCT=x (SLOB_UPDATE_PCT) {allowed}"
    assert error_of("UPDATE_PCT=-1\n") == f"UPDATE_PCT=-1 (slob.conf:1) {allowed}"
    assert error_of("update_pct = true\n", name="slob.toml") == f"update_pct=TRUE (slob.toml:1) {allowed}"
    assert error_of("NUM_THREADS=0\n").startswith("NUM_THREADS=0 (slob.conf:1) is not allowed")
    assert error_of("UPDATE_PCT=x\n", work_unit="0").endswith("; also wrong: WORK_UNIT")


def test_values_that_contradict_each_other_name_their_origins():
    assert error_of("RUN_TIME=0\n").endswith("(RUN_TIME: slob.conf:1, WORK_LOOP: default)")
    assert "THINK_TM_MAX: flag" in error_of(think_tm_max="0.01")
    assert "HOTSPOT_FREQUENCY: slob.conf:1" in error_of("HOTSPOT_FREQUENCY=0\n", do_hotspot="TRUE")
    assert error_of("HOTSPOT_MB=0\n", access="hotspot").startswith("ACCESS=hotspot needs HOTSPOT_MB")
    assert error_of("DO_HOTSPOT=TRUE\n", access="zipf:1") == (
        "ACCESS=zipf:1 and DO_HOTSPOT=TRUE both choose the keys: use only one of them "
        "(ACCESS: flag, DO_HOTSPOT: slob.conf:1)"
    )


# --- every parameter

NAMES = list(Workload.model_fields)


@table("name", NAMES)
def test_every_parameter_is_told_of(name):
    parameter = parameters()[name]
    assert parameter.slob == name.upper()
    assert by_slob_name()[parameter.slob] is parameter
    assert parameter.meaning.endswith(".")
    assert parameter.allowed
    assert parameter.group
    assert parameter.default == format_value(getattr(Workload(), name))


# What a class is refused for is another thing than its text as a whole.
@table("name", [name for name in NAMES if name != "classes"])
def test_every_parameter_refuses_what_it_does_not_take(name):
    for wrong in ("-1", "1" + "0" * 30, "nan", "what"):
        text = error_of(**{name: wrong})
        assert f"{parameters()[name].slob}={wrong} ({parameters()[name].flag}) is not allowed" in text
        assert text.endswith(f"allowed is {parameters()[name].allowed}")


@table("name", [name for name in NAMES if ".." in parameters()[name].placeholder])
def test_the_range_that_is_told_is_the_range_that_holds(name):
    low, high = parameters()[name].placeholder.split("..")
    companions = {"run_time": {"work_loop": "1"}, "think_tm_min": {"think_tm_max": "3600"}}.get(name, {})
    companions |= {"think_tm_min": "0"} if name == "think_tm_max" else {}
    companions |= {"obfuscate_columns": "true"} if name == "compressible" else {}
    companions |= {"loop": "client"} if name in ("connect_every", "pipeline") else {}
    for edge in (low, high):
        assert float(getattr(resolved(**{name: edge}, **companions).workload, name)) == float(edge)
    for beyond in (str(Decimal(low) - 1), str(Decimal(high) + 1)):
        assert "is not allowed" in error_of(**{name: beyond}, **companions)


@table(
    ("others", "why"),
    [
        ({"update_work_unit": "4"}, "leave out UPDATE_WORK_UNIT"),
        ({"access": "zipf:0.99"}, "leave out ACCESS"),
        ({"do_hotspot": "true"}, "leave out ACCESS, DO_HOTSPOT"),
        ({"hot_schema_frequency": "5"}, "HOT_SCHEMA_FREQUENCY"),
        ({"loop": "client"}, "leave out BLOCK_PATH and LOOP"),
        ({"block_path": "local"}, "leave out BLOCK_PATH"),
    ],
)
def test_what_a_churn_of_rows_does_not_do_is_refused_in_one_line(others, why):
    text = error_of(mode="churn", **others)
    assert text.startswith("MODE=churn ")
    assert why in text
    assert "\n" not in text


def test_each_operation_of_a_churn_replaces_a_row_unless_a_share_is_given():
    load = resolved(mode="Churn").workload
    assert (load.update_pct, load.rows_per_update) == (100, 2)
    assert resolved(mode="churn", update_pct="30").workload.update_pct == 30
    assert resolved(mode="redo").workload.update_pct == 0
    mixed = resolved(mode="churn", classes="readers:sessions=2,update_pct=0;writers:sessions=3").workload
    assert [part.workload.update_pct for part in mixed.parts] == [0, 100]
    assert mixed.rings_a_table == 2


@table(
    "others",
    [
        {"loop": "server"},
        {"loop": "client", "target_ops": "5"},
        {"loop": "client", "think_tm_frequency": "5"},
        {"loop": "client", "connect_every": "5"},
        {"loop": "client", "classes": "a:sessions=7"},
    ],
)
def test_a_batch_is_refused_in_one_line_where_it_would_not_be_one(others):
    text = error_of(pipeline="16", **others)
    assert text.startswith("PIPELINE=16 is for ")
    assert "\n" not in text


@table("name", NAMES)
def test_every_default_can_be_given_by_flag_environment_and_file(name):
    Path("slob.toml").unlink(missing_ok=True)  # of the row before, which would be read unasked
    parameter = parameters()[name]
    others = {"mode": "lio", "price": "7/month", "classes": "a:sessions=7", "rate_schedule": "0s:7"}
    value = parameter.default or others.get(name, "7")
    expected = getattr(resolved(**{name: value}).workload, name)
    assert getattr(resolved(environment={parameter.variable: value}).workload, name) == expected
    assert getattr(resolved(f"{parameter.slob}={value}\n").workload, name) == expected
    assert getattr(resolved(f"{name} = {json.dumps(value)}\n", name="slob.toml").workload, name) == expected


@table("text", ["TRUE", "true", "yes", "1", "Yes"])
def test_switches_take_the_usual_words(text):
    assert resolved(f"OBFUSCATE_COLUMNS={text}\n").workload.obfuscate_columns is True


@table("text", ["63K", "1K", "0", "0M", "33T", "4294967295"])
def test_scale_has_a_range(text):
    assert "1 to 4294967294 blocks, or a size from 64K to 32T" in error_of(scale=text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("A=xxxxxxxxxx\n" + "A=$A$A\n" * 40, "f:9: the value of A is too long; write at most 2,000 characters"),
        ("A=1\n" * 25_001, "f: it has 100,004 characters; a file may have 100,000"),
    ],
    ids=["a value that doubles", "a long file"],
)
def test_a_shell_file_that_would_take_the_memory_is_one_line(text, why):
    with pytest.raises(UsageError) as error:
        read_shell(text, "f", {})
    assert str(error.value) == why


@pytest.mark.parametrize("name", ["\ud800", "a\0b"], ids=["a lone surrogate", "a zero byte"])
def test_what_no_file_can_be_called_is_no_configuration(name):
    with pytest.raises(UsageError, match="can't be a configuration file: no file can have that name"):
        read_configuration(Path(name), {})
