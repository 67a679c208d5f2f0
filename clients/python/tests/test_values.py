"""Tests how the client converts values. The service of `test_client.py` answers the calls."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import unittest
import uuid
from collections import OrderedDict, UserString, deque, namedtuple
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum
from pathlib import Path, PurePosixPath
from typing import Any
from unittest import mock

import httpx

sys.path.insert(0, str(Path(__file__).parent.parent))

from parlance import AsyncParlance, Parlance, ParlanceInvalidValue  # noqa: E402

ID = uuid.UUID("0b9c7f7e-7b1f-4d36-9d3e-3f2a1f0c9b11")


class Tier(Enum):
    GOLD = "gold"


class Stock(IntEnum):
    LOW = 2


class Detached(Mapping[str, Any]):
    """Fails when it is read, as rows of a database do without their session."""

    def __getitem__(self, name: str) -> Any:
        raise LookupError("no session")

    def __iter__(self) -> Iterator[str]:
        return iter(["price"])

    def __len__(self) -> int:
        return 1


@dataclass
class Product:
    title: str
    price: Decimal


Point = namedtuple("Point", "x y")


class Kind:
    def __init__(self, kind: str, itemsize: int) -> None:
        self.kind, self.itemsize = kind, itemsize


class Scalar:
    """Imitates a scalar or an array of numpy, which the tests do not install."""

    def __init__(self, value: Any, kind: str = "f", shape: tuple[int, ...] = (), size: int = 8) -> None:
        self.value, self.dtype, self.shape = value, Kind(kind, size), shape

    def tolist(self) -> Any:
        return self.value

    def __str__(self) -> str:
        return str(self.value)

    def __iter__(self) -> Any:
        return (Scalar(item, self.dtype.kind) for item in self.value)


class Recorded(httpx.BaseTransport):
    """Keeps the last request, and answers as every call wants it."""

    def __init__(self) -> None:
        self.request: httpx.Request | None = None

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.request = request
        content = {"tracking_id": "t", "copy": {"id": "a", "vars": {"s": "x"}}}
        is_batch = request.url.path.startswith("/api/batch-generate")
        other = {"status": "ok", "items": [], "deliveries": [], "id": "d", "d": {"delay_time": "x"}}
        return httpx.Response(200, json={"t": content} if is_batch else {**content, **other})


class Values(unittest.TestCase):
    def setUp(self) -> None:
        self.recorded = Recorded()
        self.client = Parlance("http://127.0.0.1:1", "o", "k", client=httpx.Client(transport=self.recorded))

    def body(self) -> Any:
        assert self.recorded.request is not None
        return json.loads(self.recorded.request.content)

    def sent(self, value: Any) -> Any:
        self.client.generate("t", fields={"v": value})
        return self.body()["fields"]["v"]

    def refused(self, value: Any) -> ParlanceInvalidValue:
        self.recorded.request = None
        with self.assertRaises(ParlanceInvalidValue) as raised:
            self.client.generate("t", fields={"v": value})
        self.assertIsNone(self.recorded.request, "nothing was sent")
        instead = self.client.generate("t", fields={"v": value}, fallback={"s": "F"})
        self.assertEqual(instead.vars, {"s": "F"})
        self.assertIsInstance(instead.fallback, ParlanceInvalidValue)
        return raised.exception

    def test_conversions_in_fields(self) -> None:
        aware = datetime(2026, 3, 14, 9, 30, tzinfo=timezone(timedelta(hours=2)))
        for value, expected in [
            (Decimal("1.10"), "1.10"),
            (Decimal("1E+2"), "100"),
            (Decimal("-0.00"), "-0.00"),
            (aware, "2026-03-14T09:30:00+02:00"),
            (datetime(2026, 3, 14), "2026-03-14T00:00:00"),
            (date(2026, 3, 14), "2026-03-14"),
            (time(9, 30), "09:30:00"),
            (ID, str(ID)),
            (Tier.GOLD, "gold"),
            (Stock.LOW, 2),
            (Product("Hat", Decimal("9.90")), {"title": "Hat", "price": "9.90"}),
            (Point(1, Decimal("2.0")), {"x": 1, "y": "2.0"}),
            ((1, 2), [1, 2]),
            (deque([1]), [1]),
            (range(2), [0, 1]),
            ({"b", "a"}, ["a", "b"]),
            (frozenset({2, 1}), [1, 2]),
            ({"k": 1}.keys(), ["k"]),
            (OrderedDict(a=None), {"a": None}),
            ({Tier.GOLD: 1, 7: 2, ID: 3, date(2026, 1, 2): 4}, {"gold": 1, "7": 2, str(ID): 3, "2026-01-02": 4}),
            (PurePosixPath("/a/b"), "/a/b"),
            (UserString("Ann"), "Ann"),
            (Scalar(1.5), 1.5),
            (Scalar(0.1, size=4), 0.1),
            ({"k": 1}.values(), [1]),
            (Scalar(True, "b"), True),
            (Scalar([1, 2], "i", (2,)), [1, 2]),
            (Scalar("2026-03-14T00:00:00.000000000", "M"), "2026-03-14T00:00:00.000000000"),
            (Scalar(["2026-03-14", "2026-03-15"], "M", (2,)), ["2026-03-14", "2026-03-15"]),
            (12345678901234567890, 12345678901234567890),
            ([True, 1.5, "é", None], [True, 1.5, "é", None]),
        ]:
            with self.subTest(value=value):
                self.assertEqual(self.sent(value), expected)

    def test_refusals_name_the_place_before_anything_is_sent(self) -> None:
        circular: dict[str, Any] = {}
        circular["again"] = [circular]
        deep: Any = 1
        for _ in range(200):
            deep = [deep]
        for value, path, words in [
            (float("nan"), "fields.v", "nan"),
            (float("-inf"), "fields.v", "-inf"),
            (Decimal("NaN"), "fields.v", "NaN"),
            (Decimal("Infinity"), "fields.v", "Infinity"),
            (Decimal("1E+999999"), "fields.v", "digits"),
            (10**5000, "fields.v", "digits"),
            (b"x", "fields.v", "decode"),
            ({"a": [1, bytearray(b"x")]}, "fields.v.a[1]", "decode"),
            (timedelta(1), "fields.v", "timedelta"),
            (1j, "fields.v", "complex"),
            (object(), "fields.v", "object"),
            (print, "fields.v", "function"),
            (Product, "fields.v", "class"),
            ((item for item in [1]), "fields.v", "generator"),
            ({(1, 2): 3}, "fields.v", "(1, 2)"),
            ({1: "a", "1": "b"}, "fields.v.1", "two keys"),
            ("\ud800", "fields.v", "surrogate"),
            (Scalar("NaT", "M"), "fields.v", "NaT"),
            (Scalar(float("nan")), "fields.v", "nan"),
            (circular, "fields.v.again[0]", "itself"),
            (deep, "fields.v" + "[0]" * 98, "nested"),
            (mock.sentinel.x, "fields.v", "of the type"),
            ({"items": [Detached()]}, "fields.v.items[0]", "cannot be read: LookupError: no session"),
            (range(10**9), "fields.v", "1000000000 elements"),
        ]:
            with self.subTest(path=path, words=words):
                error = self.refused(value)
                self.assertEqual(error.path, path)
                self.assertIn(words, error.detail)
                self.assertEqual(str(error), f"{error.path} {error.detail}")

    def test_other_arguments(self) -> None:
        aware = datetime(2026, 3, 14, tzinfo=timezone.utc)
        self.client.generate("t", user_id=ID, tracking_id=ID, attrs={"tier": Tier.GOLD, "price": Decimal("1.0")})  # type: ignore[arg-type]
        body = self.body()
        self.assertEqual((body["user_id"], body["tracking_id"]), (str(ID), str(ID)))
        self.assertEqual(body["attrs"], {"tier": "gold", "price": "1.0"})

        self.client.deliver("t", "a@b.example", idempotency_key=ID, send_at=aware, epsilon=Decimal("0.1"))  # type: ignore[arg-type]
        body = self.body()
        self.assertEqual((body["send_at"], body["epsilon"]), ("2026-03-14T00:00:00+00:00", 0.1))
        self.assertEqual(self.recorded.request and self.recorded.request.headers["idempotency-key"], str(ID))

        self.client.send_events([{"event": "conversion", "value": Decimal("49.90"), "occurred_at": aware, "user_id": None}])
        [event] = self.body()
        self.assertEqual((event["value"], event["occurred_at"]), (49.9, "2026-03-14T00:00:00+00:00"))
        self.assertNotIn("user_id", event)

        self.client.generate_batch([{"template_id": "t", "tracking_id": ID}], lookback_days=Decimal(7))
        self.assertEqual(self.body()["lookback_days"], 7)
        self.assertEqual(self.body()["requests"], [{"template_id": "t", "tracking_id": str(ID)}])

        self.client.delay("a", user_id=ID)  # type: ignore[arg-type]
        self.assertEqual(dict(self.recorded.request.url.params)["user_id"], str(ID))  # type: ignore[union-attr]
        self.client.deliveries(state=Tier.GOLD, limit=5)  # type: ignore[arg-type]
        self.assertEqual(dict(self.recorded.request.url.params), {"state": "gold", "limit": "5"})  # type: ignore[union-attr]
        self.client.delivery(ID)  # type: ignore[arg-type]

    def test_every_call_refuses_by_name(self) -> None:
        naive = datetime(2026, 3, 14)
        calls: Mapping[str, Any] = {
            "attrs.tier": lambda: self.client.generate("t", attrs={"tier": b"gold"}),
            "fields.v": lambda: self.client.generate_batch([{"template_id": "t"}], fields={"v": b"x"}),
            "requests[1].tracking_id": lambda: self.client.generate_batch([{"template_id": "t"}, {"tracking_id": b"x"}]),
            "requests[0].template_id": lambda: self.client.generate_batch([{"tracking_id": "x"}]),
            "requests[0]": lambda: self.client.generate_batch(["t"]),  # type: ignore[list-item]
            "send_at": lambda: self.client.deliver("t", "a@b.example", send_at=naive),
            "idempotency_key": lambda: self.client.deliver("t", "a@b.example", idempotency_key="Bestellung für 1"),
            "events[0].value": lambda: self.client.send_events([{"event": "conversion", "value": float("nan")}]),
            "events[1].occurred_at": lambda: self.client.send_events([{"event": "open"}, {"event": "open", "occurred_at": naive}]),
            "events[0]": lambda: self.client.send_events([1]),  # type: ignore[list-item]
            "events": lambda: self.client.send_events({"event": "open"}),  # type: ignore[arg-type]
            "requests": lambda: self.client.generate_batch(None),  # type: ignore[arg-type]
            "user_id": lambda: self.client.delay("a", user_id=[1]),  # type: ignore[arg-type]
            "limit": lambda: self.client.deliveries(limit=float("nan")),  # type: ignore[arg-type]
            "id": lambda: self.client.cancel_delivery(None),  # type: ignore[arg-type]
        }
        for path, call in calls.items():
            with self.subTest(path=path):
                self.recorded.request = None
                with self.assertRaises(ParlanceInvalidValue) as raised:
                    call()
                self.assertEqual(raised.exception.path, path)
                self.assertIsNone(self.recorded.request)


class ValuesOfTheService(unittest.TestCase):
    def test_texts_of_the_service(self) -> None:
        url, org, key = os.environ["PARLANCE_URL"], os.environ["PARLANCE_ORG"], os.environ["PARLANCE_KEY"]
        with Parlance(url, org, key, timeout=20) as client:
            content = client.generate("welcome", fields={"name": Decimal("1.10")}, fallback={"subject": "F"})
            self.assertEqual(content.vars["subject"], "Hi 1.10")
            content = client.generate("welcome", fields={"name": date(2026, 3, 14)})
            self.assertEqual(content.vars["subject"], "Hi 2026-03-14")

        async def run() -> None:
            async with AsyncParlance(url, org, key, timeout=20) as client:
                content = await client.generate("welcome", fields={"name": b"x"}, fallback={"subject": "F"})
                self.assertEqual(content.vars, {"subject": "F"})
                with self.assertRaises(ParlanceInvalidValue):
                    await client.generate("welcome", fields={"name": b"x"})

        asyncio.run(run())


if __name__ == "__main__":
    unittest.main()
