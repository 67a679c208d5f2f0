import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Connections } from "../../src/delivery/Connections.ts"
import type { CopyId } from "../../src/domain/Ids.ts"
import { org } from "../intake/support.ts"
import { startSmtp } from "../support/platformServers/SmtpReceiver.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { deliveriesOf, enqueue, furnish, layerSending, untilDone } from "./support.ts"

/** Quotations in quotations: each line of the plain text would repeat all their prefixes. */
const quotations = `${"<blockquote>".repeat(190)}${"<p>x".repeat(1_000)}${"</blockquote>".repeat(190)}`.repeat(110)
const nested = "<b>".repeat(300_000)

/** A template whose HTML is the field `html`, and a connection to an SMTP server. */
const furnishSmtp = Effect.fnUntraced(function* (slug: string) {
  const receiver = yield* Effect.acquireRelease(
    Effect.promise(() => startSmtp({ plain: true })),
    ({ close }) => Effect.promise(close),
  )
  yield* furnish(slug, {
    variants: [{
      id: "a" as CopyId,
      vars: { subject: "For {{ name }}", body: "<p>{{ html | raw }}</p>" },
      formats: { body: "html" },
    }],
  })
  yield* (yield* Connections).put(org(slug), "mail", {
    platform: "smtp",
    settings: { host: "127.0.0.1", port: receiver.port, tls: "none", from: "news@shop.example" },
    default: true,
  })
  return receiver
})

const enqueueHtml = (slug: string, name: string, html: string) =>
  Effect.map(enqueue(slug, `${name}@example.com`, { fields: { name, html } }), ({ id }) => id)

describe("Dispatcher with e-mails that fail to compose", () => {
  const environment = temporaryEnvironment
  layer(Layer.unwrap(Effect.map(environment, (env) => layerSending(env))), { excludeTestServices: true })((it) => {
    it.effect(
      "fails only these e-mails at once, sends the others, and keeps the lane",
      () =>
        Effect.gen(function* () {
          const receiver = yield* furnishSmtp("poison")
          const connections = yield* Connections
          yield* connections.put(org("poison"), "mail", { paused: true })
          const good: Array<string> = []
          const bad: Array<string> = []
          for (let n = 0; n < 12; n++) {
            good.push(yield* enqueueHtml("poison", `good${n}`, "fine"))
            if (n % 3 === 0) bad.push(yield* enqueueHtml("poison", `nested${n}`, nested))
          }
          const late = yield* enqueueHtml("poison", "quotations", quotations)
          for (let n = 0; n < 12; n++) good.push(yield* enqueueHtml("poison", `after${n}`, "fine"))
          yield* connections.put(org("poison"), "mail", { paused: false })
          yield* untilDone("poison")
          const rows = new Map((yield* deliveriesOf("poison")).map((row) => [row.id, row]))
          assert.deepStrictEqual(good.map((id) => rows.get(id)!.state), good.map(() => "sent"))
          assert.deepStrictEqual(receiver.arrivals.map(({ id }) => id).sort(), [...good].sort())
          for (const id of bad) {
            assert.deepInclude(rows.get(id), { state: "failed", attempts: 1, connection: "mail" })
            assert.match(
              rows.get(id)!.reason!,
              /^The message has HTML elements nested more than 500 deep.*`text` variable$/,
            )
          }
          assert.deepInclude(rows.get(late), { state: "failed", attempts: 1 })
          assert.match(rows.get(late)!.reason!, /^The message .*`text` variable/)
          const lanes = yield* (yield* SqlClient.SqlClient)`
          SELECT l.fence::int AS fence FROM dispatch_lanes l WHERE l.org_slug = 'poison'`
          assert.isAtMost(Number(lanes[0]!["fence"]), 2, "taken once before the pause, and once after it")
          assert.isNull((yield* connections.get(org("poison"), "mail")).trouble)
        }),
      180_000,
    )
  })
})
