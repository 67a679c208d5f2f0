from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

import httpx

from . import _requests as r
from ._errors import ParlanceProblem, ParlanceUnavailable
from ._types import DelayTime, EventAnswer, Generated, Queued

Attributes = Mapping[str, Any]
"""Values for targeting: strings, numbers, booleans, or lists of these. The service compares them in lowercase."""


class Parlance:
    """Calls of one organization with one API key.

    `timeout` is the time for each attempt in seconds. Connecting and sending may take as long each, and an answer that is late ends
    with its next part, at most a `timeout` later. `retries` is the number of further attempts,
    for calls that failed without an answer or may succeed later; a repeated attempt has the same tracking id, event id or idempotency key, so that nothing is
    done twice. Methods raise `ParlanceProblem` when the service refuses a request, and `ParlanceUnavailable` when no answer came.
    """

    def __init__(
        self,
        url: str,
        org: str,
        api_key: str,
        *,
        timeout: float = 2.0,
        retries: int = 2,
        client: httpx.Client | None = None,
    ) -> None:
        self._url = r.base_url(url, org, api_key)
        self._retries = retries
        self._timeout = timeout
        self._headers = {"X-Api-Key": api_key}
        self._requests = r.Requests(org)
        self._owned = client is None
        self._client = client or httpx.Client()

    def __enter__(self) -> Parlance:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections, unless `client` was given."""
        if self._owned:
            self._client.close()

    def _attempt(self, call: r.Call) -> r.Answer:
        content = r.Content(self._timeout)
        with self._client.stream(
            call.method,
            self._url + call.path,
            params=call.query,
            json=call.body,
            headers={**self._headers, **(call.headers or {})},
            timeout=self._timeout,
            follow_redirects=False,
        ) as response:
            for part in response.iter_bytes():
                content.add(part)
        return r.checked(call, response, content.parsed())

    def _send(self, call: r.Call) -> r.Answer:
        attempts = 1 + self._retries
        for attempt in range(1, attempts + 1):
            try:
                return self._attempt(call)
            except (httpx.RequestError, r.NotAnswered, ParlanceProblem) as error:
                pause = r.pause_after(error, call, attempt, attempts, self._url)
            time.sleep(pause)
        raise AssertionError("the last attempt returns or raises")

    def generate(
        self,
        template_id: str,
        *,
        user_id: str | None = None,
        tracking_id: str | None = None,
        fields: Mapping[str, Any] | None = None,
        attrs: Attributes | None = None,
        fallback: Mapping[str, str] | None = None,
    ) -> Generated:
        """Selects and renders the variant that works best for this user. Needs the scope `generate`.

        With `fallback` it answers these variables when the service cannot be reached or has no variant that can be
        rendered, and raises only for requests that are refused as faulty or unauthorized. It does not wait longer than
        `timeout` for another attempt then, whatever `Retry-After` says.
        """
        tracking_id = tracking_id or r.new_id()
        call = self._requests.generate(
            r.LONGEST_PAUSE if fallback is None else self._timeout,
            template_id=template_id, user_id=user_id, tracking_id=tracking_id, fields=fields, attrs=attrs
        )
        try:
            found: Generated | Exception = r.generated_of(self._send(call).body)
        except (ParlanceProblem, ParlanceUnavailable) as error:
            found = error
        return r.with_fallback(tracking_id, found, fallback)

    def generate_batch(
        self,
        requests: Sequence[Mapping[str, Any]],
        *,
        user_id: str | None = None,
        fields: Mapping[str, Any] | None = None,
        attrs: Attributes | None = None,
        **options: Any,
    ) -> dict[str, Generated]:
        """Selects and renders variants of several templates for one user, by template, 20 at a time. Needs the scope `generate`.

        `requests` have `template_id` and, optionally, `copy_id` and `tracking_id`. `options` are those of the API, such as
        `lookback_days`. Raises `ValueError` for a template that is requested twice, because the result has one entry for each.
        """
        found: dict[str, Generated] = {}
        for call in self._requests.batches(requests, user_id=user_id, fields=fields, attrs=attrs, **options):
            for template, content in self._send(call).body.items():
                found[template] = r.generated_of(content)
        return found

    def delay(
        self,
        delay_id: str,
        *,
        template_id: str | None = None,
        user_id: str | None = None,
        email: str | None = None,
    ) -> DelayTime:
        """When to send a message to this person. Needs the scope `generate`."""
        call = self._requests.delay(delay_id=delay_id, template_id=template_id, user_id=user_id, email=email)
        return r.delay_of(self._send(call))

    def deliver(
        self,
        template_id: str,
        email: str,
        *,
        idempotency_key: str | None = None,
        fields: Mapping[str, Any] | None = None,
        attrs: Attributes | None = None,
        **options: Any,
    ) -> Queued:
        """Queues one e-mail. Needs the scope `deliver`.

        Raises `ParlanceProblem` of the type `recipient-suppressed` for an address on the suppression list and `held-out` for a
        person who gets no messages. Within 24 hours the same idempotency key and request is the same message; give one of your
        own, such as the id of an order, to protect against repeated calls. `options` are those of the API, such as `send_at`.
        """
        call = self._requests.deliver(
            idempotency_key, template_id=template_id, email=email, fields=fields, attrs=attrs, **options
        )
        return r.queued_of(self._send(call))

    def deliveries(
        self,
        *,
        state: str | None = None,
        email: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> dict[str, Any]:
        """A page of deliveries, the latest first: `deliveries`, and `next`, which is the `cursor` of the page after it."""
        call = self._requests.deliveries(state=state, email=email, cursor=cursor, limit=limit)
        return self._send(call).body

    def delivery(self, id: str) -> dict[str, Any]:
        """One delivery. Raises `ParlanceProblem` of the type `delivery-not-found`."""
        return self._send(self._requests.delivery(id)).body

    def cancel_delivery(self, id: str) -> dict[str, Any]:
        """Cancels a delivery that has not left. Raises `ParlanceProblem` of the type `delivery-fixed` once it has."""
        return self._send(self._requests.cancel_delivery(id)).body

    def send_events(self, events: Sequence[Mapping[str, Any]]) -> EventAnswer:
        """Reports up to 10,000 events, and answers with a verdict on each. Needs the scope `events`.

        Each event counts once, however often it is sent with one `event_id`. If all are faulty, raises `ParlanceProblem` that
        lists the faults.
        """
        return r.events_of(self._send(self._requests.events(events)))


class AsyncParlance:
    """Calls of one organization with one API key, for asyncio.

    `timeout` is the time for each attempt in seconds. `retries` is the number of further attempts, for calls that failed without
    an answer or may succeed later; a repeated attempt has the same tracking id, event id or idempotency key, so that nothing is
    done twice. Methods raise `ParlanceProblem` when the service refuses a request, and `ParlanceUnavailable` when no answer came.
    """

    def __init__(
        self,
        url: str,
        org: str,
        api_key: str,
        *,
        timeout: float = 2.0,
        retries: int = 2,
        client: httpx.AsyncClient | None = None,
    ) -> None:
        self._url = r.base_url(url, org, api_key)
        self._retries = retries
        self._timeout = timeout
        self._headers = {"X-Api-Key": api_key}
        self._requests = r.Requests(org)
        self._owned = client is None
        self._client = client or httpx.AsyncClient()

    async def __aenter__(self) -> AsyncParlance:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes the connections, unless `client` was given."""
        if self._owned:
            await self._client.aclose()

    async def _attempt(self, call: r.Call) -> r.Answer:
        content = r.Content(self._timeout)
        async with self._client.stream(
            call.method,
            self._url + call.path,
            params=call.query,
            json=call.body,
            headers={**self._headers, **(call.headers or {})},
            timeout=self._timeout,
            follow_redirects=False,
        ) as response:
            async for part in response.aiter_bytes():
                content.add(part)
        return r.checked(call, response, content.parsed())

    async def _send(self, call: r.Call) -> r.Answer:
        attempts = 1 + self._retries
        for attempt in range(1, attempts + 1):
            try:
                # `timeout` of httpx begins anew with each part of the answer.
                return await asyncio.wait_for(self._attempt(call), self._timeout)
            except (httpx.RequestError, asyncio.TimeoutError, r.NotAnswered, ParlanceProblem) as error:
                pause = r.pause_after(error, call, attempt, attempts, self._url)
            await asyncio.sleep(pause)
        raise AssertionError("the last attempt returns or raises")

    async def generate(
        self,
        template_id: str,
        *,
        user_id: str | None = None,
        tracking_id: str | None = None,
        fields: Mapping[str, Any] | None = None,
        attrs: Attributes | None = None,
        fallback: Mapping[str, str] | None = None,
    ) -> Generated:
        """Selects and renders the variant that works best for this user. Needs the scope `generate`.

        With `fallback` it answers these variables when the service cannot be reached or has no variant that can be
        rendered, and raises only for requests that are refused as faulty or unauthorized. It does not wait longer than
        `timeout` for another attempt then, whatever `Retry-After` says.
        """
        tracking_id = tracking_id or r.new_id()
        call = self._requests.generate(
            r.LONGEST_PAUSE if fallback is None else self._timeout,
            template_id=template_id, user_id=user_id, tracking_id=tracking_id, fields=fields, attrs=attrs
        )
        try:
            found: Generated | Exception = r.generated_of((await self._send(call)).body)
        except (ParlanceProblem, ParlanceUnavailable) as error:
            found = error
        return r.with_fallback(tracking_id, found, fallback)

    async def generate_batch(
        self,
        requests: Sequence[Mapping[str, Any]],
        *,
        user_id: str | None = None,
        fields: Mapping[str, Any] | None = None,
        attrs: Attributes | None = None,
        **options: Any,
    ) -> dict[str, Generated]:
        """Selects and renders variants of several templates for one user, by template, 20 at a time. Needs the scope `generate`.

        `requests` have `template_id` and, optionally, `copy_id` and `tracking_id`. `options` are those of the API, such as
        `lookback_days`. Raises `ValueError` for a template that is requested twice, because the result has one entry for each.
        """
        found: dict[str, Generated] = {}
        for call in self._requests.batches(requests, user_id=user_id, fields=fields, attrs=attrs, **options):
            for template, content in (await self._send(call)).body.items():
                found[template] = r.generated_of(content)
        return found

    async def delay(
        self,
        delay_id: str,
        *,
        template_id: str | None = None,
        user_id: str | None = None,
        email: str | None = None,
    ) -> DelayTime:
        """When to send a message to this person. Needs the scope `generate`."""
        call = self._requests.delay(delay_id=delay_id, template_id=template_id, user_id=user_id, email=email)
        return r.delay_of(await self._send(call))

    async def deliver(
        self,
        template_id: str,
        email: str,
        *,
        idempotency_key: str | None = None,
        fields: Mapping[str, Any] | None = None,
        attrs: Attributes | None = None,
        **options: Any,
    ) -> Queued:
        """Queues one e-mail. Needs the scope `deliver`.

        Raises `ParlanceProblem` of the type `recipient-suppressed` for an address on the suppression list and `held-out` for a
        person who gets no messages. Within 24 hours the same idempotency key and request is the same message; give one of your
        own, such as the id of an order, to protect against repeated calls. `options` are those of the API, such as `send_at`.
        """
        call = self._requests.deliver(
            idempotency_key, template_id=template_id, email=email, fields=fields, attrs=attrs, **options
        )
        return r.queued_of(await self._send(call))

    async def deliveries(
        self,
        *,
        state: str | None = None,
        email: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> dict[str, Any]:
        """A page of deliveries, the latest first: `deliveries`, and `next`, which is the `cursor` of the page after it."""
        call = self._requests.deliveries(state=state, email=email, cursor=cursor, limit=limit)
        return (await self._send(call)).body

    async def delivery(self, id: str) -> dict[str, Any]:
        """One delivery. Raises `ParlanceProblem` of the type `delivery-not-found`."""
        return (await self._send(self._requests.delivery(id))).body

    async def cancel_delivery(self, id: str) -> dict[str, Any]:
        """Cancels a delivery that has not left. Raises `ParlanceProblem` of the type `delivery-fixed` once it has."""
        return (await self._send(self._requests.cancel_delivery(id))).body

    async def send_events(self, events: Sequence[Mapping[str, Any]]) -> EventAnswer:
        """Reports up to 10,000 events, and answers with a verdict on each. Needs the scope `events`.

        Each event counts once, however often it is sent with one `event_id`. If all are faulty, raises `ParlanceProblem` that
        lists the faults.
        """
        return r.events_of(await self._send(self._requests.events(events)))
