"""The CI kit: formats of a comparison, thresholds in a file, baselines in a directory, and a gate that can't tell."""

import json
import re
from xml.etree import ElementTree

import pytest

from factories.records import Made, buffered, physical
from factories.running import slob
from openslob.analyze import ci_gate
from openslob.analyze.ci_gate import parse_condition, parse_thresholds
from openslob.core.errors import UsageError
from openslob.record.model import Status
from openslob.record.store import RunFolder

WORSE = "ops_per_s < -5%"


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Five runs before, five slower ones after, one of each, and some on another version."""
    place = tmp_path_factory.mktemp("results")
    for day, (name, factor, count) in enumerate(
        [("before", 1.0, 5), ("after", 0.9, 5), ("one", 1.0, 1), ("other", 0.8, 1), ("newer", 1.0, 5)], start=1
    ):
        for at in range(count):
            speed = factor * (1 + 0.002 * (at - 2))
            made = Made(sessions=8, visits=57_960 * speed, read_us=131 / speed, cpu=1.02)
            record = physical(made, name=name, record_id=f"202603{day:02}-1200{at:02}-{name}")
            if name == "newer":
                record = record.model_copy(update={"engine": {**record.engine, "version": "99"}})
            with RunFolder.begin(place, record) as folder:
                folder.finish(record)
    return place


@pytest.fixture(scope="module")
def noisy(tmp_path_factory):
    """Runs whose spread is larger than the difference between the sides."""
    place = tmp_path_factory.mktemp("noisy")
    for day, (name, rates) in enumerate([("calm", (500, 300, 424)), ("slow", (400, 240, 329))], start=1):
        for at, rate in enumerate(rates):
            record = physical(Made(visits=64.0 * rate), name=name, record_id=f"202603{day:02}-1200{at:02}-{name}")
            with RunFolder.begin(place, record) as folder:
                folder.finish(record)
    return place


def compare(results, *arguments, **env):
    return slob("compare", *arguments, "--results", results)


def junit(done):
    """The document, whose shape is that of the JUnit schema; outcomes by test case."""
    root = ElementTree.fromstring(done.stdout)
    assert root.tag == "testsuites"
    (suite,) = root
    cases = list(suite)
    assert {case.tag for case in cases} == {"testcase"}
    outcomes = {case.get("name"): [child.tag for child in case] for case in cases}
    for element in (root, suite):
        assert int(element.get("tests")) == len(cases)
        for plural, tag in {"failures": "failure", "errors": "error", "skipped": "skipped"}.items():
            assert int(element.get(plural)) == sum(tag in tags for tags in outcomes.values())
    assert all(case.get("classname") and case.get("time") for case in cases)
    assert all(child.get("message") for case in cases for child in case)
    return outcomes


def test_junit_has_a_case_for_each_condition(results):
    done = compare(results, "before", "after", "--fail-if", WORSE, "--fail-if", "ops_per_s > 5%", "--format", "junit")
    assert done.returncode == 3
    assert junit(done) == {
        "conditions are the same": [], f"not {WORSE}": ["failure"], "not ops_per_s > 5%": [],
    }  # fmt: skip
    assert 'message="ops_per_s -10.0 ± 0.4 % (906 → 815), limit -5 %"' in done.stdout
    assert done.stderr.splitlines()[-1] == "slob: ops_per_s -10.0 ± 0.4 % (906 → 815), limit -5 %"


def test_a_gate_that_can_not_tell_says_so_and_does_not_pass(results):
    done = compare(results, "one", "other", "--fail-if", WORSE, "--format", "junit")
    assert done.returncode == 4
    assert junit(done)[f"not {WORSE}"] == ["error"]
    line = done.stderr.strip()
    assert line == (
        "slob: Can't tell whether ops_per_s < -5%: each side has one run; make 5 runs of each side, each after a "
        "restart of the server. Measured: ops_per_s -20.0 % (902 → 722), limit -5 %"
    )


def test_a_noisy_gate_does_not_pass_in_any_format(noisy):
    for form in ("text", "markdown", "junit", "github", "json"):
        done = compare(noisy, "calm", "slow", "--fail-if", "ops_per_s < -10%", "--format", form, "--all")
        assert done.returncode == 4
        assert "the 95 % interval contains 0; " in done.stdout.replace("\n  ", " ").replace("%25", "%")
        assert "the 95 % interval contains 0; " in done.stderr
        if form == "junit":
            assert junit(done)["not ops_per_s < -10%"] == ["error"]
    done = compare(noisy, "calm", "slow", "--fail-if", "ops_per_s < -10%", "--format", "markdown")
    assert "| `ops_per_s < -10%` | **undecided** |" in done.stdout
    assert compare(noisy, "calm", "slow", "--fail-if", "ops_per_s < -25%").returncode == 0


@pytest.mark.parametrize(
    ("choice", "code", "outcome", "level"), [("pass", 0, "skipped", "warning"), ("fail", 3, "error", "error")]
)
def test_what_can_not_be_told_counts_as_the_user_says(results, monkeypatch, choice, code, outcome, level):
    done = compare(results, "one", "other", "--fail-if", WORSE, "--format", "junit", "--inconclusive", choice)
    assert (done.returncode, junit(done)[f"not {WORSE}"]) == (code, [outcome])
    assert ("it passes (--inconclusive pass)" in done.stderr) is (choice == "pass")
    monkeypatch.setenv("SLOB_INCONCLUSIVE", choice)
    done = compare(results, "one", "other", "--fail-if", WORSE, "--format", "github")
    assert done.returncode == code
    assert f"::{level} title=slob%3A {WORSE.replace('%', '%25')}::Can't tell" in done.stdout
    assert compare(results, "before", "after", "--fail-if", WORSE).returncode == 3


def test_a_limit_on_a_share_is_in_percentage_points(noisy):
    done = compare(noisy, "calm", "slow", "--fail-if", "host_cpu_left_pct < -5", "--format", "github")
    assert done.stdout.endswith("host_cpu_left_pct +0.0 ± 0.0 pt (48.7 → 48.7), limit -5 pt\n")


def test_reads_have_the_same_names_in_markdown_as_in_the_text(tmp_path):
    for name in ("before", "after"):
        record = buffered().model_copy(update={"id": f"20260301-120000-{name}", "name": name})
        with RunFolder.begin(tmp_path, record) as folder:
            folder.finish(record)
    assert "Physical" not in compare(tmp_path, "before", "after", "--format", "markdown").stdout


def test_other_conditions_are_an_error_in_every_format(results):
    for form in ("junit", "github", "text", "json", "markdown"):
        done = compare(results, "before", "newer", "--format", form)
        assert done.returncode == 1
        assert "can't be compared: 1 conditions differ" in done.stderr
        if form == "junit":
            assert junit(done) == {"conditions are the same": ["error"]}
        elif form == "github":
            assert done.stdout.startswith("::error title=slob compare::the conditions differ: version: ")
        elif form == "json":
            found = json.loads(done.stdout)
            assert (found["verdict"], found["refused"], found["points"]) == ("refused", ["version"], [])
            assert [(each["name"], each["b"]) for each in found["mismatches"]] == [("version", ["99"])]
            assert found["why"] in done.stderr
        elif form == "markdown":
            assert "**Nothing was compared.**" in done.stdout
            assert re.search(r"^\| version \| \S+ \| 99 \|$", done.stdout, re.M)
        else:
            assert done.stdout == ""
    assert junit(compare(results, "before", "newer", "--format", "junit", "--anyway")) == {
        "conditions are the same": ["skipped"]
    }


def test_a_refusal_is_in_the_summary_of_a_job(results, tmp_path, monkeypatch):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    assert compare(results, "before", "newer", "--format", "github").returncode == 1
    markdown = compare(results, "before", "newer", "--format", "markdown").stdout
    assert (tmp_path / "summary.md").read_text() == markdown
    assert "--may-differ version" in markdown


@pytest.mark.parametrize(
    ("sides", "conditions", "verdict", "code"),
    [
        (("before", "after"), (WORSE, "ops_per_s > 5%"), "failed", 3),
        (("one", "other"), (WORSE,), "undecided", 4),
        (("one", "other"), (WORSE, "ops_per_s > -90%"), "undecided", 4),
        (("before", "after"), ("ops_per_s < -50%",), "passed", 0),
        (("before", "after"), (), "compared", 0),
    ],
)
def test_the_verdict_for_programs(results, sides, conditions, verdict, code):
    options = [word for each in conditions for word in ("--fail-if", each)]
    done = compare(results, *sides, *options, "--json")
    assert (json.loads(done.stdout)["verdict"], done.returncode) == (verdict, code)


@pytest.fixture(scope="module")
def tuned(tmp_path_factory):
    """Runs with another cache and one other setting; one more set on another host."""
    place = tmp_path_factory.mktemp("tuned")
    for day, name in enumerate(("old", "new", "elsewhere"), start=1):
        for at in range(3):
            made = Made(visits=57_960 * (1 + 0.002 * at))
            record = physical(made, name=name, record_id=f"202603{day:02}-1200{at:02}-{name}")
            if name != "old":
                settings = {**record.engine["settings"], "jit": "on"}
                record = record.model_copy(
                    update={"engine": {**record.engine, "cache_bytes": 2**25, "settings": settings}}
                )
            if name == "elsewhere":
                record = record.model_copy(update={"environment": {**record.environment, "host": "db9"}})
            with RunFolder.begin(place, record) as folder:
                folder.finish(record)
    return place


def test_only_what_may_differ_is_allowed_to(tuned, tmp_path):
    assert compare(tuned, "old", "new").returncode == 1
    assert compare(tuned, "old", "new", "--may-differ", "cache_bytes").returncode == 1
    for names in ("cache_bytes,engine.settings.jit", "cache_bytes, engine.settings"):
        done = compare(tuned, "old", "new", "--may-differ", names)
        assert done.returncode == 0, done.stderr
        assert "engine.settings.jit" in done.stdout
    assert compare(tuned, "old", "new", "--may-differ", "cache_bytes", "--may-differ", "engine").returncode == 0
    refused = compare(tuned, "old", "elsewhere", "--may-differ", "cache_bytes,engine.settings")
    assert refused.returncode == 1
    assert "1 conditions differ" in refused.stderr
    assert "\n  host " in f"\n{refused.stderr}"
    assert "\n  cache_bytes" not in f"\n{refused.stderr}"
    file = tmp_path / "thresholds.toml"
    for text in (
        'may_differ = ["cache_bytes", "engine.settings"]\n[thresholds]\nops_per_s = "< -5%"\n',
        'may_differ = ["cache_bytes", "engine.settings"]\nops_per_s = "< -5%"\n',
        '[thresholds]\nops_per_s = "< -5%"\nmay_differ = ["cache_bytes", "engine.settings"]\n',
        'may_differ = ["cache_bytes", "engine.settings"]\n',
    ):
        file.write_text(text)
        assert compare(tuned, "old", "new", "--thresholds", file).returncode == 0


def test_the_option_that_a_refusal_prints_works_as_printed(tuned):
    refused = compare(tuned, "old", "elsewhere", "--may-differ", "cache_bytes")
    option, names = re.search(r"^If all of this was changed on purpose: (\S+) (\S+)$", refused.stderr, re.M).groups()
    assert names.split(",") == ["cache_bytes", "host", "engine.settings.jit"]
    assert compare(tuned, "old", "elsewhere", option, names).returncode == 0
    document = json.loads(compare(tuned, "old", "elsewhere", "--may-differ", "cache_bytes", "--json").stdout)
    assert ",".join(document["may_differ"]) == names
    assert [each["name"] for each in document["mismatches"]] == ["cache_bytes", "host", "engine.settings.jit"]
    assert document["refused"] == ["host", "engine.settings.jit"]


def test_engine_settings_allow_those_that_runs_were_made_with_on_purpose(tmp_path):
    for day, name in enumerate(("old", "new"), start=1):
        for at in range(3):
            record = physical(Made(), name=name, record_id=f"202603{day:02}-1200{at:02}-{name}")
            settings = {**record.engine["settings"], "jit": "off" if name == "old" else "on"}
            given = {"set": {"jit": "on"}} if name == "new" else {}
            record = record.model_copy(update={"engine": {**record.engine, "settings": settings, **given}})
            with RunFolder.begin(tmp_path, record) as folder:
                folder.finish(record)
    assert "\n  jit " in f"\n{compare(tmp_path, 'old', 'new').stderr}"
    for names in ("jit", "engine.settings.jit", "engine.settings", "engine"):
        assert compare(tmp_path, "old", "new", "--may-differ", names).returncode == 0
    assert compare(tmp_path, "old", "new", "--may-differ", "engine.settings.fsync").returncode != 0


@pytest.mark.parametrize(
    ("name", "likely"),
    [
        ("cache", "cache_bytes"), ("jit", "engine.settings.jit"), ("engine.setings", "engine.settings.jit"),
        ("hots", "host"), ("work_unti", "work_unit"),
    ],
)  # fmt: skip
def test_an_unknown_name_of_what_may_differ_is_an_error_with_the_near_one(tuned, name, likely):
    done = compare(tuned, "old", "new", "--may-differ", name)
    assert done.returncode == 2
    assert f"did you mean {likely}?" in done.stderr


def test_annotations_and_the_summary_of_a_job(results, tmp_path, monkeypatch):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    (tmp_path / "summary.md").write_text("before\n")
    done = compare(results, "before", "after", "--fail-if", WORSE, "--fail-if", "ops_per_s > 5%", "--format", "github")
    assert done.stdout.splitlines() == [
        "::error title=slob%3A ops_per_s < -5%25::ops_per_s -10.0 ± 0.4 %25 (906 → 815), limit -5 %25",
        "::notice title=slob%3A ops_per_s > 5%25::ops_per_s -10.0 ± 0.4 %25 (906 → 815), limit +5 %25",
    ]
    summary = (tmp_path / "summary.md").read_text()
    assert summary.startswith("before\n## after against before\n")
    assert compare(results, "before", "after", "--fail-if", WORSE, "--format", "markdown").stdout in summary.replace(
        "| `ops_per_s > 5%` | passed | ops_per_s -10.0 ± 0.4 % (906 → 815), limit +5 % |\n", ""
    ).replace("before\n", "", 1)


def test_markdown_is_tables_without_markup_of_names(results):
    text = compare(results, "before", "after", "--fail-if", WORSE, "--format", "markdown").stdout
    assert "| `ops_per_s < -5%` | **failed** | ops_per_s -10.0 ± 0.4 % (906 → 815), limit -5 % |" in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert any("worse" in row for row in rows)
    assert {row.count("|") for row in rows[3:]} == {7}


def test_thresholds_come_from_a_file_too(results, tmp_path):
    file = tmp_path / "thresholds.toml"
    file.write_text('[thresholds]\nops_per_s = ["< -5%", "< -50%"]\nselect_p99_us = "> 400%"\n')
    assert [each.text for each in parse_thresholds(file.read_text(), "f").conditions] == [
        "ops_per_s < -5%", "ops_per_s < -50%", "select_p99_us > 400%",
    ]  # fmt: skip
    assert compare(results, "before", "after", "--thresholds", file).returncode == 3
    file.write_text('ops_per_s = "< -50%"\n')
    assert compare(results, "before", "after", "--thresholds", file).returncode == 0
    done = compare(results, "before", "after", "--thresholds", tmp_path / "none.toml")
    assert (done.returncode, "can't be read" in done.stderr) == (2, True)
    file.write_bytes(b"\xff")
    assert compare(results, "before", "after", "--thresholds", file).returncode == 2


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[thresholds]",
        "iops = 5",
        "thresholds = 5",
        'ops_per_s = "5%"',
        "x",
        "a = {}",
        "may_differ = 5",
        "may_differ = []",
    ],
)
def test_other_thresholds_are_errors_that_name_the_file(text):
    with pytest.raises(UsageError, match=r"f\.toml"):
        parse_thresholds(text, "f.toml")


@pytest.mark.parametrize(
    ("name", "likely"),
    [
        ("iops", "pio_read_per_s"),
        ("tps", "commits_per_s"),
        ("p99", "op_p99_us"),
        ("iops_per_cpu", "iops_per_db_cpu"),
        ("ops", "ops_per_s"),
    ],
)
def test_an_unknown_figure_names_the_likely_one(name, likely):
    with pytest.raises(UsageError, match=f"did you mean .*{likely}"):
        parse_condition(f"{name} < -5%")
    parse_condition(f"{likely} < -5%")


def test_a_baseline_of_several_runs_shows_the_spread_of_single_ones_and_how_many_are_needed(results, tmp_path):
    place = ("--dir", tmp_path / "kept")
    saved = slob("baseline", "save", "main", "before", "--results", results, *place, "--see", "2%")
    advice = "equal runs differ by 0.3 % in operations/s; to see a change of 2 % takes 3 runs per side"
    assert advice in " ".join(saved.stdout.split())
    assert "a change of 5 % takes 2 runs" in " ".join(slob("baseline", "show", "main", *place).stdout.split())
    alone = slob("baseline", "save", "one", "one", "--results", results, *place)
    assert "is not known (one run): make 5" in " ".join(alone.stdout.split())
    gate = ("one", "other", "--fail-if", WORSE, "--see", "1")
    for spread in ("main", "before"):
        screen = compare(results, *gate, "--spread", spread, *place).stdout
        assert f"spread   how much starts differ is that of {spread}" in screen
        decided = compare(results, *gate, "--spread", spread, *place, "--all")
        assert decided.returncode == 3
        assert "Can't tell" not in decided.stderr
        text = " ".join(decided.stdout.split())
        assert f"How much starts of the server differ is that of {spread}." in text
        assert "To see a change of 1 % in operations/s takes" in text
    assert "Can't tell" in compare(results, *gate).stderr
    assert "is that of main" in compare(results, *gate, "--spread", "main", *place, "--format", "markdown").stdout
    assert compare(results, *gate[:2], "--see", "0").returncode == 2


def test_a_baseline_tells_which_runs_are_not_in_it(tmp_path):
    for at, status in enumerate([Status.COMPLETE, Status.INTERRUPTED]):
        record = physical(Made(), name="both", record_id=f"20260301-1200{at:02}-both").model_copy(
            update={"status": status}
        )
        with RunFolder.begin(tmp_path, record) as folder:
            folder.finish(record)
    saved = slob("baseline", "save", "main", "both", "--results", tmp_path, "--dir", tmp_path / "kept")
    assert saved.stdout.startswith("stored 1 run as baseline main")
    assert "slob: 20260301-120001-both (interrupted) is not complete and was left out" in saved.stderr


def test_baselines(results, tmp_path):
    def baseline(*arguments):
        done = slob("baseline", *arguments, "--dir", tmp_path / "kept")
        assert "Traceback" not in done.stderr
        return done

    assert "there are no baselines" in baseline("list").stderr
    assert baseline("save", "main", "before", "--results", results).stdout.startswith("stored 5 runs as baseline main")
    assert sorted(path.name for path in (tmp_path / "kept").iterdir()) == ["main"]
    assert {path.name for path in (tmp_path / "kept" / "main").glob("*/*")} == {"run.json"}
    assert baseline("save", "main", "after", "--results", results).returncode == 2
    for against, code in (("after", 3), ("newer", 0)):
        done = compare(
            results, against, "--baseline", "main", "--dir", tmp_path / "kept", "--fail-if", WORSE, "--anyway"
        )
        assert done.returncode == code, done.stderr
    itself = compare(results, "before", "--baseline", "main", "--dir", tmp_path / "kept", "--anyway")
    assert (itself.returncode, itself.stdout) == (2, "")
    assert "is on both sides; the baseline main was stored from it" in itself.stderr.replace(": the", "; the")
    assert "differ" in compare(results, "newer", "--baseline", "main", "--dir", tmp_path / "kept").stderr
    assert baseline("save", "main", "after", "--replace", "--results", results).returncode == 0
    shown = json.loads(baseline("show", "main", "--json").stdout)
    assert shown["runs"][0].endswith("-after")
    assert "main" in baseline("list").stdout
    assert "model Example CPU @ 2.80GHz, online 2" in " ".join(baseline("show", "main").stdout.split())
    missing = baseline("show", "nothing")
    assert (missing.returncode, "there are main" in missing.stderr) == (2, True)
    assert baseline("save", "../x", "after", "--results", results).returncode == 2
    assert baseline("remove", "main").returncode == 0
    assert list((tmp_path / "kept").iterdir()) == []


def test_a_baseline_is_shown_on_one_screen_without_what_its_host_does_not_report(tmp_path):
    record = physical(Made(), name="bare", record_id="20260301-120000-bare")
    nothing = {"cpu": {"model": None, "online": 2, "governor": ""}, "kernel": None, "host": ""}
    record = record.model_copy(
        update={
            "engine": {**record.engine, "product": None, "version": None},
            "environment": {**record.environment, **nothing},
        }
    )
    other = record.model_copy(
        update={
            "id": "20260302-120000-other",
            "name": "other",
            "environment": {**record.environment, "host": "db2", "cpu": {"model": "", "online": 2}},
        }
    )
    for each in (record, other):
        with RunFolder.begin(tmp_path, each) as folder:
            folder.finish(each)
    place = ("--dir", tmp_path / "kept")
    slob("baseline", "save", "main", "bare", "--results", tmp_path, *place)
    listed = slob("baseline", "list", *place).stdout.splitlines()[-1].split("  ")
    assert [cell for cell in listed if cell][-2:] == ["unknown", "unknown"]
    shown = slob("baseline", "show", "main", *place).stdout
    assert shown.startswith("main: 1 run of an unknown server on an unknown host, 2026-03-01 12:00\n")
    assert "cpu   online 2" in shown
    assert shown.rstrip().splitlines()[-2].strip().startswith("slob compare latest --baseline main --dir ")
    assert "openslob version" in slob("baseline", "show", "main", *place, "--all").stdout
    differing = compare(tmp_path, "other", "--baseline", "main", *place).stderr
    assert re.search(r"^  host +empty  against  db2$", differing, re.M)
    assert re.search(r"^  environment.cpu.model +unknown  against  empty$", differing, re.M)
    compared = compare(tmp_path, "other", "--baseline", "main", *place, "--anyway").stdout
    assert not re.search(r"\bNone\b", shown + differing + compared)


def test_two_sides_are_needed(results):
    assert compare(results, "before").returncode == 2
    assert compare(results, "before", "after", "--baseline", "main").returncode == 2


def test_a_comparison_fits_into_80_columns(results, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    text = compare(results, "before", "after", "--fail-if", WORSE).stdout
    assert max(map(len, text.splitlines())) <= 80


def test_every_figure_that_a_usual_name_may_mean_is_one_of_comparisons():
    meant = {figure for figures in ci_gate.USUAL_FIGURES.values() for figure in figures}
    assert [figure for figure in meant if parse_condition(f"{figure} < -5%").figure != figure] == []
