import { assert, it } from "@effect/vitest"
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { describe } from "vitest"
import { Intake } from "../../src/intake/Intake.ts"
import { decide, layerQuiet, makeOrg, receive, tallies } from "../intake/support.ts"
import { day, makeTemplate, plant, type Services, settle } from "../learning/support.ts"
import { runCommand } from "../support/cli.ts"
import { adminToken, scopedProcess, waitUntil } from "../support/service.ts"
import { type Environment, temporaryEnvironment } from "../support/stores.ts"

// deno-lint-ignore no-explicit-any -- what a test reads of an answer it also asserts
type Json = any

/** Works on the store itself, as nobody serves it now. */
const during = <A, E>(env: Environment, effect: Effect.Effect<A, E, Services>) =>
  Effect.scoped(Effect.flatMap(Layer.build(layerQuiet(env)), (context) => Effect.provideContext(effect, context)))

const commands = (env: Environment) => {
  const parlance = (...args: ReadonlyArray<string>) => Effect.promise(() => runCommand([...args, "--org", "acme"], env))
  return {
    /** What a command prints for people; it must end with status 0. */
    text: (...args: ReadonlyArray<string>) =>
      Effect.map(parlance(...args), ({ code, output }) => {
        assert.strictEqual(code, 0, output)
        return output
      }),
    /** What it prints for programs. */
    json: (...args: ReadonlyArray<string>) =>
      Effect.map(parlance(...args, "--json"), ({ code, output }): Json => {
        assert.strictEqual(code, 0, output)
        return JSON.parse(output)
      }),
    /** What a command that ends with status 1 prints. */
    fails: (...args: ReadonlyArray<string>) =>
      Effect.map(parlance(...args), ({ code, output }) => {
        assert.strictEqual(code, 1, output)
        assert.notInclude(output, "    at ")
        return output
      }),
  }
}

const history = Effect.gen(function* () {
  yield* makeOrg("acme")
  yield* makeTemplate("acme", "t", ["a", "b"])
  yield* plant("acme", { copy: "a", decisions: 120, outcomes: { click: 24 }, ago: 9 * day })
  yield* plant("acme", { copy: "b", decisions: 80, outcomes: { click: 4 }, ago: 4 * day })
  yield* receive("acme", "no json", "provider_a")
  yield* receive("acme", [{ event: "click", tracking_id: "t/a/plan=pro/777600000/bandit/0" }, { odd: 1 }, null])
  yield* receive("acme", "no json")
  yield* settle("acme")
})

