"""What `slob load` prints when it has finished."""

from openslob.cli.load import result_text
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
