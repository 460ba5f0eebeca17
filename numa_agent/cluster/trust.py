"""How closely an API server's certificate is looked at: its chain, dates and name, as others do.

From Python 3.13 on a new context also asks for what RFC 5280 wants of certificate authorities
(VERIFY_X509_STRICT), which those of older clusters lack: a key identifier, or the use of the key.
kubectl and kubelet don't ask for it. https://github.com/kubernetes-client/python/issues/2394
"""

import ssl

from urllib3.util.ssl_ import create_urllib3_context


def trust(cert_reqs: int = ssl.CERT_REQUIRED) -> ssl.SSLContext:
    """A context for urllib3, which loads the authority into it; `cert_reqs` as ssl has it."""
    return lenient(create_urllib3_context(cert_reqs=cert_reqs))


def lenient(context: ssl.SSLContext) -> ssl.SSLContext:
    """The context without what only newer authorities fulfil."""
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context
