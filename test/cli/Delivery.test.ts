import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { describe } from "vitest"
import { receiver, signingSecret } from "../delivery/receiver.ts"
import { deliveryEnvironment, enqueue, furnish, layerQueue } from "../delivery/support.ts"
import { makeOrg } from "../intake/support.ts"
import type { Services } from "../learning/support.ts"
import { runCommand } from "../support/cli.ts"
import { adminToken, scopedProcess, waitUntil } from "../support/service.ts"
import { embeddedEnvironment, type Environment, temporaryEnvironment } from "../support/stores.ts"

// deno-lint-ignore no-explicit-any -- what a test reads of an answer it also asserts
type Json = any

/** Works on the store itself, as nobody serves it now. */
const during = <A, E>(env: Environment, effect: Effect.Effect<A, E, Services>) =>
  Effect.scoped(Effect.flatMap(Layer.build(layerQueue(env)), (context) => Effect.provideContext(effect, context)))

const commands = (env: Environment) => {
  const ended = (status: number) => (args: ReadonlyArray<string>, input = "") =>
    Effect.promise(async () => {
      const { code, output } = await runCommand([...args, "--org", "acme"], env, input)
      assert.strictEqual(code, status, output)
      assert.notInclude(output, "    at ")
      assert.notInclude(output, signingSecret)
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

const secrets = JSON.stringify({ signing_secret: signingSecret })

describe("parlance connection and deliver", () => {
  it.live(
    "work on an embedded store without a service",
    () =>
      Effect.scoped(Effect.gen(function* () {
        const server = yield* receiver()
        const env = {
          ...(yield* embeddedEnvironment),
          OUTBOUND_ALLOW: "127.0.0.1/32",
          // Nobody answers there.
          DNS_SERVERS: "127.0.0.1:9",
        }
        yield* during(env, makeOrg("acme"))
        const { fails, json, text } = commands(env)
        assert.include(yield* text(["connection", "list"]), "parlance connection set")
        const wrong = yield* fails(["connection", "set", "main", "--platform", "webhook"])
        assert.include(wrong, "signing_secret")
        assert.include(wrong, "url")
        const settings = JSON.stringify({ url: server.url })
        const set = ["connection", "set", "main", "--platform", "webhook", "--settings", settings, "--secrets-stdin"]
        assert.include(yield* text(set, secrets), "Deliveries now use main")
        assert.deepInclude((yield* json(["connection", "list"]))[0], {
          name: "main",
          platform: "webhook",
          in_use: true,
          secrets: ["signing_secret"],
        })
        assert.include(yield* text(["connection", "test", "main"]), "Reachable: ")
        yield* text(["template", "create", "cart"])
        yield* text(["variant", "create", "cart", "bare", "--var", "subject=Hi"])
        const smtp = JSON.stringify({ host: "127.0.0.1", port: 9, tls: "none", from: "news@example.com" })
        yield* text(["connection", "set", "mail", "--platform", "smtp", "--settings", smtp])
        assert.match(
          yield* fails(["connection", "test", "mail"]),
          /Warning: Deliver cannot send the variant cart \/ bare/,
        )
        const made = yield* text(["connection", "dkim", "make", "mail", "--selector", "s1"])
        assert.include(made, "s1._domainkey.example.com")
        assert.match(made, /Zone: {3}s1\._domainkey\.example\.com\. TXT "v=DKIM1; k=rsa; p=[^"]+" "[^"]+"/)
        assert.include(yield* fails(["connection", "dkim", "sign", "mail", "s1"]), "DNS is not available here")
        const signs = yield* text(["connection", "dkim", "sign", "mail", "s1", "--unchecked"])
        assert.include(signs, "mail signs with s1 of example.com")
        assert.isTrue((yield* json(["connection", "dkim", "list", "mail"]))[0].signing)
        const tested = yield* fails(["connection", "test", "mail", "--to", "ada@example.com"])
        assert.match(tested, /The test failed.*\nunknown {2}spf: .*DNS is not available here/)
        assert.include(yield* fails(["connection", "test", "mail", "--template", "cart"]), "need --to")
        assert.include(yield* text(["connection", "dkim", "remove", "mail", "s1"]), "Removed the key s1")
        yield* text(["connection", "remove", "mail"])
        assert.include(yield* text(["connection", "pause", "main"]), "resume")
        assert.isTrue((yield* json(["connection", "list"]))[0].paused)
        assert.include(yield* text(["connection", "resume", "main"]), "sends again")
        assert.include(yield* text(["connection", "disable", "main"]), "is disabled")
        assert.isFalse((yield* json(["connection", "list"]))[0].enabled)
        const off = yield* text(["connection", "remove", "main"])
        assert.include(off, "Removed main")
        assert.include(yield* fails(["connection", "remove", "main"]), "main")
        assert.include(yield* fails(["connection", "test", "main"]), "main")
        assert.deepStrictEqual(server.arrivals, [])
      })),
    600_000,
  )

  it.live(
    "list, show, cancel and count queued messages on a database without a service",
    () =>
      Effect.scoped(Effect.gen(function* () {
        const env = yield* temporaryEnvironment
        const [first, second] = yield* during(
          env,
          Effect.gen(function* () {
            yield* furnish("acme")
            const queued = [yield* enqueue("acme", "ada@example.com"), yield* enqueue("acme", "bob@example.com")]
            const sql = yield* SqlClient.SqlClient
            yield* sql`
              UPDATE deliveries d SET state = 'failed', reason = 'no such mailbox', finished_at = now()
              WHERE d.email = 'bob@example.com'`
            return queued.map(({ id }) => id)
          }),
        )
        const { fails, json, text } = commands({ ...env, ...deliveryEnvironment })
        assert.deepStrictEqual((yield* json(["deliver", "list"])).map(({ id }: Json) => id), [second, first])
        assert.match(yield* text(["deliver", "list", "--state", "failed"]), /bob@example\.com.*no such mailbox/)
        assert.include(yield* text(["deliver", "list", "--email", "nobody@example.com"]), "No matching deliveries")
        assert.include(yield* fails(["deliver", "list", "--state", "lost"]), "queued")
        assert.include(yield* text(["deliver", "show", first!]), "a for ada@example.com")
        assert.deepInclude(yield* json(["deliver", "status"]), { queued: 1, scheduled: 0 })
        assert.match(yield* text(["deliver", "rates", "--hours", "24"]), /sent per min(.*\n){98}.* \*/)
        assert.strictEqual((yield* json(["deliver", "cancel", first!]))[0].state, "cancelled")
        assert.strictEqual((yield* json(["deliver", "retry", second!]))[0].state, "queued")
        assert.include(yield* fails(["deliver", "retry", first!]), "cancelled")
        assert.include(yield* fails(["deliver", "show", "none"]), "none")
        // The second is queued again.
        assert.include(yield* fails(["deliver", "cancel"]), "--all")
        assert.include(yield* fails(["deliver", "cancel", second!, "--all"]), "either ids")
        assert.include(yield* fails(["deliver", "cancel", "--since", "yesterday"]), "since")
        const preview = yield* text(["deliver", "cancel", "--template", "t"])
        assert.include(preview, "1 message would be cancelled.")
        const [, until = ""] = /--until (\S+) --yes/.exec(preview)!
        assert.lengthOf(yield* json(["deliver", "list", "--state", "queued", "--until", until]), 1)
        assert.match(
          yield* text(["deliver", "cancel", "--template", "t", "--until", until, "--yes"]),
          /1 of 1 message /,
        )
        assert.lengthOf(yield* json(["deliver", "list", "--state", "queued"]), 0)
        assert.deepInclude(yield* json(["deliver", "retry", "--all", "--yes"]), {
          kind: "retry",
          matched: 0,
          changed: 0,
        })
      })),
    600_000,
  )

  it.live(
    "work against a running service, which then sends",
    () =>
      Effect.scoped(Effect.gen(function* () {
        const server = yield* receiver()
        const env: Environment = yield* temporaryEnvironment
        const service = yield* scopedProcess({ ...env, ...deliveryEnvironment })
        yield* Effect.promise(async () => {
          await service.manage("POST", "/organizations", { slug: "acme", name: "Acme" })
          await service.manage("POST", "/organizations/acme/templates", {
            id: "t",
            name: "T",
            variants: [{ id: "a", vars: { subject: "Hi" } }],
          })
        })
        const key = yield* Effect.promise(async () =>
          (await service.manage("POST", "/organizations/acme/keys", { name: "k" })).body.key
        )
        const { json, text } = commands({ PARLANCE_URL: service.url, ADMIN_TOKEN: adminToken })
        const settings = JSON.stringify({ url: server.url })
        yield* text(
          ["connection", "set", "main", "--platform", "webhook", "--settings", settings, "--secrets-stdin"],
          secrets,
        )
        yield* text(["connection", "pause", "main"])
        const answer = yield* Effect.promise(() =>
          service.request("/api/deliver/acme", {
            method: "POST",
            headers: { "x-api-key": key, "content-type": "application/json" },
            body: JSON.stringify({ template_id: "t", email: "ada@example.com" }),
          })
        )
        assert.strictEqual(answer.status, 200)
        yield* Effect.promise(() => answer.body!.cancel())
        assert.deepInclude(yield* json(["deliver", "status"]), { queued: 1, sent: 0 })
        yield* text(["connection", "resume", "main"])
        yield* Effect.promise(() => waitUntil("it arrives", () => server.arrivals.length === 1))
        yield* Effect.promise(() =>
          waitUntil(
            "it is recorded",
            async () => (await service.manage("GET", "/organizations/acme/delivery-summary")).body.sent === 1,
          )
        )
        const [sent] = yield* json(["deliver", "list", "--state", "sent"])
        assert.strictEqual(sent.id, server.arrivals[0]!.id)
        assert.notInclude(service.output(), signingSecret.slice(6))
      })),
    600_000,
  )
})

describe("parlance suppression", () => {
  it.live(
    "adds, shows, removes, imports and exports addresses",
    () =>
      Effect.scoped(Effect.gen(function* () {
        const env = yield* embeddedEnvironment
        yield* during(env, makeOrg("acme"))
        const { fails, json, text } = commands(env)
        assert.include(yield* text(["suppression", "list"]), "No matching entries")
        assert.include(
          yield* text(["suppression", "add", "Ada@example.com", "--reason", "complaint"]),
          "ada@example.com",
        )
        assert.include(yield* fails(["suppression", "add", "nobody"]), "address")
        assert.deepInclude((yield* json(["suppression", "show", "ADA@EXAMPLE.COM"])).suppressions[0], {
          address: "ada@example.com",
          reason: "complaint",
        })
        const imported = ["suppression", "import", "-"]
        assert.include(yield* text(imported, "bob@example.com\nada@example.com\n"), "Added 2 entries")
        assert.include(yield* fails(imported, "address\nnobody\n"), "/line/2")
        assert.strictEqual((yield* text(["suppression", "export"])).trim().split("\n").length, 4)
        assert.lengthOf(yield* json(["suppression", "list", "--reason", "complaint"]), 1)
        assert.include(
          yield* text(["suppression", "remove", "ada@example.com"]),
          "Removed ada@example.com from the suppression list",
        )
        assert.include(yield* fails(["suppression", "remove", "ada@example.com"]), "not on the list")
        assert.include(yield* text(["suppression", "show", "ada@example.com"]), "not suppressed")
      })),
    120_000,
  )
})
