"""One client's session on the stand-in: what the driver asks for, and the answers that it understands."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from factories.oracle import wire_encodings as wire
from factories.oracle.wire_direct_path import END, LOAD_ROWS, PREPARE, DirectPath
from factories.oracle.wire_encodings import Column, Reader, encode_value, number, text
from factories.oracle.wire_executor import DropError, Executor, Invalid, OracleError, Rows
from factories.oracle.wire_logon import PROTOCOL, SDU, Client, Logon, protocol
from factories.oracle.wire_stream import ACCEPT, BREAK, DATA, MARKER, RESET, Stream

_DATA_TYPES, _FUNCTION, _ERROR, _ROW_HEADER, _ROW_DATA, _STATUS = 2, 3, 4, 6, 7, 9
_IO_VECTOR, _WARNING, _DESCRIBE, _PIGGYBACK = 11, 15, 16, 17
_EXECUTE, _REEXECUTE, _REEXECUTE_AND_FETCH, _FETCH = 94, 4, 78, 5
_AUTH_ONE, _AUTH_TWO, _LOGOFF, _COMMIT, _ROLLBACK, _PING = 118, 115, 9, 14, 15, 147
_CLOSE_CURSORS, _END_TO_END = 105, 135
_OUT, _IN, _IN_OUT = 16, 32, 48
_NO_MORE_ROWS, _CANCELLED, _BAD_PASSWORD, _OWN_FAULT = 1403, 1013, 1017, 600
_COMMITS, _COMMITS_AGAIN, _IN_TRANSACTION, _END = 0x100, 0x1, 0x2, 0x40
_COMPILED_WITH_ERRORS = 0x20
_12_2, _18 = 8, 9


@dataclass
class _Statement:
    text: str
    names: list[str]
    kinds: list[int] = field(default_factory=list)
    ways: list[int] = field(default_factory=list)
    columns: list[Column] = field(default_factory=list)
    pending: list[Sequence[Any]] = field(default_factory=list)


class Session(threading.Thread):
    """Serves one client, whose connection is accepted."""

    def __init__(self, stream: Stream, client: Client, logon: Logon, executor: Executor, faults: list[str]) -> None:
        super().__init__(name=f"session {client.number}", daemon=True)
        self._stream, self.client, self._logon, self.executor = stream, client, logon, executor
        self._faults = faults
        self._statements: dict[int, _Statement] = {}
        self._packets: queue.SimpleQueue[tuple[int, bytes] | None] = queue.SimpleQueue()
        self._busy = threading.Lock()
        self._is_busy = self._is_broken = False
        self.denied: OracleError | None = None
        self.warned: OracleError | None = None
        direct_path = DirectPath(executor, self._column)
        self._functions: dict[int, Callable[[Reader], bytes]] = {
            _EXECUTE: self._execute,
            _REEXECUTE: self._execute_again,
            _REEXECUTE_AND_FETCH: self._execute_again_and_fetch,
            _FETCH: lambda message: self._fetched(message.number(), message.number()),
            _AUTH_ONE: lambda message: self._logon.challenge(message) + self._status(),
            _AUTH_TWO: self._let_in,
            _COMMIT: lambda _: self._done(self.executor.commit),
            _ROLLBACK: lambda _: self._done(self.executor.rollback),
            _PING: lambda _: self._status(),
            _LOGOFF: lambda _: self._status(),
            PREPARE: lambda message: direct_path.prepare(message) + self._status(),
            LOAD_ROWS: lambda message: direct_path.load(message) + self._status(),
            END: lambda message: direct_path.end(message) + self._status(),
        }

    # --- packets

    def begin(self, accepted: bytes) -> None:
        """Tell the client that its connection is accepted, and serve it from then on."""
        self._stream.send(ACCEPT, accepted)
        self._stream.full_size = True
        self.start()

    def run(self) -> None:
        threading.Thread(target=self._listen, name=f"listens to {self.client.number}", daemon=True).start()
        try:
            while self._serve():
                pass
        except (EOFError, OSError, DropError):
            pass
        finally:
            self.executor.close()
            self._stream.shut()

    def _listen(self) -> None:
        """Take what the client sends, also while a statement runs: a break ends it, and so does the client's end."""
        packet: tuple[int, bytes] | None = None
        while True:
            try:
                packet = self._stream.read()
            except (EOFError, OSError):
                packet = None
            with self._busy:
                self._packets.put(packet)
                if self._is_busy and (packet is None or packet[0] == MARKER):
                    self._is_broken = True
                    self.executor.cancel()
            if packet is None:
                self._stream.close()
                return

    def _packet(self) -> tuple[int, bytes]:
        packet = self._packets.get()
        if packet is None:
            raise EOFError
        return packet

    def _answer(self, body: bytes) -> None:
        most = SDU - 10
        for at in range(0, len(body), most):
            self._stream.send(DATA, b"\0\0" + body[at : at + most])

    def drop(self) -> None:
        """Break the connection, whatever is done."""
        self._stream.shut()

    def _break(self) -> None:
        self._stream.mark(BREAK)
        while True:
            kind, body = self._packet()
            if kind == MARKER and body[2] == RESET:
                break
        self._stream.mark(RESET)
        self._answer(self._ended(OracleError(_CANCELLED, "user requested cancel of current operation")))

    # --- messages

    def _serve(self) -> bool:
        """Answer one message; False when it was the last."""
        kind, body = self._packet()
        if kind == MARKER:
            if body[2] != RESET:
                self._break()
            return True
        if kind != DATA or int.from_bytes(body[:2]) & _END:
            return False
        message = Reader(body[2:], lambda: self._packet()[1][2:])
        try:
            answer = self._answered(message)
        except NotImplementedError as error:
            answer = self._fault(f"the stand-in does not know {error}")
        except OracleError as error:
            answer = self._ended(error)
        if answer:
            self._answer(answer)
        return True

    def _fault(self, what: str) -> bytes:
        """Tell the client, and the test, what this server can't do."""
        self._faults.append(what)
        return self._ended(OracleError(_OWN_FAULT, f"internal error code, arguments: [{what}]"))

    def _answered(self, message: Reader) -> bytes:
        while (first := message.byte()) == _PIGGYBACK:
            self._piggyback(message)
        if first == PROTOCOL:
            return protocol(self.client.identity)
        if first == _DATA_TYPES:
            return bytes([_DATA_TYPES]) + b"\0\0"
        if first != _FUNCTION:
            raise NotImplementedError(f"message type {first}")
        function = message.byte()
        message.byte()  # sequence number
        if function not in self._functions:
            raise NotImplementedError(f"function {function}")
        return self._functions[function](message)

    def _piggyback(self, message: Reader) -> None:
        function = message.byte()
        message.byte()
        if function == _CLOSE_CURSORS:
            message.byte()
            for _ in range(message.number()):
                self._statements.pop(message.number(), None)
        elif function == _END_TO_END:
            self._attributes(message)
        else:
            raise NotImplementedError(f"piggyback {function}")

    def _attributes(self, message: Reader) -> None:
        message.skip("bbn")
        given = []
        for _ in range(3):  # client identifier, module, action
            given.append((message.byte(), message.number()))
        message.skip("bnbn")
        given.append((message.byte(), message.number()))  # client info
        message.skip("bnbn")
        given.append((message.byte(), message.number()))  # database operation
        values = [(message.text() or b"").decode() if size else "" for _, size in given]
        if given[1][0]:
            self.client.module = values[1]
        if given[2][0]:
            self.client.action = values[2]

    def _let_in(self, message: Reader) -> bytes:
        said = self._logon.answer(message)
        if said is None:
            raise OracleError(_BAD_PASSWORD, "invalid username/password; logon denied")
        if self.denied:
            raise self.denied
        if self.warned:
            warning = str(self.warned).encode()
            said += bytes([_WARNING]) + number(self.warned.number) + number(len(warning)) + number(0) + text(warning)
        return said + self._status()

    def _done(self, act: Callable[[], None]) -> bytes:
        act()
        return self._status()

    # --- statements

    def _execute(self, message: Reader) -> bytes:
        options, cursor = message.number(), message.number()
        with_text = message.byte()
        message.skip("nbnbbn")
        rows = message.number()
        message.skip("nb")
        binds = message.number()
        message.skip("bbbbb")
        defines = message.byte(), message.number()
        message.skip("nbbbnbnn" + "bnb")
        if defines[0]:
            raise NotImplementedError("definition of columns (LOBs)")
        if self.client.identity.fields >= _12_2:
            message.skip("bnbnb")
        if self.client.identity.fields >= _18:
            message.skip("bn")
        if with_text:
            cursor = cursor or max(self._statements, default=0) + 1
            given = (message.text() or b"").decode()
            self._statements[cursor] = _Statement(given, wire.placeholders(given))
        message.skip("n")
        times = message.number()
        message.skip("n" * 5)
        times = 1 if message.number() else times  # of a query it is how many rows to fetch
        message.skip("n" * 5)
        statement = self._statements[cursor]
        statement.kinds = [self._bind_kind(message) for _ in range(binds)]
        values = [self._values(message, statement.kinds) for _ in range(times if binds else 0)]
        return self._ran(cursor, values, rows, bool(options & _COMMITS), True)

    def _bind_kind(self, message: Reader) -> int:
        kind, flags = message.byte(), message.byte()
        wire.require_known(kind)
        if flags & 0x40:
            raise NotImplementedError("bind of an array")
        message.skip("bbnnnnnnbn")
        if self.client.identity.fields >= _12_2:
            message.skip("n")
        return kind

    def _values(self, message: Reader, kinds: Sequence[int]) -> list[Any]:
        if message.byte() != _ROW_DATA:
            raise NotImplementedError("binds without a row of data")
        return [wire.decode_value(kind, message.text()) for kind in kinds]

    def _execute_again(self, message: Reader) -> bytes:
        cursor, times = message.number(), message.number()
        message.skip("n")
        commits = bool(message.number() & _COMMITS_AGAIN)
        return self._ran(cursor, self._sent_again(cursor, times, message), 0, commits, False)

    def _execute_again_and_fetch(self, message: Reader) -> bytes:
        cursor, rows = message.number(), message.number()
        message.skip("nn")
        return self._ran(cursor, self._sent_again(cursor, 1, message), rows, False, False)

    def _sent_again(self, cursor: int, times: int, message: Reader) -> list[list[Any]]:
        """The rows of binds; those that only go out are not sent again."""
        statement = self._statements[cursor]
        ways = statement.ways or [_IN] * len(statement.kinds)
        sent = [at for at, way in enumerate(ways) if way != _OUT]
        rows = []
        for _ in range(times if statement.kinds else 0):
            values = self._values(message, [statement.kinds[at] for at in sent]) if sent else []
            whole = dict(zip(sent, values, strict=True))
            rows.append([whole.get(at) for at in range(len(statement.kinds))])
        return rows

    def _ran(self, cursor: int, values: list[list[Any]], rows: int, commits: bool, first: bool) -> bytes:
        """Execute a statement; an empty answer when the client broke it off: the break is answered then."""
        statement = self._statements[cursor]
        binds = [dict(zip(statement.names, row, strict=True)) for row in values] or [{}]
        try:
            found = self._run(statement, binds)
            if commits:
                self.executor.commit()
        except OracleError as error:
            with self._busy:
                return b"" if error.number == _CANCELLED and self._is_broken else self._ended(error, cursor)
        if isinstance(found, Rows):
            statement.pending = list(found.rows)
            return self._described(statement, found, first) + _row_header() + self._fetched(cursor, rows)
        if isinstance(found, int | Invalid):
            changed = found if isinstance(found, int) else 0
            return self._ended(None, cursor, changed, with_errors=isinstance(found, Invalid))
        return self._outputs(statement, found, binds[0], first) + self._ended(None, cursor)

    def _run(self, statement: _Statement, binds: list[dict[str, Any]]) -> Rows | Mapping[str, Any] | Invalid | int:
        with self._busy:
            self._is_busy, self._is_broken = True, False
        try:
            if len(binds) > 1:
                return self.executor.execute_many(statement.text, binds)
            return self.executor.execute(statement.text, binds[0])
        except (OracleError, DropError, NotImplementedError):
            raise
        except Exception as error:
            raise NotImplementedError(f"{type(error).__name__}: {error}, in {statement.text[:60]}") from error
        finally:
            with self._busy:
                self._is_busy = False

    # --- answers

    def _outputs(self, statement: _Statement, found: Mapping[str, Any], sent: Mapping[str, Any], first: bool) -> bytes:
        also_in = found.get("_in_out", [name for name in found if sent.get(name) is not None])
        ways = [(_IN_OUT if name in also_in else _OUT) if name in found else _IN for name in statement.names]
        vector = b""
        if first:
            statement.ways = ways
            binds = len(ways)
            vector = bytes([_IO_VECTOR, 0]) + number(binds % 256) + number(binds // 256) + number(1) + number(0) * 3
            vector += bytes(ways)
        values = [
            encode_value(found[name], kind) + number(0)
            for name, kind, way in zip(statement.names, statement.kinds, statement.ways, strict=True)
            if way != _IN
        ]
        return vector + (bytes([_ROW_DATA]) + b"".join(values) if values else b"")

    def _described(self, statement: _Statement, found: Rows, first: bool) -> bytes:
        """The description of the columns, unless the client has it."""
        described = found.described()
        if not first and described == statement.columns:
            return b""
        statement.columns = described
        said = bytes([_DESCRIBE, 0]) + number(0) + number(len(described)) + (b"\0" if described else b"")
        said += b"".join(self._column(*each) for each in zip(found.columns, described, strict=True))
        return said + number(0) * 6

    def _column(self, name: str, column: Column) -> bytes:
        said = bytes([column.kind, 0, 0, column.scale]) + number(column.size) + number(0) * 5
        said += bytes([column.form]) + number(column.size if column.form else 0)
        said += number(0) if self.client.identity.fields >= _12_2 else b""
        return said + b"\x01\0" + wire.counted_text(name.upper().encode()) + number(0) * 4

    def _fetched(self, cursor: int, rows: int) -> bytes:
        statement = self._statements[cursor]
        sent, statement.pending = statement.pending[:rows], statement.pending[rows:]
        kinds = [column.kind for column in statement.columns]
        data = b"".join(_row(row, kinds) for row in sent)
        more = None if statement.pending else OracleError(_NO_MORE_ROWS, "no data found")
        return data + self._ended(more, cursor, len(sent))

    def _state(self) -> bytes:
        return number(_IN_TRANSACTION if self.executor.in_transaction else 0)

    def _status(self) -> bytes:
        return bytes([_STATUS]) + self._state() + number(0)

    def _ended(self, error: OracleError | None, cursor: int = 0, rows: int = 0, with_errors: bool = False) -> bytes:
        """The end of an answer, with an error or without."""
        flags = bytes([0, 0, 0, 0, 0, _COMPILED_WITH_ERRORS if with_errors else 0])
        said = bytes([_ERROR]) + self._state() + number(0) * 5 + number(cursor) + number(0) + flags
        said += number(0) * 2 + b"\0" + number(0) * 2  # no row's address
        said += number(0) + bytes(2) + number(0) * 3 + number(0) * 3
        said += number(error.number if error else 0) + number(rows)
        return said + (text(f"{error}\n".encode()) if error else b"")


def _row(values: Sequence[Any], kinds: Sequence[int]) -> bytes:
    return bytes([_ROW_DATA]) + b"".join(encode_value(*each) for each in zip(values, kinds, strict=True))


def _row_header() -> bytes:
    return bytes([_ROW_HEADER, 0]) + number(0) * 6
