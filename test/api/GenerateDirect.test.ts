import { assert, it } from "@effect/vitest"
import { parallel, read, suiteOnService, uuid, variants } from "./harness.ts"

// The router answers requests for a slug with an encoded character, and reads their bodies in chunks here. Any other
// request takes the shorter way.

const encoded = (slug: string) => `%${slug.charCodeAt(0).toString(16)}${slug.slice(1)}`

suiteOnService("Generate by POST", (bench) => {
  const calls = (slug: string, key: string, route = "generate") => {
    const send = async (body: unknown, isChunked: boolean, headers: Record<string, string> = {}) => {
      const text = typeof body === "string" ? body : JSON.stringify(body)
      return await read(
        await bench.service.request(`/api/${route}/${isChunked ? encoded(slug) : slug}`, {
          method: "POST",
          headers: { "x-api-key": key, "content-type": "application/json", ...headers },
          body: isChunked ? new Blob([text]).stream() : text,
        }),
      )
    }
    return {
      direct: (body: unknown, headers?: Record<string, string>) => send(body, false, headers),
      routed: (body: unknown, headers?: Record<string, string>) => send(body, true, headers),
    }
  }

  const comparable = ({ headers, json, status }: Awaited<ReturnType<typeof read>>) => {
    const names = [...headers.keys()].filter((name) => name !== "date")
    const all = Object.fromEntries(names.sort().map((name) => [name, headers.get(name)]))
    const id = json.tracking_id
    return {
      status,
      headers: { ...all, "x-request-id": uuid.test(all["x-request-id"]!) ? "new" : all["x-request-id"] },
      json: { ...json, tracking_id: id !== undefined && uuid.test(id) ? "new" : id },
    }
  }

  it("returns the same answer with and without the router, for decisions, retries and faults", async () => {
    const org = await bench.organization("both-ways")
    await org.template({ id: "t", variants: [{ id: "a", vars: { subject: "Hi {{ name }} ü" } }] })
    await org.template({ id: "sticky", sticky_hours: 24, variants: variants("a") })
    await org.template({ id: "held", variants: variants("a"), holdout: { share: 0.5, content: "no_message" } })
    await org.template({
      id: "gold",
      variants: [{ id: "g", vars: { s: "x" }, targeting: [{ attribute: "tier", op: "in", values: ["gold"] }] }],
    })
    await org.template({ id: "broken", strict: true, variants: [{ id: "b", vars: { s: "{{ missing }}" } }] })
    const { direct, routed } = calls(org.slug, org.key)
    const bodies: ReadonlyArray<unknown> = [
      { template_id: "t", fields: { name: "Ann" } },
      { template_id: "t", user_id: "u", attrs: { tier: ["gold", null] }, fields: null },
      { template_id: "t", tracking_id: "own-1" },
      { template_id: "t", tracking_id: "own-1" },
      { template_id: "sticky", user_id: "u" },
      { template_id: "gold", attrs: { tier: "GOLD" } },
      { template_id: "gold" },
      { template_id: "broken" },
      { template_id: "unknown" },
      { template_id: "t", unknown_member: 1 },
      { template_id: "" },
      { template_id: "t", attrs: { a: {} } },
      ...Array.from({ length: 8 }, (_, user) => ({ template_id: "held", user_id: `u${user}` })),
      "{",
      "[]",
      '"\\ud800"',
    ]
    for (const [at, body] of bodies.entries()) {
      const given: Record<string, string> = at % 2 === 0 ? {} : { "x-request-id": `request-${at}` }
      const first = comparable(await direct(body, given))
      const second = comparable(await routed(body, given))
      assert.deepStrictEqual(first, second, JSON.stringify(body))
    }
  })

  it("stores each decision once, and returns the variant of the first decision for a tracking id", async () => {
    const org = await bench.organization("once-each")
    await org.template({ id: "t", variants: variants("a", "b", "c", "d") })
    const { direct } = calls(org.slug, org.key)
    const answers = await parallel(40, (index) => direct({ template_id: "t", tracking_id: `id-${index % 10}` }))
    const byId = new Map<string, Set<string>>()
    for (const { json } of answers) {
      byId.set(json.tracking_id, (byId.get(json.tracking_id) ?? new Set()).add(json.copy.id))
    }
    assert.strictEqual(byId.size, 10)
    for (const [id, copies] of byId) assert.strictEqual(copies.size, 1, id)
    const stored = await org.decisions()
    assert.deepStrictEqual(
      stored.map(({ copyId, trackingId }) => [trackingId, copyId]),
      [...byId].sort(([a], [b]) => a < b ? -1 : 1).map(([id, [copy]]) => [id, copy]),
    )
  })

  it("counts once toward the limit of a key, even if the router answers in the end", async () => {
    const org = await bench.organization("counted-once")
    await org.template({ id: "t", variants: variants("a") })
    const { body: made } = await bench.service.manage("POST", `/organizations/${org.slug}/keys`, {
      name: "limited",
      scopes: ["generate"],
      rate_limit: { requests: 4, per: "minute" },
    })
    const { direct } = calls(org.slug, made.key)
    const left = async (body: unknown) => {
      const { headers, status } = await direct(body)
      return [status, /r=(\d+)/.exec(headers.get("ratelimit") ?? "")?.[1]]
    }
    assert.deepStrictEqual(await left({ template_id: "t" }), [200, "3"])
    assert.deepStrictEqual(await left({ template_id: "unknown" }), [404, "2"])
    assert.deepStrictEqual(await left({ template_id: "t", unknown_member: 1 }), [200, "1"])
    assert.deepStrictEqual(await left({ template_id: "t" }), [200, "0"])
    assert.deepStrictEqual(await left({ template_id: "t" }), [429, "0"])
  })

  const comparableBatch = (answer: Awaited<ReturnType<typeof read>>) => {
    const { headers, status } = comparable(answer)
    const items = Object.entries(answer.json as Record<string, { tracking_id?: string }>).map(([template, item]) => [
      template,
      status === 200 && uuid.test(item.tracking_id!) ? { ...item, tracking_id: "new" } : item,
    ])
    return { status, headers, items }
  }

  it("returns the same answer to batches with and without the router", async () => {
    const org = await bench.organization("batches-both-ways")
    await org.template({ id: "t", variants: [{ id: "a", vars: { subject: "Hi {{ name }} ü" } }] })
    await org.template({ id: "sticky", sticky_hours: 24, variants: variants("a") })
    await org.template({ id: "held", variants: variants("a"), holdout: { share: 0.5, content: "no_message" } })
    await org.template({ id: "broken", strict: true, variants: [{ id: "b", vars: { s: "{{ missing }}" } }] })
    const { direct, routed } = calls(org.slug, org.key, "batch-generate")
    const items = (...ids: ReadonlyArray<string>) => ids.map((template_id) => ({ template_id }))
    const bodies: ReadonlyArray<unknown> = [
      ...Array.from({ length: 8 }, (_, user) => ({
        requests: items("t", "held"),
        user_id: `u${user}`,
        fields: { name: "Ann" },
      })),
      { requests: items("t", "sticky", "broken", "unknown"), user_id: "u" },
      { requests: [{ template_id: "t", tracking_id: "own-1" }, { template_id: "held", copy_id: "a" }] },
      { requests: [{ template_id: "t", tracking_id: "own-1", copy_id: "nope" }] },
      { requests: items("t"), epsilon: 0.5, lookback_days: 7, use_cache: false },
      { requests: items("t", "t") },
      { requests: [] },
      { requests: items("t"), unknown_member: 1 },
      { requests: items("t"), attrs: { a: {} } },
      "{",
    ]
    for (const [at, body] of bodies.entries()) {
      const given: Record<string, string> = at % 2 === 0 ? {} : { "x-request-id": `request-${at}` }
      const first = comparableBatch(await direct(body, given))
      const second = comparableBatch(await routed(body, given))
      assert.deepStrictEqual(first, second, JSON.stringify(body))
    }
  })

  it("stores each decision of a batch once, and counts every item toward the limit of a key", async () => {
    const org = await bench.organization("batches-once")
    await org.template({ id: "t", variants: variants("a", "b", "c", "d") })
    await org.template({ id: "u", variants: variants("a", "b", "c", "d") })
    const { direct } = calls(org.slug, org.key, "batch-generate")
    const requests = (id: string) => [{ template_id: "t", tracking_id: id }, { template_id: "u", tracking_id: id }]
    const answers = await parallel(40, (index) => direct({ requests: requests(`id-${index % 10}`) }))
    const chosen = new Map<string, Set<string>>()
    for (const { json } of answers) {
      for (const template of ["t", "u"]) {
        const at = `${json[template].tracking_id} ${template}`
        chosen.set(at, (chosen.get(at) ?? new Set()).add(json[template].copy.id))
      }
    }
    assert.strictEqual(chosen.size, 20)
    for (const [at, copies] of chosen) assert.strictEqual(copies.size, 1, at)
    assert.strictEqual((await org.decisions()).length, 20)

    const { body: made } = await bench.service.manage("POST", `/organizations/${org.slug}/keys`, {
      name: "limited",
      scopes: ["generate"],
      rate_limit: { requests: 5, per: "minute" },
    })
    const limited = calls(org.slug, made.key, "batch-generate").direct
    const left = async (ids: ReadonlyArray<string>) => {
      const { headers, status } = await limited({ requests: ids.map((template_id) => ({ template_id })) })
      return [status, /r=(\d+)/.exec(headers.get("ratelimit") ?? "")?.[1]]
    }
    assert.deepStrictEqual(await left(["t", "u"]), [200, "3"])
    assert.deepStrictEqual(await left(["t"]), [200, "2"])
    assert.deepStrictEqual(await left(["t", "u"]), [200, "0"])
    assert.deepStrictEqual(await left(["t"]), [429, "0"])
  })
})
