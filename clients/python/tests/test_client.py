"""Tests the client against a running service: `PARLANCE_URL`, `PARLANCE_ORG` and `PARLANCE_KEY` name it.

The key has the scopes generate, events and deliver; the template `welcome` has one variant, `only`, for everyone but `tier: none`.
The one variant of the strict template `coded` needs the field `code`.
"""

from __future__ import annotations

import asyncio
import base64
import email.utils
import hashlib
import hmac
import os
import sys
import unittest
import uuid
from datetime import datetime, timedelta, timezone
from pathlib import Path

import httpx

sys.path.insert(0, str(Path(__file__).parent.parent))

from parlance import (  # noqa: E402
    AsyncParlance,
    Parlance,
    ParlanceProblem,
    ParlanceUnavailable,
    ParlanceWebhookError,
    verify_webhook,
)

URL = os.environ["PARLANCE_URL"]
ORG = os.environ["PARLANCE_ORG"]
KEY = os.environ["PARLANCE_KEY"]


class Cut(httpx.BaseTransport):
    """Passes requests on, and loses as many answers as it is told to."""

    def __init__(self, losses: int) -> None:
        self.losses = losses
        self.attempts = 0
        self.inner = httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.attempts += 1
        response = self.inner.handle_request(request)
        if self.losses > 0:
            self.losses -= 1
            response.close()
            raise httpx.ReadError("the connection was cut")
        return response


class BlockingClient(unittest.TestCase):
    def setUp(self) -> None:
        self.client = Parlance(URL, ORG, KEY, timeout=20)
        self.addCleanup(self.client.close)

    def test_calls(self) -> None:
        generated = self.client.generate("welcome", user_id="ann", fields={"name": "Ann"}, attrs={"tier": "gold"})
        self.assertEqual(generated.copy_id, "only")
        self.assertEqual(generated.vars["subject"], "Hi Ann")
        batch = self.client.generate_batch([{"template_id": "welcome"}, *({"template_id": f"t{n}"} for n in range(30))])
        self.assertEqual(len(batch), 31)
        self.assertEqual(batch["t3"].message, "Template not found")
        self.assertTrue(self.client.delay("only", user_id="ann").delay_time.endswith("Z"))
        answer = self.client.send_events(
            [
                {"event": "click", "tracking_id": generated.tracking_id},
                {"event": "clik", "tracking_id": generated.tracking_id},
            ]
        )
        self.assertEqual([item.status for item in answer.items], ["accepted", "rejected"])
        key = f"order {uuid.uuid4()}"
        first = self.client.deliver("welcome", "ann@person.example", idempotency_key=key)
        again = self.client.deliver("welcome", "ann@person.example", idempotency_key=key)
        self.assertEqual((again.delivery_id, first.repeated, again.repeated), (first.delivery_id, False, True))
        self.assertEqual(self.client.delivery(first.delivery_id)["state"], "queued")
        self.assertEqual(len(self.client.deliveries(state="queued", limit=1)["deliveries"]), 1)
        self.assertEqual(self.client.cancel_delivery(first.delivery_id)["state"], "cancelled")

    def test_problems(self) -> None:
        with self.assertRaises(ParlanceProblem) as caught:
            self.client.generate("", attrs={"tier": [{}]})
        self.assertEqual(caught.exception.type, "invalid-request")
        self.assertEqual({fault.pointer for fault in caught.exception.errors}, {"/template_id", "/attrs/tier/0"})
        with self.assertRaises(ParlanceProblem) as caught, Parlance(URL, ORG, KEY[:-1] + "!") as stranger:
            stranger.generate("welcome", fallback={"subject": "Hello"})
        self.assertEqual(caught.exception.type, "unauthorized")

    def test_fallback(self) -> None:
        none = self.client.generate("welcome", attrs={"tier": "none"})
        self.assertEqual((none.copy_id, none.vars, none.message), (None, {}, "No candidates found"))
        instead = self.client.generate("welcome", attrs={"tier": "none"}, fallback={"subject": "Hello"})
        self.assertEqual(instead.vars, {"subject": "Hello"})
        with self.assertRaises(ParlanceProblem) as caught:
            self.client.generate("coded")
        self.assertEqual(caught.exception.status, 422)
        lacking = self.client.generate("coded", fallback={"subject": "Hello"})
        self.assertEqual((lacking.copy_id, lacking.vars), (None, {"subject": "Hello"}))
        self.assertIsInstance(lacking.fallback, ParlanceProblem)
        with Parlance("http://127.0.0.1:9", ORG, KEY, retries=1) as nowhere:
            with self.assertRaisesRegex(ParlanceUnavailable, "did not answer in 2 attempts: the connection was refused"):
                nowhere.generate("welcome")
            plain = os.environ["PARLANCE_URL"].replace("http:", "https:")
            with Parlance(plain, ORG, KEY, retries=0) as other:
                with self.assertRaisesRegex(ParlanceUnavailable, "did not answer: the service answers without TLS"):
                    other.generate("welcome")
            survived = nowhere.generate("welcome", tracking_id="t-1", fallback={"subject": "Hello"})
        self.assertEqual((survived.tracking_id, survived.vars), ("t-1", {"subject": "Hello"}))
        self.assertIsInstance(survived.fallback, ParlanceUnavailable)

    def test_attempts_do_nothing_twice(self) -> None:
        transport = Cut(1)
        with Parlance(URL, ORG, KEY, timeout=20, client=httpx.Client(transport=transport)) as client:
            generated = client.generate("welcome")
            self.assertEqual(transport.attempts, 2)
            transport.losses = 1
            answer = client.send_events([{"event": "click", "tracking_id": generated.tracking_id}])
            self.assertEqual(answer.items[0].status, "duplicate")
            transport.losses = 1
            self.assertTrue(client.deliver("welcome", "ann@person.example").repeated)


