"""Each promised server with an ordinary user on it: all with --every-server, else those that `make test` tries."""

import pytest

from factories import strangers
from factories.promised import PROMISED


def pytest_generate_tests(metafunc):
    if "stranger" in metafunc.fixturenames:
        every = metafunc.config.getoption("--every-server")
        names = [name for name, server in PROMISED.items() if every or server.always]
        metafunc.parametrize("stranger", names, indirect=True, scope="session")


@pytest.fixture(scope="session")
def stranger(request, stranger_named) -> strangers.Stranger:
    """A promised server that runs."""
    return stranger_named(request.param, "own")
