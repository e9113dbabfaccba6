"""The README's way for a server of one's own, as an ordinary user, on every server that it promises.

What the product says is held against the server's own statistics of tables and the kernel's counts of its processes.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from factories.running import eventually, rows_of, slob, total
from factories.strangers import Outside, Rows, Stranger

pytestmark = pytest.mark.server

# Far more than the servers' cache of 48 MB.
DATA = ("--schemas", "2", "--scale", "64M")
SESSIONS, WORK_UNIT = 2, 64
LOAD = ("--sessions", SESSIONS, "--work-unit", WORK_UNIT, "--warmup", "0")
# What each of the record's rates may differ from the kernel's count of the same window.
NEAR = 0.02
# Transactions of a run's preparation and of its samplers.
FEW = 40


@dataclass
class Own:
    """A server of one's own on the way, and the records made so far."""

    stranger: Stranger
    results: Path
    seconds: str
    records: dict[str, Path] = field(default_factory=dict)
    ratios: dict[str, list[float]] = field(default_factory=lambda: {"reads": [], "CPU": []})

    def slob(self, command, *arguments):
        done = slob(command, "--target", self.stranger.url, *arguments)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr
        return done.stdout

    def measured(self, command, name, *arguments):
        """A command's record, by its name."""
        self.slob(command, "--name", name, "--results", self.results, *arguments)
        (self.records[name],) = self.results.glob(f"*-{name}")
        return json.loads((self.records[name] / "run.json").read_text())

    def found(self, *arguments):
        """What a check finds."""
        return json.loads(self.slob("check", "--json", *arguments))["findings"]


@pytest.fixture(scope="session")
def own(stranger, request, tmp_path_factory):
    """Nothing is granted or loaded yet."""
    seconds = "10" if request.config.getoption("--every-server") else "2"
    return Own(stranger, tmp_path_factory.mktemp("records"), seconds)


@pytest.fixture
def cell(request):
    """Says what a cell of the table has."""
    return lambda name, text="yes": request.node.user_properties.append((name, text))


@pytest.fixture(autouse=True)
def server(request, stranger, cell):
    """Say which server the test is of, once it runs."""
    cell("version", stranger.version())


def grant_as_told(own):
    """Everything that the check advises to an administrator is done as printed; return what it advises then."""
    remedies = [finding["remedy"] for finding in own.found(*DATA) if finding["by"]]
    # Others are changes of configuration files, in words.
    advised = [remedy for remedy in remedies if remedy.split()[0].isupper()]
    for remedy in advised:
        own.stranger.grant(remedy)
    return advised


def test_check_says_what_to_grant_and_is_content_then(own, cell):
    # What a right shows may ask for something, too: a second round. Then nothing is left to be said.
    rounds = [grant_as_told(own) for _ in range(3)]
    assert rounds[0]
    assert rounds[2] == [], rounds
    cell("check")


def test_load(own, cell):
    own.slob("load", *DATA)
    assert "data" not in [finding["name"] for finding in own.found()]
    cell("load")


@pytest.mark.parametrize("update_pct", [0, pytest.param(33, marks=pytest.mark.nightly), 100])
def test_run(own, cell, update_pct, request):
    before, committed = own.stranger.rows(), own.stranger.commits()
    with Outside(own.stranger).watching() as outside:
        record = own.measured("run", f"run{update_pct}", *LOAD, "--update-pct", update_pct, "--run-time", own.seconds)
    folder = own.records[f"run{update_pct}"]
    slices = rows_of(folder, "slices.csv")
    same_rows(own, slices, before, update_pct)
    updates, selects = total(slices, "updates"), total(slices, "selects")
    commits = own.stranger.commits() - committed
    assert updates <= commits <= updates + selects + FEW
    failing = {verdict["name"]: verdict["why"] for verdict in record["verdicts"] if verdict["verdict"] == "fails"}
    assert not failing.keys() & {"errors", "counts_agree", "exact_mix", "alone_on_server"}, failing
    compare_with_the_kernel(own, record, outside, judged=request.config.getoption("--every-server"))
    cell(f"run {update_pct} %")
    if update_pct == 100:
        assert own.ratios["CPU"] or not request.config.getoption("--every-server"), "no run knew the server's CPU"
        cell("rows", "exact")
        cell("commits", f"{commits / updates:.3f}")
    for name, ratios in own.ratios.items():
        cell(name, f"{min(ratios):.3f} to {max(ratios):.3f}" if ratios else "–")


def same_rows(own, slices, before, update_pct):
    """The server's statistics of the tables come to show exactly what the sessions reported; some come late.

    Before its slices each session has run one operation of each kind.
    """
    reads_once, updates_once = (SESSIONS * WORK_UNIT * (there > 0) for there in (100 - update_pct, update_pct))
    updated = total(slices, "rows_updated") + updates_once
    said = Rows(total(slices, "rows_read") + reads_once + updated, updated)
    assert eventually(lambda: own.stranger.rows() - before == said), (own.stranger.rows() - before, said)


def compare_with_the_kernel(own, record, outside, judged):
    """The record's reads and CPU are those of the server's processes in the same window."""
    window, summary = record["window"], record["summary"]
    read, cpu_s = outside.rates(window["load_start_ns"], window["load_end_ns"])
    said = {"reads": (summary["pio_read_mb_per_s"]["value"], read / 2**20),
            "CPU": (summary["db_cpu_per_s"]["value"], cpu_s)}  # fmt: skip
    for name, (ours, theirs) in said.items():
        if ours is None or theirs == 0:
            continue
        own.ratios[name].append(ours / theirs)
        assert not judged or ours == pytest.approx(theirs, rel=NEAR), (name, ours, theirs)


def test_the_figures_follow_from_the_raw_files(own, cell):
    for folder in own.records.values():
        done = slob("verify", folder)
        assert done.returncode == 0, done.stdout + done.stderr
    cell("verify")


@pytest.mark.nightly
def test_a_sweep(own, cell):
    own.slob("sweep", "--sessions", "1,2", "--update-pct", "0,20", "--run-time", "1", "--warmup", "0",
             "--results", own.results)  # fmt: skip
    cell("sweep")


def test_observe(own, cell):
    with own.stranger.writer():
        record = own.measured("observe", "observed", "--for", "3s")
    assert all(figure["value"] is not None or figure["why"] for figure in record["summary"].values())
    cell("observe")


def test_watch(own, cell):
    said = own.slob("watch", "--count", "3", "--interval", "1s")
    assert said
    cell("watch")


def test_a_second_session_that_writes_is_noticed(own, cell, request):
    """And nobody is where nobody is: the runs before it were alone. A busy host may keep the samples away."""
    with own.stranger.writer():
        record = own.measured("run", "beside", *LOAD, "--update-pct", "33", "--run-time", "2")
    alone = {verdict["name"]: verdict for verdict in record["verdicts"]}["alone_on_server"]
    missed = () if request.config.getoption("--every-server") else ("unknown",)
    assert alone["verdict"] in ("fails", *missed), alone
    cell("alone", "noticed")


def test_drop_leaves_nothing(own, cell):
    own.slob("drop")
    assert eventually(lambda: not own.stranger.left()), own.stranger.left()
    cell("drop")
