import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer, type Scope } from "effect"
import { readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe } from "vitest"
import { type Ended, runCommand, spawnCommand } from "../support/cli.ts"
import { adminToken, scopedProcess, type ServiceProcess } from "../support/service.ts"
import { embeddedEnvironment, type Environment, temporaryEnvironment, temporaryFolder } from "../support/stores.ts"

/** Runs commands in one of the places they can be carried out. */
class Cli extends Context.Service<Cli, {
  readonly run: (...args: ReadonlyArray<string>) => Effect.Effect<Ended>
  readonly folder: string
  readonly service: ServiceProcess | undefined
  /** The folder of an embedded store that nobody serves. */
  readonly unservedDataDir: string | undefined
}>()("test/Cli") {}

const layerIn = (
  environment: Effect.Effect<Environment, never, Scope.Scope>,
  options: { readonly served: boolean; readonly remote?: boolean; readonly asProcess?: boolean },
) =>
  Layer.effect(
    Cli,
    Effect.gen(function* () {
      const env = yield* environment
      const folder = yield* temporaryFolder
      const service = options.served ? yield* scopedProcess(env) : undefined
      const own: Environment = options.remote
        ? { PARLANCE_URL: service!.url, ADMIN_TOKEN: adminToken, DATA_DIR: join(folder, "unused") }
        : env
      return Cli.of({
        folder,
        service,
        unservedDataDir: options.served ? undefined : env["DATA_DIR"],
        run: (...args) => Effect.promise(() => options.asProcess ? spawnCommand(args, own) : runCommand(args, own)),
      })
    }),
  )

/** Leaves an address of a killed service behind, and returns the output of a command. */
const outputBesideStaleAddress = Effect.fnUntraced(function* (dataDir: string, run: Cli["Service"]["run"]) {
  const file = join(dataDir, "address")
  yield* Effect.sync(() => writeFileSync(file, "http://127.0.0.1:1"))
  const { output } = yield* run("org", "list")
  yield* Effect.sync(() => rmSync(file))
  return output
})

const file = `
templates:
  - id: spring
    name: Spring
    sticky_hours: 2
    objective: {click: 1, conversion: 5, negative: -2}
    variants:
      - id: spring-a
        vars: {subject: "Spring, {{ name }}", body_html: "<p>{{ name }}</p>"}
        formats: {body_html: html}
        targeting: [{attribute: tier, op: in, values: [gold]}]
        seasons: [{annual: {from: 03-01, to: 06-01}}]
`

// What does not depend on the place is tried against a service elsewhere alone. One place runs each command as a
// process.
const places: ReadonlyArray<readonly [string, () => Layer.Layer<Cli>]> = [
  ["on an embedded store that nobody serves", () => layerIn(embeddedEnvironment, { served: false })],
  ["beside a service on the embedded store", () => layerIn(embeddedEnvironment, { served: true })],
  ["against a service elsewhere", () => layerIn(temporaryEnvironment, { served: true, remote: true })],
  ["on the database of DATABASE_URL", () => layerIn(temporaryEnvironment, { served: false, asProcess: true })],
]

