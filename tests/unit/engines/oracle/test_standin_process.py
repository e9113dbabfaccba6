"""The stand-in that CONTRIBUTING.md tells of: it goes on until it is told to end, whatever its standard input is."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from contextlib import ExitStack
from urllib.parse import urlsplit

import pytest

from factories.oracle.process import PROGRAM


def accepts(url):
    parts = urlsplit(url)
    with socket.create_connection((parts.hostname, parts.port), timeout=60):
        return True


def started(is_closed):
    words = ["sh", "-c", f'exec "$0" "$1" {"<&-" if is_closed else "</dev/null"}', sys.executable, str(PROGRAM)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True)


def test_it_goes_on_without_an_input_until_it_is_told_to_end():
    with ExitStack() as opened:
        cases = [
            (opened.enter_context(started(is_closed)), ends)
            for is_closed, ends in ((False, signal.SIGTERM), (True, signal.SIGINT))
        ]
        for process, _ in cases:
            opened.callback(process.kill)  # what does not end as told would be waited for without an end
        urls = [process.stdout.readline().strip() for process, _ in cases]
        # They had the end of their input before they printed their URLs, and would end as soon as they read it.
        with pytest.raises(subprocess.TimeoutExpired):
            cases[-1][0].wait(1)
        for url, (process, ends) in zip(urls, cases, strict=True):
            assert process.poll() is None, process.args
            assert accepts(url)
            process.send_signal(ends)
        for process, _ in cases:
            assert process.wait(60) == 0, process.args
