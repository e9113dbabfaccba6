"""Certificates that tests and clusters are made with: Python 3.13 and later accept them, which check more."""

import shutil
import ssl
import subprocess

import pytest

from factories.certificates import make_certificates, shake_hands_strictly
from factories.oracle.wire_tls import authority
from openslob.engines.mysql.galera import key_command

needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl to make certificates")


def server_context(certificate, key):
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(certificate, key)
    return made


@pytest.mark.parametrize("name", ["localhost", "127.0.0.2"])
def test_the_certificate_of_the_oracle_stand_in_is_accepted(tmp_path, name):
    server = authority(tmp_path / "wallet")
    shake_hands_strictly(server, tmp_path / "wallet" / "ewallet.pem", name)


@needs_openssl
@pytest.mark.parametrize("name", ["db.test.example", "127.0.0.1"])
def test_the_certificate_of_a_server_of_a_test_is_accepted(tmp_path, name):
    ca = make_certificates(tmp_path, "DNS:db.test.example,IP:127.0.0.1")
    server = server_context(tmp_path / "server.crt", tmp_path / "server.key")
    shake_hands_strictly(server, ca, name)


@needs_openssl
def test_the_certificate_of_a_galera_cluster_is_accepted(tmp_path):
    key, certificate = tmp_path / "key", tmp_path / "crt"
    subprocess.run(key_command(key, certificate), check=True, capture_output=True)
    shake_hands_strictly(server_context(certificate, key), certificate, None)


@needs_openssl
def test_a_certificate_of_another_authority_or_name_is_refused(tmp_path):
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for place in (ours, theirs):
        place.mkdir()
        make_certificates(place, "DNS:db.test.example")
    server = server_context(theirs / "server.crt", theirs / "server.key")
    for ca, name in ((ours / "ca.crt", "db.test.example"), (theirs / "ca.crt", "other.test.example")):
        with pytest.raises(ssl.SSLCertVerificationError):
            shake_hands_strictly(server, ca, name)
