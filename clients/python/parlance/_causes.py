"""Why an attempt got no answer."""

from __future__ import annotations

import asyncio
import socket
import ssl
from typing import Literal

import httpx

Reason = Literal["timeout", "refused", "dns", "tls", "network", "answer"]
"""`timeout`: not in time. `refused`: nothing listens at the address. `dns`: the host has no address. `tls`: the certificate was
not accepted, or the service has no TLS. `network`: the connection failed. `answer`: the answer does not come from Parlance, such
as the page of a proxy."""


class NotAnswered(Exception):
    """The answer does not come from Parlance, for example the page of a proxy."""


class TooLate(Exception):
    """The answer was not complete in time."""


def cause_of(error: BaseException, timeout: float) -> tuple[Reason, str]:
    """Returns the reason of a failed attempt, and a sentence for people. `timeout` is in seconds."""
    if isinstance(error, NotAnswered):
        return "answer", str(error)
    chain: list[BaseException] = []
    one: BaseException | None = error
    while one is not None and len(chain) < 8:
        chain.append(one)
        one = one.__cause__ or one.__context__
    texts = "\n".join(f"{type(one).__name__} {one}" for one in chain)
    if any(isinstance(one, (httpx.TimeoutException, asyncio.TimeoutError, TooLate)) for one in chain):
        return "timeout", f"no answer came within {timeout:g} s"
    if any(isinstance(one, ConnectionRefusedError) for one in chain) or "refused" in texts:
        return "refused", "the connection was refused. Check the address, and that the service runs"
    if any(isinstance(one, socket.gaierror) for one in chain) or "Name or service not known" in texts:
        return "dns", "the name of the host was not found. Check the address"
    if any(isinstance(one, ssl.SSLError) for one in chain) or "CERTIFICATE" in texts or "SSL" in texts:
        if "WRONG_VERSION_NUMBER" in texts or "HTTP_REQUEST" in texts or "PACKET_LENGTH_TOO_LONG" in texts:
            return "tls", "the service answers without TLS. If this is its port, its address begins with http://"
        detail = next((str(one) for one in chain if "CERTIFICATE" in str(one) or "SSL" in str(one)), str(error))
        return "tls", f"the certificate was not accepted ({detail}). Behind a TLS proxy, set SSL_CERT_FILE to its certificate"
    return "network", str(chain[-1]) or type(error).__name__
