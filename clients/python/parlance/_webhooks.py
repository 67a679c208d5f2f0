from __future__ import annotations

import base64
import hashlib
import hmac
import time
from collections.abc import Iterable, Mapping

TOLERANCE = 300
"""Signatures are accepted this long before and after they were made, in seconds."""


def verify_webhook(
    secrets: str | Iterable[str], headers: Mapping[str, str], body: bytes | str, now: float | None = None
) -> bool:
    """Whether a request was signed by Parlance, as Standard Webhooks 1.0.0 describes: by one of the secrets, and within 5 minutes.

    A secret begins with `whsec_`. Give several while one is being replaced. `body` is the body as it came in, before it is
    parsed. Compare `webhook-id` with those that were handled before: a message may arrive more than once.
    """
    lower = {name.lower(): value for name, value in headers.items()}
    id = lower.get("webhook-id", "")
    timestamp = lower.get("webhook-timestamp", "")
    if not id or not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= 12):
        return False
    if abs((time.time() if now is None else now) - int(timestamp)) > TOLERANCE:
        return False
    signed = f"{id}.{timestamp}.".encode() + (body.encode() if isinstance(body, str) else body)
    signatures = [part[3:] for part in lower.get("webhook-signature", "").split(" ")[:10] if part.startswith("v1,")]
    for secret in [secrets] if isinstance(secrets, str) else secrets:
        try:
            key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
        except ValueError:
            continue
        expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
        # Compares all, in the same time for every wrong signature.
        if key and any([hmac.compare_digest(expected.encode(), signature.encode()) for signature in signatures]):
            return True
    return False
