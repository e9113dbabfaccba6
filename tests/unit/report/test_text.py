"""The text report: the sections of all kinds of runs, and what must never be said.

After a wanted change: UPDATE_GOLDEN=1 pytest tests/unit/report/test_text.py, then read the difference.
"""

from __future__ import annotations

import json
import os
import re
import sys
import unicodedata
from pathlib import Path

from typer.testing import CliRunner

from factories import records
from factories.paths import GOLDEN
from factories.records import (
    Made,
    buffered,
    cached,
    failed,
    interrupted,
    physical,
    remote,
    unpublished,
    without_whole_cpu,
)
from factories.tables import table
from openslob.cli import app
from openslob.core.units import Price
from openslob.kinds.listing import overview
from openslob.metrics import METRICS, OBSERVED, OF_ROW_BYTES, add_costs
from openslob.record import finding
from openslob.record.model import Figure, Holds, RunRecord, Verdict, WaitRow
from openslob.record.store import RunFolder
from openslob.report import format as shape
from openslob.report.format import number
from openslob.report.headline import headline
from openslob.report.terminal import render_screen
from openslob.report.text import render, run_document

NAMES = ("physical", "cached", "buffered", "interrupted", "unpublished", "remote", "failed")


def test_each_report_has_its_sections_verdicts_and_figures() -> None:
    found = {name: outline(render(getattr(records, name)())) for name in NAMES}
    assert found == json.loads(reviewed("report-outlines.json", json.dumps(found, indent=1, ensure_ascii=False) + "\n"))


def reviewed(name: str, text: str) -> str:
    file = GOLDEN / name
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(text, encoding="utf-8")
    return file.read_text(encoding="utf-8")


def outline(text: str) -> dict[str, list[str]]:
    """Return what a report tells by section, without its sentences: verdicts, and the figures of its tables."""
    sections: dict[str, list[str]] = {}
    for line in text.splitlines():
        heading = re.match(r"([A-Z][A-Z/ ]{3,})", line)
        if heading:
            rows = sections.setdefault(heading[1].strip(), [])
        elif sections and (row := re.match(r"  [✗?✓] (\w+) +(\S.*?)  ", line) or re.match(r"  (\S.*?)  +(\S.*)", line)):
            rows.append(f"{row[1]}: {row[2]}" if row.re.pattern.startswith("  [") else shown(row))
    return sections


def shown(row: re.Match[str]) -> str:
    """Return the label of a row, and its figures if it is one of figures."""
    cells = re.split(r"  +", row[2])
    return " | ".join([row[1], *cells]) if re.match(r"[\d–]", cells[0]) else row[1]


@table("name", NAMES)
def test_no_line_is_too_wide_or_ends_in_blanks(name: str) -> None:
    for line in render(getattr(records, name)()).splitlines():
        assert len(line) <= shape.WIDTH
        assert line == line.rstrip()


def test_physical_is_said_only_when_the_verdict_holds() -> None:
    assert "physical 8 KB reads/s" in headline(physical())
    for record in (buffered(), remote()):
        assert not re.search("physical|IOPS", render(record), re.IGNORECASE)
    assert "engine reads/s of 8 KB served by the OS page cache" in headline(buffered())
    assert "whether from a device is unknown" in headline(remote())


def test_a_record_without_that_verdict_is_not_believed() -> None:
    record = physical().model_copy(update={"verdicts": ()})
    assert "whether from a device is unknown" in headline(record)


def test_headline_has_the_longest_operation_where_percentiles_hide_a_stall() -> None:
    stalled = Verdict(name="no_stalls", verdict=Holds.FAILS, why="4 operations of 1 s or more.")
    latency = {"select": {**physical().latency["select"], "max_us": 5_030_000.0}}
    record = physical().model_copy(update={"latency": latency, "verdicts": (stalled,)})
    assert "longest 5.03 s" in headline(record)
    assert "longest" not in headline(record.model_copy(update={"verdicts": ()}))


