"""The README promises the servers that were tried, and the page of them is what the tests found."""

from __future__ import annotations

import re

from factories import tried
from factories.paths import ROOT
from factories.promised import PROMISED


def test_the_page_is_what_was_found() -> None:
    assert tried.PAGE.read_text() == tried.page(tried.read())


def test_nothing_failed_on_a_server_that_was_tried() -> None:
    assert not tried.failures(tried.read())


def test_the_readme_promises_the_oldest_and_the_newest_that_were_tried() -> None:
    found = [(name.partition("-")[0], cells["version"]) for name, cells in tried.read().items() if "version" in cells]
    text = re.sub(r"\s+", " ", (ROOT / "README.md").read_text())
    for product, shown in (("postgresql", "PostgreSQL"), ("mariadb", "MariaDB"), ("mysql", "MySQL")):
        versions = sorted(
            [tuple(map(int, version.split("-")[0].split("."))) for name, version in found if name == product]
        )
        parts = 1 if product == "postgresql" else 2
        lowest, highest = (".".join(map(str, version[:parts])) for version in (versions[0], versions[-1]))
        assert f"{shown} {lowest} to {highest}" in text


def test_make_test_tries_the_oldest_of_each_product_that_can_be_had() -> None:
    always = {server.name for server in PROMISED.values() if server.always}
    assert {"postgresql-13", "mysql-8.0", "mariadb-host"} <= always
