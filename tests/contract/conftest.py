"""One running, loaded server of each engine and version, shared by all contract tests."""

import pytest

from factories.subjects import SUBJECTS, start


def pytest_generate_tests(metafunc):
    """Every contract test runs on each subject; a module whose matter has fewer variants says which in ``ON``."""
    if "subject" in metafunc.fixturenames:
        metafunc.parametrize("subject", getattr(metafunc.module, "ON", SUBJECTS), indirect=True, scope="session")


@pytest.fixture(scope="session")
def subject(request, make_server):
    """A running, loaded server."""
    return start(request.param, make_server)