describe("parlance learning on a database without a service", () => {
  it.live("shows results, and fails for an unknown template", () =>
    Effect.scoped(Effect.gen(function* () {
      const env = yield* temporaryEnvironment
      yield* during(env, history)
      const { fails, json, text } = commands(env)
      const results = yield* json("results", "t")
      assert.deepInclude(results, { template_id: "t", decisions: 200 })
      assert.deepStrictEqual(
        results.variants.map(({ copy_id, decisions, outcomes }: Json) => [copy_id, decisions, outcomes.click]),
        [["a", 120, 24], ["b", 80, 4]],
      )
      assert.strictEqual((yield* json("results", "t", "--lookback-days", "5", "--offset-days", "0")).decisions, 80)
      assert.strictEqual((yield* json("results", "t", "--segment", "daypart=night")).segment.daypart, "night")
      const shown = yield* text("results", "t", "--segments")
      assert.match(shown, /\ba\b.*120/)
      assert.match(shown, /\bb\b.*80/)
      assert.match(
        yield* text("results", "t", "--send-times"),
        /differ only by chance. Highest: \w+ \d+:00 .*\n.* 28 engagements/,
      )
      assert.match(yield* text("results", "t", "--csv"), /^template_id,segment,[\s\S]*\r\nt,,.*,a,a,active,/)
      const made = yield* json("share", "create", "t", "--days", "30")
      assert.match(made.link, /^http:\/\/[^/]+\/console\/shared-results\?token=[\w-]{43}$/)
      assert.deepStrictEqual((yield* json("share", "list", "t")).map(({ id }: Json) => id), [made.id])
      assert.include(yield* fails("share", "create", "t", "--days", "3"), "expires_in_days")
      assert.include(yield* text("share", "revoke", "t", made.id), "Revoked")
      assert.include(yield* text("share", "list", "t"), "No link")
      assert.include(yield* fails("share", "revoke", "t", made.id), "no link")
      assert.include(yield* fails("results", "nothing"), "no template")
      assert.include(yield* fails("results", "t", "--lookback-days", "900"), "365")
      assert.include(yield* fails("results", "t", "--segment", "plan"), "plan=pro")
    })), 600_000)

  it.live(
    "lists and resumes stopped learning, and erases a person with a report",
    () =>
      Effect.scoped(Effect.gen(function* () {
        const env = yield* temporaryEnvironment
        yield* during(
          env,
          Effect.gen(function* () {
            const sql = yield* SqlClient.SqlClient
            yield* makeOrg("acme")
            yield* makeTemplate("acme", "t", ["a"])
            yield* decide("acme", "d1", { user: "Ann@example.com" })
            yield* sql`
            INSERT INTO fold_attempts (org_slug, template_id, attempts, attempted_at, reason, stopped_at)
            VALUES ('acme', 't', 3, now(), 'disk full', now())`
          }),
        )
        const { fails, json, text } = commands(env)
        assert.match(yield* text("learning", "stopped"), /\bt\b.*disk full/)
        assert.include(yield* text("learning", "resume", "t"), "Learning of t is resumed")
        assert.deepStrictEqual(yield* json("learning", "stopped"), [])
        assert.include(yield* fails("learning", "resume", "nothing"), "no template")
        assert.include(yield* fails("person", "erase", "--email", "ann@example.com"), "--yes")
        const report = yield* text("person", "erase", "--email", "ann@example.com", "--yes")
        assert.match(report, /Sends without the name now +1/)
        assert.match(report, /logs_and_backups/)
        const again = yield* json("person", "erase", "--email", "ann@example.com", "--yes")
        assert.deepInclude(again, { state: "done", decisions: 0 })
      })),
    600_000,
  )

  it.live("lists the inbox and replays bodies", () =>
    Effect.scoped(Effect.gen(function* () {
      const env = yield* temporaryEnvironment
      yield* during(env, history)
      const { fails, json, text } = commands(env)
      const wrong = yield* json("inbox", "list")
      assert.deepStrictEqual(
        wrong.map(({ source, status }: Json) => `${source} ${status}`),
        ["events rejected", "events partial", "provider_a rejected"],
      )
      const all = yield* json("inbox", "list", "--all")
      assert.isAbove(all.length, 2)
      assert.strictEqual((yield* json("inbox", "list", "--all", "--limit", "1")).length, 1)
      const shown = yield* text("inbox", "list")
      assert.match(shown, /\/1: .*; \/2: /)
      assert.match(shown, /body: .*not valid JSON/)
      assert.match(shown, /provider_a +\S+ +rejected/)
      const braze = yield* json("inbox", "list", "--source", "braze")
      assert.deepStrictEqual(braze.map(({ source }: Json) => source), ["provider_a"])
      assert.include(
        yield* text("inbox", "list", "--source", "provider_b"),
        "All webhook bodies and mails were understood",
      )
      assert.include(yield* fails("inbox", "list", "--source", "nowhere"), 'no webhook source "nowhere"')
      const ids = wrong.map(({ id }: Json) => String(id))
      assert.deepStrictEqual(yield* json("inbox", "replay", ...ids), { replayed: ids })
      assert.deepStrictEqual(
        (yield* json("inbox", "list", "--all", "--limit", "3")).map(({ status }: Json) => status),
        ["pending", "pending", "pending"],
      )
      assert.include(yield* fails("inbox", "replay", "abc"), 'no body "abc"')
      yield* fails("inbox", "list", "--limit", "1000")
      yield* during(
        env,
        Effect.gen(function* () {
          yield* (yield* Intake).drain
          yield* settle("acme")
          assert.include((yield* tallies("acme")).join("\n"), "a plan=pro learned: click 24, decisions 120")
        }),
      )
      const again = yield* json("inbox", "list", "--source", "events")
      assert.deepStrictEqual(again.map(({ status }: Json) => status), ["rejected", "partial"])
      assert.deepInclude(again[1], { events: 0, duplicates: 1 })
    })), 600_000)

  it.live(
    "recounts, exits with status 1 if a check finds differences, and corrects them",
    () =>
      Effect.scoped(Effect.gen(function* () {
        const env = yield* temporaryEnvironment
        yield* during(env, history)
        const { fails, json, text } = commands(env)
        assert.include(yield* text("rebuild", "--check"), "200 decisions in 1 templates: all counts were correct")
        yield* during(
          env,
          Effect.flatMap(SqlClient.SqlClient, (sql) => sql`UPDATE tallies SET click = click + 1 WHERE copy_id = 'b'`),
        )
        const found = yield* fails("rebuild", "--check")
        assert.match(found, /1 count differed\n/)
        assert.match(found, /t +b +plan=pro .* learned +click +5 +4/)
        // A check changes nothing.
        assert.match(yield* fails("rebuild", "--check", "--template", "t"), /1 count differed/)
        assert.include(yield* text("rebuild", "--check", "--template", "other"), "all counts were correct")
        assert.match(yield* text("rebuild"), /1 count differed and was corrected/)
        assert.deepStrictEqual(yield* json("rebuild", "--check"), {
          decisions: 200,
          templates: 1,
          faults: [],
          written: false,
          send_times: { people: 0, differences: 0 },
          propensity_differences: 0,
          differences: [],
        })
      })),
    600_000,
  )
})

