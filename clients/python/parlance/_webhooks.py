from __future__ import annotations

import base64
import hashlib
import hmac
import time
from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypedDict

TOLERANCE = 300
"""Maximum difference between the timestamp of a signature and the current time, in seconds."""


class WebhookBatchData(TypedDict):
    org: str
    events: list[dict[str, Any]]
    """At most 1,000, each with an `id`. An event that a later batch repeats has the same `id`."""


class WebhookBatch(TypedDict):
    """The body of a request with events that come in batches. OpenAPI has the members of each type under `webhooks`."""

    type: Literal["delivery.sent", "message.opened", "message.clicked", "message.bounced", "decision.made"]
    timestamp: str
    """Time of the batch, ISO 8601."""
    data: WebhookBatchData


def verify_webhook(
    secrets: str | Iterable[str], headers: Mapping[str, str], body: bytes | str, now: float | None = None
) -> bool:
    """Whether Parlance signed a request with one of the secrets within the last 5 minutes (Standard Webhooks 1.0.0).

    A secret begins with `whsec_`. Pass both secrets while one replaces the other. `body` is the received body, before it is
    parsed. A message may arrive more than once: compare `webhook-id` with the ids of handled messages. `now` is the current
    time in Unix seconds.
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
        # Compares all signatures, so that every wrong signature needs the same time.
        if key and any([hmac.compare_digest(expected.encode(), signature.encode()) for signature in signatures]):
            return True
    return False
