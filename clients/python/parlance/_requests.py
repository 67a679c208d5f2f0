"""Requests and answers without input and output, for the blocking and the asyncio client."""

from __future__ import annotations

import platform
import random
import time
import uuid
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import quote

import httpx

from ._causes import NotAnswered, TooLate, cause_of
from ._errors import ParlanceInvalidValue, ParlanceProblem, ParlanceUnavailable
from ._types import DelayTime, EventAnswer, EventVerdict, Generated, Queued
from ._values import parameter, plain
from ._version import VERSION

LONGEST_PAUSE = 30.0
"""Maximum pause between two attempts, in seconds. If the service requests a longer pause, the call fails."""

PASSING = {408, 425, 429, 500, 502, 503, 504}
"""Statuses after which a retry may succeed."""

BATCH_SIZE = 20


MAX_BYTES = 32 * 1024 * 1024
"""Maximum size of an answer in bytes, far above the size of any answer of the service."""


USER_AGENT = f"parlance-python/{VERSION} ({platform.python_implementation()}/{platform.python_version()}; httpx/{httpx.__version__})"

Body = dict[str, Any]


@dataclass(frozen=True)
class Call:
    method: str
    path: str
    is_answer: Callable[[Body], bool]
    """Whether an object is an answer to this call. A proxy or another service may send other objects."""
    body: Any = None
    query: Mapping[str, str] | None = None
    headers: Mapping[str, str] | None = None
    longest_pause: float = LONGEST_PAUSE
    parse: Callable[[bytes], Any] | None = None
    """Reads the content of an answer. Returns None for other content. Default: reads JSON."""
    is_once: bool = False
    """Whether a retry could carry out the call twice. Such a call is retried only if the service did not accept it."""
    timeout: float = 0.0
    """Minimum timeout of an attempt, in seconds."""


@dataclass(frozen=True)
class Answer:
    headers: httpx.Headers
    body: Body


def _is_content(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("tracking_id"), str) and isinstance(value.get("copy"), dict)


def _is_delay_time(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("delay_time"), str)


def _is_delivery(body: Body) -> bool:
    return isinstance(body.get("id"), str)


def _without_none(members: Any) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


def query_of(parameters: Mapping[str, Any]) -> dict[str, str]:
    return {name: parameter(value, name) for name, value in _without_none(parameters).items()}


def _objects(items: Iterable[Any], path: str) -> list[dict[str, Any]]:
    """Returns items as JSON objects. Raises `ParlanceInvalidValue` for an item without members."""
    if not isinstance(items, Iterable) or isinstance(items, (str, bytes, Mapping)):
        raise ParlanceInvalidValue(path, "must be a list")
    found = []
    for index, item in enumerate(items):
        place = f"{path}[{index}]"
        converted = plain(item, place)
        if not isinstance(converted, dict):
            raise ParlanceInvalidValue(place, "must be a mapping or a dataclass")
        found.append(_without_none(converted))
    return found


def segment(value: Any, name: str = "id") -> str:
    """Returns a value as an escaped part of a path."""
    return quote(parameter(value, name), safe="")


def new_id() -> str:
    return str(uuid.uuid4())


def base_url(url: str, org: str, api_key: str) -> str:
    """Returns the URL without a slash at its end. Raises `ValueError` for options with which every request would fail."""
    if not isinstance(url, str) or not url.startswith(("http://", "https://")):
        raise ValueError(f"url must be the address of the service, such as https://parlance.example.com, not {url}")
    if not isinstance(org, str) or org == "":
        raise ValueError("org must be the organization, as it stands in paths")
    if not isinstance(api_key, str) or not api_key or not all("!" <= character <= "~" for character in api_key):
        raise ValueError("api_key must be the text of an API key, without spaces or line breaks")
    return url.rstrip("/")


def _key_of(idempotency_key: Any) -> str:
    key = new_id() if idempotency_key in (None, "") else parameter(idempotency_key, "idempotency_key")
    if not all(" " <= character <= "~" for character in key):
        raise ParlanceInvalidValue("idempotency_key", "must have only letters, digits and signs of ASCII")
    return key