describe("parlance learning with a running service", () => {
  it.live(
    "makes the service process replayed bodies, and decide with rebuilt counts",
    () =>
      Effect.scoped(Effect.gen(function* () {
        const env = yield* temporaryEnvironment
        const service = yield* scopedProcess(env)
        const remote = commands({ PARLANCE_URL: service.url, ADMIN_TOKEN: adminToken })
        yield* Effect.promise(() => service.manage("POST", "/organizations", { slug: "acme", name: "Acme" }))
        yield* Effect.promise(() =>
          service.manage("POST", "/organizations/acme/templates", {
            id: "t",
            name: "T",
            variants: [{ id: "a", vars: { s: "a" } }],
          })
        )
        // Another node decides and receives; the service, which knows nothing of it, takes it in.
        yield* during(
          env,
          Effect.gen(function* () {
            for (let n = 0; n < 5; n++) yield* decide("acme", `t${n}`)
            yield* receive("acme", [{ event: "click", tracking_id: "t0" }, null])
          }),
        )
        const clicks = async () => {
          const { body } = await service.manage("GET", "/organizations/acme/templates/t/results")
          return body.variants[0].outcomes.click
        }
        yield* Effect.promise(() => waitUntil("the click is counted", async () => (await clicks()) === 1))
        const [entry] = yield* remote.json("inbox", "list")
        yield* remote.text("inbox", "replay", String(entry.id))
        yield* Effect.promise(() =>
          waitUntil("it has been looked at again", async () => {
            const { body } = await service.manage("GET", "/organizations/acme/webhooks/events/inbox")
            return body.inbox[0]?.duplicates === 1
          })
        )
        const sql = Layer.build(PgClient.layer({ url: Redacted.make(env.DATABASE_URL!), maxConnections: 1 }))
        yield* Effect.scoped(
          Effect.flatMap(sql, (context) =>
            Effect.provideContext(
              Effect.flatMap(SqlClient.SqlClient, (sql) => sql`UPDATE tallies SET click = 5`),
              context,
            )),
        )
        assert.strictEqual(yield* Effect.promise(clicks), 5)
        assert.match(yield* remote.fails("rebuild", "--check"), /1 count differed/)
        assert.match(yield* remote.text("rebuild"), /(was|were) corrected/)
        assert.strictEqual(yield* Effect.promise(clicks), 1)
        const model = async () => {
          const { body } = await service.manage("GET", "/organizations/acme/templates/t/results")
          return body.variants[0].matured_sends > 0 && body.variants[0].raw_rate === 0.2
        }
        yield* Effect.promise(() => waitUntil("the model is fitted anew", model))
      })),
    600_000,
  )
})
