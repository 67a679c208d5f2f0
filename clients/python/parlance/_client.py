from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any

import httpx

from . import _requests as r
from ._errors import ParlanceInvalidValue, ParlanceProblem, ParlanceUnavailable
from ._management import Exports, Keys, Templates, Variants
from ._types import DelayTime, EventAnswer, Generated, Queued

Attributes = Mapping[str, Any]
"""Values for targeting: strings, numbers, booleans, or lists of these. The service compares them in lowercase."""


class Parlance:
    """The API of the service for one organization, with one API key.

    `timeout` is the timeout of each attempt, in seconds. It applies separately to connecting, to sending and to the answer. A late
    answer ends with its next part, which arrives within another `timeout`. `retries` is the maximum number of retries of a call
    that got no answer, or an answer after which a retry may succeed. Retries have the same tracking id, event id or idempotency
    key, so that the service carries out the call once. Methods raise `ParlanceProblem` if the service refuses a request,
    `ParlanceUnavailable` if no answer arrived, and `ParlanceInvalidValue` for an argument that has no form in JSON, before
    anything is sent.
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
        self._headers = {"X-Api-Key": api_key, "User-Agent": r.USER_AGENT}
        self._requests = r.Requests(org)
        self.templates = Templates(self, self._requests.org)
        self.variants = Variants(self, self._requests.org)
        self.keys = Keys(self, self._requests.org)
        self.exports = Exports(self, self._requests.org)
        self._owned = client is None
        self._client = client or httpx.Client()

    def __enter__(self) -> Parlance:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections. Does nothing if the constructor received a `client`."""
        if self._owned:
            self._client.close()

    def _attempt(self, call: r.Call) -> r.Answer:
        timeout = max(self._timeout, call.timeout)
        content = r.Content(timeout)
        with self._client.stream(
            call.method,
            self._url + call.path,
            params=call.query,
            json=call.body,
            headers={**self._headers, **(call.headers or {})},
            timeout=timeout,
            follow_redirects=False,
        ) as response:
            for part in response.iter_bytes():
                content.add(part)
        return r.checked(call, response, content.parsed(response, call))

    def _send(self, call: r.Call) -> r.Answer:
        attempts = 1 + self._retries
        for attempt in range(1, attempts + 1):
            try:
                return self._attempt(call)
            except (httpx.RequestError, r.NotAnswered, r.TooLate, ParlanceProblem) as error:
                pause = r.pause_after(error, call, attempt, attempts, self._url, max(self._timeout, call.timeout))
            time.sleep(pause)
        raise AssertionError("the last attempt returns or raises")

    def body(self, call: r.Call) -> r.Body:
        return self._send(call).body

    def answer(self, call: r.Call) -> r.Answer:
        return self._send(call)

    def rows(self, page: Callable[[str | None], r.Call], name: str, cursor: str | None) -> Iterator[Any]:
        while True:
            body = self._send(page(cursor)).body
            yield from body[name]
            cursor = body.get("next_cursor")
            if cursor is None:
                return

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
        """Selects and renders the variant that works best for this user. Requires the scope `generate`.

        With `fallback`, returns these variables if the service is unavailable or has no variant that it can render, or if a
        value has no form in JSON, and raises only if the service refuses the request as faulty or unauthorized. Waits at most
        `timeout` before a retry then, even if `Retry-After` is longer.
        """
        tracking_id = tracking_id or r.new_id()
        try:
            call = self._requests.generate(
                r.LONGEST_PAUSE if fallback is None else self._timeout,
                template_id=template_id, user_id=user_id, tracking_id=tracking_id, fields=fields, attrs=attrs
            )
            found: Generated | Exception = r.generated_of(self._send(call).body)
        except (ParlanceInvalidValue, ParlanceProblem, ParlanceUnavailable) as error:
            found = error
        return r.with_fallback(str(tracking_id), found, fallback)

    def generate_batch(
        self,
        requests: Sequence[Mapping[str, Any]],
        *,
        user_id: str | None = None,
        fields: Mapping[str, Any] | None = None,
        attrs: Attributes | None = None,
        **options: Any,
    ) -> dict[str, Generated]:
        """Selects and renders variants of several templates for one user. Requires the scope `generate`.

        Returns contents by template id, and sends up to 20 requests at a time. `requests` have `template_id` and, optionally,
        `copy_id` and `tracking_id`. `options` are options of the API, such as `lookback_days`. Raises `ValueError` if a
        template is requested twice.
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
        """Returns the recommended send time of a message to this person. Requires the scope `generate`."""
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
        """Queues one e-mail. Requires the scope `deliver`.

        Raises `ParlanceProblem` if the service refuses the message: with the type `recipient-suppressed` for an address on the
        suppression list, and `held-out` or `send-nothing` for a person who gets no messages. The idempotency key identifies the message for 24
        hours: a request with the same key and content queues no second message. The default is a new key, which covers retries
        of this call. Set your own key, such as the id of an order, to cover repeated calls as well. `options` are options of
        the API, such as `send_at`.
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
        """Returns a page of `deliveries`, latest first. `next_cursor` is the `cursor` of the following page."""
        call = self._requests.deliveries(state=state, email=email, cursor=cursor, limit=limit)
        return self._send(call).body

    def all_deliveries(
        self, *, state: str | None = None, email: str | None = None, limit: int | None = None
    ) -> Iterator[dict[str, Any]]:
        """Iterates over the deliveries of all pages, latest first. `limit` is the number that one request reads."""
        return self.rows(
            lambda cursor: self._requests.deliveries(state=state, email=email, cursor=cursor, limit=limit),
            "deliveries",
            None,
        )

    def cancel_deliveries(
        self, filter: Mapping[str, Any], *, idempotency_key: str | None = None
    ) -> dict[str, Any]:
        """Cancels all queued deliveries that match a filter, such as a `template_id`.

        Returns the action, which may still run: repeat the call with the same `idempotency_key` for its progress.
        """
        return self.body(self._requests.cancel_deliveries(idempotency_key, filter))

    def delivery(self, id: str) -> dict[str, Any]:
        """Returns one delivery. Raises `ParlanceProblem` of the type `delivery-not-found` if it does not exist."""
        return self._send(self._requests.delivery(id)).body

    def cancel_delivery(self, id: str) -> dict[str, Any]:
        """Cancels a queued delivery. Raises `ParlanceProblem` of the type `delivery-fixed` if it is no longer queued."""
        return self._send(self._requests.cancel_delivery(id)).body

    def send_events(self, events: Sequence[Mapping[str, Any]]) -> EventAnswer:
        """Reports up to 10,000 events. Returns a verdict on each event. Requires the scope `events`.

        An event counts once, even if it is sent several times with the same `event_id`. If all events are faulty, raises
        `ParlanceProblem`, which lists the faults.
        """
        return r.events_of(self._send(self._requests.events(events)))


