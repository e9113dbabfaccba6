"""The terminal: results on standard output, messages on standard error, and the signals that stop a command.

A message that can't be written is dropped: it must not end a run. A result that can't be written is an error.
"""

from __future__ import annotations

import errno
import os
import select
import shutil
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import BufferedWriter, FileIO, TextIOWrapper
from pathlib import Path
from textwrap import wrap
from types import TracebackType
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

from openslob.cli.output import OUTPUT, add_colour
from openslob.core.disk import write_atomically
from openslob.core.errors import SlobError
from openslob.core.interrupt import Interrupt, stop_on
from openslob.core.secrets import conceal
from openslob.report.format import plain_signs, printable, without_controls

if TYPE_CHECKING:
    from openslob.record.model import RecordModel
    from openslob.report.document import Document

Record = TypeVar("Record", bound="RecordModel")

STDIN, STDOUT, STDERR = range(3)
# How long a message waits for a terminal that was stopped (Ctrl-S) or a pipe that is full. Progress does not wait.
MESSAGE_PATIENCE_S = 5.0
# Messages that are printed when the terminal is free again; None: it is free.
_KEPT: list[str] | None = None
# Words of configuration files that may have a password.
_CONCEALED: set[str] = set()
# What a shell reports for a program that SIGPIPE ended: here, the reader of standard output has gone.
BROKEN_PIPE = 128 + signal.SIGPIPE


class OutputError(SlobError):
    """Standard output can't be written."""


class MessageStream(FileIO):
    """Standard error: accepts everything, and drops what can't be written."""

    def write(self, data: Any, /) -> int:  # noqa: ANN401 - anything with a buffer
        """Write the begin of ``data``, or drop all of it."""
        if takes_message(MESSAGE_PATIENCE_S):
            with suppress(OSError):
                return super().write(data[: select.PIPE_BUF]) or len(data)
        return len(data)


class ResultStream(FileIO):
    """Standard output: the first failure is an `OutputError`, and what follows is dropped. No reader is no failure."""

    broken_pipe = False
    _failed = False

    def write(self, data: Any, /) -> int:  # noqa: ANN401 - anything with a buffer
        """Write the begin of ``data``. OutputError if that fails."""
        if self._failed or self.broken_pipe:
            return len(data)
        try:
            while (written := super().write(data)) is None:  # another process made the file non-blocking
                select.select([], [self], [])
        except BrokenPipeError:
            self.broken_pipe = True
            return len(data)
        except OSError as error:
            self._failed = True
            why = "it is closed" if error.errno == errno.EBADF else error.strerror
            raise OutputError(f"standard output can't be written: {why}") from None
        return written


@contextmanager
def guard_streams() -> Iterator[ResultStream | None]:
    """Put `MessageStream` and `ResultStream` below the standard streams; the latter is the context's value.

    Streams that a test or a program put in their place are left as they are, without a value.
    """
    before = sys.stdout, sys.stderr
    if before != (sys.__stdout__, sys.__stderr__):
        for stream in before:
            if isinstance(stream, TextIOWrapper):
                stream.reconfigure(errors=plain_signs.__name__)
        yield None
        return
    _open_closed_ones()
    results = ResultStream(STDOUT, "w", closefd=False)
    messages = MessageStream(STDERR, "w", closefd=False)
    sys.stdout, sys.stderr = wrap_as_text(results, before[0]), wrap_as_text(messages, before[1])
    try:
        yield results
    finally:
        sys.stdout.flush()
        sys.stdout, sys.stderr = before


def _open_closed_ones() -> None:
    """Open the null device in place of closed standard streams, whose numbers the next files would get.

    Standard output gets it for reading, so that a write fails.
    """
    for descriptor, flags in ((STDIN, os.O_RDONLY), (STDOUT, os.O_RDONLY), (STDERR, os.O_WRONLY)):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, flags)


def wrap_as_text(raw: FileIO, like: TextIO | None) -> TextIOWrapper:
    """Return a stream of text over ``raw`` in the encoding of ``like``; signs that it lacks become plain ones."""
    encoding = like.encoding if like else None
    return TextIOWrapper(BufferedWriter(raw), encoding, plain_signs.__name__, line_buffering=raw.isatty())


def takes_message(within_s: float = 0.0) -> bool:
    """Return whether standard error takes a line now, or at least within so many seconds."""
    try:
        return bool(select.select([], [STDERR], [], within_s)[1])
    except OSError:  # it is closed
        return False


def columns(stream: TextIO | None = None) -> int | None:
    """Return how wide a table on ``stream`` (default: standard output) may be; None: as wide as it needs to be.

    That is COLUMNS if it is set, whatever the stream is; else the width of the terminal. Lines in files and pipes are
    not folded, so that other programs find a row in one line.
    """
    with suppress(ValueError):
        if (given := int(os.environ.get("COLUMNS", ""))) > 0:
            return given
    try:
        return os.get_terminal_size((stream or sys.stdout).fileno()).columns or None
    except (OSError, ValueError):  # not a terminal, closed, or without a file
        return None


def write(text: str, end: str = "\n", kept: Path | None = None) -> None:
    """Print a result on standard output; signs that its encoding lacks become plain ones.

    OutputError if that fails. It names ``kept``, the folder of the record with the result.
    """
    try:
        print(printable(text, sys.stdout.encoding), end=end, flush=True)
    except OutputError as error:
        raise OutputError(error.what, f"the result is in {kept}" if kept else "") from None


