"""Capabilities: what is missing, why it matters, how to turn it on, and that a licence needs consent."""

from __future__ import annotations

import pytest

from openslob.core.errors import SlobError
from openslob.engines.capabilities import Capability, find_lacking, merge_capabilities, require

TIMING = Capability("timing", True, "timing is off", "read latency will be unknown", "set timing = on")
REPORTS = Capability(
    "reports", True, "reports are switched off", "the run has no report of the server's own", "ALTER SYSTEM SET r = on",
    licence="Diagnostics Pack",
)  # fmt: skip


def off(capability):
    return Capability(**{**vars(capability), "present": False})


@pytest.mark.parametrize(
    ("capabilities", "name", "consented", "what", "remedy"),
    [
        ([TIMING], "timing", (), None, None),
        ([off(TIMING)], "timing", (), "timing is off: read latency will be unknown", "set timing = on"),
        ([off(TIMING)], "timing", ("timing",), "timing is off: read latency will be unknown", "set timing = on"),
        ([TIMING], "reports", (), "servers of this kind have no reports", ""),
        ([REPORTS], "reports", ("reports",), None, None),
        (
            [REPORTS], "reports", ("timing",),
            "reports may be used only with the licence of the Diagnostics Pack, "
            "and its use was not consented to (only that of timing)",
            "with that licence, give --consent reports; without it, the run has no report of the server's own",
        ),
        (
            [off(REPORTS)], "reports", ("reports",),
            "reports are switched off: the run has no report of the server's own",
            "ALTER SYSTEM SET r = on; it needs the licence of the Diagnostics Pack",
        ),
    ],
)  # fmt: skip
def test_require(capabilities, name, consented, what, remedy):
    if what is None:
        require(capabilities, name, frozenset(consented))
        return
    with pytest.raises(SlobError) as refused:
        require(capabilities, name, frozenset(consented))
    assert (refused.value.what, refused.value.remedy) == (what, remedy)


def test_what_is_missing_is_found_but_no_licence_is_asked_for():
    (finding,) = find_lacking([off(TIMING), off(REPORTS)])
    assert finding.name == "timing"
    assert finding.why == f"{off(TIMING).lack}: {TIMING.why}"
    assert (finding.remedy, finding.blocking, finding.spoils) == ("set timing = on", False, False)


def test_a_cluster_has_what_all_of_its_instances_have():
    assert merge_capabilities([[TIMING, REPORTS], [off(TIMING), REPORTS]]) == [off(TIMING), REPORTS]
