"""A certification authority, a server's certificate and a client's wallet, as a TCPS listener needs them."""

from __future__ import annotations

import ipaddress
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

SUBJECT = "CN=standin,O=openslob"
_USES = (
    "digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement",
    "key_cert_sign", "crl_sign", "encipher_only", "decipher_only",
)  # fmt: skip


def _named(name: str) -> x509.Name:
    organisation = x509.NameAttribute(NameOID.ORGANIZATION_NAME, "openslob")
    return x509.Name([organisation, x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _builder(
    subject: str, key: ec.EllipticCurvePublicKey, issuer: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    """A certificate of a key, to be signed by the authority, with what strict checks ask of every one (RFC 5280)."""
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(_named(subject))
        .issuer_name(_named("authority"))
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer), critical=False)
    )


def _for(*uses: str) -> x509.KeyUsage:
    """What a key may be used for."""
    return x509.KeyUsage(**{use: use in uses for use in _USES})


def _written(file: Path, *parts: x509.Certificate | ec.EllipticCurvePrivateKey) -> Path:
    pem = serialization.Encoding.PEM
    file.write_bytes(
        b"".join(
            part.public_bytes(pem)
            if isinstance(part, x509.Certificate)
            else part.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
            for part in parts
        )
    )
    return file


def authority(wallet: Path) -> ssl.SSLContext:
    """The context of a server named localhost; ``wallet`` becomes the directory of the client's ewallet.pem."""
    ours, servers = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    issuer = ours.public_key()
    root = (
        _builder("authority", issuer, issuer)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(_for("key_cert_sign", "crl_sign"), critical=True)
        .sign(ours, hashes.SHA256())
    )
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.2"))]
    certificate = (
        _builder("standin", servers.public_key(), issuer)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_for("digital_signature"), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(ours, hashes.SHA256())
    )
    wallet.mkdir()
    _written(wallet / "ewallet.pem", root)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(_written(wallet.with_suffix(".server"), certificate, servers))
    return context
