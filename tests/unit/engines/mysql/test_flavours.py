"""Which product answers MySQL's protocol, by what each answers as documented; the connection is a stand-in."""

from __future__ import annotations

import pytest

from factories.flavours import MARIADB_OWN, MYSQL_OWN, MysqlStandIn
from factories.tables import table
from openslob.core.errors import SlobError
from openslob.engines.mysql.flavours import FLAVOURS, ORIGINALS, identify

COMMUNITY = "MySQL Community Server - GPL"
SINGLE = "SingleStoreDB source distribution (compatible; MySQL Enterprise & MySQL Commercial)"
# Product -> its version, and a server that answers as the address of its row says.
DOCUMENTED = {
    "TiDB": (
        "8.5.4",
        MysqlStandIn("8.0.11-TiDB-v8.5.4", "TiDB Server (Apache License 2.0) Community Edition, MySQL 8.0 compatible"),
    ),
    "Vitess": ("8.0.30", MysqlStandIn("8.0.30-Vitess", "Version: 17.0.0")),
    "Dolt": ("8.0.31", MysqlStandIn("8.0.31", "Dolt", {"dolt_show_system_tables": "OFF"})),
    "OceanBase": ("4.4.2.1", MysqlStandIn("5.7.25-OceanBase_CE-v4.4.2.1", "OceanBase_CE 4.4.2.1", shows=False)),
    "SingleStore": ("8.7.12", MysqlStandIn("5.7.32", SINGLE, {"memsql_version": "8.7.12"})),
    "Amazon Aurora MySQL": (
        "3.05.2",
        MysqlStandIn(
            "8.0.32", "Source distribution", {**MYSQL_OWN, "aurora_version": "3.05.2", "basedir": "/rdsdbbin/oscar/"}
        ),
    ),
    "Cloud SQL for MySQL": ("8.0.31", MysqlStandIn("8.0.31-google", "(Google)", MYSQL_OWN)),
    "Amazon RDS for {family}": (
        "8.0.35",
        MysqlStandIn("8.0.35", "Source distribution", {**MYSQL_OWN, "basedir": "/rdsdbbin/mysql-8.0.35.R2/"}),
    ),
    "Percona XtraDB Cluster": (
        "8.0.36-28.1",
        MysqlStandIn("8.0.36-28.1", "Percona XtraDB Cluster (GPL), Release rel28, Revision bfb687f", MYSQL_OWN),
    ),
    "Percona Server": (
        "8.0.29-21",
        MysqlStandIn("8.0.29-21", "Percona Server (GPL), Release 21, Revision c59f87d2854", MYSQL_OWN),
    ),
    "{family} with RocksDB": (
        "10.11.14",
        MysqlStandIn("10.11.14-MariaDB-0+deb12u2", "Debian 12", {**MARIADB_OWN, "default_storage_engine": "ROCKSDB"}),
    ),
    "MariaDB": ("11.8.3", MysqlStandIn("11.8.3-MariaDB-0+deb13u1", "-- Please help get to 10k stars", MARIADB_OWN)),
    "MySQL": ("8.4.3", MysqlStandIn("8.4.3", COMMUNITY, MYSQL_OWN)),
}
REFUSED = {row.product: row.refused for row in FLAVOURS if row.refused}


def test_each_flavour_has_documented_answers():
    assert set(DOCUMENTED) == {row.product for row in FLAVOURS}
    assert all(row.source for row in FLAVOURS if row not in ORIGINALS)


@table("product", [product for product in DOCUMENTED if product not in REFUSED])
def test_what_can_be_measured_is_known_by_one_query(product):
    version, connection = DOCUMENTED[product]
    found = identify(connection, "db/bench")
    assert bool(found.settings) == any(service in product for service in ("Amazon", "Azure", "Cloud SQL", "AlloyDB"))
    assert (found.product, found.version) == (product.format(family=found.family), version)
    assert found.family == ("MariaDB" if product in ("MariaDB", "{family} with RocksDB") else "MySQL")
    assert found.number == found.says.split()[0].partition("-")[0]
    assert bool(found.no_device) == (product in ("Amazon Aurora MySQL", "TiDB"))
    assert bool(found.caution) == bool(found.no_device or found.unit)
    assert (found.unit == "key") == ("RocksDB" in product)
    # The work loop is a procedure.
    assert bool(found.no_loop) == ("procedures" in found.no_loop) == (product in ("TiDB", "Vitess"))
    assert len(connection.asked) == 1
    connection.asked.clear()


@table("product", list(REFUSED))
def test_what_is_known_to_be_impossible_is_refused_in_one_line_with_the_reason(product):
    version, connection = DOCUMENTED[product]
    with pytest.raises(SlobError) as refused:
        identify(connection, "db/bench")
    assert refused.value.what == f"db/bench ({product} {version}) can't be measured: {REFUSED[product]}"


def test_an_rds_of_mariadb_is_one():
    own = {**MARIADB_OWN, "basedir": "/rdsdbbin/mariadb-10.11.8.R2/"}
    found = identify(MysqlStandIn("10.11.8-MariaDB-log", "managed by https://aws.amazon.com/rds/", own), "t")
    assert (found.product, found.family, found.version) == ("Amazon RDS for MariaDB", "MariaDB", "10.11.8")


@table(
    "version, comment, variables, family, why",
    [
        ("8.0.36", "Debian 12", MARIADB_OWN, "MariaDB", "its version text is"),
        ("8.0.36", COMMUNITY, MARIADB_OWN, "MariaDB", "has MariaDB's variable aria_block_size"),
        ("8.0.36", COMMUNITY, {}, "MySQL", "lacks the variable persisted_globals_load"),
        ("11.4.2-MariaDB", "Xpand", {}, "MariaDB", "lacks the variable aria_block_size"),
        ("8.0.36", "FancyDB", MYSQL_OWN, "MySQL", "its version text is '8.0.36 FancyDB'"),
    ],
)
def test_an_unknown_relative_is_measured_with_a_caution(version, comment, variables, family, why):
    found = identify(MysqlStandIn(version, comment, variables), "t")
    assert (found.product, found.family) == (f"unknown relative of {family}", family)
    assert why in found.caution


def test_a_relative_without_what_the_method_needs_is_refused():
    lacking = MysqlStandIn("8.0.36", "FancyDB", MYSQL_OWN, lacks="innodb_page_size")
    with pytest.raises(SlobError, match="it has no variable innodb_page_size"):
        identify(lacking, "t")
    with pytest.raises(
        SlobError, match=r"t \(an unknown relative of MySQL: 9\.9 Other\) can't be measured: it refuses"
    ):
        identify(MysqlStandIn("9.9", "Other", shows=False), "t")
