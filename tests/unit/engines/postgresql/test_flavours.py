"""Which product answers PostgreSQL's protocol, by what each answers as documented; the connection is a stand-in."""

from __future__ import annotations

import pytest

from factories.flavours import LINUX, PostgresStandIn
from factories.tables import table
from openslob.core.errors import SlobError
from openslob.engines.postgresql.flavours import FLAVOURS, ORIGINAL, identify

RDS = {"setting rds.extensions": "citext"}
AURORA = PostgresStandIn(f"PostgreSQL 16.4 {LINUX}", {**RDS, "function aurora_version": ""})
# Product -> its version, and a server that answers as the address of its row says.
DOCUMENTED = {
    "CockroachDB": (
        "23.1.0",
        PostgresStandIn(
            "CockroachDB CCL v23.1.0 (x86_64-pc-linux-gnu, built 2023/05/15 16:31:05, go1.19.4)",
            number="18.0.0",
            parameters={"crdb_version": "CockroachDB CCL v23.1.0"},
        ),
    ),
    "YugabyteDB": (
        "2.20.1.0",
        PostgresStandIn("PostgreSQL 11.2-YB-2.20.1.0-b0 on x86_64-pc-linux-gnu, compiled by clang version 16.0.6"),
    ),
    "Amazon Redshift": (
        "1.0.48805",
        PostgresStandIn(
            "PostgreSQL 8.0.2 on i686-pc-linux-gnu, compiled by GCC gcc (GCC) 3.4.2 20041017 "
            "(Red Hat 3.4.2-6.fc3), Redshift 1.0.48805",
            catalogs=False,
        ),
    ),
    "Greenplum": (
        "6.25.3",
        PostgresStandIn(
            "PostgreSQL 9.4.26 (Greenplum Database 6.25.3 build commit:367edc6b Open Source) on "
            "x86_64-unknown-linux-gnu, compiled by gcc (GCC) 6.4.0, 64-bit",
            catalogs=False,
        ),
    ),
    "QuestDB": (
        "12.3",
        PostgresStandIn("PostgreSQL 12.3, compiled by Visual C++ build 1914, 64-bit, QuestDB", catalogs=False),
    ),
    "Amazon Aurora PostgreSQL": ("16.4.2", AURORA),
    "AlloyDB": ("15.7", PostgresStandIn(f"PostgreSQL 15.7 {LINUX}", {"setting alloydb.iam_authentication": "off"})),
    "Neon": ("17.5", PostgresStandIn(f"PostgreSQL 17.5 {LINUX}", {"setting neon.tenant_id": "d34c"})),
    "Citus": ("13.0-1", PostgresStandIn(f"PostgreSQL 17.2 {LINUX}", {"extension citus": "13.0-1"})),
    "Azure Database for PostgreSQL": (
        "16.8",
        PostgresStandIn(f"PostgreSQL 16.8 {LINUX}", {"setting azure.extensions": ""}),
    ),
    "Cloud SQL for PostgreSQL": (
        "17.4",
        PostgresStandIn(f"PostgreSQL 17.4 {LINUX}", {"setting cloudsql.iam_authentication": "off"}),
    ),
    "Amazon RDS for PostgreSQL": ("16.3", PostgresStandIn(f"PostgreSQL 16.3 {LINUX}", RDS)),
    "EDB Postgres Advanced Server": (
        "16.3.0",
        PostgresStandIn(
            f"PostgreSQL 16.3 (EnterpriseDB Advanced Server 16.3.0) {LINUX}", {"setting edb_redwood_date": "on"}
        ),
    ),
    "PostgreSQL": ("18.4", PostgresStandIn(f"PostgreSQL 18.4 {LINUX}")),
}
REFUSED = {row.product: row.refused for row in FLAVOURS if row.refused}


def test_each_flavour_has_documented_answers():
    assert set(DOCUMENTED) == {row.product for row in FLAVOURS}
    assert all(row.source.startswith("https://") for row in FLAVOURS if row is not ORIGINAL)