class Proxy(httpx.BaseTransport):
    """Answers in place of the service."""

    def __init__(self) -> None:
        self.answers: list[httpx.Response] = []
        self.requests = 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.requests += 1
        return self.answers.pop(0)


class AnswersOfProxies(unittest.TestCase):
    def setUp(self) -> None:
        self.proxy = Proxy()
        self.client = Parlance(URL, ORG, KEY, client=httpx.Client(transport=self.proxy, follow_redirects=True))

    def test_failures_that_pass(self) -> None:
        self.proxy.answers = [httpx.Response(200, text="<html>") for _ in range(6)]
        with self.assertRaises(ParlanceUnavailable):
            self.client.generate("welcome")
        fallback = {"subject": "Hello"}
        self.assertIsInstance(self.client.generate("welcome", fallback=fallback).fallback, ParlanceUnavailable)
        self.assertEqual(self.proxy.requests, 6)
        self.proxy.answers = [httpx.Response(429, headers={"retry-after": "20"})]
        waited = self.client.generate("welcome", fallback=fallback)
        self.assertIsInstance(waited.fallback, ParlanceProblem, "a fallback does not wait for 20 seconds")
        self.proxy.answers = [httpx.Response(503, headers={"retry-after": "31"})]
        with self.assertRaises(ParlanceProblem):
            self.client.delivery("d")

    def test_answers_of_another_form(self) -> None:
        self.client = Parlance(URL, ORG, KEY, retries=0, client=httpx.Client(transport=self.proxy))
        calls = [
            lambda: self.client.generate("welcome"),
            lambda: self.client.generate_batch([{"template_id": "welcome"}]),
            lambda: self.client.delay("only"),
            lambda: self.client.deliver("welcome", "ann@person.example"),
            lambda: self.client.deliveries(),
            lambda: self.client.delivery("d"),
            lambda: self.client.cancel_delivery("d"),
            lambda: self.client.send_events([]),
        ]
        deep = "[" * 100_000 + "]" * 100_000
        for text in ["{}", "[]", "null", '{"copy": null, "tracking_id": 5}', '{"welcome": {}}', "{", deep]:
            for call in calls:
                self.proxy.answers = [httpx.Response(200, text=text)]
                with self.assertRaises(ParlanceUnavailable):
                    call()
            self.proxy.answers = [httpx.Response(200, text=text)]
            self.assertEqual(self.client.generate("welcome", fallback={"subject": "Hello"}).vars, {"subject": "Hello"})
        self.proxy.answers = [httpx.Response(200, text='{"id": "' + "x" * (33 * 1024 * 1024) + '"}')]
        with self.assertRaises(ParlanceUnavailable) as caught:
            self.client.delivery("d")
        self.assertIn("larger", str(caught.exception.__cause__))

    def test_pauses_by_date(self) -> None:
        later = email.utils.format_datetime(datetime.now(timezone.utc) + timedelta(seconds=60))
        for date in [later, "Mon, 01 Jan 0001 00:00:00 -0000", "soon", "9" * 400]:
            self.proxy.answers = [httpx.Response(503, headers={"retry-after": date}) for _ in range(3)]
            with self.assertRaises(ParlanceProblem):
                self.client.delivery("d")
            self.assertEqual(len(self.proxy.answers), 2 if date == later or date[0] == "9" else 0, date)

    def test_failures_that_last(self) -> None:
        self.proxy.answers = [httpx.Response(404, json={"errors": ["x", None], "detail": ["x"]})]
        with self.assertRaises(ParlanceProblem) as caught:
            self.client.delivery("d")
        self.assertEqual((caught.exception.errors, caught.exception.detail), ([], None))
        self.proxy.answers = [httpx.Response(307, headers={"location": "https://elsewhere.example/"})]
        with self.assertRaisesRegex(ParlanceProblem, "not https://elsewhere.example/"):
            self.client.generate("welcome", fallback={})
        self.assertEqual(self.proxy.requests, 2, "the key was sent nowhere else")
        with self.assertRaises(ValueError):
            self.client.generate_batch([{"template_id": "a"}, {"template_id": "a"}])

    def test_names_and_ids(self) -> None:
        words = {"our_words": {"delay_id": "a", "delay_time": "2026-05-04T09:30:00Z"}}
        self.proxy.answers = [httpx.Response(200, json=words)]
        self.assertEqual(self.client.delay("a").delay_time, "2026-05-04T09:30:00Z", "SERVICE_WORDS")
        for fault in [("127.0.0.1:9", ORG, KEY), (URL, "", KEY), (URL, ORG, KEY + "\n"), (URL, ORG, None)]:
            with self.assertRaises(ValueError):
                Parlance(*fault)

    def test_absent_ids(self) -> None:
        transport = Cut(1)
        with Parlance(URL, ORG, KEY, timeout=20, client=httpx.Client(transport=transport)) as client:
            content = client.generate("welcome")
            transport.losses = 1
            event = {"event": "click", "tracking_id": content.tracking_id, "event_id": None}
            self.assertEqual(client.send_events([event]).items[0].status, "duplicate", "None is as no event id")


