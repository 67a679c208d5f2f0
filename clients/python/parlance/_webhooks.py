from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypedDict, Union, cast

from ._errors import ParlanceWebhookError

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


class WebhookSingle(TypedDict):
    """The body of a request with one event. OpenAPI has the members of each type under `webhooks`."""

    type: Literal[
        "comment.added",
        "connection.broken",
        "connection.refusing",
        "deliveries.failing",
        "delivery.failed",
        "message.send",
        "person.unsubscribed",
        "ping",
        "review.approved",
        "review.rejected",
        "review.requested",
        "source.silent",
        "suppression.added",
        "variant.failing",
        "winner.found",
    ]
    timestamp: str
    """Time of the event, ISO 8601."""
    data: dict[str, Any]


WebhookEvent = Union[WebhookBatch, WebhookSingle]
"""The body of a webhook request."""


def verify_webhook(
    secrets: str | Iterable[str], headers: Mapping[str, str], body: bytes | str, now: float | None = None
) -> WebhookEvent:
    """Returns the event of a request that Parlance signed within the last 5 minutes (Standard Webhooks 1.0.0).

    A secret begins with `whsec_`. Pass both secrets while one replaces the other. `body` is the received body, before it is
    parsed. Raises `ParlanceWebhookError` for any other request. A message may arrive more than once: compare `webhook-id` with
    the ids of handled messages. `now` is the current time in Unix seconds.
    """
    lower = {name.lower(): value for name, value in headers.items()}
    id = lower.get("webhook-id", "")
    timestamp = lower.get("webhook-timestamp", "")
    if not id or not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= 12):
        raise ParlanceWebhookError(
            "headers", "The request has no webhook-id or no webhook-timestamp: pass all of its headers"
        )
    seconds = round((time.time() if now is None else now) - int(timestamp))
    if abs(seconds) > TOLERANCE:
        when = f"{seconds} s ago" if seconds > 0 else f"{-seconds} s in the future"
        raise ParlanceWebhookError(
            "timestamp", f"The request was signed {when}, more than {TOLERANCE} s: check the clock"
        )
    content = body.encode() if isinstance(body, str) else body
    keys = [key for secret in ([secrets] if isinstance(secrets, str) else secrets) if (key := _key_in(secret))]
    if not keys:
        raise ParlanceWebhookError("secret", "No secret is whsec_ and Base64, as the console shows it")
    if not _is_signed(keys, f"{id}.{timestamp}.".encode() + content, lower.get("webhook-signature", "")):
        raise ParlanceWebhookError(
            "signature", "No secret made the signature: check the secret, and pass the body exactly as received"
        )
    try:
        event = json.loads(content)
    except (ValueError, RecursionError):
        event = None
    if not isinstance(event, dict) or not isinstance(event.get("type"), str):
        raise ParlanceWebhookError("body", "The body is signed and has no event")
    return cast(WebhookEvent, event)


def _key_in(secret: str) -> bytes:
    try:
        return base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except ValueError:
        return b""


def _is_signed(keys: Iterable[bytes], signed: bytes, header: str) -> bool:
    signatures = [part[3:] for part in header.split(" ")[:10] if part.startswith("v1,")]
    for key in keys:
        expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
        # Compares all signatures, so that every wrong signature needs the same time.
        if any([hmac.compare_digest(expected.encode(), signature.encode()) for signature in signatures]):
            return True
    return False
