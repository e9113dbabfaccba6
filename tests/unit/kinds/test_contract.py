"""What every kind of measurement keeps to, and a kind that another distribution brings."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from factories.paths import FIXTURES
from factories.reports import Made, made_up, stored
from factories.running import slob
from openslob import cli
from openslob.core.errors import SlobError
from openslob.kinds.contract import Wanted, kind_of
from openslob.kinds.verification import verify
from openslob.record import finding, kinds
from openslob.record.kinds import AnyKind, KindOfDocument
from openslob.report.terminal import render_answer, render_text

EVERY = kinds.every()
MADE_UP = made_up()
# A record of each kind, as a program wrote it.
WRITTEN = {
    "run": "v4/measured", "sweep": "sweep-v1/measured", "raw measurement": "storage-v1/dd",
    "endurance run": "endurance-v1/measured", "repeated run": "repeated-v1/measured",
    "test of failover": "failover-v1/measured", "proof of durability": "crash-v1/measured", "lab": "lab-v1/measured",
    "comparison in pairs": "ab-v1/measured",
}  # fmt: skip
# A kind of measurement that another distribution brings: it notes two rates and their ratio.
RATIO = FIXTURES / "ratio_slob"
RECORD = {
    "ratio_version": 1, "kind": "ratio", "id": "20260301-120000-twice", "name": "twice", "status": "complete",
    "started_at": "2026-03-01T12:00:00Z", "openslob_version": "0.1.0", "rates": [200.0, 500.0], "ratio": 2.5,
}  # fmt: skip


@pytest.fixture(params=[*WRITTEN.values(), *MADE_UP])
def made(request, tmp_path) -> Made:
    """A record of a kind: written by a program, or made up."""
    return MADE_UP[request.param](tmp_path) if request.param in MADE_UP else stored(request.param, tmp_path)


def test_there_is_a_record_of_every_kind():
    assert {str(kind) for kind in EVERY} == set(WRITTEN)


@pytest.mark.parametrize("kind", EVERY, ids=str)
def test_what_a_kind_is_called_tells_it_from_others(kind: AnyKind):
    labels = [each.labels for each in EVERY if each is not kind]
    assert kind.labels.name not in [each.name for each in labels]
    assert kind.labels.listed not in [each.listed for each in labels]
    assert kind.labels.rank not in [each.rank for each in labels]
    assert kind.labels.maker.startswith("slob ")
    assert set(kind.files).isdisjoint(name for each in EVERY if each is not kind for name in each.files)


@pytest.mark.parametrize("kind", [each for each in EVERY if isinstance(each, KindOfDocument)], ids=str)
def test_a_kind_s_first_file_is_the_document_of_its_folder(kind: KindOfDocument[Any]):
    assert kind.files[0] == kind.folder.file_name


def test_a_list_imports_models_of_no_kind_that_has_no_record(tmp_path):
    code = (
        "import sys; from pathlib import Path; from openslob.record import finding\n"
        "found = finding.every(Path(sys.argv[1]))\n"
        "print([name for name in sys.modules if name.startswith('openslob.kinds.') and name.endswith('.record')])"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path], check=True, capture_output=True, text=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(("name", "written"), WRITTEN.items())
def test_a_record_is_found_by_its_folder_and_by_its_file(name, written, tmp_path):
    folder = stored(written, tmp_path).folder
    found = finding.at(folder)
    assert found is not None
    assert str(found.kind) == name
    assert finding.at(folder / found.kind.files[0]) == finding.Found(found.kind, folder / found.kind.files[0])
    assert [entry.path for entry in found.kind.find(folder.parent, parts=False)] == [folder]


def test_its_row_has_the_figures_that_every_row_has(made: Made):
    row = made.kind.row(made.record)
    assert isinstance(row["failed_verdicts"], list)
    assert isinstance(made.kind.contents(made.record), str)
    json.dumps(row)


def test_its_report_has_an_answer_in_short_and_whole(made: Made):
    document = made.kind.document(made.record, made.folder)
    short, whole = render_answer(document), render_text(document)
    assert short.strip()
    assert len(whole) > len(short)
    assert made.kind.describe(made.record)


# The written endurance run is kept without its segments.
WITH_PARTS = [*(each for each in WRITTEN.values() if not each.startswith("endurance")), "endurance-killed"]


@pytest.mark.parametrize("name", WITH_PARTS)
def test_its_own_figures_follow_from_its_parts_or_say_why_not(name, tmp_path):
    made = MADE_UP[name](tmp_path) if name in MADE_UP else stored(name, tmp_path)
    found = finding.at(made.folder)
    assert found is not None
    checked = verify(found)
    assert [each for each in checked.differing if not each[0]] == []
    assert all(each.value is not None or each.why for _, each in checked.unknown)


@pytest.mark.parametrize("kind", EVERY, ids=str)
def test_a_price_is_taken_or_refused_before_anything_is_read(kind: Any):
    takes_price = kind.is_of_runs and not kind.has_own_page
    with pytest.raises(SlobError, match="there is no|can't be read" if takes_price else "--price is for runs"):
        kind.read_as(Path("/nowhere"), Wanted("1 EUR/h"))


@pytest.fixture
def with_ratios(tmp_path, monkeypatch):
    """Another distribution whose kind of measurement is a ratio, and a folder with one of its records."""
    place = tmp_path / "site"
    information = place / "ratio_slob-1.0.dist-info"
    information.mkdir(parents=True)
    for name in ("ratio_slob.py", "ratio_command.py"):
        shutil.copy(RATIO / name, place)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: ratio-slob\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text("[openslob.kinds]\nratio = ratio_slob:KIND\n")
    monkeypatch.syspath_prepend(str(place))
    forget_kinds()
    results = tmp_path / "results"
    folder = results / RECORD["id"]
    folder.mkdir(parents=True)
    (folder / "ratio.json").write_text(json.dumps(RECORD))
    yield results
    forget_kinds()


def forget_kinds():
    for known in (kinds.every, cli.application, cli.find_other_commands):
        known.cache_clear()
    for module in ("ratio_slob", "ratio_command"):
        sys.modules.pop(module, None)


def ask(results, *arguments):
    done = slob(*arguments, "--results", results)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_kind_of_another_distribution_is_listed_shown_reported_exported_and_verified(with_ratios, tmp_path):
    listed = ask(with_ratios, "list")
    assert "ratio" in listed
    assert "2.50 times the first" in listed
    assert json.loads(ask(with_ratios, "list", "--json"))[0]["ops_per_s"] == 500
    assert " 2.50 times " in ask(with_ratios, "show", "twice")
    assert json.loads(ask(with_ratios, "show", "twice", "--json"))["ratio"] == 2.5
    page = tmp_path / "page.html"
    ask(with_ratios, "report", "twice", "-o", page)
    assert " 2.50 times " in page.read_text()
    bundle = tmp_path / "twice.slob.zip"
    ask(with_ratios, "export", "twice", "--bundle", bundle)
    checked = ask(with_ratios, "verify", bundle)
    assert "measured ratio 20260301-120000-twice" in checked
    assert "\nverified: " in checked


def test_it_is_seen_live(with_ratios):
    shown = json.loads(ask(with_ratios, "live", "twice", "--json"))
    assert (shown["kind"], shown["progress"]) == ("ratio", "complete")
    assert shown["figures"]["ops_per_s"]["value"] == 500


def test_its_command_is_run_and_is_in_the_help(with_ratios):
    made = ask(with_ratios, "ratio", "200", "300")
    assert " 1.50 times " in ask(with_ratios, "show", made.strip())
    shown = slob("--help").stdout
    assert "Note two rates and their ratio" in shown
    assert shown.index("OTHERS") < shown.index("  ratio ")


def test_what_does_not_follow_is_found_there_too(with_ratios):
    file = with_ratios / RECORD["id"] / "ratio.json"
    file.write_text(json.dumps({**RECORD, "ratio": 2.6}))
    done = slob("verify", "twice", "--results", with_ratios)
    assert done.returncode == 3
    assert re.findall(r"ratio|2\.\d", done.stderr.splitlines()[-1])[-3:] == ["ratio", "2.6", "2.5"]


def test_the_help_does_without_a_kind_that_can_not_be_loaded(with_ratios):
    forget_kinds()
    (with_ratios.parent / "site" / "ratio_slob.py").write_text("import nothing_that_is_there")
    shown = slob("--help")
    assert shown.returncode == 0, shown.stderr
    assert "MEASURE" in shown.stdout
    asked = slob("ratio", "1", "2")
    assert asked.returncode == 1
    assert "can't be loaded" in asked.stderr


@pytest.mark.parametrize(
    ("module", "said"),
    [
        ("import nothing_that_is_there", "kind of record ratio of ratio-slob 1.0 can't be loaded: No module named"),
        ("OTHER = 1", "can't be loaded"),
        ("KIND = 1", "ratio_slob:KIND of ratio-slob 1.0 is not a kind of record"),
    ],
)
def test_a_kind_that_can_not_be_loaded_is_said_in_one_line(with_ratios, module, said):
    forget_kinds()
    (with_ratios.parent / "site" / "ratio_slob.py").write_text(module)
    done = slob("list", "--results", with_ratios)
    assert done.returncode == 1
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_every_written_record_is_one_that_is_kept():
    assert [name for name in WRITTEN.values() if not (FIXTURES / "records" / name).is_dir()] == []


def test_the_kind_of_a_record_says_all_that_commands_ask(made: Made):
    assert kind_of(finding.Found(made.kind, made.folder)) is made.kind
