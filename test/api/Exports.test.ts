import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { csvRows } from "../../src/text/CsvRows.ts"
import { adminToken, type Service } from "../support/service.ts"
import { startWith } from "../support/servicesOf.ts"
import { aroundTests } from "../support/aroundTests.ts"
import { describe } from "@effect/vitest"
import { assertProblem, pointersOf, read } from "./harness.ts"

describe("Exports over HTTP", () => {
  let running: Effect.Success<ReturnType<typeof startWith>>
  aroundTests(startWith(), (started) => running = started)

  const get = async (service: Service, path: string, headers: Record<string, string> = {}) =>
    read(
      await service.request(`/console/api/organizations/${path}`, {
        headers: { authorization: `Bearer ${adminToken}`, ...headers },
      }),
    )

  const insert = (org: string, count: number) =>
    running.run(Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`
        INSERT INTO decisions (org_slug, tracking_id, template_id, copy_id, user_id, mode, segment, policy, propensity,
          weights, decided_at)
        SELECT ${org}, 'id-' || i, 't', 'a', 'ann, "the first"', 'bandit', '', '1', 0.25, '{"a": 0.25, "b": 0.75}',
          date_trunc('hour', now()) - interval '1 hour' + i * interval '1 millisecond'
        FROM generate_series(1, ${count}) i`
      yield* sql`UPDATE late_rows SET noted_at = noted_at - interval '1 hour'`
    }))

  const organization = async (slug: string) => {
    const { body, status } = await running.service.manage("POST", "/organizations", { slug, name: slug })
    assert.strictEqual(status, 201, JSON.stringify(body))
    return slug
  }

  it("returns NDJSON and CSV in pages connected by a cursor", async () => {
    const { service } = running
    const org = await organization("exported")
    await insert(org, 25)
    const seen: Array<string> = []
    let path = `${org}/exports/decisions?limit=10`
    let pages = 0
    while (true) {
      const page = await get(service, path)
      assert.strictEqual(page.status, 200, page.text)
      assert.strictEqual(page.headers.get("content-type"), "application/x-ndjson")
      const lines = page.text.split("\n").filter((line) => line !== "")
      assert.isAtMost(lines.length, 10)
      seen.push(...lines.map((line) => JSON.parse(line).tracking_id))
      if (pages++ === 0) {
        const first = JSON.parse(lines[0]!)
        assert.deepInclude(first, { user_id: 'ann, "the first"', propensity: 0.25, weights: { a: 0.25, b: 0.75 } })
        assert.match(first.decided_at, /^\d{4}-\d\d-\d\dT\d\d:00:00\.001Z$/)
      }
      const cursor = page.headers.get("parlance-cursor")
      path = `${org}/exports/decisions?limit=10&after=${cursor}`
      if (page.headers.get("parlance-more") === "false") break
    }
    assert.deepStrictEqual(seen, Array.from({ length: 25 }, (_, i) => `id-${i + 1}`))
    assert.strictEqual((await get(service, path)).text, "", "there is nothing new")

    const csv = await get(service, `${org}/exports/decisions?format=csv&limit=5000`)
    assert.strictEqual(csv.headers.get("content-type"), "text/csv; charset=utf-8")
    const parsed = csvRows(csv.text)
    if (parsed._tag === "Failure") return assert.fail(csv.text)
    const [header, ...rows] = parsed.success.map(({ values }) => values)
    assert.lengthOf(rows, 25)
    const row = Object.fromEntries(header!.map((name, i) => [name, rows[0]![i]]))
    assert.deepInclude(row, { tracking_id: "id-1", user_id: 'ann, "the first"', holdout: "" })
    assert.deepStrictEqual(JSON.parse(row["weights"]!), { a: 0.25, b: 0.75 })

    for (const stream of ["events", "deliveries"]) {
      const empty = await get(service, `${org}/exports/${stream}?format=csv`)
      assert.strictEqual(empty.status, 200, empty.text)
      assert.lengthOf(empty.text.trim().split("\r\n"), 1, "the header")
    }
  })

  it("begins at a time, and writes thousands of rows in parts", async () => {
    const org = await organization("many")
    await insert(org, 3_000)
    const all = await get(running.service, `${org}/exports/decisions?limit=5000`)
    assert.lengthOf(all.text.trim().split("\n"), 3_000)
    const since = JSON.parse(all.text.split("\n")[1_999]!).decided_at
    const some = await get(running.service, `${org}/exports/decisions?limit=5000&since=${since}`)
    assert.lengthOf(some.text.trim().split("\n"), 1_001)
  })

  it("refuses faulty parameters, all of them at once, and cursors of other exports", async () => {
    const org = await organization("faulty")
    const faulty = await get(running.service, `${org}/exports/events?limit=0&format=xml&since=yesterday&after=x`)
    assertProblem(faulty, 400, "invalid-request")
    assert.sameMembers([...pointersOf(faulty)], ["limit", "format", "since", "after"])
    const { headers } = await get(running.service, `${org}/exports/events`)
    const foreign = await get(running.service, `${org}/exports/decisions?after=${headers.get("parlance-cursor")}`)
    assertProblem(foreign, 400, "invalid-request")
    assertProblem(await get(running.service, "none/exports/decisions"), 404, "organization-not-found")
    const { body } = await running.service.manage("POST", `/organizations/${org}/keys`, {
      name: "k",
      scopes: ["results:read"],
    })
    const opened = await get(running.service, `${org}/exports/decisions`, { authorization: `Bearer ${body.key}` })
    assert.strictEqual(opened.status, 200, opened.text)
  })

  it("refuses a cursor from before the notes about late rows", async () => {
    const org = await organization("expired")
    const { headers } = await get(running.service, `${org}/exports/decisions`)
    const parts = JSON.parse(atob(headers.get("parlance-cursor")!.replaceAll("-", "+").replaceAll("_", "/")))
    parts[3] = `${new Date(Date.now() - 31 * 86_400_000).toISOString().slice(0, -1)}000Z`
    const old = btoa(JSON.stringify(parts)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")
    const refused = await get(running.service, `${org}/exports/decisions?after=${old}`)
    assertProblem(refused, 400, "invalid-request")
    assert.include(refused.text, "older than 30 days")
  })
})