for (const [place, layerOf] of places) {
  const isWhole = place === "against a service elsewhere"
  describe(`parlance ${place}`, () => {
    layer(layerOf(), { excludeTestServices: true })((it) => {
      it.effect("creates, shows and changes every resource, and reports errors", () =>
        Effect.gen(function* () {
          const { folder, run, service, unservedDataDir } = yield* Cli
          const json = (...args: ReadonlyArray<string>) =>
            Effect.map(run(...args, "--json"), ({ code, output }) => {
              assert.strictEqual(code, 0, output)
              return JSON.parse(output)
            })
          const fails = (...args: ReadonlyArray<string>) =>
            Effect.map(run(...args), ({ code, output }) => {
              assert.strictEqual(code, 1, output)
              assert.notInclude(output, "    at ")
              assert.notInclude(output, "undefined")
              return output
            })

          assert.strictEqual(
            (yield* json("org", "create", "acme", "--name", "Acme", "--time-zone", "Europe/Berlin")).slug,
            "acme",
          )
          assert.include(yield* fails("org", "create", "acme"), "already")
          if (unservedDataDir !== undefined) {
            const output = yield* outputBesideStaleAddress(unservedDataDir, run)
            assert.include(output, `the service of ${join(unservedDataDir, "address")} has ended`)
            assert.include(output, "acme")
          }
          if (isWhole) {
            assert.include(yield* fails("org", "list", "acme"), "Unexpected positional argument")
            assert.include(yield* fails("org", "create", "b", "--time-zone", "Mars/Base"), "IANA time zone")
            assert.strictEqual(
              (yield* json("org", "update", "acme", "--exploration-floor", "0.05")).exploration_floor,
              0.05,
            )
            assert.include((yield* run("org", "list")).output, "Europe/Berlin")
            assert.strictEqual((yield* json("org", "update", "acme", "--currency", "eur")).currency, "EUR")
            assert.include(yield* fails("org", "update", "acme", "--currency", "euro"), "ISO 4217")
            const threshold = ["org", "update", "acme", "--delivery-failure-threshold"] as const
            assert.strictEqual((yield* json(...threshold, "0.025")).delivery_failure_threshold, 0.025)
            assert.include(yield* fails(...threshold, "10"), "delivery_failure_threshold")
          }

          const org = ["--org", "acme"]
          const key = yield* json("key", "create", "crm", "--scope", "generate", ...org)
          assert.match(key.key, /^plk_[a-z0-9]{16}_[0-9A-Za-z]{46}$/)
          const keys = yield* run("key", "list", ...org)
          assert.include(keys.output, key.id)
          assert.notInclude(keys.output, key.key)
          if (isWhole) {
            const test = yield* json("key", "create", "staging", "--kind", "test", ...org)
            assert.match(test.key, /^plt_[a-z0-9]{16}_[0-9A-Za-z]{46}$/)
            assert.match((yield* run("key", "list", ...org)).output, /staging +test/)
            assert.deepStrictEqual(yield* json("sandbox", "list", ...org), [])
            assert.deepStrictEqual(yield* json("sandbox", "clear", ...org), { removed: 0 })
            assert.include(yield* fails("sandbox", "show", "none", ...org), "none")
            assert.deepStrictEqual(yield* json("suppression", "list", "--org", "acme~test"), [])
            const limited = yield* json("key", "update", key.id, "--name", "CRM", "--rate-limit", "5/minute", ...org)
            assert.deepInclude(limited, { name: "CRM", rate_limit: { requests: 5, per: "minute" } })
            assert.include((yield* run("key", "list", ...org)).output, "5/minute")
            assert.include(yield* fails("key", "create", "x", "--rate-limit", "5/hour", ...org), "100/second")
          }
          if (service !== undefined) {
            const asked = yield* Effect.promise(() => service.generate("acme", key.key, { template_id: "nothing" }))
            assert.strictEqual(asked.status, 404)
          }
          yield* json("key", "revoke", key.id, ...org)
          if (service !== undefined) {
            // The command went through the service: a change of the database would reach it within one second.
            const refused = yield* Effect.promise(() => service.generate("acme", key.key, { template_id: "nothing" }))
            assert.strictEqual(refused.status, 401)
          }

          const path = join(folder, "spring.yaml")
          writeFileSync(path, file)
          assert.deepStrictEqual(yield* json("template", "import", path, ...org), {
            created: ["spring"],
            updated: [],
            unchanged: [],
          })
          assert.deepStrictEqual((yield* json("template", "import", path, ...org)).unchanged, ["spring"])
          if (!isWhole) {
            return
          }
          for (const format of ["yaml", "json"]) {
            const out = join(folder, `out.${format}`)
            assert.strictEqual((yield* run("template", "export", "--format", format, "--out", out, ...org)).code, 0)
            assert.deepStrictEqual((yield* json("template", "import", out, ...org)).unchanged, ["spring"])
            assert.include(readFileSync(out, "utf8"), "spring-a")
          }
          const broken = join(folder, "broken.yaml")
          writeFileSync(broken, file.replace("op: in", "op: around").replace('{{ name }}"', '{{ name"'))
          assert.match(yield* fails("template", "import", broken, ...org), /broken\.yaml:11:\d+: .*op/)
          writeFileSync(broken, file.replace("Spring, {{ name }}", "Spring, {{ name"))
          assert.match(
            yield* fails("template", "import", broken, ...org),
            /broken\.yaml:\d+:\d+: .*vars\.subject: line 1, column 9/,
          )

          const made = yield* json(
            "variant",
            "create",
            "spring",
            "spring-b",
            "--var",
            "subject=Hello {{ name }}",
            ...org,
          )
          assert.deepStrictEqual(made.vars, { subject: "Hello {{ name }}" })
          yield* json("variant", "update", "spring", "spring-b", "--no-active", ...org)
          const seen = yield* json("variant", "preview", "spring", "spring-b", "--fields", '{"name":"Ann"}', ...org)
          assert.deepStrictEqual(seen.vars, { subject: "Hello Ann" })
          assert.include(JSON.stringify(seen.variants), "not active")
          assert.include((yield* run("template", "list", ...org)).output, "spring")
          assert.isTrue((yield* json("template", "archive", "spring", ...org)).archived_at !== null)
          assert.notInclude((yield* run("template", "list", ...org)).output, "spring")
          assert.isNull((yield* json("template", "restore", "spring", ...org)).archived_at)
          const actions = (entries: ReadonlyArray<{ readonly action: string }>) => entries.map(({ action }) => action)
          assert.deepStrictEqual(actions(yield* json("template", "history", "spring", ...org)).slice(0, 4), [
            "template restored",
            "template archived",
            "variant changed",
            "variant created",
          ])
          assert.include((yield* run("template", "history", "spring", "--changes", ...org)).output, "Hello {{ name }}")
          assert.include(actions(yield* json("audit", "list", ...org)), "template archived")
          assert.include(actions(yield* json("audit", "list", "--installation")), "organization created")
          yield* json("variant", "delete", "spring", "spring-b", ...org)
          yield* json("template", "delete", "spring", ...org)
          assert.include(yield* fails("template", "show", "spring", ...org), "no template")
        }), 600_000)
    })
  })
}
