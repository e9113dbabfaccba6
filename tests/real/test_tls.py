"""A server that is not ours, reached by TLS: whose certificate is checked, and which wants it."""

import shutil
import tempfile
from pathlib import Path

import pytest

from factories.certificates import make_certificates
from factories.foreign_postgresql import HOST, PASSWORD, ForeignServer, started
from factories.programs import need_debian_postgresql
from factories.running import ignore, measured
from openslob.core.errors import SlobError
from openslob.core.workload import Workload
from openslob.engines.registry import engine_for

SMALL = {"schemas": 1, "scale": "1500", "scan_table_sz": "10"}
pytestmark = pytest.mark.server


@pytest.fixture(scope="module")
def secure(slob_home):
    """Such a server with TLS, by programs that have it."""
    programs = need_debian_postgresql()
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl to make certificates")
    certificates = Path(tempfile.mkdtemp(prefix="slob-ca-"))
    try:
        ca = make_certificates(certificates, f"DNS:{HOST}")
        with started(ForeignServer(programs, certificates)) as server:
            yield server, ca
    finally:
        shutil.rmtree(certificates)


def test_a_verified_server_is_measured_through_tls(secure, tmp_path):
    server, ca = secure
    verified = {"sslmode": "verify-full", "sslrootcert": str(ca), "hostaddr": "127.0.0.1"}
    url = server.url("app", "bench", **verified).replace("@127.0.0.1:", f"@{HOST}:")
    engine = engine_for(url)
    with engine.exclusive("load"):
        engine.data.load(Workload(**SMALL).data(8192), 1, ignore, lambda: False)
    record = measured(engine, tmp_path, **SMALL, work_unit=8, run_time=1).record
    assert record.engine["connection"]["transport"].startswith("TLSv1.3, TLS_")
    assert record.environment["local"] is True
    assert PASSWORD not in record.model_dump_json()
    wrong = engine_for(url.replace(HOST, "other.test.example"))
    with pytest.raises(SlobError, match="can't connect"):
        wrong.facts()


def test_a_server_that_wants_tls_is_not_reached_without(secure):
    with pytest.raises(SlobError, match="can't connect"):
        engine_for(secure[0].url("app", "bench", sslmode="disable")).facts()