def test_headline_of_unpublished_rates_says_why_and_gives_none() -> None:
    text = headline(unpublished())
    assert "no rate is published, because the engine counters span +3.1 % more" in text
    assert "reads/s" not in text
    assert "LOAD PROFILE\n  not published" in render(unpublished())


def test_failing_verdicts_come_first_and_in_capitals() -> None:
    lines = render(buffered()).splitlines()
    tally = next(number for number, line in enumerate(lines) if line.startswith("VERDICTS"))
    assert lines[tally] == "VERDICTS: !! 2 FAIL, 1 unknown, 4 hold"
    outcomes = re.findall(r"^  [✗?✓] (\w+)", "\n".join(lines), re.MULTILINE)
    assert outcomes == ["FAILS"] * 2 + ["unknown"] + ["holds"] * 4


def test_every_missing_figure_has_its_reason_below() -> None:
    record = physical()
    asked = {"rate_schedule": "0s:100,9s:5", "connect_every": 9, "price": "9 EUR/hour", "mode": "churn"}
    record = record.model_copy(update={"spec": {**record.spec, **asked}})
    summary = {name: Figure(value=None, unit=METRICS[name].unit, why=f"because {name}") for name in METRICS}
    text = " ".join(render(record.model_copy(update={"summary": summary})).split())
    # Of figures that only some engines have, the others need no reason.
    for name in set(METRICS) - OBSERVED - OF_ROW_BYTES:
        assert f"because {name}: " in text


def test_a_churn_has_what_its_rows_leave_behind_and_no_other_run_has() -> None:
    record = physical()
    grown = {"table_growth_mb_per_s": Figure(value=1.5, unit="MB/s"), "vacuums_total": Figure(value=3, unit="")}
    of_churn = {"spec": {**record.spec, "mode": "churn"}, "summary": {**record.summary, **grown}}
    lines = [" ".join(line.split()) for line in render(record.model_copy(update=of_churn)).splitlines()]
    at = lines.index("ROWS THAT COME AND GO")
    assert {"Growth of tables 1.5 MB/s", "Vacuums 3"} <= set(lines[at : at + 12])
    assert "ROWS THAT COME AND GO" not in render(record.model_copy(update={"summary": of_churn["summary"]}))


def test_a_price_gives_what_reads_and_commits_cost_in_its_currency() -> None:
    record = physical(Made(update_pct=10))
    assert "COST" not in render(record)
    text = render(add_costs(record, Price.parse("73 EUR/month")))
    reads, commits = record.summary["pio_read_per_s"].value, record.summary["commits_per_s"].value
    assert reads is not None
    assert commits is not None
    per_s = 73e6 / (730 * 3600)
    assert "COST, at 73 EUR/month and the rates of this run" in text
    assert f"Cost per 1M read requests {number(per_s / reads)} EUR" in " ".join(text.split())
    costs = f"{number(per_s / reads)} EUR per million reads and {number(per_s / commits)} EUR per million commits"
    assert f"; {costs} at 73 EUR/month; " in " ".join(text.split())
    # A figure without a price has no reason among those that are not known: it was not asked for.
    assert "--price" not in render(record)


def test_the_server_s_cpu_is_shown_by_kind_or_the_reason_why_not() -> None:
    def shown(seconds: dict[str, float] | None) -> str:
        environment = {**physical().environment, "server_cpu_s": seconds, "unknown": {"server_cpu_s": "without names"}}
        return " ".join(render(physical().model_copy(update={"environment": environment})).split())

    assert "server's CPU session 75 %, log writer 25 % " in shown({"session": 3.0, "log writer": 1.0, "cleaner": 0.0})
    assert "– without names: server cpu" in shown(None)


def test_a_figure_the_record_never_had_is_told_as_not_recorded() -> None:
    summary = {name: figure for name, figure in physical().summary.items() if name != "redo_mb_per_s"}
    assert "– not recorded: Redo" in render(physical().model_copy(update={"summary": summary}))


