"""Certificates that openssl makes for servers of tests, and a handshake that checks one as strictly as Python can."""

from __future__ import annotations

import ssl
import subprocess
from pathlib import Path

# What strict checks ask of every certificate (RFC 5280), whatever the system's openssl.cnf has.
_EXTENSIONS = """
[req]
distinguished_name = name
[name]
[authority]
basicConstraints = critical, CA:true
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
[server]
basicConstraints = critical, CA:false
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth, clientAuth
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
subjectAltName = {names}
"""


def make_certificates(place: Path, names: str) -> Path:
    """A CA of our own, and a server's key and certificate for these names from it; returns the CA's certificate.

    ``names`` are written as openssl takes them: ``DNS:db.example,IP:127.0.0.1``. The server's certificate is
    server.crt, its key server.key.
    """
    ca, ca_key, request, extensions = (place / name for name in ("ca.crt", "ca.key", "server.csr", "extensions"))
    key = ("-config", extensions, "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    extensions.write_text(_EXTENSIONS.format(names=names))

    def openssl(*arguments: str | Path) -> None:
        subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)

    own = ("-x509", "-extensions", "authority", "-days", "2", "-subj", "/CN=test CA")
    openssl("req", *key, *own, "-keyout", ca_key, "-out", ca)
    openssl("req", *key, "-keyout", place / "server.key", "-out", request, "-subj", "/CN=test server")
    signed = ("-CA", ca, "-CAkey", ca_key, "-CAcreateserial", "-days", "2")
    openssl("x509", "-req", "-in", request, *signed, "-extfile", extensions, "-extensions", "server",
            "-out", place / "server.crt")  # fmt: skip
    return ca


def shake_hands_strictly(server: ssl.SSLContext, authority: Path, name: str | None) -> None:
    """Meet a server of this name, or of any, as Python 3.13 does. ssl.SSLCertVerificationError when it is refused."""
    client = ssl.create_default_context(cafile=authority)
    client.check_hostname = name is not None
    client.verify_flags |= ssl.VERIFY_X509_STRICT
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        client.wrap_bio(to_client, to_server, server_hostname=name),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    while ends:
        for end in list(ends):
            try:
                end.do_handshake()
                ends.remove(end)
            except ssl.SSLWantReadError:
                continue