def write_report(text: str, answer: str = "", kept: Path | None = None) -> None:
    """Print a report on standard output, in colour where the user wants it.

    On a terminal with fewer lines, ``answer``, what the report says in short, is printed again at its end: so it can be
    read without scrolling.
    """
    text = printable(text, sys.stdout.encoding).rstrip("\n") + "\n"
    answer = printable(answer, sys.stdout.encoding).strip("\n")
    if answer and sys.stdout.isatty() and text.count("\n") >= shutil.get_terminal_size().lines:
        text += f"\n{answer}\n"
    try:
        shown = add_colour(text, answer.split("\n\n")[0]) if OUTPUT.is_coloured(sys.stdout) else text
        print(shown, end="", flush=True)
    except OutputError as error:
        raise OutputError(error.what, f"the result is in {kept}" if kept else "") from None


def write_document(document: Document, kept: Path | None = None, whole: bool = False) -> None:
    """Print the answer of a report on one screen, or the ``whole`` report; with --quiet, the answer and what fails.

    A report that has no screen is printed whole.
    """
    from openslob.report.terminal import render_answer, render_screen, render_text  # noqa: PLC0415 - as above

    if OUTPUT.quiet and not whole:
        write_report(render_answer(document), kept=kept)
    elif document.screen and not whole:
        write_report(render_screen(document, columns()), kept=kept)
    else:
        write_report(render_text(document, columns()), render_answer(document), kept)


def write_record(
    record: Record,
    folder: Path | None,
    as_json: bool,
    whole: bool,
    document: Callable[[Record, Path | None], Document],
) -> None:
    """Print a record that was made: as JSON, or as the report that ``document`` returns, as `write_document` does."""
    if as_json:
        write(record.model_dump_json(indent=1), kept=folder)
    else:
        write_document(document(record, folder), folder, whole)


def write_file(path: Path, content: str | bytes) -> None:
    """Write a result into the file that the user names.

    Raises:
        SlobError: It can't be written.

    """
    try:
        write_atomically(path, content)
    except OSError as error:
        raise SlobError(f"{path} can't be written: {error.strerror}", "name another file") from error


def notify(text: str) -> None:
    """Print a message on standard error: progress, a hint or a warning. Nothing with --quiet."""
    if not OUTPUT.quiet:
        complain(text)


def explain(text: str) -> None:
    """Print with --verbose what was decided, and why."""
    if OUTPUT.verbose:
        complain(text)


def complain(text: str) -> None:
    """Print on standard error why a command failed; on a terminal, wrapped between words."""
    if sys.stderr.isatty() and (width := columns(sys.stderr)):
        lines = wrap(f"slob: {text}", width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
        remark("\n".join(lines))
    else:
        remark(f"slob: {text}")


def conceal_too(word: str) -> None:
    """Let no message contain the password that ``word``, a target from a file, may have."""
    _CONCEALED.add(word)


def remark(text: str) -> None:
    """Print text on standard error, without the passwords of this command's words, variables and files."""
    if _KEPT is not None:
        _KEPT.append(text)
        return
    given = [*sys.argv[1:], *(value for name, value in os.environ.items() if name.startswith("SLOB_")), *_CONCEALED]
    print(without_controls(conceal(text, given)), file=sys.stderr, flush=True)


def keep_messages() -> None:
    """Keep all messages from now on: something else has the terminal."""
    global _KEPT  # noqa: PLW0603 - of this process, like the streams
    _KEPT = []


def print_kept_messages() -> None:
    """Print what was kept, and later messages at once again."""
    global _KEPT
    kept, _KEPT = _KEPT, None
    for text in kept or ():
        remark(text)


def report_bug(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print the traceback of an unexpected error, without passwords; a `sys.excepthook`."""
    remark("".join(traceback.format_exception(kind, error, trace)).rstrip())


@contextmanager
def default_interrupt() -> Iterator[None]:
    """End the process at once on Ctrl-C in this block: libraries report an interrupted import as a failed one."""
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def reader_is_gone() -> bool:
    """Return whether the program that read standard output has ended."""
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    return isinstance(raw, ResultStream) and raw.broken_pipe


@contextmanager
def stoppable(announced: bool = True, interrupt: Interrupt | None = None) -> Iterator[Interrupt]:
    """Let Ctrl-C, SIGTERM and SIGHUP ask the run in this block to end: the first within a slice, the second at once.

    They request ``interrupt``, a new one by default.

    SIGHUP, which comes when the terminal is closed, stays ignored if the caller ignores it, as nohup does.
    ``announced``: a message says that it takes a moment.

    After a block that was asked to end, a later Ctrl-C is ignored: it was meant for the run, and would take the report
    with it. SIGTERM still ends the process.
    """

    def tell(_number: int, repeated: bool) -> None:
        if not announced:
            return
        # Not print(): the signal may interrupt a print, and the buffer of a stream is not reentrant.
        with suppress(OSError):
            if _KEPT is None and takes_message():
                os.write(STDERR, b"\nstopping at once\n" if repeated else b"\nstopping; again to leave at once\n")

    hangup = [] if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else [signal.SIGHUP]
    numbers = [signal.SIGINT, signal.SIGTERM, *hangup]
    with stop_on(numbers, tell, [signal.SIGINT, *hangup], interrupt) as requested:
        yield requested
