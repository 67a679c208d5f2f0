"""Client for Parlance, the content personalization service.

Requests and answers have the members of the HTTP API. `Parlance` blocks. `AsyncParlance` has
equal methods for asyncio.
"""

from ._client import AsyncParlance, Parlance
from ._errors import Fault, ParlanceInvalidValue, ParlanceProblem, ParlanceUnavailable, ParlanceWebhookError
from ._management import ExportedRows
from ._types import DelayTime, EventAnswer, EventVerdict, Generated, Queued
from ._version import VERSION as __version__
from ._webhooks import WebhookBatch, WebhookBatchData, WebhookEvent, WebhookSingle, verify_webhook

__all__ = [
    "AsyncParlance",
    "DelayTime",
    "EventAnswer",
    "EventVerdict",
    "ExportedRows",
    "Fault",
    "Generated",
    "Parlance",
    "ParlanceInvalidValue",
    "ParlanceProblem",
    "ParlanceUnavailable",
    "ParlanceWebhookError",
    "Queued",
    "WebhookBatch",
    "WebhookBatchData",
    "WebhookEvent",
    "WebhookSingle",
    "__version__",
    "verify_webhook",
]
