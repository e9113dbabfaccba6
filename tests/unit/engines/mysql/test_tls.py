"""What TLS needs is made once for all connections, unless the target names files of its own."""

from __future__ import annotations

import ssl

from openslob.engines.mysql.connection import DirectConnection


def unconnected(**arguments):
    return DirectConnection(defer_connect=True, **arguments)


def test_connections_without_files_for_tls_share_one_context_that_verifies_nothing():
    first, second = unconnected(), unconnected()
    assert first.ctx is second.ctx
    assert (first.ctx.verify_mode, first.ctx.check_hostname) == (ssl.CERT_NONE, False)


def test_connections_that_verify_have_a_context_of_their_own():
    plain, verified = unconnected(), unconnected(ssl_verify_cert=True)
    assert verified.ctx is not plain.ctx
    assert verified.ctx.verify_mode == ssl.CERT_REQUIRED
    assert not hasattr(unconnected(ssl_disabled=True), "ctx")
