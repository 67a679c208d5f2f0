import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { decide, receive, tallies } from "../intake/support.ts"
import { hour, makeTemplate, settle, suiteOnServer } from "../learning/support.ts"
import { adminToken, makeOrganization } from "../support/service.ts"
import { assertProblem, type Json, pointersOf, read } from "./harness.ts"

suiteOnServer("the management of learning", (server) => {
  const call = (method: string, path: string, body?: unknown) => server().service.manage(method, path, body)
  /** An answer of the management API with everything. */
  const ask = async (method: string, path: string, init: RequestInit = {}) => {
    const { service } = server()
    return read(
      await service.request(`/console/api${path}`, {
        method,
        ...init,
        headers: {
          authorization: `Bearer ${adminToken}`,
          "content-type": "application/json",
          ...init.headers,
        },
      }),
    )
  }
  const organization = async (slug: string) => {
    await makeOrganization(server().service, slug)
    const inbox = `/organizations/${slug}/webhooks/events/inbox`
    return {
      path: `/organizations/${slug}`,
      inbox,
      list: async (query = ""): Promise<Json> => {
        const { body, status } = await call("GET", `${inbox}${query}`)
        assert.strictEqual(status, 200, JSON.stringify(body))
        return body
      },
      taken: () =>
        server().service.untilStored(
          "everything has been looked at",
          ["inbox"],
          async () =>
            (await call("GET", `${inbox}?all=true&limit=100`)).body.inbox
              .every(({ status }: Json) => status !== "pending"),
        ),
    }
  }

  it("lists unreadable bodies page by page, newest first, or all bodies", async () => {
    const { run } = server()
    const org = await organization("pages")
    for (let n = 0; n < 7; n++) {
      await run(receive("pages", n % 2 === 0 ? [{ n }] : [{ event: "click", tracking_id: `t${n}` }]))
    }
    await org.taken()
    const walk = async (query: string) => {
      const seen: Array<Json> = []
      let before = ""
      for (let page = 0; page < 10; page++) {
        const { inbox, next } = await org.list(`?limit=2${query}${before}`)
        assert.isAtMost(inbox.length, 2)
        seen.push(...inbox)
        if (next === null) return seen
        assert.strictEqual(inbox.length, 2)
        assert.strictEqual(next, inbox.at(-1).id)
        before = `&before=${next}`
      }
      throw new Error("The pages have no end")
    }
    const wrong = await walk("")
    assert.deepStrictEqual(wrong.map(({ body }) => JSON.parse(body)[0].n), [6, 4, 2, 0])
    for (const entry of wrong) {
      assert.deepInclude(entry, { status: "rejected", events: 0, duplicates: 0, ignored: 0, headers: {} })
      assert.strictEqual(entry.bytes, entry.body.length)
      assert.deepStrictEqual(entry.faults.map(({ pointer }: Json) => pointer), ["/0"])
      assert.isFalse(Number.isNaN(Date.parse(entry.received_at)))
    }
    const all = await walk("&all=true")
    assert.strictEqual(all.length, 7)
    assert.deepStrictEqual(all.map(({ id }) => id), all.map(({ id }) => id).toSorted((a, b) => b - a))
    assert.strictEqual((await org.list()).inbox.length, 4)
    assert.strictEqual((await org.list("?all=false")).inbox.length, 4)
    assert.deepStrictEqual(await org.list("?before=1"), { inbox: [], next_cursor: null, next: null })
    // Exactly as many as there are is the last page.
    assert.isNull((await org.list("?limit=4")).next)
    const other = await organization("pages-other")
    assert.deepStrictEqual(await other.list("?all=true"), { inbox: [], next_cursor: null, next: null })
    assertProblem(await ask("GET", "/organizations/pages/webhooks/other/inbox"), 404, "source-not-found")
  })

  it("reports every fault of an inbox query", async () => {
    const org = await organization("faults")
    const cases: ReadonlyArray<readonly [query: string, pointers: ReadonlyArray<string>]> = [
      ["?limit=0", ["limit"]],
      ["?limit=101", ["limit"]],
      ["?limit=1.5", ["limit"]],
      ["?limit=x", ["limit"]],
      ["?limit=", ["limit"]],
      ["?before=0", ["before"]],
      ["?before=-3", ["before"]],
      ["?before=x", ["before"]],
      ["?before=", ["before"]],
      ["?before=9007199254740993", ["before"]],
      ["?limit=500&before=1.5", ["before", "limit"]],
    ]
    for (const [query, pointers] of cases) {
      const answer = await ask("GET", `${org.inbox}${query}`)
      assertProblem(answer, 400, "invalid-request", query)
      assert.deepStrictEqual(pointersOf(answer), pointers, query)
    }
    assertProblem(await ask("GET", "/organizations/none/webhooks/events/inbox"), 404)
    for (
      const path of [org.inbox, `${org.inbox}/1/replay`, `${org.path}/rebuild`, `${org.path}/templates/t/decisions`]
    ) {
      const method = path.endsWith("replay") || path.endsWith("rebuild") ? "POST" : "GET"
      for (const authorization of ["", "Bearer wrong-token-0123456789"]) {
        assertProblem(await ask(method, path, { headers: { authorization } }), 401, undefined, path)
      }
    }
  })

  it("replays a body on request without counting it twice", async () => {
    const { run } = server()
    const org = await organization("replay")
    await run(decide("replay", "t1"))
    await run(receive("replay", [{ event: "click", tracking_id: "t1" }, { nothing: true }]))
    await org.taken()
    const [entry] = (await org.list()).inbox
    assert.deepInclude(entry, { status: "partial", events: 1, duplicates: 0 })
    for (let n = 0; n < 3; n++) {
      assert.deepStrictEqual(await call("POST", `${org.inbox}/${entry.id}/replay`), { status: 204, body: undefined })
      await org.taken()
      const [again] = (await org.list()).inbox
      assert.deepStrictEqual({ ...again, events: null, duplicates: null }, { ...entry, events: null, duplicates: null })
      assert.deepInclude(again, { events: 0, duplicates: 1 })
    }
    await run(settle("replay"))
    assert.deepStrictEqual(await run(tallies("replay")), ["a plan=pro learned: click 1, decisions 1"])

    const other = await organization("replay-other")
    for (
      const path of [
        `${other.inbox}/${entry.id}/replay`,
        `/organizations/replay/webhooks/provider_a/inbox/${entry.id}/replay`,
        `${org.inbox}/${entry.id + 1000}/replay`,
        `${org.inbox}/0/replay`,
        `${org.inbox}/x/replay`,
        `${org.inbox}/-1/replay`,
        `${org.inbox}/1e3/replay`,
        `${org.inbox}/99999999999999999999/replay`,
        `/organizations/none/webhooks/events/inbox/${entry.id}/replay`,
      ]
    ) {
      assertProblem(await ask("POST", path), 404, undefined, path)
    }
    // The answer contains the caller's id.
    assert.include((await call("POST", `${org.inbox}/1e3/replay`)).body.detail, '"1e3"')
    assertProblem(await ask("POST", "/organizations/replay/webhooks/none/inbox/1/replay"), 404, "source-not-found")
  })

  it("lists decisions with their probabilities and outcomes, page by page", async () => {
    const { run } = server()
    const org = await organization("decisions")
    await run(makeTemplate("decisions", "t", ["a", "b"]))
    const at = Date.now() - 3 * hour
    for (let n = 0; n < 5; n++) {
      await run(
        decide("decisions", `d${n}`, { at, copy: n % 2 === 0 ? "a" : "b", ...(n === 4 ? { mode: "forced" } : {}) }),
      )
    }
    await run(decide("decisions", "d9", { template: "other" }))
    const time = (minutes: number) => new Date(at + minutes * 60_000).toISOString()
    await run(receive("decisions", [
      { event: "click", tracking_id: "d1", occurred_at: time(50), event_id: "2" },
      { event: "click", tracking_id: "d1", occurred_at: time(30), event_id: "1" },
      { event: "open", tracking_id: "d1", occurred_at: time(20) },
      { event: "open", tracking_id: "d2", occurred_at: time(20), automated: true },
      { event: "purchase", tracking_id: "d3", occurred_at: time(60) },
    ]))
    await org.taken()
    const path = `${org.path}/templates/t/decisions`
    const { body } = await call("GET", path)
    assert.strictEqual(body.decisions.length, 5)
    assert.isNull(body.next)
    assert.deepStrictEqual(body.decisions[1], {
      tracking_id: "d1",
      copy_id: "b",
      segment: "plan=pro",
      mode: "bandit",
      propensity: 0.5,
      weights: null,
      policy: "t:0",
      decided_at: new Date(at).toISOString(),
      outcomes: { open: time(20), click: time(30) },
    })
    assert.deepStrictEqual(body.decisions.map(({ outcomes }: Json) => Object.keys(outcomes)), [
      [],
      ["open", "click"],
      [],
      ["conversion"],
      [],
    ])
    const seen: Array<string> = []
    let after: string | null = ""
    while (after !== null) {
      const page: Json = (await call("GET", `${path}?limit=2&after=${after}`)).body
      seen.push(...page.decisions.map(({ tracking_id }: Json) => tracking_id))
      after = page.next
    }
    assert.deepStrictEqual(seen, ["d0", "d1", "d2", "d3", "d4"])
    for (
      const [query, pointers] of [
        ["?limit=0", ["limit"]],
        ["?limit=5001", ["limit"]],
        ["?limit=x&after=%00", ["after", "limit"]],
      ] as const
    ) {
      const answer = await ask("GET", `${path}${query}`)
      assertProblem(answer, 400, "invalid-request", query)
      assert.deepStrictEqual(pointersOf(answer), pointers)
    }
    assertProblem(await ask("GET", `${org.path}/templates/none/decisions`), 404, "template-not-found")
    assertProblem(await ask("GET", "/organizations/none/templates/t/decisions"), 404, "organization-not-found")
  })

  it("recounts from decisions and events, reports differences, and corrects them unless it only checks", async () => {
    const { run } = server()
    const org = await organization("rebuild")
    await run(makeTemplate("rebuild", "t", ["a", "b"]))
    await run(decide("rebuild", "t1"))
    await run(decide("rebuild", "t2", { copy: "b", template: "u" }))
    await run(receive("rebuild", { event: "click", tracking_id: "t1" }))
    await run(settle("rebuild", "t", "u"))
    const right = {
      decisions: 2,
      templates: 2,
      written: false,
      send_times: { people: 0, differences: 0 },
      propensity_differences: 0,
      differences: [],
      faults: [],
    }
    assert.deepStrictEqual(await call("POST", `${org.path}/rebuild`, { check: true }), { status: 200, body: right })
    await run(
      Effect.flatMap(
        SqlClient.SqlClient,
        (sql) => sql`UPDATE tallies SET click = 4, open = 2 WHERE org_slug = 'rebuild' AND template_id = 't'`,
      ),
    )
    const wrong = async (body: unknown) => {
      const answer = await call("POST", `${org.path}/rebuild`, body)
      assert.strictEqual(answer.status, 200, JSON.stringify(answer.body))
      return answer.body
    }
    const [{ bucket_start }] = (await wrong({ check: true })).differences
    const common = { template_id: "t", copy_id: "a", segment: "plan=pro", bucket_start, track: "learned" }
    const differences = [
      { ...common, measure: "open", counted: 2, true: 0 },
      { ...common, measure: "click", counted: 4, true: 1 },
    ]
    assert.strictEqual(Date.parse(bucket_start) % hour, 0)
    assert.deepStrictEqual(await wrong({ check: true }), { ...right, differences })
    assert.deepStrictEqual(await wrong({ check: true, template_id: "t" }), {
      ...right,
      decisions: 1,
      templates: 1,
      // Histories of people span all templates.
      send_times: null,
      propensity_differences: 0,
      differences,
    })
    assert.deepStrictEqual((await wrong({ template_id: "u" })).differences, [])
    assert.deepStrictEqual(await wrong({ template_id: "t" }), {
      decisions: 1,
      templates: 1,
      written: true,
      send_times: null,
      propensity_differences: 0,
      differences,
      faults: [],
    })
    assert.deepStrictEqual(await wrong({ check: true }), right)
    assert.deepStrictEqual(await wrong({}), { ...right, written: true })
    assert.deepStrictEqual(await run(tallies("rebuild")), ["a plan=pro learned: click 1, decisions 1"])
    assert.deepStrictEqual(await wrong({ check: true, template_id: "none" }), {
      ...right,
      send_times: null,
      propensity_differences: 0,
      decisions: 0,
      templates: 0,
    })
  })

  it("rejects an invalid rebuild request", async () => {
    const org = await organization("rebuild-faults")
    const path = `${org.path}/rebuild`
    for (
      const [body, pointers] of [
        [{ check: "yes" }, ["/check"]],
        [{ template_id: 5, check: 1 }, ["/check", "/template_id"]],
        [[], [""]],
        [null, [""]],
      ] as const
    ) {
      const answer = await ask("POST", path, { body: JSON.stringify(body) })
      assertProblem(answer, 400, "invalid-request", JSON.stringify(body))
      assert.deepStrictEqual(pointersOf(answer), pointers)
    }
    assertProblem(await ask("POST", path, { body: "{" }), 400)
    assertProblem(await ask("POST", path, { body: "{}", headers: { "content-type": "text/plain" } }), 415)
    assertProblem(await ask("POST", path, { body: `{}${" ".repeat(1024 * 1024)}` }), 413)
    assertProblem(await ask("POST", "/organizations/none/rebuild", { body: "{}" }), 404)
    const answer = await ask("GET", path)
    assertProblem(answer, 405)
    assert.strictEqual(answer.headers.get("allow"), "POST")
  })
})
