"""Requests and answers without any input or output: shared by the blocking and the asyncio client."""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import quote

import httpx

from ._errors import ParlanceProblem, ParlanceUnavailable
from ._types import DelayTime, EventAnswer, EventVerdict, Generated, Queued

LONGEST_PAUSE = 30.0
"""The longest pause between two attempts, in seconds. A service that asks for more is not asked again."""

PASSING = {408, 425, 429, 500, 502, 503, 504}
"""Statuses after which another attempt may succeed."""

BATCH_SIZE = 20


class NotJson(Exception):
    """The answer is a success without an object, for example the page of a proxy on the way."""


@dataclass(frozen=True)
class Call:
    method: str
    path: str
    body: Any = None
    query: Mapping[str, str] | None = None
    headers: Mapping[str, str] | None = None
    longest_pause: float = LONGEST_PAUSE


def _without_none(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


def new_id() -> str:
    return str(uuid.uuid4())


def base_url(url: str, org: str, api_key: str) -> str:
    """The URL without a slash at its end. Raises `ValueError` for options that no request can be made with."""
    if not isinstance(url, str) or not url.startswith(("http://", "https://")):
        raise ValueError(f"url must be the address of the service, such as https://parlance.example.com, not {url}")
    if not isinstance(org, str) or org == "":
        raise ValueError("org must be the organization, as it stands in paths")
    if not isinstance(api_key, str) or not api_key or not all("!" <= character <= "~" for character in api_key):
        raise ValueError("api_key must be the text of an API key, without spaces or line breaks")
    return url.rstrip("/")


class Requests:
    """Makes the calls of one organization."""

    def __init__(self, org: str) -> None:
        self.org = quote(org, safe="")

    def generate(self, longest_pause: float, **members: Any) -> Call:
        return Call("POST", f"/api/generate/{self.org}", _without_none(members), longest_pause=longest_pause)

    def batches(self, requests: Sequence[Mapping[str, Any]], **shared: Any) -> Iterator[Call]:
        named = [{"tracking_id": new_id(), **_without_none(request)} for request in requests]
        if len({request["template_id"] for request in named}) < len(named):
            raise ValueError("A batch must name each template once, because its result has one entry for each")
        for at in range(0, len(named), BATCH_SIZE):
            body = {**_without_none(shared), "requests": named[at : at + BATCH_SIZE]}
            yield Call("POST", f"/api/batch-generate/{self.org}", body)

    def delay(self, **parameters: Any) -> Call:
        return Call("GET", f"/api/delay/{self.org}", query=_without_none(parameters))

    def deliver(self, idempotency_key: str | None, **members: Any) -> Call:
        headers = {"Idempotency-Key": idempotency_key or new_id()}
        return Call("POST", f"/api/deliver/{self.org}", _without_none(members), headers=headers)

    def deliveries(self, **parameters: Any) -> Call:
        query = {name: str(value) for name, value in _without_none(parameters).items()}
        return Call("GET", f"/api/deliveries/{self.org}", query=query)

    def delivery(self, id: str) -> Call:
        return Call("GET", f"/api/deliveries/{quote(id, safe='')}/{self.org}")

    def cancel_delivery(self, id: str) -> Call:
        return Call("POST", f"/api/deliveries/{quote(id, safe='')}/cancel/{self.org}")

    def events(self, events: Sequence[Mapping[str, Any]]) -> Call:
        named = [{"event_id": new_id(), **_without_none(event)} for event in events]
        return Call("POST", f"/api/webhook/events/{self.org}", named)


def _retry_after(response: httpx.Response) -> float | None:
    text: str | None = response.headers.get("retry-after")
    if text is None:
        return None
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        return float(max(0.0, parsedate_to_datetime(text).timestamp() - time.time()))
    except ValueError:
        return None


def checked(response: httpx.Response) -> httpx.Response:
    """Raises `ParlanceProblem` unless the answer is a success, and `NotJson` unless it is an object in JSON."""
    try:
        body = response.json()
    except ValueError:
        # A proxy on the way may answer in HTML.
        body = None
    if response.is_success:
        if not isinstance(body, dict):
            raise NotJson(f"The answer with status {response.status_code} is not JSON")
        return response
    if 300 <= response.status_code <= 399:
        # Not followed, because the key would be sent wherever it leads.
        body = {
            "title": "The service redirected the request",
            "detail": f"`url` must be the address that answers itself, not {response.headers.get('location')}",
        }
    raise ParlanceProblem(response.status_code, body if isinstance(body, dict) else {}, _retry_after(response))


def pause_after(error: Exception, call: Call, attempt: int, attempts: int, url: str) -> float:
    """How long to wait before the attempt after this one, in seconds. Raises the final error if there is none."""
    pause: float = min(LONGEST_PAUSE, 0.1 * 2 ** (attempt - 1)) * (0.5 + random.random() / 2)
    if isinstance(error, ParlanceProblem):
        # Added, so that callers that were refused together do not come back together.
        pause += error.retry_after or 0.0
        if attempt >= attempts or error.status not in PASSING or pause > call.longest_pause:
            raise error
    elif attempt >= attempts:
        times = "" if attempts == 1 else f" in {attempts} attempts"
        raise ParlanceUnavailable(f"{url} did not answer{times}") from error
    return pause


def generated_of(content: Mapping[str, Any]) -> Generated:
    copy = content["copy"]
    return Generated(
        content["tracking_id"],
        copy.get("id"),
        copy.get("vars", {}),
        content.get("message"),
        content.get("held_out", False),
    )


def with_fallback(
    tracking_id: str, found: Generated | Exception, fallback: Mapping[str, str] | None
) -> Generated:
    """The content that was found, or the fallback where it is missing. Raises the error where a fallback does not help."""
    if isinstance(found, Generated):
        if fallback is None or found.copy_id is not None or found.held_out:
            return found
        return Generated(tracking_id, None, fallback, found.message, fallback=Exception(found.message))
    is_passing = isinstance(found, ParlanceUnavailable) or (
        isinstance(found, ParlanceProblem) and (found.status in PASSING or found.status >= 500)
    )
    if fallback is None or not is_passing:
        raise found
    return Generated(tracking_id, None, fallback, fallback=found)


def object_of(response: httpx.Response) -> dict[str, Any]:
    body: dict[str, Any] = response.json()
    return body


def delay_of(response: httpx.Response) -> DelayTime:
    # The setting SERVICE_WORDS of the service names the member.
    found = next(value for value in response.json().values() if isinstance(value, dict) and "delay_time" in value)
    return DelayTime(found["delay_id"], found["delay_time"])


def queued_of(response: httpx.Response) -> Queued:
    headers = response.headers
    return Queued(
        headers.get("parlance-delivery-id", ""),
        headers.get("parlance-tracking-id", ""),
        headers.get("idempotent-replayed") == "true",
    )


def events_of(response: httpx.Response) -> EventAnswer:
    body = response.json()
    items = [
        EventVerdict(item["index"], item["status"], item.get("pointer"), item.get("reason")) for item in body["items"]
    ]
    return EventAnswer(body["received"], items)
