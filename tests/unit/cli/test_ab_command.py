"""`slob ab` before a server is asked, what its exit code says, and its records in the commands that look at records."""

from __future__ import annotations

import csv
import io
import json

import pytest

from factories.pairs import Host, ab_record
from factories.running import slob
from factories.tables import table
from openslob.cli.ab import judge
from openslob.core.errors import SlobError, UndecidedError, VerdictError

JUDGED = {
    "better": (Host(ratio=1.25), {}, None, ""),
    "the same": (Host(), {}, None, ""),
    "worse": (Host(ratio=0.8), {}, VerdictError, "Worse: operations/s 19"),
    "undecided": (Host(noise=0.3), {"limit_s": 120.0}, UndecidedError, "Undecided: operations/s between "),
    "invalid": (Host(ratio=0.8, fails=("exact_mix",)), {}, UndecidedError, "Nothing is decided: "),
    "failed": (Host(failing={1, 2}), {}, SlobError, "no more pairs could be made"),
    "stopped": (Host(stop_at=3), {}, SlobError, "stopped before its end"),
}


@pytest.mark.parametrize("name", JUDGED)
def test_its_exit_code_tells_worse_from_what_is_undecided(name, tmp_path):
    host, changes, error, said = JUDGED[name]
    record = ab_record(tmp_path, host, **changes)
    if error is None:
        judge(record)
        return
    with pytest.raises(error, match=said) as raised:
        judge(record)
    assert type(raised.value) is error


@table(
    ("words", "said"),
    [
        (["as-is", "nosuch"], "'nosuch' is neither a setting nor a server nor a program"),
        (["as-is", "as-is", "--figure", "elapsed_s"], "'elapsed_s' is not a figure that can be better or worse"),
        (["as-is", "as-is", "--figure", "recovery_s"], "recovery_s is unknown of runs that do not recover"),
        (["as-is", "as-is", "--figure", "nosuch"], "'nosuch' is not a figure that can be better or worse"),
        (["as-is", "block_size=4K"], "block_size is fixed when a server is created"),
        (["as-is", "as-is"], "there is no server 'embedded' yet"),
        (["as-is"], "missing argument 'b'"),
    ],
)
def test_what_can_not_be_compared_is_refused_at_once(words, said):
    done = slob("ab", *words)
    assert done.returncode == 2
    assert said in done.stderr.lower()


@pytest.fixture
def results(tmp_path):
    """A folder with a comparison."""
    ab_record(tmp_path, Host(ratio=0.8, lost={3}))
    return tmp_path


def test_its_record_is_listed_shown_reported_and_exported(results, tmp_path):
    listed = json.loads(slob("list", "--results", results, "--json").stdout)
    assert [(each["decision"], each["pairs"]) for each in listed if each["kind"] == "ab"] == [("worse", 6)]
    assert "Worse: operations/s 19" in slob("show", "ab", "--results", results).stdout
    rows = list(csv.DictReader(io.StringIO(slob("export", "ab", "--results", results).stdout)))
    assert [row["figure"] for row in rows][:2] == ["ops_per_s", "pio_read_per_s"]
    assert 0.7 < float(rows[0]["low"]) < float(rows[0]["ratio"]) < float(rows[0]["high"]) < 0.9
    runs = list(csv.DictReader(io.StringIO(slob("export", "ab", "--per", "run", "--results", results).stdout)))
    assert len(runs) == 12  # not the one that was discarded
    done = slob("report", "ab", "--results", results, "-o", tmp_path / "ab.html")
    assert done.returncode == 0, done.stderr
    assert "discarded and made again" in (tmp_path / "ab.html").read_text()
