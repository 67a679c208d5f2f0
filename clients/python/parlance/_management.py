"""Calls of the management API, for the blocking and the asyncio client. Each needs a scope of it, such as `templates:read`.

The methods of the blocking client return values and iterators. The methods of the asyncio client return awaitables and
asynchronous iterators.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Protocol

from . import _requests as r
from ._values import plain


class Sender(Protocol):
    def body(self, call: r.Call) -> Any:
        """Sends a call. Returns the body of its answer."""

    def rows(self, page: Callable[[str | None], r.Call], name: str, cursor: str | None) -> Any:
        """Iterates over the rows of all pages. `name` is the member of an answer with the rows."""

    def answer(self, call: r.Call) -> Any:
        """Sends a call. Returns its answer."""


def _has_id(body: r.Body) -> bool:
    return isinstance(body.get("id"), str)


def _is_change(body: r.Body) -> bool:
    return _has_id(body) or isinstance(body.get("proposals"), list)


def _has_list(name: str) -> Callable[[r.Body], bool]:
    return lambda body: isinstance(body.get(name), list)


class _Calls:
    def __init__(self, sender: Sender, org: str) -> None:
        self._sender = sender
        self._path = f"/console/api/organizations/{org}"

    def _call(self, method: str, path: str, is_answer: Callable[[r.Body], bool], **more: Any) -> r.Call:
        return r.Call(method, self._path + path, is_answer, **more)


class Templates(_Calls):
    """Templates: `client.templates`."""

    def list(self, *, archived: str | None = None, limit: int | None = None, cursor: str | None = None) -> Any:
        """Iterates over all templates with their variants, sorted by id. Requires the scope `templates:read`.

        `archived` is `false` (default), `true` or `all`. `limit` is the number of templates that one request reads, 1 to 1,000.
        """

        def page(cursor: str | None) -> r.Call:
            query = r.query_of({"archived": archived, "limit": limit, "cursor": cursor})
            return self._call("GET", "/templates", _has_list("templates"), query=query)

        return self._sender.rows(page, "templates", cursor)

    def get(self, id: str) -> Any:
        """Returns one template. Raises `ParlanceProblem` of the type `template-not-found` if it does not exist."""
        return self._sender.body(self._call("GET", f"/templates/{r.segment(id)}", _has_id))

    def create(self, template: Mapping[str, Any]) -> Any:
        """Creates a template, with variants if given. Requires the scope `templates:write`."""
        return self._sender.body(self._call("POST", "/templates", _is_change, body=plain(template), is_once=True))

    def update(self, id: str, change: Mapping[str, Any]) -> Any:
        """Changes a template. Absent members stay unchanged. Requires the scope `templates:write`."""
        return self._sender.body(self._call("PATCH", f"/templates/{r.segment(id)}", _is_change, body=plain(change)))

    def results(self, id: str, *, lookback_days: int | None = None, offset_days: int | None = None) -> Any:
        """Returns the results of the variants, with the winner if there is one. Requires the scope `results:read`."""
        query = r.query_of({"lookback_days": lookback_days, "offset_days": offset_days})
        return self._sender.body(self._call("GET", f"/templates/{r.segment(id)}/results", _has_list("variants"), query=query))


class Variants(_Calls):
    """Variants of templates: `client.variants`."""

    def create(self, template: str, variant: Mapping[str, Any]) -> Any:
        """Creates a variant. Requires the scope `templates:write`."""
        path = f"/templates/{r.segment(template)}/variants"
        return self._sender.body(self._call("POST", path, _is_change, body=plain(variant), is_once=True))

    def update(self, template: str, id: str, change: Mapping[str, Any]) -> Any:
        """Changes a variant. Absent members stay unchanged. Requires the scope `templates:write`."""
        path = f"/templates/{r.segment(template)}/variants/{r.segment(id)}"
        return self._sender.body(self._call("PATCH", path, _is_change, body=plain(change)))


class Keys(_Calls):
    """API keys: `client.keys`. Each call requires the scope `admin`."""

    def list(self) -> Any:
        """Iterates over the keys without their secrets."""
        return self._sender.rows(lambda _: self._call("GET", "/keys", _has_list("keys")), "keys", None)

    def create(self, key: Mapping[str, Any]) -> Any:
        """Creates a key. Only this answer contains the secret, as `key`."""
        is_answer = lambda body: isinstance(body.get("key"), str)  # noqa: E731
        return self._sender.body(self._call("POST", "/keys", is_answer, body=plain(key), is_once=True))

    def revoke(self, id: str) -> Any:
        """Revokes a key on all nodes within 5 seconds."""
        return self._sender.body(self._call("DELETE", f"/keys/{r.segment(id)}", lambda _: True, parse=lambda _: {}))


EXPORT_TIMEOUT = 30.0
"""Timeout of each page of an export, in seconds, unless the client has a longer one."""


def _parse_rows(content: bytes) -> Any:
    try:
        return {"rows": [json.loads(line) for line in content.split(b"\n") if line]}
    except ValueError:
        return None


class ExportedRows:
    """The rows of an export, read page by page with `for` or `async for`."""

    def __init__(self, sender: Sender, page: Callable[[str | None], r.Call], cursor: str | None) -> None:
        self._sender = sender
        self._page = page
        self.cursor = cursor
        """Continues the export after the last page whose rows were all read. Store it for the next run."""

    def _follow(self, answer: r.Answer) -> bool:
        self.cursor = answer.headers.get("parlance-cursor") or self.cursor
        return answer.headers.get("parlance-more") == "true"

    def __iter__(self) -> Any:
        while True:
            answer = self._sender.answer(self._page(self.cursor))
            yield from answer.body["rows"]
            if not self._follow(answer):
                return

    async def __aiter__(self) -> Any:
        while True:
            answer = await self._sender.answer(self._page(self.cursor))
            for row in answer.body["rows"]:
                yield row
            if not self._follow(answer):
                return


class Exports(_Calls):
    """Exports for a warehouse: `client.exports`. Each call requires the scope `results:read`.

    `cursor` continues an earlier run. Without it, `since` is the time to begin at, by default all rows that are kept. `limit` is
    the number of rows that one request reads, 1 to 5,000.
    """

    def _export(self, stream: str, since: datetime | str | None, cursor: str | None, limit: int | None) -> ExportedRows:
        def page(cursor: str | None) -> r.Call:
            query = r.query_of({"cursor": cursor, "since": since if cursor is None else None, "limit": limit})
            return self._call(
                "GET", f"/exports/{stream}", lambda _: True, query=query, parse=_parse_rows, timeout=EXPORT_TIMEOUT
            )

        return ExportedRows(self._sender, page, cursor)

    def decisions(
        self, *, since: datetime | str | None = None, cursor: str | None = None, limit: int | None = None
    ) -> ExportedRows:
        """Reads decisions: one row for each selected variant."""
        return self._export("decisions", since, cursor, limit)

    def events(
        self, *, since: datetime | str | None = None, cursor: str | None = None, limit: int | None = None
    ) -> ExportedRows:
        """Reads events: one row for each event and decision."""
        return self._export("events", since, cursor, limit)

    def deliveries(
        self, *, since: datetime | str | None = None, cursor: str | None = None, limit: int | None = None
    ) -> ExportedRows:
        """Reads deliveries: one row for each queued message."""
        return self._export("deliveries", since, cursor, limit)