class SlowAnswers(unittest.TestCase):
    def test_time(self) -> None:
        async def trickle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n")
            try:
                while not reader.at_eof():
                    writer.write(b" ")
                    await writer.drain()
                    await asyncio.sleep(0.01)
            except ConnectionError:
                pass

        async def run() -> None:
            server = await asyncio.start_server(trickle, "127.0.0.1", 0)
            port = server.sockets[0].getsockname()[1]
            async with AsyncParlance(f"http://127.0.0.1:{port}", ORG, KEY, timeout=0.2, retries=0) as client:
                with self.assertRaises(ParlanceUnavailable):
                    await client.delivery("d")
            with Parlance(f"http://127.0.0.1:{port}", ORG, KEY, timeout=0.2, retries=0) as client:
                with self.assertRaises(ParlanceUnavailable):
                    await asyncio.to_thread(client.delivery, "d")
            server.close()

        asyncio.run(run())


class AsyncioClient(unittest.TestCase):
    def test_calls(self) -> None:
        async def run() -> None:
            async with AsyncParlance(URL, ORG, KEY, timeout=20) as client:
                many = await asyncio.gather(*(client.generate("welcome", fields={"name": str(n)}) for n in range(20)))
                self.assertEqual([content.vars["subject"] for content in many], [f"Hi {n}" for n in range(20)])
                self.assertEqual(len({content.tracking_id for content in many}), 20)
                with self.assertRaises(ParlanceProblem) as caught:
                    await client.delivery("nothing")
                self.assertEqual(caught.exception.type, "delivery-not-found")

        asyncio.run(run())


class Webhooks(unittest.TestCase):
    def test_signatures(self) -> None:
        key, body, now = bytes([9] * 32), b'{"type":"message.send"}', 1_800_000_000
        signature = base64.b64encode(hmac.new(key, f"m-1.{now}.".encode() + body, hashlib.sha256).digest()).decode()
        headers = {
            "Webhook-Id": "m-1",
            "Webhook-Timestamp": str(now),
            "Webhook-Signature": f"v1,AAAA v1,{signature}",
        }
        secret = "whsec_" + base64.b64encode(key).decode()
        other = "whsec_" + base64.b64encode(bytes(32)).decode()
        event = {"type": "message.send"}
        self.assertEqual(verify_webhook([other, secret], headers, body, now + 299), event)
        self.assertEqual(verify_webhook(secret, headers, body.decode(), now), event, "a single secret, and text")
        for fault, secrets, sent, content, at in (
            ("timestamp", [secret], headers, body, now + 301),
            ("signature", [other], headers, body, now),
            ("signature", [secret], headers, body + b" ", now),
            ("headers", [secret], {}, body, now),
            ("secret", ["whsec_!"], headers, body, now),
            ("secret", ["whsec_ä"], headers, body, now),
            ("headers", secret, {**headers, "Webhook-Timestamp": "9" * 5000}, body, now),
        ):
            with self.assertRaises(ParlanceWebhookError) as caught:
                verify_webhook(secrets, sent, content, at)
            self.assertEqual(caught.exception.fault, fault)


if __name__ == "__main__":
    unittest.main()