class Requests:
    """Creates the calls of one organization."""

    def __init__(self, org: str) -> None:
        self.org = quote(org, safe="")

    def generate(self, longest_pause: float, **members: Any) -> Call:
        path = f"/api/generate/{self.org}"
        return Call("POST", path, _is_content, plain(_without_none(members)), longest_pause=longest_pause)

    def batches(self, requests: Sequence[Mapping[str, Any]], **shared: Any) -> Iterator[Call]:
        named = [{"tracking_id": new_id(), **request} for request in _objects(requests, "requests")]
        for index, request in enumerate(named):
            if not isinstance(request.get("template_id"), str):
                raise ParlanceInvalidValue(f"requests[{index}].template_id", "must be the id of a template")
        if len({request["template_id"] for request in named}) < len(named):
            raise ValueError("A batch must name each template once, because its result has one entry for each")
        common = plain(_without_none(shared))
        for at in range(0, len(named), BATCH_SIZE):
            group = named[at : at + BATCH_SIZE]

            def is_answer(body: Body, group: Sequence[Mapping[str, Any]] = group) -> bool:
                return all(_is_content(body.get(request["template_id"])) for request in group)

            body = {**common, "requests": group}
            yield Call("POST", f"/api/batch-generate/{self.org}", is_answer, body)

    def delay(self, **parameters: Any) -> Call:
        def is_answer(body: Body) -> bool:
            return any(_is_delay_time(value) for value in body.values())

        return Call("GET", f"/api/delay/{self.org}", is_answer, query=query_of(parameters))

    def deliver(self, idempotency_key: Any, **members: Any) -> Call:
        path = f"/api/deliver/{self.org}"
        body = plain(_without_none(members))
        headers = {"Idempotency-Key": _key_of(idempotency_key)}
        return Call("POST", path, lambda body: body.get("status") == "ok", body, headers=headers)

    def deliveries(self, **parameters: Any) -> Call:
        path = f"/api/deliveries/{self.org}"
        return Call("GET", path, lambda body: isinstance(body.get("deliveries"), list), query=query_of(parameters))

    def delivery(self, id: Any) -> Call:
        return Call("GET", f"/api/deliveries/{segment(id)}/{self.org}", _is_delivery)

    def cancel_delivery(self, id: Any) -> Call:
        return Call("POST", f"/api/deliveries/{segment(id)}/cancel/{self.org}", _is_delivery)

    def cancel_deliveries(self, idempotency_key: Any, filter: Mapping[str, Any]) -> Call:
        headers = {"Idempotency-Key": _key_of(idempotency_key)}
        path = f"/api/deliveries/cancel/{self.org}"
        return Call("POST", path, lambda body: "action" in body, plain(_without_none(filter)), headers=headers)

    def events(self, events: Sequence[Mapping[str, Any]]) -> Call:
        named = [{"event_id": new_id(), **event} for event in _objects(events, "events")]
        path = f"/api/webhook/events/{self.org}"
        return Call("POST", path, lambda body: isinstance(body.get("items"), list), named)


def _retry_after(response: httpx.Response) -> float | None:
    text: str | None = response.headers.get("retry-after")
    if text is None:
        return None
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        return float(max(0.0, parsedate_to_datetime(text).timestamp() - time.time()))
    except (ValueError, OverflowError):
        return None


class Content:
    """Collects the content of an answer. Raises `NotAnswered` if it is too large, and `TooLate` if it takes too long."""

    def __init__(self, timeout: float) -> None:
        self._ends = time.monotonic() + timeout
        self._content = bytearray()

    def add(self, part: bytes) -> None:
        self._content += part
        if len(self._content) > MAX_BYTES:
            raise NotAnswered(f"The answer is larger than {MAX_BYTES} bytes")
        if time.monotonic() > self._ends:
            raise TooLate()

    def parsed(self, response: httpx.Response, call: Call) -> Any:
        if response.is_success and call.parse is not None:
            return call.parse(bytes(self._content))
        try:
            return json.loads(self._content)
        except (ValueError, RecursionError):
            # A proxy may respond with HTML.
            return None