def test_tiny_is_never_zero() -> None:
    record = physical(Made(reads_per_visit=1e-9))
    row = next(line for line in render(record).splitlines() if "read requests" in line)
    assert row.split()[-2:] == ["0.000058", "6.4e-08"]
    tiny = WaitRow(event="IO:x", samples=1, share_pct=0.0004, db_time_s=2e-9, mean_us=0.0003)
    row = next(line for line in render(record.model_copy(update={"waits": (tiny,)})).splitlines() if "IO:x" in line)
    assert row.split() == ["IO:x", "0.002", "µs", "0.0004", "%", "0.0003", "µs"]


@table(
    ("value", "text"),
    [
        (None, "–"), (0, "0"), (0.00000012, "1.2e-07"), (0.0000768, "0.0000768"), (0.04, "0.04"), (0.999, "0.999"),
        (1.005, "1.00"), (9.4, "9.40"), (64, "64"), (65.32, "65.3"), (906.2, "906"), (54308.6, "54,309"),
        (0.9996, "1"), (2_705_650, "2,705,650"), (-3.14159, "-3.14"),
    ],
)  # fmt: skip
def test_number(value: float | None, text: str) -> None:
    assert shape.number(value) == text


def test_units() -> None:
    assert [shape.micros(us) for us in (0.5, 290, 11_700, 2e6, None)] == ["0.5 µs", "290 µs", "11.7 ms", "2 s", "–"]
    assert [shape.percent(pct) for pct in (99.997, 99.4, 100, 6.3, 0.041, 0)] == [
        "99.99 %", "99.4 %", "100 %", "6.3 %", "0.041 %", "0 %",
    ]  # fmt: skip
    assert [shape.size(count) for count in (0.629, 8192, 1.5 * 1024**3)] == ["0.629 B", "8 KB", "1.5 GB"]


def test_reads_that_are_not_single_blocks_are_not_called_so() -> None:
    summary = dict(physical().summary)
    summary["pio_read_mb_per_s"] = Figure(value=summary["pio_read_mb_per_s"].value * 2, unit="MB/s")
    assert "54,309 physical reads/s of 16 KB on average" in headline(physical().model_copy(update={"summary": summary}))


def test_half_cached_tells_both_kinds_of_reads() -> None:
    text = headline(physical(Made(reads_per_visit=0.2)))
    assert "59,177 logical 8 KB reads/s, 58,017 per CPU second, 11,592 physical 8 KB reads/s at 131 µs mean" in text


def test_the_answer_says_whose_cpu_second_it_is_of() -> None:
    known = physical()
    assert f"{known.value('iops_per_db_cpu'):,.0f} per CPU second" in headline(known)
    alone = without_whole_cpu(known)
    of_sessions = f"{known.value('iops_per_foreground_cpu'):,.0f}"
    assert f"{of_sessions} per foreground CPU second" in headline(alone)
    screen = render_screen(run_document(alone), 80)
    assert f"server's sessions 0.816 ({of_sessions} reads per foreground CPU second)" in " ".join(screen.split())
    unknown = {name: each for name, each in alone.summary.items() if "foreground" not in name}
    assert "CPU second" not in headline(alone.model_copy(update={"summary": unknown}))


def test_any_engine_and_old_parameter_can_be_shown() -> None:
    record = physical().model_copy(
        update={"engine": {}, "environment": {}, "spec": {"scale": "30000", "gone_since": 5}, "window": None}
    )
    text = render(record)
    assert "\nunknown server, unknown target\n" in text
    assert "GONE_SINCE=5" in text
    assert "30,000 blocks; ratio to the buffer cache unknown" in text
    assert "HOST" not in text


def test_many_errors_are_counted_on_top_and_all_told_below() -> None:
    record = failed().model_copy(update={"errors": tuple(f"session {number} ended" for number in range(30))})
    text = render(record)
    assert "!! FAILED: session 0 ended (and 29 more, below)" in text
    assert "! session 29 ended" in text


