"""`slob live`: which options belong together."""

import pytest

from factories.running import slob


@pytest.mark.parametrize("option", [["--port", "8321"], ["--listen", "0.0.0.0"], ["--host", "db1"], ["--open"]])
def test_what_is_for_the_page_needs_the_page(option):
    made = slob("live", *option)
    assert made.returncode == 2
    assert made.stderr.splitlines()[0] == f"slob: {option[0]} is for the page; add --web"


@pytest.mark.parametrize("option", [["--speed", "10"], ["--ascii"]])
def test_what_is_for_the_screen_is_not_for_the_page(option):
    made = slob("live", "--web", *option)
    assert made.returncode == 2
    assert f"{option[0]} is for the screen" in made.stderr


@pytest.mark.parametrize(
    ("option", "why"),
    [
        (["--listen", "db1"], "--listen 'db1' is not an address"),
        (["--host", "a/b"], "--host 'a/b' is not the name of a host"),
    ],
)
def test_where_the_page_can_not_be_is_refused_before_it_is_served(option, why, tmp_path):
    made = slob("live", "--web", *option, "--results", str(tmp_path))
    assert made.returncode == 2
    assert why in made.stderr
