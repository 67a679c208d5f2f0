import { assert, describe } from "@effect/vitest"
import { Effect, Layer, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import { AdminGuessLimits } from "../../src/auth/AdminAuth.ts"
import { aroundTests } from "../support/aroundTests.ts"
import { buildInProcess, type LocalService, makeOrganization } from "../support/service.ts"
import { type Environment, temporaryEnvironment } from "../support/stores.ts"

// deno-lint-ignore no-explicit-any -- what a test reads of an answer it also asserts
export type Json = any

/** An answer with its body read; `json` is undefined where the body is no JSON. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly json: Json
}

export const read = async (response: Response): Promise<Answer> => {
  const text = await response.text()
  let json: Json
  try {
    json = JSON.parse(text)
  } catch {
    json = undefined
  }
  return { status: response.status, headers: response.headers, text, json }
}

/** An organization of one test, with a key that opens it. */
export interface Organization {
  readonly slug: string
  readonly key: string
  /** Generate by POST; answers of any status. */
  readonly post: (body: unknown, headers?: Record<string, string>) => Promise<Answer>
  /** Generate by GET. A record is encoded as plain parameters, a text is sent unchanged. */
  readonly get: (query: string | Record<string, string>) => Promise<Answer>
  readonly batch: (body: unknown) => Promise<Answer>
  /** Saves a template and answers its id. */
  readonly template: (input: Json) => Promise<string>
  readonly patchVariant: (template: string, variant: string, patch: unknown) => Promise<void>
  /** Decisions in the store, in the order of their tracking ids. */
  readonly decisions: () => Promise<
    ReadonlyArray<{ trackingId: string; templateId: string; copyId: string; mode: string }>
  >
}

/** One service for a whole file; every test makes an organization of its own. */
export interface Bench {
  readonly service: LocalService
  readonly organization: (
    slug: string,
    options?: { readonly time_zone?: string; readonly scopes?: ReadonlyArray<string> },
  ) => Promise<Organization>
  /** Notifications of members in the store, in the order of their ids. */
  readonly notifications: (slug: string) => Promise<ReadonlyArray<{ accountId: string; kind: string }>>
}

const start = (environment: Effect.Effect<Environment, never, Scope.Scope>, more: Environment) =>
  Effect.gen(function* () {
    const { context, service } = yield* buildInProcess(
      environment,
      { SECRET_KEY: "5e".repeat(32), ...more },
      // These suites send every route wrong tokens; limits of guesses are tested in AdminGuesses.test.ts.
      Layer.succeed(AdminGuessLimits, { perNetwork: 1e9, total: 1e9, windowMillis: 60_000 }),
    )
    return { service, sql: yield* Effect.provideContext(SqlClient.SqlClient, context) }
  })

/** A suite whose tests share one service. `more` are settings in addition to the store's. */
export const suiteOnService = (name: string, suite: (bench: Bench) => void, more: Environment = {}) =>
  describe(name, () => {
    const environment = temporaryEnvironment
    let running: { readonly service: LocalService; readonly sql: SqlClient.SqlClient }
    aroundTests(start(environment, more), (started) => running = started)

    const ok = async (method: string, path: string, body: unknown, status: number) => {
      const answer = await running.service.manage(method, path, body)
      assert.strictEqual(answer.status, status, JSON.stringify(answer.body))
      return answer.body
    }

    suite({
      get service() {
        return running.service
      },
      notifications: (slug) =>
        Effect.runPromise(running.sql<{ accountId: string; kind: string }>`
          SELECT n.account_id, n.kind FROM notifications n WHERE n.org_slug = ${slug} ORDER BY n.id`),
      organization: async (slug, { scopes, time_zone } = {}) => {
        const { service, sql } = running
        const key = await makeOrganization(service, slug, scopes)
        if (time_zone !== undefined) await ok("PATCH", `/organizations/${slug}`, { time_zone }, 200)
        const json = { "x-api-key": key, "content-type": "application/json" }
        const send = async (path: string, body: unknown, headers: Record<string, string> = {}) =>
          read(
            await service.request(`/api/${path}/${slug}`, {
              method: "POST",
              headers: { ...json, ...headers },
              body: typeof body === "string" ? body : JSON.stringify(body),
            }),
          )
        return {
          slug,
          key,
          post: (body, headers) => send("generate", body, headers),
          batch: (body) => send("batch-generate", body),
          get: async (query) => {
            const text = typeof query === "string" ? query : String(new URLSearchParams(query))
            return read(await service.request(`/api/generate/${slug}?${text}`, { headers: { "x-api-key": key } }))
          },
          template: async (input) =>
            (await ok("POST", `/organizations/${slug}/templates`, { name: "T", ...input }, 201)).id,
          patchVariant: async (template, variant, patch) =>
            void await ok("PATCH", `/organizations/${slug}/templates/${template}/variants/${variant}`, patch, 200),
          decisions: () =>
            Effect.runPromise(sql<{ trackingId: string; templateId: string; copyId: string; mode: string }>`
              SELECT d.tracking_id, d.template_id, d.copy_id, d.mode FROM decisions d WHERE d.org_slug = ${slug}
              ORDER BY d.tracking_id, d.template_id`),
        }
      },
    })
  })

/** Variants that differ by their id alone. */
export const variants = (...ids: ReadonlyArray<string>) => ids.map((id) => ({ id, vars: { subject: id } }))

/** Makes sure that `answer` is an RFC 9457 problem of this status without internal details. */
export const assertProblem = (answer: Answer, status: number, slug?: string, message?: string) => {
  const at = `${message ?? ""} ${answer.status} ${answer.text.slice(0, 500)}`
  assert.strictEqual(answer.status, status, at)
  assert.match(answer.headers.get("content-type") ?? "", /^application\/problem\+json/, at)
  assert.strictEqual(answer.json?.status, status, at)
  for (const member of ["type", "title", "detail"]) {
    assert.isTrue(typeof answer.json[member] === "string" && answer.json[member] !== "", `${member}: ${at}`)
  }
  assert.match(answer.json.type, /^\/problems\/[a-z-]+$/, at)
  if (slug !== undefined) assert.strictEqual(answer.json.type, `/problems/${slug}`, at)
  // Only the beginning is needed: a hostile body causes a long list of faults.
  assert.notMatch(
    answer.text.slice(0, 20_000),
    /\bat .+:\d+:\d+|node_modules|\.ts\b|\b(SELECT|INSERT|UPDATE|DELETE) .*\b(FROM|INTO|SET)\b|SqlError|postgres/i,
    at,
  )
  assert.isTrue((answer.headers.get("x-request-id") ?? "") !== "", at)
}

/** Pointers of the faults of a problem, sorted. */
export const pointersOf = (answer: Answer): ReadonlyArray<string> =>
  (answer.json.errors ?? []).map(({ pointer }: { pointer: string }) => pointer).sort()

export const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** The results of `times` calls made at once. */
export const parallel = <A>(times: number, call: (index: number) => Promise<A>): Promise<ReadonlyArray<A>> =>
  Promise.all(Array.from({ length: times }, (_, index) => call(index)))
