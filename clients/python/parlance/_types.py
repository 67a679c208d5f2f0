from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Generated:
    """Content for one message."""

    tracking_id: str
    """Id of the decision. Events that contain it are attributed to this decision."""
    copy_id: str | None
    """The selected variant. None in a fallback, and if `message` states why no variant was selected."""
    vars: Mapping[str, str]
    """Rendered variables by name, or the variables of the fallback. Empty without a variant and without a fallback."""
    message: str | None = None
    """The reason why no variant was selected, such as `No candidates found`."""
    held_out: bool = False
    """True if this user is in the holdout without messages. Send nothing. The fallback does not apply."""
    fallback: Exception | None = None
    """The reason why the fallback is used. None if it is not used."""
    send_nothing: bool = False
    """True if the service chose to send nothing to this user. Send nothing. The fallback does not apply."""


@dataclass(frozen=True)
class DelayTime:
    delay_id: str
    delay_time: str
    """Recommended send time, ISO 8601."""


@dataclass(frozen=True)
class Queued:
    """A message that was queued."""

    delivery_id: str
    tracking_id: str
    repeated: bool
    """Whether an earlier request with this idempotency key queued the message, so that this call queued no second message."""


@dataclass(frozen=True)
class EventVerdict:
    index: int
    """Index of the event in the list that was sent."""
    status: Literal["accepted", "incomplete", "duplicate", "ignored", "rejected"]
    pointer: str | None = None
    reason: str | None = None


@dataclass(frozen=True)
class EventAnswer:
    received: int
    items: Sequence[EventVerdict]
