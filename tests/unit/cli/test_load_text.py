"""What `slob load` prints when it has finished."""

from dataclasses import replace

from openslob.cli.load import answer_text, result_text, run_on
from openslob.core.workload import DataSpec
from openslob.engines.facts import LoadResult

CHECKS = {"rows": "1,000 in each of 4", "how rows came": "rows made in the server from keys; not keys sent: ORA-00600"}
RESULT = LoadResult(DataSpec(4, 1000, 128, obfuscate=False), 2.0, 4512, 4512 * 8192, CHECKS, reused=False)


def test_it_is_as_wide_as_it_needs_to_be_in_a_file():
    assert result_text(RESULT).splitlines()[2:] == [
        "  rows           1,000 in each of 4",
        "  how rows came  rows made in the server from keys; not keys sent: ORA-00600",
    ]


def test_a_long_figure_is_folded_beside_its_name():
    assert result_text(RESULT, 60).splitlines()[2:] == [
        "  rows           1,000 in each of 4",
        "  how rows came  rows made in the server from keys; not keys",
        "                 sent: ORA-00600",
    ]


def test_the_answer_has_what_was_loaded_how_many_checks_hold_and_what_comes_next():
    assert answer_text(RESULT, run_on("q1")).splitlines() == [
        "4 schemas of 1,000 blocks, loaded and verified in 2.0 s: 35.25 MB, 17.62 MB/s.",
        "  2 checks hold: slob load --all",
        "",
        "  slob run --target q1",
    ]
    assert run_on("embedded") == "slob run"
    again = replace(RESULT, reused=True, checks={**CHECKS, "files": "3 without a table; see `slob check`"})
    assert answer_text(again, run_on("engine://user@host/db")).splitlines() == [
        "4 schemas of 1,000 blocks: already there and verified, nothing to do.",
        "  files: 3 without a table; see `slob check`",
        "  2 checks hold: slob load --all",
        "",
        "  slob run",
    ]