def test_ascii_where_the_terminal_cannot_do_more() -> None:
    text = render(buffered())
    assert shape.printable(text, "utf-8") == text
    plain = shape.printable(text, "ascii")
    assert shape.printable("a\x1b]0;x\x07\x9b1m\tb\r\n", "utf-8") == "a\\u001b]0;x\\u0007\\u009b1m\tb\\u000d\n"
    assert plain.isascii()
    assert "?" not in plain.replace("? unknown", "")
    assert "x FAILS" in plain


def test_no_sign_that_acts_on_a_terminal_or_hides_is_shown() -> None:
    acting = [
        chr(code)
        for code in range(sys.maxunicode + 1)
        if unicodedata.category(chr(code)) in ("Cc", "Cf", "Cs", "Zl", "Zp")
    ]
    kept = {"\t", "\n"}
    assert [each for each in acting if each not in kept and each in shape.without_controls(f"a{each}b")] == []
    shown = "café 读 \u00a0 ⣿ ▁▂ – µs → ✓"
    assert shape.without_controls(shown) == shown
    assert json.loads('"' + shape.without_controls("\U000e0041") + '"') == "\U000e0041"


def _save(results: Path, *records: RunRecord) -> None:
    for record in records:
        with RunFolder.begin(results, record) as folder:
            folder.finish(record)


def _slob(*arguments: object, env: dict[str, str] | None = None) -> str:
    words, wide = [str(argument) for argument in arguments], {"COLUMNS": "", **(env or {})}
    result = CliRunner().invoke(app, words, env=wide, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_show_takes_the_latest_or_the_one_named(tmp_path: Path) -> None:
    _save(tmp_path, physical(), cached())
    assert _slob("show", "--all", "--results", tmp_path) == render(cached(), tmp_path / cached().id)
    where = {"SLOB_RESULTS": str(tmp_path)}
    assert _slob("show", "20260301-120", "--all", env=where) == render(physical(), tmp_path / physical().id)
    called = _slob("show", "20260301-120", env=where)
    assert called == render_screen(run_document(physical())).replace(physical().id, "1")
    assert _slob("show", "1", env=where) == called
    assert RunRecord.model_validate(json.loads(_slob("show", tmp_path / physical().id, "--json"))) == physical()


def test_list_is_the_reviewed_one_and_hides_nothing(tmp_path: Path) -> None:
    _save(tmp_path, physical(), cached(), buffered(), interrupted(), failed())
    (tmp_path / "20260301-140000-half").mkdir()
    (tmp_path / "20260301-140000-half" / "run.json").write_text("{")
    with RunFolder.begin(tmp_path, remote()):
        table = _slob("list", "--results", tmp_path)
        rows = json.loads(_slob("list", "--json", "--results", tmp_path))
    file = GOLDEN / "list.txt"
    # The moment of an old record is its year.
    text = re.sub(r" \d\d \w{3}  ?[\d:]{4,5}", " DD MMM hh:mm", table.replace(str(tmp_path), "RESULTS"))
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")
    statuses = ["complete", "complete", "complete", "interrupted", "running", "failed", "unreadable"]
    assert [row["status"] for row in rows] == statuses
    assert rows[4]["pid"] == os.getpid()
    assert rows[2]["failed_verdicts"] == ["reads_reached_device", "steady"]
    assert "damaged" in rows[-1]["problem"]


def test_list_shows_the_p99_of_the_most_frequent_operation(tmp_path: Path) -> None:
    record = physical(Made(update_pct=90))
    _save(tmp_path, record)
    assert overview(finding.every(tmp_path)[0])["p99_us"] == record.latency["update"]["p99_us"]


def test_verdict_without_matching_sign_is_impossible() -> None:
    for outcome in Holds:
        one = physical().model_copy(update={"verdicts": (Verdict(name="some_thing", verdict=outcome, why="so"),)})
        assert re.search(rf"{outcome.value}\s+some thing  so", render(one), re.IGNORECASE)


def test_no_control_character_of_a_server_or_a_name_reaches_the_terminal() -> None:
    record = physical().model_copy(update={"name": "\x1b]0;owned\x07", "errors": ("server said \x9b2J",)})
    text = render(record)
    assert not {sign for sign in text if unicodedata.category(sign) == "Cc"} - {"\n"}
