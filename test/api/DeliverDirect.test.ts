import { assert, it } from "@effect/vitest"
import { suiteOnSending } from "./deliverySuite.ts"
import { type Answer, read } from "./harness.ts"

// The router answers requests for a slug with an encoded character. Any other request takes the shorter way.

suiteOnSending("Deliver with and without the router", (bench) => {
  const message = { template_id: "t", email: "ada@example.com", fields: { name: "Ada" } }
  const post = async (path: string, headers: Record<string, string>, body: BodyInit) =>
    read(await bench.service.request(path, { method: "POST", headers, body }))

  it("returns the same answers, and sends a refused message once", async () => {
    const org = await bench.sender("both-ways")
    const manage = async (path: string, body: unknown) =>
      assert.isBelow((await org.manage("POST", path, body)).status, 300, path)
    await manage("/templates", {
      id: "held",
      name: "Held",
      variants: [{ id: "a", vars: { subject: "x", body: "y" } }],
      holdout: { share: 0.5, content: "no_message" },
    })
    await manage("/templates", {
      id: "strict",
      name: "Strict",
      strict: true,
      variants: [{ id: "a", vars: { subject: "{{ none }}" } }],
    })
    await manage("/suppressions", { address: "gone@example.com" })
    const path = "/api/deliver/both-ways"
    const routed = "/api/deliver/%62oth-ways"
    const comparable = ({ headers, json, status }: Answer) => {
      const names = [...headers.keys()].filter((name) => name !== "date" && name !== "x-request-id")
      return {
        status,
        json,
        headers: Object.fromEntries(
          names.map((name) => [name, /^parlance-.*-id$/.test(name) ? "an id" : headers.get(name)]),
        ),
      }
    }
    const send = (body: BodyInit, headers: Record<string, string>, to = path) =>
      post(to, { "x-api-key": org.key, "content-type": "application/json", ...headers }, body)
    const both = async (body: unknown, headers: Record<string, string> = {}) => {
      const text = JSON.stringify(body)
      const direct = comparable(await send(text, headers))
      assert.deepStrictEqual(
        direct,
        comparable(await send(new Blob([text]).stream() as BodyInit, headers, routed)),
        text,
      )
      return direct.status
    }
    const heldOut = (user: number) => ({ ...message, template_id: "held", email: `u${user}@example.com` })
    const statuses: Array<number> = []
    for (let user = 0; user < 8; user++) statuses.push(await both(heldOut(user)))
    assert.include(statuses, 200)
    assert.include(statuses, 422)
    assert.strictEqual(await both(message), 200)
    assert.strictEqual(await both({ ...message, expires_at: "2001-01-01T00:00:00Z" }), 422)
    assert.strictEqual(await both({ ...message, email: "gone@example.com" }), 422)
    assert.strictEqual(await both({ ...message, template_id: "strict" }), 422)
    assert.strictEqual(await both({ ...message, template_id: "unknown" }), 404)
    assert.strictEqual(await both({ ...message, unknown_member: 1 }), 200)
    assert.strictEqual(await both({ email: "x", copy_id: 7 }), 400)
    assert.strictEqual(await both(message, { "idempotency-key": "\u00e9" }), 400)
    assert.strictEqual((await send(JSON.stringify(message), { "idempotency-key": "k" })).status, 200)
    assert.strictEqual(await both(message, { "idempotency-key": "k" }), 200)
    assert.strictEqual(await both({ ...message, fields: {} }, { "idempotency-key": "k" }), 409)

    const heldOutDecisions = await bench.run(bench.sql<{ readonly count: number }>`
      SELECT count(*)::int AS count FROM decisions d WHERE d.org_slug = 'both-ways' AND d.template_id = 'held'
        AND d.copy_id = ''`)
    assert.strictEqual(heldOutDecisions[0]!.count, 2 * statuses.filter((status) => status === 422).length)
  })
})
