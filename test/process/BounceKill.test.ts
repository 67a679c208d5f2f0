import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { sendMail, session } from "../intake/bounces/support.ts"
import { failed, report } from "../intake/mail/samples.ts"
import { seeded, seedOfRun } from "../support/load.ts"
import { certificate } from "../support/platformServers/Certificate.ts"
import { startSmtp } from "../support/platformServers/SmtpReceiver.ts"
import { freePort, makeOrganization, scopedProcess, startProcess, waitUntil } from "../support/service.ts"
import { type Environment, layerMigrated, temporaryEnvironment } from "../support/stores.ts"
import { pause } from "./deliverStorm.ts"

const kills = Number(process.env.BOUNCE_KILLS ?? 2)
const messagesOfKill = 5

const text = report({ recipients: [failed("5.1.1", "smtp; 550 5.1.1 User unknown")] })

/** Sends a report in a session that the service does not survive; answers the reply, or `closed`. */
const sendAndKill = async (port: number, to: string, kill: () => Promise<void>): Promise<string> => {
  const { reply, say, socket, write } = await session(port)
  await say("EHLO mx.mailbox.example")
  await say("MAIL FROM:<>")
  assert.match(await say(`RCPT TO:<${to}>`), /^250/)
  await say("DATA")
  write(`${text}.\r\n`)
  await kill()
  const answer = await reply()
  socket.destroy()
  return answer
}

const bouncesIn = (env: Environment) =>
  Effect.scoped(Effect.gen(function* () {
    const context = yield* Layer.build(layerMigrated(Effect.succeed(env)))
    const sql = yield* Effect.provideContext(SqlClient.SqlClient, context)
    const events = yield* sql<{ trackingId: string; event: string; status: string }>`
      SELECT e.tracking_id, e.event, e.status FROM events e WHERE e.source = 'mail'`
    const suppressed = yield* sql<{ address: string }>`
      SELECT s.address_key AS address FROM suppressions s WHERE s.reason = 'hard_bounce'`
    return { events, suppressed: suppressed.map(({ address }) => address) }
  }))

describe("a node killed while it receives a bounce report", () => {
  it.live(
    "loses no accepted report, and counts a repeated one once on any node",
    () =>
      Effect.scoped(Effect.gen(function* () {
        const env = yield* temporaryEnvironment
        const random = seeded(seedOfRun())
        const smtp = yield* Effect.acquireRelease(
          Effect.promise(() => startSmtp()),
          ({ close }) => Effect.promise(close),
        )
        const [port, otherPort] = yield* Effect.promise(() => Promise.all([freePort(), freePort()]))
        const settings = { ...env, SECRET_KEY: "5e".repeat(32), OUTBOUND_ALLOW: "127.0.0.1/32", LOG_LEVEL: "Error" }
        const other = yield* scopedProcess({ ...settings, BOUNCE_LISTEN: `127.0.0.1:${otherPort}` })
        const count = kills * messagesOfKill
        yield* Effect.promise(async () => {
          const key = await makeOrganization(other, "acme", ["deliver"])
          const variants = [{ id: "a", vars: { subject: "Sale", body: "It is here." } }]
          await other.manage("POST", "/organizations/acme/templates", { id: "t", name: "t", variants })
          const made = await other.manage("PUT", "/organizations/acme/connections/main", {
            platform: "smtp",
            settings: {
              host: "127.0.0.1",
              port: smtp.port,
              ca: certificate,
              from: "news@shop.example",
              bounce_domain: "bounces.shop.example",
            },
          })
          assert.strictEqual(made.status, 200, JSON.stringify(made.body))
          for (let i = 0; i < count; i++) {
            const answer = await other.request("/api/deliver/acme", {
              method: "POST",
              headers: { "x-api-key": key, "content-type": "application/json" },
              body: JSON.stringify({ template_id: "t", email: `p${i}@mailbox.example` }),
            })
            assert.strictEqual(answer.status, 200, await answer.text())
          }
          await smtp.until(() => smtp.mails.length === count)
        })
        const paths = smtp.mails.map(({ from }) => from)
        const replies: Array<string> = []
        for (let round = 0; round < kills; round++) {
          const some = paths.slice(round * messagesOfKill, (round + 1) * messagesOfKill)
          yield* Effect.promise(async () => {
            const node = await startProcess({ ...settings, BOUNCE_LISTEN: `127.0.0.1:${port}` })
            const kill = async () => {
              // Before the mail is read, or anywhere up to the answer and shortly after it.
              if (round % 2 === 1) await pause(random() * 3)
              node.kill("SIGKILL")
              await node.ended
            }
            for (const to of some.slice(1)) assert.match(await sendMail(port, to, text), /^250/)
            replies.push(await sendAndKill(port, some[0]!, kill))
            // The sender has no answer, or forgot it: it comes again, to the other host of the MX record.
            for (const to of some.slice(0, 2)) assert.match(await sendMail(otherPort, to, text), /^250/)
          })
        }
        const { events, suppressed } = yield* Effect.promise(async () => {
          let found = await Effect.runPromise(bouncesIn(env))
          await waitUntil("all reports are taken in", async () => {
            found = await Effect.runPromise(bouncesIn(env))
            return found.suppressed.length === count
          })
          return found
        })
        console.info(`kill -9: ${kills} kills, answered ${replies.map((reply) => reply.slice(0, 6)).join(", ")}`)
        assert.lengthOf(events, count)
        assert.lengthOf(new Set(events.map(({ trackingId }) => trackingId)), count)
        assert.deepStrictEqual(events.filter(({ event, status }) => event !== "bounce" || status !== "attributed"), [])
        assert.sameMembers(suppressed, Array.from({ length: count }, (_, i) => `p${i}@mailbox.example`))
      })),
    300_000,
  )
})
