"""Client for Parlance, the content personalization service.

Requests and answers have the members of the HTTP API. `Parlance` blocks. `AsyncParlance` has
equal methods for asyncio.
"""

from ._client import AsyncParlance, Parlance
from ._errors import Fault, ParlanceInvalidValue, ParlanceProblem, ParlanceUnavailable
from ._types import DelayTime, EventAnswer, EventVerdict, Generated, Queued
from ._webhooks import WebhookBatch, WebhookBatchData, verify_webhook

__all__ = [
    "AsyncParlance",
    "DelayTime",
    "EventAnswer",
    "EventVerdict",
    "Fault",
    "Generated",
    "Parlance",
    "ParlanceInvalidValue",
    "ParlanceProblem",
    "ParlanceUnavailable",
    "Queued",
    "WebhookBatch",
    "WebhookBatchData",
    "verify_webhook",
]
