import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { randomBytes } from "node:crypto"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe } from "vitest"
import { SqlClient } from "effect/sql"
import { Layer } from "effect"
import { decide, layerQuiet, makeOrg, receive, settle } from "../intake/support.ts"
import type { Services } from "../learning/support.ts"
import { runCommand } from "../support/cli.ts"
import { type Environment, temporaryEnvironment, temporaryFolder } from "../support/stores.ts"

// deno-lint-ignore no-explicit-any -- what a test reads of an answer it also asserts
type Json = any

/** Works on the store itself, as nobody serves it now. */
const during = <A, E>(env: Environment, effect: Effect.Effect<A, E, Services>) =>
  Effect.scoped(Effect.flatMap(Layer.build(layerQuiet(env)), (context) => Effect.provideContext(effect, context)))

const commands = (env: Environment) => {
  const parlance = (args: ReadonlyArray<string>, input: string | undefined) =>
    Effect.promise(() => runCommand([...args, "--org", "acme"], env, input))
  const ended = (status: number) => (args: ReadonlyArray<string>, input?: string) =>
    Effect.map(parlance(args, input), ({ code, output }) => {
      assert.strictEqual(code, status, output)
      assert.notInclude(output, "    at ")
      return output
    })
  const text = ended(0)
  return {
    text,
    fails: ended(1),
    json: (args: ReadonlyArray<string>, input?: string) =>
      Effect.map(text([...args, "--json"], input), (output): Json => JSON.parse(output)),
  }
}

const secret = "Sekret-0123456789-abcdef"
const mapping = { version: 1, event: { from: ["$.kind"], table: { Read: "open" } }, tracking_id: "$.ref" }

describe("parlance webhook on a database without a service", () => {
  it.live(
    "creates, lists, disables and removes sources",
    () =>
      Effect.scoped(Effect.gen(function* () {
        const env = { ...(yield* temporaryEnvironment), SECRET_KEY: randomBytes(32).toString("hex") }
        yield* during(env, makeOrg("acme"))
        const { fails, json, text } = commands(env)
        const set = yield* text(["webhook", "set", "braze", "--secret-stdin"], `${secret}\n`)
        assert.include(set, "/api/webhook/provider_a/acme")
        assert.notInclude(set, secret)
        const listed = yield* json(["webhook", "list"])
        assert.deepInclude(listed[0], { segment: "provider_a", platform: "braze", enabled: true, set_up: true })
        assert.strictEqual(listed[0].secrets.length, 1)
        const replaced = yield* json(
          ["webhook", "set", "provider_a", "--secret-stdin", "--settings", '{"conversions":["booked"]}'],
          `${secret}-2`,
        )
        assert.strictEqual(replaced.secrets.length, 2)
        assert.deepStrictEqual(replaced.settings, { conversions: ["booked"] })
        assert.include(yield* text(["webhook", "disable", "braze"]), "refused")
        const shown = yield* text(["webhook", "list"])
        assert.match(shown, /provider_a +braze /)
        assert.deepInclude((yield* json(["webhook", "list"]))[0], { enabled: false, set_up: true })
        assert.notInclude(shown, secret)
        const wrong = yield* fails(["webhook", "set", "iterable", "--settings", '{"header":"No Header"}'])
        assert.include(wrong, "secret")
        assert.include(wrong, "header")
        assert.include(yield* fails(["webhook", "set", "none", "--secret-stdin"], secret), "none")
        assert.include(yield* fails(["webhook", "set", "braze", "--settings", "{"]), "--settings")
        yield* text(["webhook", "remove", "braze"])
        assert.include(yield* fails(["webhook", "remove", "braze"]), "provider_a")
        assert.deepStrictEqual((yield* json(["webhook", "list"])).map(({ segment }: Json) => segment), ["events"])
        const rows = yield* during(
          env,
          Effect.flatMap(SqlClient.SqlClient, (sql) => sql`SELECT w::text FROM webhook_sources w`),
        )
        assert.deepStrictEqual(rows, [])
      })),
    600_000,
  )

  it.live(
    "tries a mapping, stores it, and lists the events that it reads",
    () =>
      Effect.scoped(Effect.gen(function* () {
        const env = yield* temporaryEnvironment
        yield* during(env, makeOrg("acme"))
        const { fails, json, text } = commands(env)
        const file = join(yield* temporaryFolder, "mapping.json")
        writeFileSync(file, JSON.stringify(mapping))
        const sample = JSON.stringify([{ kind: "Read", ref: "trk-1" }, { kind: "Odd", ref: "trk-1" }])
        const tried = JSON.parse(yield* text(["webhook", "dry-run", "--mapping", file, "--body", "-"], sample))
        assert.include(JSON.stringify(tried), '"open"')
        yield* fails(["webhook", "dry-run", "--mapping", `${file}.none`, "--body", "-"], sample)
        const body = JSON.stringify({
          RecordType: "Open",
          MessageID: "m",
          Recipient: "ann@example.com",
          ReceivedAt: "2026-05-04T09:30:00Z",
        })
        const read = JSON.parse(yield* text(["webhook", "dry-run", "postmark", "--body", "-"], body))
        assert.deepInclude(read.explained[0].event, { event: "open", automated: false })
        assert.deepStrictEqual((yield* json(["webhook", "set", "events", "--mapping", file])).settings, { mapping })
        yield* during(
          env,
          Effect.gen(function* () {
            yield* decide("acme", "trk-1", { user: "u-1" })
            for (const ref of ["trk-1", "trk-2"]) yield* receive("acme", { kind: "Read", ref })
            yield* settle("acme")
          }),
        )
        const page = yield* json(["event", "list"])
        assert.deepStrictEqual(
          page.events.map(({ event, status, tracking_id }: Json) => [event, tracking_id, status]),
          [["open", "trk-1", "attributed"], ["open", "trk-2", "waiting"]],
        )
        const first = yield* text(["event", "list", "--limit", "1"])
        const [, next] = /--cursor (\S+)/.exec(first)!
        const second = yield* json(["event", "list", "--cursor", next!])
        assert.deepStrictEqual(second.events.map(({ tracking_id }: Json) => tracking_id), ["trk-2"])
        assert.match(yield* text(["event", "list", "--tracking-id", "trk-1"]), /trk-1 .* a +attributed/)
        assert.include(yield* text(["event", "list", "--tracking-id", "nothing"]), "No events")
        assert.include(yield* fails(["event", "list", "--limit", "0"]), "1000")
      })),
    600_000,
  )

  it.live("stores a secret only with an encryption key", () =>
    Effect.scoped(Effect.gen(function* () {
      const env = yield* temporaryEnvironment
      yield* during(env, makeOrg("acme"))
      const set = ["webhook", "set", "braze", "--secret-stdin"]
      const output = yield* commands(env).fails(set, secret)
      assert.match(output, /SECRET_KEY/)
      assert.notInclude(output, secret)
      const { json } = commands({ ...env, SECRET_KEY: randomBytes(32).toString("hex") })
      assert.deepInclude(yield* json(set, secret), { segment: "provider_a", enabled: true, set_up: true })
    })), 600_000)
})
