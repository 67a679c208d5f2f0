from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Generated:
    """Content for one message."""

    tracking_id: str
    """Report it with events, so that they are attributed to this decision."""
    copy_id: str | None
    """The selected variant; None when `message` says why there is none, and in a fallback."""
    vars: Mapping[str, str]
    """Rendered variables by name; those of the fallback where one is used; empty without either."""
    message: str | None = None
    """Why there is no variant, such as `No candidates found`."""
    held_out: bool = False
    """True: this user is in the holdout without messages. Send nothing; a fallback is not used."""
    fallback: Exception | None = None
    """Why the fallback is used; None where it is not."""


@dataclass(frozen=True)
class DelayTime:
    delay_id: str
    delay_time: str
    """When to send, ISO 8601."""


@dataclass(frozen=True)
class Queued:
    """A message that was queued."""

    delivery_id: str
    tracking_id: str
    repeated: bool
    """True if a message of this idempotency key had been queued before; no further one was."""


@dataclass(frozen=True)
class EventVerdict:
    index: int
    """Place of the event in the list that was sent."""
    status: Literal["accepted", "incomplete", "duplicate", "ignored", "rejected"]
    pointer: str | None = None
    reason: str | None = None


@dataclass(frozen=True)
class EventAnswer:
    received: int
    items: Sequence[EventVerdict]
