"""What commands say of the data that they take their sizes from."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from openslob.core.workload import DataSpec
from openslob.engines.facts import DataState
from openslob.kinds.run.loading import origin


@pytest.mark.parametrize(("verified", "said"), [(True, "as loaded"), (False, "as the last load asked for")])
def test_sizes_of_a_load_that_did_not_finish_are_not_called_loaded(verified, said):
    state = DataState(DataSpec(2, 100, 10, obfuscate=False), verified, "2026-11-22T10:00:00Z", {})
    assert origin(SimpleNamespace(data=SimpleNamespace(state=lambda: state))) == said
