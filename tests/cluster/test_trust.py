"""An API server's authority that lacks what RFC 5280 wants of one is trusted all the same."""

import ssl

from numa_agent.cluster.trust import lenient, trust


def test_a_chain_is_verified_but_not_strictly() -> None:
    """As Python 3.13 makes a context, whichever Python this is."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.verify_flags |= ssl.VERIFY_X509_STRICT | ssl.VERIFY_X509_PARTIAL_CHAIN
    found = lenient(context)
    assert not found.verify_flags & ssl.VERIFY_X509_STRICT
    assert found.verify_flags & ssl.VERIFY_X509_PARTIAL_CHAIN
    assert (found.verify_mode, found.check_hostname) == (ssl.CERT_REQUIRED, True)


def test_what_the_client_uses_is_never_strict_and_always_verifies() -> None:
    context = trust()
    assert not context.verify_flags & ssl.VERIFY_X509_STRICT
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)


def test_who_asks_for_no_verification_gets_none() -> None:
    context = trust(ssl.CERT_NONE)
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_NONE, False)
