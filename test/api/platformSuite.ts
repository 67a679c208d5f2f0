import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { randomBytes } from "node:crypto"
import { type Running, settle, startServer } from "../learning/support.ts"
import { aroundTests } from "../support/aroundTests.ts"
import { makeOrganization } from "../support/service.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { type Answer, type Json, read } from "./harness.ts"
import type { Headers, Platform } from "./platformSenders.ts"

/** Runs tests on a server with a key for secrets. */
export const suiteOnPlatforms = (name: string, tests: (server: () => Running) => void) =>
  describe(name, () => {
    const environment = temporaryEnvironment
    let running: Running
    const key = { SECRET_KEY: randomBytes(32).toString("hex"), OUTBOUND_ALLOW: "127.0.0.1/32,::1/128" }
    // A busy machine may be at 10,000 events for longer than the store may take over anything else.
    const start = Effect.orDie(
      Effect.flatMap(environment, (env) => startServer({ ...env, ...key, STORE_TIMEOUT: "60 seconds" })),
    )
    aroundTests(start, (started) => running = started)
    tests(() => running)
  })

/** An organization of a server with a template of one variant, and functions to call it. */
export const organizationOf = (server: () => Running) => async (slug: string) => {
  const { run, service } = server()
  const key = await makeOrganization(service, slug, ["generate", "events"])
  await service.manage("POST", `/organizations/${slug}/templates`, {
    id: "t",
    name: "T",
    variants: [{ id: "a", vars: { s: "a" } }],
  })
  const manage = (method: string, path: string, body?: unknown) =>
    service.manage(method, `/organizations/${slug}${path}`, body)
  const put = async (segment: string, input: unknown, status = 200) => {
    const answer = await manage("PUT", `/webhooks/${segment}`, input)
    assert.strictEqual(answer.status, status, JSON.stringify(answer.body))
    return answer.body
  }
  const decide = async (tracking: string, user: string) => {
    const answer = await service.generate(slug, key, { template_id: "t", tracking_id: tracking, user_id: user })
    assert.strictEqual(answer.status, 200)
  }
  const post = async (segment: string, body: string, headers: Headers = {}, method = "POST"): Promise<Answer> =>
    read(
      await service.request(`/api/webhook/${segment}/${slug}`, {
        method,
        headers: { "content-type": "application/json", ...headers },
        ...(method === "POST" ? { body } : {}),
      }),
    )
  /** Sends bodies as the platform does; each must be taken. */
  const send = async (platform: Platform, items: ReadonlyArray<unknown>, path = platform.segment, secret = "a") => {
    for (const one of platform.bodies(items)) {
      const text = JSON.stringify(one)
      const answer = await post(path, text, platform.sign(platform.secret(secret), text))
      assert.strictEqual(answer.status, 200, answer.text)
      const list = Array.isArray(one) ? one : (one as Json).events ?? [one]
      assert.deepInclude(answer.json, { status: "ok", received: list.length })
    }
  }
  const taken = () => run(settle(slug))
  const events = async (query = ""): Promise<ReadonlyArray<Json>> =>
    (await manage("GET", `/events${query}`)).body.events
  const source = async (segment: string): Promise<Json> =>
    (await manage("GET", "/webhooks")).body.webhooks.find((one: Json) => one.segment === segment)
  const stored = () =>
    run(
      Effect.flatMap(SqlClient.SqlClient, (sql) =>
        sql<{ body: Uint8Array; source: string; status: string; headers: Headers; events: number; faults: Json }>`
        SELECT i.body, i.source, i.status, i.headers, i.events, i.faults FROM inbox i WHERE i.org_slug = ${slug}
        ORDER BY i.id`),
    )
  const outcomes = async () => (await manage("GET", "/templates/t/results")).body.variants[0].outcomes
  return { slug, key, manage, put, decide, post, send, taken, events, source, stored, outcomes }
}
