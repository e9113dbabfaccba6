"""The stand-in that CONTRIBUTING.md tells of: it goes on until it is told to end, whatever its standard input is."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from urllib.parse import urlsplit

import pytest

from factories.oracle.process import PROGRAM


def accepts(url):
    parts = urlsplit(url)
    with socket.create_connection((parts.hostname, parts.port), timeout=60):
        return True


@pytest.mark.parametrize("ends", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("closed", [False, True], ids=["no input", "closed input"])
def test_it_goes_on_without_an_input_until_it_is_told_to_end(ends, closed):
    words = ["sh", "-c", f'exec "$0" "$1" {"<&-" if closed else "</dev/null"}', sys.executable, str(PROGRAM)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        url = process.stdout.readline().strip()
        # It has had the end of its input since before it printed its URL, and would end as soon as it reads it.
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(1)
        assert accepts(url)
        process.send_signal(ends)
        assert process.wait(60) == 0
