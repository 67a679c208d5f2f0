import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { tallies } from "../intake/support.ts"
import { settle, suiteOnServer } from "../learning/support.ts"
import { makeOrganization, waitUntil } from "../support/service.ts"
import { type Answer, assertProblem, type Json, parallel, pointersOf, read } from "./harness.ts"

const mebibyte = 1024 * 1024

/** JSON of exactly so many bytes that holds one event. */
const padded = (event: unknown, bytes: number) => {
  const text = JSON.stringify(event)
  return text + " ".repeat(bytes - text.length)
}

suiteOnServer("Webhooks", (server) => {
  /** An organization with a key for events. Requests are sent unchanged. */
  const organization = async (slug: string, scopes: ReadonlyArray<string> = ["generate", "events"]) => {
    const { run, service } = server()
    const key = await makeOrganization(service, slug, scopes)
    const post = async (body: unknown, headers: Record<string, string> = {}, method = "POST"): Promise<Answer> =>
      read(
        await service.request(`/api/webhook/events/${slug}`, {
          method,
          headers: { "x-api-key": key, "content-type": "application/json", ...headers },
          ...(method === "POST"
            ? { body: typeof body === "string" || body instanceof Uint8Array ? body as BodyInit : JSON.stringify(body) }
            : {}),
        }),
      )
    /** Bodies in the store, oldest first. */
    const stored = () =>
      run(Effect.flatMap(SqlClient.SqlClient, (sql) =>
        Effect.map(
          sql<{ body: Uint8Array; status: string; headers: Record<string, string> }>`
          SELECT i.body, i.status, i.headers FROM inbox i WHERE i.org_slug = ${slug} ORDER BY i.id`,
          (rows) => rows.map((row) => ({ ...row, text: new TextDecoder().decode(row.body) })),
        )))
    const inbox = async (query = "") =>
      (await service.manage("GET", `/organizations/${slug}/webhooks/events/inbox${query}`)).body
    const taken = async (bodies: number) =>
      await service.untilStored("the bodies have been looked at", ["inbox"], async () => {
        const { inbox: entries } = await inbox("?all=true&limit=100")
        return entries.length === bodies && entries.every(({ status }: Json) => status !== "pending")
      })
    return { slug, key, post, stored, inbox, taken }
  }

  /** Asserts the answer to a body that was taken. */
  const assertTaken = (answer: Answer, received: number) => {
    assert.strictEqual(answer.status, 200, answer.text)
    const { items, ...others } = answer.json
    assert.deepStrictEqual(others, { status: "ok", received })
    assert.strictEqual(items.length, received)
    assert.match(answer.headers.get("content-type") ?? "", /^application\/json/)
    assert.isTrue((answer.headers.get("x-request-id") ?? "") !== "")
  }

  it("answers the number of received items for every shape", async () => {
    const org = await organization("shapes")
    const click = { event: "click", tracking_id: "t1" }
    const bodies: ReadonlyArray<readonly [body: unknown, received: number]> = [
      [click, 1],
      [[click, click], 2],
      [{ events: [click, click, click] }, 3],
      [{ batch: [click] }, 1],
      [{ data: [click, 1, null] }, 3],
      [{ data: click, event: "open" }, 1],
      [[], 0],
      [{ events: [] }, 0],
    ]
    for (const [body, received] of bodies) assertTaken(await org.post(body), received)
    assert.strictEqual((await org.stored()).length, bodies.length)
  })

  it("rejects bodies without events, and stores nothing", async () => {
    const org = await organization("nothing")
    const bodies: ReadonlyArray<readonly [body: unknown, pointers: ReadonlyArray<string>]> = [
      [{}, ["/event"]],
      ["null", [""]],
      ["5", [""]],
      ['"text"', [""]],
      [[null, 1, "x", []], ["/0", "/1", "/2", "/3"]],
      [{ events: [{ event: "click" }] }, ["/events/0/tracking_id"]],
    ]
    for (const [body, pointers] of bodies) {
      const answer = await org.post(body)
      assertProblem(answer, 400, "invalid-request", answer.text)
      assert.deepStrictEqual(pointersOf(answer), pointers)
    }
    assert.deepStrictEqual(await org.stored(), [])
  })

  it("stores a body unchanged before it answers", async () => {
    const org = await organization("verbatim")
    const text = ' {"event" :\t"click","tracking_id":"\\u00e9-é","n":1e2, "n":2}\r\n'
    assertTaken(
      await org.post(text, { "webhook-id": "w1", "user-agent": "x", "content-type": "application/vnd.acme+json" }),
      1,
    )
    const [row] = await org.stored()
    assert.strictEqual(row!.text, text)
    assert.deepStrictEqual(row!.headers, { "content-type": "application/vnd.acme+json", "webhook-id": "w1" })
    const answers = await parallel(40, (n) => org.post({ event: "click", tracking_id: `p${n}` }))
    for (const answer of answers) assertTaken(answer, 1)
    const ids = (await org.stored()).slice(1).map((one) => JSON.parse(one.text).tracking_id)
    assert.deepStrictEqual(ids.toSorted(), Array.from({ length: 40 }, (_, n) => `p${n}`).toSorted())
    assert.notInclude(JSON.stringify(await org.stored()), org.key)
  })

  it("counts received events for decisions of this organization only, each event once", async () => {
    const { run, service } = server()
    const [mine, theirs] = [await organization("mine"), await organization("theirs")]
    for (const { slug } of [mine, theirs]) {
      await service.manage("POST", `/organizations/${slug}/templates`, {
        id: "t",
        name: "T",
        variants: [{ id: "a", vars: { s: "a" } }],
      })
    }
    for (const org of [mine, theirs]) {
      for (const id of ["t1", "t2"]) {
        await service.generate(org.slug, org.key, { template_id: "t", tracking_id: id })
      }
    }
    const click = { event: "click", tracking_id: "t1" }
    // For a body with one event, the header overrides the event's own id.
    assertTaken(await mine.post(click, { "webhook-id": "w1" }), 1)
    assertTaken(await mine.post({ ...click, tracking_id: "t2" }, { "webhook-id": "w1" }), 1)
    assertTaken(await mine.post([click, click]), 2)
    assertTaken(await mine.post([click]), 1)
    await mine.taken(4)
    const { inbox } = await mine.inbox("?all=true")
    assert.deepStrictEqual(inbox.map(({ duplicates, events }: Json) => [events, duplicates]), [
      [0, 1],
      [1, 1],
      [0, 1],
      [1, 0],
    ])
    await run(settle("mine"))
    await run(settle("theirs"))
    const lines = async (slug: string) => (await run(tallies(slug))).map((line) => line.split(": ")[1])
    assert.deepStrictEqual(await lines("mine"), ["click 1, decisions 2"])
    assert.deepStrictEqual(await lines("theirs"), ["decisions 2"])
    assert.deepStrictEqual((await theirs.inbox("?all=true")).inbox, [])
  })

  it("refuses a request without a key of this organization that may send events, and stores nothing", async () => {
    const { service } = server()
    const org = await organization("locked")
    const other = await organization("locked-other")
    const made = async (scopes: ReadonlyArray<string>) =>
      (await service.manage("POST", "/organizations/locked/keys", { name: "k", scopes })).body
    const reader = await made(["generate", "deliver"])
    const revoked = await made(["events"])
    await service.manage("DELETE", `/organizations/locked/keys/${revoked.id}`)
    const send = async (headers: Record<string, string>, slug = "locked") =>
      read(
        await service.request(`/api/webhook/events/${slug}`, {
          method: "POST",
          headers: { "content-type": "application/json", ...headers },
          body: JSON.stringify({ event: "click", tracking_id: "t1" }),
        }),
      )
    const wrong = `${org.key.slice(0, -2)}${org.key.endsWith("00") ? "11" : "00"}`
    const unauthorized: ReadonlyArray<Record<string, string>> = [
      {},
      { "x-api-key": "" },
      { "x-api-key": "nonsense" },
      { "x-api-key": wrong },
      { authorization: `Basic ${org.key}` },
      { authorization: "Bearer" },
      { "x-api-key": revoked.key },
      { "x-api-key": org.key, authorization: `Bearer ${other.key}` },
      { "x-api-key": org.key, authorization: `Bearer ${wrong}` },
    ]
    for (const headers of unauthorized) {
      const answer = await send(headers)
      assertProblem(answer, 401, undefined, JSON.stringify(headers))
      assert.isTrue((answer.headers.get("www-authenticate") ?? "") !== "")
    }
    for (const headers of [{ "x-api-key": reader.key }, { "x-api-key": other.key }]) {
      assertProblem(await send(headers), 403)
    }
    // The answer does not reveal whether an organization exists.
    const [unknown, foreign] = [
      await send({ "x-api-key": org.key }, "no-such-org"),
      await send({ "x-api-key": org.key }, "locked-other"),
    ]
    assertProblem(unknown, 403)
    assertProblem(foreign, 403)
    assert.deepStrictEqual(
      [unknown.json.type, unknown.json.title],
      [foreign.json.type, foreign.json.title],
    )
    assert.deepStrictEqual(await org.stored(), [])
    assert.deepStrictEqual(await other.stored(), [])

    assertTaken(await send({ authorization: `Bearer ${org.key}` }), 1)
    assertTaken(await send({ authorization: `bearer ${org.key}`, "x-api-key": org.key }), 1)
    assert.strictEqual((await org.stored()).length, 2)
  })

  it("checks the key before the body", async () => {
    const { service } = server()
    await organization("order")
    const answer = await read(
      await service.request("/api/webhook/events/order", {
        method: "POST",
        headers: { "content-type": "text/plain" },
        body: "no json",
      }),
    )
    assertProblem(answer, 401)
  })

  it("rejects bodies that are not JSON, and stores nothing", async () => {
    const org = await organization("malformed")
    const cases: ReadonlyArray<string | Uint8Array> = [
      "",
      " ",
      "{",
      '{"event":"click"',
      "{'event':1}",
      '{"event":"click"}{"event":"click"}',
      "event=click",
      "NaN",
      new Uint8Array([0x22, 0xff, 0x22]),
    ]
    for (const body of cases) {
      const answer = await org.post(body)
      assertProblem(answer, 400, "invalid-request", String(body))
      assert.deepStrictEqual(pointersOf(answer), [""])
    }
    assert.deepStrictEqual(await org.stored(), [])
  })

  it("rejects other types and encodings of a body", async () => {
    const org = await organization("types")
    const body = { event: "click", tracking_id: "t1" }
    const refused: ReadonlyArray<Record<string, string>> = [
      { "content-type": "text/plain" },
      { "content-type": "application/x-www-form-urlencoded" },
      { "content-type": "application/json; charset=iso-8859-1" },
      { "content-type": "application/x-ndjson" },
      { "content-encoding": "compress" },
      { "content-encoding": "gzip, gzip" },
    ]
    for (const headers of refused) assertProblem(await org.post(body, headers), 415, undefined, JSON.stringify(headers))
    assert.deepStrictEqual(await org.stored(), [])
    const taken: ReadonlyArray<Record<string, string>> = [
      { "content-type": "application/json; charset=UTF-8" },
      { "content-encoding": "identity" },
    ]
    for (const headers of taken) assertTaken(await org.post(body, headers), 1)
    const cloudEvent = { specversion: "1.0", id: "1", source: "/s", type: "click", data: body }
    assertTaken(await org.post(cloudEvent, { "content-type": "Application/CloudEvents+JSON" }), 1)
  })

  it("accepts bodies up to 8 MiB and rejects larger ones, declared or not", async () => {
    const { service } = server()
    const org = await organization("large")
    const event = { event: "click", tracking_id: "t1" }
    for (const bytes of [mebibyte, mebibyte + 1, 3 * mebibyte, 8 * mebibyte]) {
      assertTaken(await org.post(padded(event, bytes)), 1)
    }
    assertProblem(await org.post(padded(event, 8 * mebibyte + 1)), 413)
    const streamed = async (bytes: number) => {
      let left = bytes
      const first = new TextEncoder().encode(JSON.stringify(event))
      const body = new ReadableStream<Uint8Array>({
        pull: (controller) => {
          if (left === bytes) {
            left -= first.length
            controller.enqueue(first)
          } else if (left > 0) {
            const size = Math.min(left, 64 * 1024)
            left -= size
            controller.enqueue(new Uint8Array(size).fill(0x20))
          } else controller.close()
        },
      })
      return read(
        await service.request("/api/webhook/events/large", {
          method: "POST",
          headers: { "x-api-key": org.key, "content-type": "application/json" },
          body,
          duplex: "half",
        } as RequestInit),
      )
    }
    assertTaken(await streamed(2 * mebibyte), 1)
    assertProblem(await streamed(9 * mebibyte), 413)
    const stored = await org.stored()
    assert.deepStrictEqual(stored.map(({ body }) => body.length / mebibyte), [
      1,
      1 + 1 / mebibyte,
      3,
      8,
      2,
    ])
    // Only the beginning of a large body is included.
    await org.taken(5)
    const { inbox } = await org.inbox("?all=true")
    assert.strictEqual(inbox[1].bytes, 8 * mebibyte)
    assert.strictEqual(inbox[1].body.length, 10_000)
    assert.deepInclude(inbox[1], { status: "done", events: 0, duplicates: 1 })
  })

  it("accepts 10,000 items in one request and rejects more", async () => {
    const org = await organization("items")
    const items = Array.from({ length: 10_001 }, (_, n) => ({ event: "open", tracking_id: `t${n}` }))
    for (const body of [items, { events: items }]) {
      const answer = await org.post(body)
      assertProblem(answer, 400, "invalid-request")
      assert.deepStrictEqual(pointersOf(answer), [""])
      assert.match(answer.json.errors[0].detail, /10,?001/)
    }
    assert.deepStrictEqual(await org.stored(), [])
    assertTaken(await org.post(items.slice(1)), 10_000)
    await org.taken(1)
    assert.deepInclude((await org.inbox("?all=true")).inbox[0], { status: "done", events: 10_000, duplicates: 0 })
  })

  it("answers other methods with the allowed ones", async () => {
    const org = await organization("methods")
    for (const method of ["GET", "PUT", "DELETE", "PATCH"]) {
      const answer = await org.post(undefined, {}, method)
      assertProblem(answer, 405, undefined, method)
      assert.strictEqual(answer.headers.get("allow"), "POST")
    }
    const { service } = server()
    assertProblem(await read(await service.request("/api/webhook/none/methods", { method: "POST" })), 404)
  })

  it("answers 503 with Retry-After while the database is unavailable, and counts a repeated request once", async () => {
    const { run, service } = server()
    const org = await organization("away")
    await service.manage("POST", "/organizations/away/templates", {
      id: "t",
      name: "T",
      variants: [{ id: "a", vars: { s: "a" } }],
    })
    for (let n = 0; n < 5; n++) {
      await service.generate("away", org.key, { template_id: "t", tracking_id: `t${n}` })
    }
    const rename = (from: string, to: string) =>
      run(Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe(`ALTER TABLE ${from} RENAME TO ${to}`)))
    const events = Array.from({ length: 5 }, (_, n) => ({ event: "click", tracking_id: `t${n}`, event_id: `e${n}` }))
    await rename("inbox", "inbox_away")
    try {
      for (const event of [...events, ...events]) {
        const answer = await org.post(event)
        assertProblem(answer, 503)
        assert.match(answer.headers.get("retry-after") ?? "", /^[1-9]\d*$/)
      }
    } finally {
      await rename("inbox_away", "inbox")
    }
    for (const event of events) {
      await waitUntil("it is taken", async () => (await org.post(event)).status === 200)
    }
    await run(settle("away"))
    assert.match((await run(tallies("away"))).join(), /^a \S+ learned: click 5, decisions 5$/)
  })
})
