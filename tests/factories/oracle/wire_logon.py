"""How the driver connects and logs on: the listener's, the negotiation's and the log-on's other side."""

from __future__ import annotations

import hashlib
import re
import secrets
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from factories.oracle.wire_encodings import Reader, counted_text, number, text

PROTOCOL, PARAMETER = 1, 8
SDU = 8192
_OLDEST, _TOO_OLD, _VERIFIER = 315, 314, 0x1B25
_TAKES_URGENT_DATA, _ENCRYPTION_REQUIRED = 0x0400, 0x10
# What the driver sends and expects depends on the version: `_FIELDS` of a release, newest first.
_FIELDS = (((18,), 12), ((12, 2), 8), ((12, 1), 7))
_AS_TOLD = re.compile(r"\((\w+)=([^()]*)\)")


@dataclass(frozen=True)
class Identity:
    """What a server says of itself. Whatever it says, its banner says that it is a stand-in.

    A version older than 12.1 is refused by the driver.
    """

    version: tuple[int, int, int, int, int] = (19, 3, 0, 0, 0)
    service: str = "standin"
    instance: str = "standin1"
    database: str = "STANDIN"
    banner: str = "openslob stand-in"
    # Demands the network encryption that only Oracle's client libraries have.
    encrypts: bool = False

    @property
    def fields(self) -> int:
        return next((fields for since, fields in _FIELDS if self.version >= since), 6)

    @property
    def number(self) -> int:
        new = self.version >= (18,)
        shifts = (24, 16, 12, 4, 0) if new else (24, 20, 12, 8, 0)
        return sum(part << shift for part, shift in zip(self.version, shifts, strict=True))


@dataclass
class Client:
    """What a client says of itself, and who answers it. ``number`` is the number of its session (SID), from 1."""

    number: int
    identity: Identity
    user: str = ""
    program: str = ""
    machine: str = ""
    os_user: str = ""
    driver: str = ""
    module: str = ""
    action: str = ""
    descriptor: Mapping[str, str] = field(default_factory=dict)


def connect_string(body: bytes) -> tuple[str, int]:
    """The descriptor in a CONNECT packet, and how many bytes of it follow in a packet of their own."""
    length, offset = struct.unpack_from(">HH", body, 16)
    told = body[offset - 8 : offset - 8 + length]
    return told.decode(), length - len(told)


def told(descriptor: str) -> dict[str, str]:
    """The settings of a connect descriptor by name, in upper case."""
    return {name.upper(): value for name, value in _AS_TOLD.findall(descriptor)}


def accepted(identity: Identity, urgent: bool) -> bytes:
    version = _OLDEST if identity.fields > 6 else _TOO_OLD
    options = _TAKES_URGENT_DATA if urgent else 0
    return struct.pack(">HH10xB9xI", version, options, _ENCRYPTION_REQUIRED if identity.encrypts else 0, SDU)


def refused(number_: int) -> bytes:
    told_ = f"(DESCRIPTION=(ERR={number_})(VSNNUM=0)(ERROR_STACK=(ERROR=(CODE={number_})(EMFI=4))))".encode()
    return struct.pack(">HH", 0x0400, len(told_)) + told_


def protocol(identity: Identity) -> bytes:
    capabilities = bytearray(55)
    capabilities[7] = identity.fields
    runtime = bytearray(13)
    runtime[6] = 0x04  # VARCHAR2 of 32767 bytes
    charset = bytearray(11)
    charset[9:11] = struct.pack(">H", 2000)
    said = bytes([PROTOCOL, 6, 0]) + identity.banner.encode() + b"\0" + struct.pack("<HBH", 873, 0, 0)
    return said + struct.pack(">H", len(charset)) + bytes(charset) + text(bytes(capabilities)) + text(bytes(runtime))


class Logon:
    """The two steps of a log-on by password, with a verifier of 11g's kind."""

    def __init__(self, client: Client, user: str, password: str) -> None:
        self._identity, self._client, self._user, self._password = client.identity, client, user, password
        self._secret, self._salt = secrets.token_bytes(48), secrets.token_bytes(10)

    def _hash(self) -> bytes:
        return hashlib.sha1(self._password.encode() + self._salt).digest() + bytes(4)

    def challenge(self, message: Reader) -> bytes:
        sent = self._sent(message)
        self._client.program = sent.get("AUTH_PROGRAM_NM", "")
        self._client.machine = sent.get("AUTH_MACHINE", "")
        self._client.os_user = sent.get("AUTH_SID", "")
        secret = _aes(self._hash(), self._secret, encrypt=True)
        return _pairs({"AUTH_SESSKEY": secret.hex().upper(), "AUTH_VFR_DATA": self._salt.hex().upper()})

    def _sent(self, message: Reader) -> dict[str, str]:
        message.skip("b")
        length = message.number()
        message.skip("nb")
        pairs = message.number()
        message.skip("bb")
        self._client.user = (message.text() or b"").decode() if length else ""
        sent = {}
        for _ in range(pairs):
            name = (message.counted_text() or b"").decode().rstrip("\0")
            sent[name] = (message.counted_text() or b"").decode()
            message.number()
        return sent

    def answer(self, message: Reader) -> bytes | None:
        """What the server says of itself to whom it lets in; None when user or password is wrong."""
        sent = self._sent(message)
        self._client.driver = sent.get("SESSION_CLIENT_DRIVER_NAME", "")
        theirs = _aes(self._hash(), bytes.fromhex(sent["AUTH_SESSKEY"]), encrypt=False)
        mixed = bytes(a ^ b for a, b in zip(self._secret[16:40], theirs[16:40], strict=True))
        key = (hashlib.md5(mixed[:16]).digest() + hashlib.md5(mixed[16:]).digest())[:24]
        password = _aes(key, bytes.fromhex(sent["AUTH_PASSWORD"]), encrypt=False)[16:]
        right = password[: -password[-1]] == self._password.encode()
        if not right or self._client.user.upper() != self._user.upper():
            return None
        proof = _aes(key, secrets.token_bytes(16) + b"SERVER_TO_CLIENT", encrypt=True)
        said = {
            "AUTH_VERSION_NO": str(self._identity.number),
            "AUTH_SESSION_ID": str(self._client.number),
            "AUTH_SERIAL_NUM": "1",
            "AUTH_SC_DBUNIQUE_NAME": self._identity.database,
            "AUTH_SC_SERVICE_NAME": self._identity.service,
            "AUTH_INSTANCENAME": self._identity.instance,
            "AUTH_MAX_OPEN_CURSORS": "300",
            "AUTH_SVR_RESPONSE": proof.hex().upper(),
        }
        return _pairs(said)


def _pairs(values: dict[str, str]) -> bytes:
    said = bytes([PARAMETER]) + number(len(values))
    for name, value in values.items():
        flag = _VERIFIER if name == "AUTH_VFR_DATA" else 0
        said += counted_text(name.encode()) + counted_text(value.encode()) + number(flag)
    return said


def _aes(key: bytes, data: bytes, encrypt: bool) -> bytes:
    cipher = Cipher(algorithms.AES(key), modes.CBC(bytes(16)))
    worker = cipher.encryptor() if encrypt else cipher.decryptor()
    if encrypt and len(data) % 16:
        data += bytes([16 - len(data) % 16]) * (16 - len(data) % 16)
    return worker.update(data)