@table("product", [product for product in DOCUMENTED if product not in REFUSED])
def test_what_can_be_measured_is_known_by_one_query(product):
    version, connection = DOCUMENTED[product]
    found = identify(connection, "db/bench")
    assert bool(found.settings) == any(service in product for service in ("Amazon", "Azure", "Cloud SQL", "AlloyDB"))
    assert (found.product, found.version, found.family) == (product, version, "PostgreSQL")
    assert found.number == found.says.split()[1]
    # Only Aurora's own version is a second one.
    assert len(connection.asked) == (2 if product == "Amazon Aurora PostgreSQL" else 1)
    connection.asked.clear()


@table("product", list(REFUSED))
def test_what_is_known_to_be_impossible_is_refused_in_one_line_with_the_reason(product):
    version, connection = DOCUMENTED[product]
    with pytest.raises(SlobError) as refused:
        identify(connection, "db/bench")
    assert refused.value.what == f"db/bench ({product} {version}) can't be measured: {REFUSED[product]}"
    assert "\n" not in f"{refused.value.what} {refused.value.remedy}"


def test_only_those_whose_storage_is_a_service_have_no_device():
    found = {product: identify(each, "t") for product, (_, each) in DOCUMENTED.items() if product not in REFUSED}
    without = {"Amazon Aurora PostgreSQL", "AlloyDB", "Neon"}
    assert {product for product, each in found.items() if each.no_device} == without
    assert {product for product, each in found.items() if each.caution} == {*without, "Citus"}
    assert "aurora_stat_optimized_reads_cache" in found["Amazon Aurora PostgreSQL"].caution
    assert "neon_stat_file_cache" in found["Neon"].caution


@table(
    "text",
    [
        "PostgreSQL 15.18 (Debian 15.18-0+deb12u1) on x86_64-pc-linux-gnu, compiled by gcc (Debian 12.2.0-14) 12.2.0, "
        "64-bit",
        "PostgreSQL 16.9 (Ubuntu 16.9-0ubuntu0.24.04.1) on aarch64-unknown-linux-gnu, compiled by gcc 13.3.0, 64-bit",
        "PostgreSQL 16.4, compiled by Visual C++ build 1938, 64-bit",
        "PostgreSQL 17.5 (Homebrew) on aarch64-apple-darwin24.4.0, compiled by Apple clang version 17.0.0, 64-bit",
        "PostgreSQL 19devel on x86_64-pc-linux-gnu, compiled by gcc (GCC) 14.2.1, 64-bit",
    ],
)
def test_the_original_is_itself_whoever_packages_it(text):
    found = identify(PostgresStandIn(text, number=text.split()[1].strip(",")), "t")
    assert (found.product, found.caution) == ("PostgreSQL", "")


@table(
    "connection, why",
    [
        (PostgresStandIn(f"PostgreSQL 17.4 (IvorySQL 4.4) {LINUX}"), "its version text is"),
        (PostgresStandIn(f"PostgreSQL 17.4 {LINUX}", number="17.5"), "its server_version is 17.5"),
        (PostgresStandIn(f"PostgreSQL 17.4 {LINUX}", shown="PostgreSQL 9.6"), "version() in its search_path answers"),
        (
            PostgresStandIn(f"PostgreSQL 17.4 {LINUX}", lacks=("function pg_export_snapshot",)),
            "it has no function pg_export_snapshot",
        ),
    ],
)
def test_an_unknown_relative_is_measured_with_a_caution(connection, why):
    found = identify(connection, "t")
    assert found.product == "unknown relative of PostgreSQL"
    assert why in found.caution
    assert found.caution.startswith("An unknown relative of PostgreSQL (")


def test_without_the_language_of_the_work_loop_only_the_client_can_run_one():
    found = identify(PostgresStandIn(f"PostgreSQL 17.4 {LINUX}", lacks=("language plpgsql",)), "t")
    assert "it has no language plpgsql" in found.no_loop
    assert not identify(PostgresStandIn(f"PostgreSQL 17.4 {LINUX}"), "t").no_loop


def test_a_relative_without_what_the_method_needs_is_refused():
    lacking = PostgresStandIn(f"PostgreSQL 17.4 {LINUX}", lacks=("function pg_try_advisory_lock",))
    with pytest.raises(SlobError, match="it has no function pg_try_advisory_lock, which keeps two runs apart"):
        identify(lacking, "t")
    other = PostgresStandIn("Materialize v26", catalogs=False)
    with pytest.raises(
        SlobError, match=r"t \(an unknown relative of PostgreSQL: Materialize v26\) can't be measured: it refuses"
    ):
        identify(other, "t")
