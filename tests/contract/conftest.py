"""One running, loaded server of each engine and version, shared by all contract tests."""

import pytest

from factories.subjects import SUBJECTS, start


def pytest_generate_tests(metafunc):
    """Every contract test runs on each subject but those that its module leaves out (``NOT_ON``) as being the same."""
    if "subject" in metafunc.fixturenames:
        names = [name for name in SUBJECTS if name not in getattr(metafunc.module, "NOT_ON", ())]
        metafunc.parametrize("subject", names, indirect=True, scope="session")


@pytest.fixture(params=["server", "client"])
def loop(request, subject, monkeypatch):
    """Each who can run the work loop, in turn."""
    if request.param not in subject.loops:
        pytest.skip(f"this engine has no loop of the {request.param}")
    monkeypatch.setattr(subject, "loop", request.param)
    return request.param


@pytest.fixture(scope="session")
def subject(request, make_server, stranger_named):
    """A running, loaded server."""
    return start(request.param, make_server, stranger_named)
