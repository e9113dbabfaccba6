"""One running, loaded server of each engine and version, shared by all contract tests."""

import pytest
from subjects import SUBJECTS, start


@pytest.fixture(scope="session", params=SUBJECTS)
def subject(request, make_server):
    """Every contract test runs on each of these."""
    return start(request.param, make_server)
