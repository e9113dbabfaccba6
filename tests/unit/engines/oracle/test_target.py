"""What an Oracle target may say, and what it is refused for."""

import pytest

from openslob.core.errors import SlobError, UsageError
from openslob.engines.oracle.target import parse
from openslob.engines.registry.entry import EngineEntry

AT = "oracle://scott@db:1521/sales"


@pytest.fixture(autouse=True)
def no_passwords(monkeypatch):
    for name in ("ORACLE_PASSWORD", "ORACLE_WALLET_PASSWORD"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("url", "shown", "expected"),
    [
        (AT, "scott@db:1521/sales", {"user": "scott", "host": "db", "port": 1521, "service_name": "sales"}),
        ("oracle://scott@db/sales", "scott@db:1521/sales", {"port": 1521, "server_type": "dedicated"}),
        ("oracle://scott@[::1]:1522/sales", "scott@[::1]:1522/sales", {"host": "::1", "port": 1522}),
        ("oracle://scott:t%2Fger@db/sales", "scott@db:1521/sales", {"password": "t/ger"}),
        ("oracle://scott@db?sid=ORCL", "scott@db:1521/ORCL", {"sid": "ORCL"}),
        (f"{AT}?instance_name=slob1", "scott@db:1521/sales/slob1", {"instance_name": "slob1"}),
        (f"{AT}/slob2", "scott@db:1521/sales/slob2", {"instance_name": "slob2", "service_name": "sales"}),
        ("oracle://scott@db/sales%3Adedicated", "scott@db:1521/sales", {"service_name": "sales"}),
        ("oracles://scott@db/sales", "scott@db:1521/sales", {"protocol": "tcps"}),
        (f"{AT}?protocol=TCPS&wallet=/w", "scott@db:1521/sales", {"protocol": "tcps", "wallet_location": "/w"}),
        ("oracles://a@b/c?ssl_server_dn_match=no", "a@b:1521/c", {"ssl_server_dn_match": False}),
        ("oracles://a@b/c?ssl_server_cert_dn=CN%3Ddb", "a@b:1521/c", {"ssl_server_cert_dn": "CN=db"}),
        ("oracle://a@/SALES?config_dir=/etc/tns", "a@SALES", {"dsn": "SALES", "config_dir": "/etc/tns"}),
        (f"{AT}?sdu=65535&connect_timeout=2.5", "scott@db:1521/sales", {"sdu": 65535, "tcp_connect_timeout": 2.5}),
        (f"{AT}?tablespace=slob4k", "scott@db:1521/sales?tablespace=SLOB4K", {}),
        (f"{AT}?tablespace=%22slob4k%22", "scott@db:1521/sales?tablespace=slob4k", {}),
    ],
)
def test_forms_of_a_target(url, shown, expected):
    params = parse(url)
    assert params.shown == shown
    assert {name: params.arguments[name] for name in expected} == expected
    assert params.arguments["program"] == "slob"
    assert params.arguments["stmtcachesize"] < 50  # the server's default of OPEN_CURSORS


def test_a_name_of_tnsnames_says_all_that_the_entry_says():
    assert not {"host", "port", "protocol", "service_name", "server_type"} & set(parse("oracle://a@/SALES").arguments)


def test_the_tablespace_is_as_the_dictionary_has_it():
    assert parse(f"{AT}?tablespace=slob4k").tablespace == "SLOB4K"
    assert parse(AT).tablespace is None


def test_the_password_is_taken_from_the_url_then_from_the_environment(monkeypatch):
    assert parse(AT).arguments["password"] is None
    monkeypatch.setenv("ORACLE_PASSWORD", "from outside")
    assert parse(AT).arguments["password"] == "from outside"
    assert parse("oracle://a:here@b/c").arguments["password"] == "here"
    monkeypatch.setenv("ORACLE_WALLET_PASSWORD", "of the wallet")
    assert parse("oracles://a@b/c?wallet=/w").arguments["wallet_password"] == "of the wallet"


def test_no_password_is_shown():
    params = parse("oracles://a:canary-1@b/c?wallet=/w&wallet_password=canary-2")
    assert "canary" not in f"{params} {params!r} {params.shown}"


def test_without_a_user_only_a_wallet_says_who_connects():
    params = parse("oracle:///SALES?thick=yes&wallet=/w&lib_dir=/opt/ic")
    assert params.thick
    assert params.lib_dir == "/opt/ic"
    assert params.arguments["externalauth"] is True


@pytest.mark.parametrize(
    ("url", "why", "remedy"),
    [
        ("oracle://db/sales", "has no user", "oracle://USER@HOST"),
        ("oracle://a@db", "neither a service nor a SID", "?sid=SID"),
        ("oracle://a@db/sales?sid=ORCL", "a service and a SID", "HOST:PORT/SERVICE"),
        ("oracle://a@/", "has no host", "oracle://USER@/NAME"),
        ("oracle://a@/SALES?sid=X", "sid belongs in the entry", "write it there"),
        ("oracles://a@/SALES", "the entry of tnsnames.ora that the target names decides", "PROTOCOL=TCPS"),
        ("oracle://a@h1,h2/sales", "several hosts", "a URL of its own"),
        ("oracle://a@db/sales%3Apooled", "a pooled server", "without a pool"),
        ("oracle://a@db/sales%3Ashared", "a shared server", "without a pool"),
        ("oracle://a@db/sales?server=pooled", "can't have the parameter 'server'", "dedicated"),
        ("oracle://sys@db/sales?mode=sysdba", "can't have the parameter 'mode'", "no administrator is needed"),
        ("oracles://a@db/sales?protocol=tcp", "TLS (oracles://) and for protocol=tcp", "leave one"),
        ("oracle://a@db/sales?wallet=/w", "this target has none", "oracles://"),
        ("oracles://a@db/sales?wallet_password=x", "no wallet", "wallet=DIRECTORY"),
        ("oracle://a@db/sales?lib_dir=/opt", "this target does not use them", "thick=yes"),
        ("oracle://a@db/sales?thick=perhaps", "thick can't be understood", "yes or no"),
        ("oracle://a@db/sales?sdu=big", "sdu can't be understood", "a number of bytes"),
        ("oracle://a@db/sales?connect_timeout=0", "connect_timeout can't be understood", "a number of seconds"),
        ("oracle://a@db/sales?tablespace=", "tablespace can't be understood", "a name"),
        ("oracle://a@db/sales?sslmode=require", "'sslmode' is not known", "the parameters are sid, instance_name"),
        ("oracle://a@db:70000/sales", "is not a URL", "oracle://USER@HOST"),
    ],
)
def test_what_a_target_is_refused_for(url, why, remedy):
    with pytest.raises(UsageError) as refused:
        parse(url)
    assert why in refused.value.what
    assert remedy in refused.value.remedy


def test_without_the_driver_the_command_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "oracledb", None)
    monkeypatch.delitem(__import__("sys").modules, "openslob.engines.oracle.connection", raising=False)
    entry = EngineEntry("oracle", adapter="openslob.engines.oracle.connection", extra="openslob[oracle]")
    with pytest.raises(SlobError, match=r"needs the Python package oracledb, .*pip install .*\[oracle\]"):
        entry.connect(AT)