class AsyncParlance:
    """The API of the service for one organization, with one API key, for asyncio.

    `timeout` is the timeout of each attempt, in seconds. `retries` is the maximum number of retries of a call that got no answer,
    or an answer after which a retry may succeed. Retries have the same tracking id, event id or idempotency key, so that the
    service carries out the call once. Methods raise `ParlanceProblem` if the service refuses a request, `ParlanceUnavailable` if no
    answer arrived, and `ParlanceInvalidValue` for an argument that has no form in JSON, before anything is sent.
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
        self._headers = {"X-Api-Key": api_key, "User-Agent": r.USER_AGENT}
        self._requests = r.Requests(org)
        self.templates = Templates(self, self._requests.org)
        self.variants = Variants(self, self._requests.org)
        self.keys = Keys(self, self._requests.org)
        self.exports = Exports(self, self._requests.org)
        self._owned = client is None
        self._client = client or httpx.AsyncClient()

    async def __aenter__(self) -> AsyncParlance:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes the connections. Does nothing if the constructor received a `client`."""
        if self._owned:
            await self._client.aclose()

    async def _attempt(self, call: r.Call) -> r.Answer:
        timeout = max(self._timeout, call.timeout)
        content = r.Content(timeout)
        async with self._client.stream(
            call.method,
            self._url + call.path,
            params=call.query,
            json=call.body,
            headers={**self._headers, **(call.headers or {})},
            timeout=timeout,
            follow_redirects=False,
        ) as response:
            async for part in response.aiter_bytes():
                content.add(part)
        return r.checked(call, response, content.parsed(response, call))

    async def _send(self, call: r.Call) -> r.Answer:
        attempts = 1 + self._retries
        for attempt in range(1, attempts + 1):
            try:
                # The `timeout` of httpx restarts with each part of the answer.
                return await asyncio.wait_for(self._attempt(call), max(self._timeout, call.timeout))
            except (httpx.RequestError, asyncio.TimeoutError, r.NotAnswered, r.TooLate, ParlanceProblem) as error:
                pause = r.pause_after(error, call, attempt, attempts, self._url, max(self._timeout, call.timeout))
            await asyncio.sleep(pause)
        raise AssertionError("the last attempt returns or raises")

    async def body(self, call: r.Call) -> r.Body:
        return (await self._send(call)).body

    async def answer(self, call: r.Call) -> r.Answer:
        return await self._send(call)

    async def rows(self, page: Callable[[str | None], r.Call], name: str, cursor: str | None) -> AsyncIterator[Any]:
        while True:
            body = (await self._send(page(cursor))).body
            for row in body[name]:
                yield row
            cursor = body.get("next_cursor")
            if cursor is None:
                return

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
        """Selects and renders the variant that works best for this user. Requires the scope `generate`.

        With `fallback`, returns these variables if the service is unavailable or has no variant that it can render, or if a
        value has no form in JSON, and raises only if the service refuses the request as faulty or unauthorized. Waits at most
        `timeout` before a retry then, even if `Retry-After` is longer.
        """
        tracking_id = tracking_id or r.new_id()
        try:
            call = self._requests.generate(
                r.LONGEST_PAUSE if fallback is None else self._timeout,
                template_id=template_id, user_id=user_id, tracking_id=tracking_id, fields=fields, attrs=attrs
            )
            found: Generated | Exception = r.generated_of((await self._send(call)).body)
        except (ParlanceInvalidValue, ParlanceProblem, ParlanceUnavailable) as error:
            found = error
        return r.with_fallback(str(tracking_id), found, fallback)

    async def generate_batch(
        self,
        requests: Sequence[Mapping[str, Any]],
        *,
        user_id: str | None = None,
        fields: Mapping[str, Any] | None = None,
        attrs: Attributes | None = None,
        **options: Any,
    ) -> dict[str, Generated]:
        """Selects and renders variants of several templates for one user. Requires the scope `generate`.

        Returns contents by template id, and sends up to 20 requests at a time. `requests` have `template_id` and, optionally,
        `copy_id` and `tracking_id`. `options` are options of the API, such as `lookback_days`. Raises `ValueError` if a
        template is requested twice.
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
        """Returns the recommended send time of a message to this person. Requires the scope `generate`."""
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
        """Queues one e-mail. Requires the scope `deliver`.

        Raises `ParlanceProblem` if the service refuses the message: with the type `recipient-suppressed` for an address on the
        suppression list, and `held-out` or `send-nothing` for a person who gets no messages. The idempotency key identifies the message for 24
        hours: a request with the same key and content queues no second message. The default is a new key, which covers retries
        of this call. Set your own key, such as the id of an order, to cover repeated calls as well. `options` are options of
        the API, such as `send_at`.
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
        """Returns a page of `deliveries`, latest first. `next_cursor` is the `cursor` of the following page."""
        call = self._requests.deliveries(state=state, email=email, cursor=cursor, limit=limit)
        return (await self._send(call)).body

    def all_deliveries(
        self, *, state: str | None = None, email: str | None = None, limit: int | None = None
    ) -> AsyncIterator[dict[str, Any]]:
        """Iterates over the deliveries of all pages, latest first. `limit` is the number that one request reads."""
        return self.rows(
            lambda cursor: self._requests.deliveries(state=state, email=email, cursor=cursor, limit=limit),
            "deliveries",
            None,
        )

    async def cancel_deliveries(
        self, filter: Mapping[str, Any], *, idempotency_key: str | None = None
    ) -> dict[str, Any]:
        """Cancels all queued deliveries that match a filter, such as a `template_id`.

        Returns the action, which may still run: repeat the call with the same `idempotency_key` for its progress.
        """
        return await self.body(self._requests.cancel_deliveries(idempotency_key, filter))

    async def delivery(self, id: str) -> dict[str, Any]:
        """Returns one delivery. Raises `ParlanceProblem` of the type `delivery-not-found` if it does not exist."""
        return (await self._send(self._requests.delivery(id))).body

    async def cancel_delivery(self, id: str) -> dict[str, Any]:
        """Cancels a queued delivery. Raises `ParlanceProblem` of the type `delivery-fixed` if it is no longer queued."""
        return (await self._send(self._requests.cancel_delivery(id))).body

    async def send_events(self, events: Sequence[Mapping[str, Any]]) -> EventAnswer:
        """Reports up to 10,000 events. Returns a verdict on each event. Requires the scope `events`.

        An event counts once, even if it is sent several times with the same `event_id`. If all events are faulty, raises
        `ParlanceProblem`, which lists the faults.
        """
        return r.events_of(await self._send(self._requests.events(events)))