def checked(call: Call, response: httpx.Response, body: Any) -> Answer:
    """Returns an answer to this call. Raises `ParlanceProblem` for an error status, and `NotAnswered` for another body."""
    if response.is_success:
        if not isinstance(body, dict) or not call.is_answer(body):
            raise NotAnswered(f"The answer with status {response.status_code} is not one of Parlance")
        return Answer(response.headers, body)
    if 300 <= response.status_code <= 399:
        # The client does not follow redirects, because the target would receive the key.
        body = {
            "title": "The service redirected the request",
            "detail": f"`url` must be the address that answers itself, not {response.headers.get('location')}",
        }
    members = body if isinstance(body, dict) else {}
    raise ParlanceProblem(response.status_code, members, _retry_after(response), response.headers.get("x-request-id"))


def pause_after(error: Exception, call: Call, attempt: int, attempts: int, url: str, timeout: float) -> float:
    """Returns the pause before the next attempt, in seconds. Raises the final error if no attempt follows."""
    pause: float = min(LONGEST_PAUSE, 0.1 * 2 ** (attempt - 1)) * (0.5 + random.random() / 2)
    if isinstance(error, ParlanceProblem):
        # Added to the random pause, so that callers that were refused together do not retry together.
        pause += error.retry_after or 0.0
        may_pass = error.status == 429 if call.is_once else error.status in PASSING
        if attempt >= attempts or not may_pass or pause > call.longest_pause:
            raise error
    else:
        reason, text = cause_of(error, timeout)
        if attempt >= attempts or (call.is_once and reason not in ("refused", "dns")):
            times = "" if attempt == 1 else f" in {attempt} attempts"
            raise ParlanceUnavailable(f"{url} did not answer{times}: {text}", reason) from error
    return pause


def generated_of(content: Mapping[str, Any]) -> Generated:
    copy = content["copy"]
    return Generated(
        content["tracking_id"],
        copy.get("id"),
        copy.get("vars") or {},
        content.get("message"),
        content.get("held_out", False),
        send_nothing=content.get("send_nothing", False),
    )


def with_fallback(
    tracking_id: str, found: Generated | Exception, fallback: Mapping[str, str] | None
) -> Generated:
    """Returns the found content, or the fallback if no variant was found. Raises errors that a fallback cannot replace."""
    if isinstance(found, Generated):
        if fallback is None or found.copy_id is not None or found.held_out or found.send_nothing:
            return found
        return Generated(tracking_id, None, fallback, found.message, fallback=Exception(found.message))
    # 422: no variant can be rendered with these fields.
    helps = isinstance(found, (ParlanceUnavailable, ParlanceInvalidValue)) or (
        isinstance(found, ParlanceProblem) and (found.status in PASSING or found.status == 422 or found.status >= 500)
    )
    if fallback is None or not helps:
        raise found
    return Generated(tracking_id, None, fallback, fallback=found)


def delay_of(answer: Answer) -> DelayTime:
    # The setting SERVICE_WORDS of the service names the member.
    found = next(value for value in answer.body.values() if _is_delay_time(value))
    return DelayTime(found.get("delay_id", ""), found["delay_time"])


def queued_of(answer: Answer) -> Queued:
    headers = answer.headers
    return Queued(
        headers.get("parlance-delivery-id", ""),
        headers.get("parlance-tracking-id", ""),
        headers.get("idempotent-replayed") == "true",
    )


def events_of(answer: Answer) -> EventAnswer:
    items = [
        EventVerdict(item["index"], item["status"], item.get("pointer"), item.get("reason"))
        for item in answer.body["items"]
    ]
    return EventAnswer(answer.body.get("received", len(items)), items)
