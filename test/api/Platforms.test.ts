import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { waitUntil } from "../support/service.ts"
import { type Answer, assertProblem, parallel, read } from "./harness.ts"
import { braze, type Kind, type Message, type Platform, platforms, sfmc, whsec } from "./platformSenders.ts"
import { organizationOf, suiteOnPlatforms } from "./platformSuite.ts"

suiteOnPlatforms("Platforms", (server) => {
  const organization = organizationOf(server)

  const kinds: ReadonlyArray<Kind> = ["send", "open", "click", "conversion", "unsubscribe"]

  for (const platform of platforms) {
    const { alias, coversBody, item, secret, sign } = platform

    it(`counts the events of ${alias} for their decision, in order and out of order`, async () => {
      for (const path of [platform.segment, alias]) {
        const org = await organization(`${alias}-${path === alias ? "alias" : "neutral"}`)
        await org.put(path, { secret: secret("a") })
        const at = Date.now()
        const message = (n: number): Message => ({ tracking: `trk-${n}`, user: `u-${n}`, name: `m-${n}`, at })
        for (let n = 1; n <= 3; n++) await org.decide(`trk-${n}`, `u-${n}`)
        const of = (n: number, order: ReadonlyArray<Kind>) =>
          order.flatMap((kind) => item(kind, { ...message(n), at: at - (kind === "send" ? 60_000 : 0) }) ?? [])
        // In order; backwards, each in a body of its own; the third is sent and nothing more.
        await org.send(platform, of(1, kinds), path)
        for (const one of of(2, kinds.toReversed())) {
          await org.send(platform, [one], path)
          await org.taken()
        }
        await org.send(platform, of(3, ["send"]), path)
        await org.send(platform, of(3, ["send"]), path)
        await org.taken()
        const hasConversions = item("conversion", message(1)) !== undefined
        const counts = await org.outcomes()
        assert.deepInclude(counts, { sent: 3, open: 2, click: 2, unsubscribe: 2, conversion: hasConversions ? 2 : 0 })
        const listed = await org.events("?limit=1000")
        assert.strictEqual(listed.length, hasConversions ? 11 : 9)
        const names = ["click", ...(hasConversions ? ["conversion"] : []), "open", "sent", "unsubscribe"]
        for (const n of [1, 2]) {
          const own = await org.events(`?tracking_id=trk-${n}`)
          assert.deepStrictEqual(own.map(({ event }) => event).toSorted(), names, JSON.stringify(own))
          for (const event of own) {
            assert.deepInclude(event, {
              source: platform.segment,
              status: "attributed",
              template_id: "t",
              copy_id: "a",
            })
            assert.isBelow(Math.abs(Date.parse(event.occurred_at) - at), 70_000)
          }
        }
        const shown = await org.source(platform.segment)
        assert.deepInclude(shown, {
          platform: alias,
          enabled: true,
          set_up: true,
          path: `/api/webhook/${platform.segment}/${org.slug}`,
          events: hasConversions ? 11 : 9,
          duplicates: 1,
          not_understood: 0,
          pending: 0,
          lag_seconds: 0,
        })
        assert.isTrue((await org.stored()).every(({ status }) => status === "done"))
      }
    }, 180_000)

    it(`accepts the new and the previous secret of ${alias}, but no older one`, async () => {
      const org = await organization(`${alias}-rotation`)
      const text = JSON.stringify(platform.bodies([item("send", { tracking: "x", user: "u", name: "m", at: 1e12 })])[0])
      const statuses = async () => {
        const all = []
        for (const letter of ["a", "b", "c"]) {
          all.push((await org.post(alias, text, sign(secret(letter), text))).status)
        }
        return all
      }
      const first = await org.put(alias, { secret: secret("a") })
      assert.deepStrictEqual(first.secrets, [{ accepted_until: null }])
      assert.deepStrictEqual(await statuses(), [200, 401, 401])
      const second = await org.put(alias, { secret: secret("b") })
      assert.strictEqual(second.secrets.length, 2)
      const hours = (Date.parse(second.secrets[1].accepted_until) - Date.now()) / 3_600_000
      assert.isTrue(hours > 23.9 && hours <= 24, String(hours))
      assert.deepStrictEqual(await statuses(), [200, 200, 401])
      await org.put(alias, { settings: {} })
      assert.deepStrictEqual(await statuses(), [200, 200, 401])
      await org.put(alias, { secret: secret("c") })
      assert.deepStrictEqual(await statuses(), [401, 200, 200])
    })

    it(`refuses forged requests of ${alias} without revealing the reason`, async () => {
      const org = await organization(`${alias}-refuses`)
      const text = JSON.stringify(platform.bodies([item("send", { tracking: "x", user: "u", name: "m", at: 1e12 })])[0])
      const genuine = () => sign(secret("a"), text)
      const unset = await org.post(alias, text, genuine())
      const refusedAlike = (answer: Answer) => {
        assertProblem(answer, 401)
        const { instance: _, request_id: __, ...problem } = answer.json
        const { instance: ___, request_id: ____, ...expected } = unset.json
        assert.deepStrictEqual(problem, expected)
      }
      refusedAlike(unset)
      const { service } = server()
      refusedAlike(
        await read(
          await service.request(`/api/webhook/${alias}/no-such-organization`, {
            method: "POST",
            headers: { "content-type": "application/json", ...genuine() },
            body: text,
          }),
        ),
      )
      await org.put(alias, { secret: secret("a") })
      await org.put(alias, { enabled: false })
      refusedAlike(await org.post(alias, text, genuine()))
      assert.deepInclude(await org.source(platform.segment), { enabled: false, set_up: true })
      await org.put(alias, { enabled: true })
      assert.strictEqual((await org.post(alias, text, genuine())).status, 200)
      assertProblem(await org.post(alias, text), 401)
      assertProblem(await org.post(alias, text, { "x-api-key": org.key }), 401)
      assertProblem(await org.post(alias, text, sign(secret("b"), text)), 401)
      assertProblem(await org.post(alias, "", sign(secret("b"), "")), 401)
      if (coversBody) assertProblem(await org.post(alias, `${text} `, genuine()), 401)
      if (alias === "customerio") {
        assertProblem(await org.post(alias, text, sign(secret("a"), text, Date.now() - 301_000)), 401)
        await org.put(alias, { settings: { tolerance_seconds: null } })
        assert.strictEqual((await org.post(alias, text, sign(secret("a"), text, Date.now() - 301_000))).status, 200)
      }
      const before = (await org.stored()).length
      assert.strictEqual((await org.manage("DELETE", `/webhooks/${alias}`)).status, 204)
      refusedAlike(await org.post(alias, text, genuine()))
      assert.strictEqual((await org.manage("DELETE", `/webhooks/${alias}`)).status, 404)
      assert.strictEqual((await org.stored()).length, before)
    })

    it(`accepts every authentic request of ${alias}, and stores its valid items`, async () => {
      const org = await organization(`${alias}-odd`)
      await org.put(alias, { secret: secret("a") })
      await org.decide("trk", "u")
      const good = item("send", { tracking: "trk", user: "u", name: "m", at: Date.now() })
      const signed = (body: string) => org.post(alias, body, sign(secret("a"), body))
      const bodies: ReadonlyArray<readonly [body: string, received: number]> = [
        ["", 0],
        ["{", 1],
        ["null", 1],
        ["5", 1],
        ["[]", 0],
        ["[[]]", 1],
        ["[null]", 1],
        ['{"events":[]}', 0],
        ['{"events":{}}', 1],
        ["\u0000", 1],
        ["{}", 1],
      ]
      for (const [body, received] of bodies) {
        const answer = await signed(body)
        assert.strictEqual(answer.status, 200, `${body}: ${answer.text}`)
        assert.strictEqual(answer.json.received, received, body)
      }
      await org.taken()
      assert.deepStrictEqual(await org.events(), [])
      // Segment's signature of a list is for one item only.
      if (alias === "segment") {
        await org.put(alias, { settings: { unsigned_items: true } })
      }
      const mixed = JSON.stringify(
        alias === "braze" ? { events: [null, good, "x", [], {}] } : [null, good, "x", [], {}],
      )
      const answer = await signed(mixed)
      assert.deepStrictEqual([answer.status, answer.json.received], [200, 5], answer.text)
      await org.taken()
      assert.strictEqual((await org.outcomes()).sent, 1)
      const last = (await org.stored()).at(-1)!
      assert.deepInclude(last, { status: "partial", events: 1 })
      assert.isAbove(last.faults.length, 2)
      assert.isAbove((await org.source(platform.segment)).not_understood, 1)
    })
  }

  it("accepts 10,000 events in one body of up to 8 MiB", async () => {
    const org = await organization("large")
    await org.put("braze", { secret: braze.secret("a") })
    await org.put("sfmc", { secret: sfmc.secret("a") })
    await org.decide("trk-7", "u-7")
    const at = Date.now()
    const items = (platform: Platform) =>
      Array.from(
        { length: 10_000 },
        (_, n) => platform.item("send", { tracking: `trk-${n}`, user: `u-${n}`, name: `m-${n}`, at }),
      )
    await org.send(braze, items(braze))
    await org.send(sfmc, items(sfmc))
    await org.taken()
    assert.strictEqual((await org.source("provider_a")).events, 10_000)
    assert.strictEqual((await org.source("provider_e")).events, 10_000)
    assert.strictEqual((await org.outcomes()).sent, 1)
    const padded = (bytes: number) => {
      const text = JSON.stringify([sfmc.item("open", { tracking: "", user: "", name: "m-7", at })])
      return text + " ".repeat(bytes - text.length)
    }
    const full = padded(8 * 1024 * 1024)
    assert.strictEqual((await org.post("sfmc", full, sfmc.sign(sfmc.secret("a"), full))).status, 200)
    const over = padded(8 * 1024 * 1024 + 1)
    assertProblem(await org.post("sfmc", over, sfmc.sign(sfmc.secret("a"), over)), 413)
    await org.taken()
    assert.strictEqual((await org.outcomes()).open, 1)
  }, 120_000)

  it("keeps a handshake of SFMC once a minute, before its key is known, and shows it", async () => {
    const org = await organization("handshake")
    const handshake = JSON.stringify({ callbackId: "cb-1", verificationKey: "vk-1" })
    assertProblem(await org.post("sfmc", handshake), 401)
    const set = await org.put("sfmc", {})
    assert.deepStrictEqual(set.secrets, [])
    const answers = await parallel(8, () => org.post("provider_e", handshake))
    for (const answer of [...answers, await org.post("provider_e", handshake)]) {
      assert.deepStrictEqual([answer.status, answer.json], [200, { status: "ok", received: 0 }])
    }
    assert.strictEqual((await org.stored()).length, 1)
    const { body } = await org.manage("GET", "/webhooks/provider_e/inbox?all=true")
    assert.include(body.inbox[0].body, "vk-1")
    assertProblem(await org.post("sfmc", "[]"), 401)
    await org.put("sfmc", { enabled: false })
    assertProblem(await org.post("sfmc", handshake), 401)
  })

  it("does not lose a handshake of SFMC that the store could not take", async () => {
    const { run } = server()
    const org = await organization("handshake-away")
    await org.put("braze", { secret: braze.secret("a") })
    await org.put("sfmc", {})
    const handshake = JSON.stringify({ callbackId: "cb-1", verificationKey: "vk-1" })
    const rename = (from: string, to: string) =>
      run(Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe(`ALTER TABLE ${from} RENAME TO ${to}`)))
    await rename("inbox", "inbox_away")
    try {
      // The first body waits for its retry, so there is no room for a second one.
      assertProblem(await org.post("braze", "[]", braze.sign(braze.secret("a"), "[]")), 503)
      assertProblem(await org.post("sfmc", handshake), 503)
    } finally {
      await rename("inbox_away", "inbox")
    }
    await waitUntil("it is kept", async () => {
      assert.include([200, 503], (await org.post("sfmc", handshake)).status)
      return (await org.stored()).some(({ source }) => source === "provider_e")
    }, 5)
  })

  it("does not store a token that a platform sends in a custom header", async () => {
    const org = await organization("header")
    for (const alias of ["braze", "iterable"]) {
      for (const header of ["x-parlance", "x-api-key", "ce-pass"]) {
        await org.put(alias, { secret: "the-token-0123456789", settings: { header } })
        assert.strictEqual((await org.post(alias, "[]", { [header]: "the-token-0123456789" })).status, 200)
        assertProblem(await org.post(alias, "[]", { authorization: "Bearer the-token-0123456789" }), 401)
      }
    }
    const kept = (await org.stored()).map(({ headers }) => headers)
    assert.strictEqual(kept.length, 6)
    assert.notInclude(JSON.stringify(kept), "the-token")
  })

  it("never returns a secret, and stores it encrypted", async () => {
    const { run, service } = server()
    const org = await organization("hidden")
    const secrets = platforms.map((platform, n) => [platform.alias, platform.secret(`Sekr${n}x`)] as const)
    const shown: Array<unknown> = []
    for (const [alias, secret] of [...secrets, ["events", whsec("Z")] as const]) {
      shown.push(await org.put(alias, { secret }))
      shown.push((await org.manage("PUT", `/webhooks/${alias}`, { secret, settings: { conversions: 5 } })).body)
      shown.push((await org.post(alias, "{}", { authorization: "Bearer x" })).text)
    }
    shown.push((await org.manage("GET", "/webhooks")).body, (await org.manage("GET", "/events")).body)
    shown.push(await (await service.request("/metrics")).text())
    const rows = await run(Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const tables = yield* sql<{ name: string }>`
        SELECT c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p')`
      const texts: Array<string> = []
      for (const { name } of tables) {
        for (const { row } of yield* sql<{ row: string }>`SELECT left(t::text, 100000) AS row FROM ${sql(name)} t`) {
          texts.push(row)
        }
      }
      return texts
    }))
    assert.isTrue(rows.some((row) => row.includes("provider_a") && row.includes("v1:")))
    const text = JSON.stringify(shown) + rows.join("\n")
    for (const [, secret] of secrets) {
      for (const form of [secret, btoa(secret), btoa(secret).replaceAll("=", "")]) assert.isFalse(text.includes(form))
    }
    assert.isFalse(text.includes(whsec("Z").slice(6, 30)) || text.includes("Z".repeat(32)))
  })
})
