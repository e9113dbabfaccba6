"""The live page stays open to who has its token, whoever else holds connections open, and says nothing of these."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import urllib.request
from contextlib import ExitStack
from urllib.parse import urlsplit

from factories.paths import FIXTURES

RECORD = FIXTURES / "records" / "v4" / "measured"
# More than may wait, and than may be in.
MANY = 110


def test_connections_that_never_ask_do_not_shut_out_the_reader():
    command = [sys.executable, "-m", "openslob", "live", str(RECORD), "--web"]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process,
        ExitStack() as opened,
    ):
        opened.callback(process.kill)
        assert process.stdout is not None
        address = next(word for line in process.stdout for word in line.split() if word.startswith("http://"))
        place = urlsplit(address)
        assert urllib.request.urlopen(address, timeout=60).status == 200
        for text in [b"GET / HT"] * MANY + [b"nonsense\r\n\r\n"] * 3:
            half = opened.enter_context(socket.create_connection((place.hostname, place.port), timeout=60))
            half.sendall(text)
        for path in ("/", "/style.css", "/metrics"):
            asked = address.replace("/?", f"{path}?")
            assert urllib.request.urlopen(asked, timeout=60).status == 200
        process.send_signal(signal.SIGINT)
        process.wait(60)
        assert process.stderr is not None
        said = process.stderr.read()
    assert "WARNING" not in said
    assert "Invalid HTTP" not in said
    assert "Exceeded" not in said
    assert "Traceback" not in said
