"""A price in a file is of the target that the file names: another target must not get it."""

from __future__ import annotations

from pathlib import Path

import pytest

from factories.tables import table
from openslob.config.grid import resolve_grid
from openslob.config.resolve import resolve
from openslob.core.errors import UsageError

FILE = """
target = "postgresql://u@big/db"
price = "340 EUR/month"
[profiles.same]
update_pct = 10
[profiles.other]
target = "postgresql://u@small/db"
[profiles.engine]
engine = "mariadb"
[profiles.both]
target = "postgresql://u@small/db"
price = "3/hour"
"""


def resolved(tmp_path: Path, text: str = FILE, **environment: str) -> tuple[str, list[str]]:
    file = tmp_path / "slob.toml"
    file.write_text(text)
    found = resolve({}, file, environment)
    return str(found.workload.price), [each for each in found.notices if "price" in each]


@table(
    ("environment", "price"),
    [
        ({}, "340 EUR/month"),
        ({"SLOB_PROFILE": "same"}, "340 EUR/month"),
        ({"SLOB_PROFILE": "both"}, "3/hour"),
        ({"SLOB_TARGET": "postgresql://u@big/db"}, "340 EUR/month"),
        ({"SLOB_TARGET": "postgresql://u:secret@big/db", "SLOB_PRICE": "1/year"}, "1/year"),
    ],
)
def test_the_target_of_the_file_has_its_price(tmp_path, environment, price):
    assert resolved(tmp_path, **environment) == (price, [])


@table(
    "environment",
    [
        {"SLOB_PROFILE": "other"},
        {"SLOB_PROFILE": "engine"},
        {"SLOB_TARGET": "postgresql://u@small/db"},
        {"SLOB_ENGINE": "mariadb"},
    ],
)
def test_another_target_has_not_and_a_message_says_so(tmp_path, environment):
    price, (notice,) = resolved(tmp_path, **environment)
    assert price == "None"
    assert notice.endswith("slob.toml:3: the price is that of another target and is not used for this one")


def test_the_price_of_an_engine_s_own_server_is_not_that_of_a_url(tmp_path):
    text = 'engine = "mariadb"\nprice = "9/hour"\n'
    assert resolved(tmp_path, text)[0] == resolved(tmp_path, text, SLOB_ENGINE="mariadb")[0] == "9/hour"
    assert resolved(tmp_path, text, SLOB_TARGET="mysql://u@small/db")[0] == "None"
    # A file without a target says nothing of whose price it is.
    assert resolved(tmp_path, 'price = "9/hour"\n', SLOB_TARGET="mysql://u@small/db")[0] == "9/hour"


def test_a_price_is_no_dimension_of_a_sweep():
    with pytest.raises(UsageError, match="no dimension of a sweep"):
        resolve_grid({"price": ["1/hour", "2/hour"]}, None, {})
    assert str(resolve_grid({"price": ["1/hour"]}, None, {}).workload.price) == "1/hour"


def test_a_wrong_price_says_what_is_right():
    with pytest.raises(UsageError, match=r"PRICE=free \(--price\) is not allowed; allowed is an amount above 0"):
        resolve({"price": "free"}, None, {})
