import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import { createServer } from "node:net"
import { layerServices } from "../../../src/service/App.ts"
import * as BounceListener from "../../../src/intake/bounces/BounceListener.ts"
import { Limits, type ListenerLimits } from "../../../src/intake/bounces/Reception.ts"
import { ReportCounts } from "../../../src/intake/bounces/ReportCounts.ts"
import { Tracking } from "../../../src/tracking/Tracking.ts"
import { decide, makeOrg, org, settle } from "../support.ts"
import { absence, failed, mail, report } from "../mail/samples.ts"
import { freePort } from "../../support/service.ts"
import { type Environment, layerSettings, temporaryEnvironment } from "../../support/stores.ts"
import { sendMail, session } from "./support.ts"

const limits: ListenerLimits = {
  connections: 4,
  connectionsOfAddress: 3,
  idle: "1 minute",
  session: "1 minute",
  mails: 3,
  unknownRecipients: 2,
  mailBytes: 100_000,
  storedBytes: 20_000,
  mailsOfDelivery: 2,
}

let port = 0
const layerListening = (more: Partial<ListenerLimits> = {}, settings: Environment = {}) =>
  Layer.unwrap(Effect.gen(function* () {
    port = yield* Effect.promise(freePort)
    const environment = yield* temporaryEnvironment
    return BounceListener.layer.pipe(
      Layer.provideMerge(layerServices),
      Layer.provide(Layer.succeed(Limits, { ...limits, ...more })),
      Layer.provide(
        layerSettings({ ...environment, BOUNCE_LISTEN: `127.0.0.1:${port}`, LOG_LEVEL: "None", ...settings }),
      ),
    )
  }))

const bounce = report({ recipients: [failed("5.1.1", "smtp; 550 5.1.1 User unknown")] })

/** The return path of a new message. */
const returnPath = Effect.fnUntraced(function* (slug: string) {
  const id = randomUUID()
  yield* makeOrg(slug)
  yield* decide(slug, id, { user: "anna@mailbox.example" })
  const paths = yield* (yield* Tracking).returnPaths(org(slug))
  return `${paths(id)}@bounces.shop.example`
})

const stored = Effect.fnUntraced(function* (slug: string) {
  const sql = yield* SqlClient.SqlClient
  return yield* sql<{ bytes: number; headers: Readonly<Record<string, string>>; status: string }>`
    SELECT octet_length(i.body) AS bytes, i.headers, i.status FROM inbox i
    WHERE i.org_slug = ${slug} AND i.source = 'mail' ORDER BY i.id`
})

const eventsOf = Effect.fnUntraced(function* (slug: string) {
  const sql = yield* SqlClient.SqlClient
  return yield* sql`SELECT e.event FROM events e WHERE e.org_slug = ${slug} AND e.source = 'mail'`
})

/** Opens a session and gets as far as the mail itself. */
const receiving = async (to: string) => {
  const opened = await session(port)
  await opened.say("EHLO mx.mailbox.example")
  await opened.say("MAIL FROM:<>")
  assert.match(await opened.say(`RCPT TO:<${to}>`), /^250/)
  assert.match(await opened.say("DATA"), /^354/)
  return opened
}

describe("the bounce listener", () => {
  layer(layerListening(), { excludeTestServices: true })((it) => {
    it.effect("offers neither login nor STARTTLS", () =>
      Effect.promise(async () => {
        const { greeting, quit, say } = await session(port)
        assert.match(greeting, /^220 /)
        assert.match(await say("AUTH PLAIN AHUAcA=="), /^5\d\d/)
        assert.match(await say("STARTTLS"), /^5\d\d/)
        assert.match(await say("VRFY anna"), /^252/)
        await quit()
      }))

    it.effect("rejects unknown mailboxes, and disconnects a client that keeps guessing", () =>
      Effect.promise(async () => {
        const { closed, say } = await session(port)
        await say("EHLO mx.mailbox.example")
        await say("MAIL FROM:<>")
        assert.match(await say("RCPT TO:<postmaster@bounces.shop.example>"), /^550 5\.1\.1/)
        assert.match(await say(`RCPT TO:<bounce+${"0".repeat(48)}@bounces.shop.example>`), /^421 4\.7\.0/)
        await closed
      }))

    it.effect("accepts one recipient per mail, and a limited number of mails per session", () =>
      Effect.gen(function* () {
        const first = yield* returnPath("several")
        const second = yield* returnPath("several2")
        yield* Effect.promise(async () => {
          const { closed, reply, say, write } = await session(port)
          await say("EHLO mx.mailbox.example")
          for (let i = 0; i < 2; i++) {
            assert.match(await say("MAIL FROM:<>"), /^250/)
            assert.match(await say(`RCPT TO:<${first}>`), /^250/)
            assert.match(await say(`RCPT TO:<${second}>`), /^452/)
            await say("DATA")
            write(`${bounce}.\r\n`)
            assert.match(await reply(), /^250/)
          }
          assert.match(await say("MAIL FROM:<>"), /^250/)
          assert.match(await say("RSET"), /^250/)
          assert.match(await say("MAIL FROM:<>"), /^421/)
          await closed
        })
        assert.lengthOf(yield* stored("several"), 2)
        assert.lengthOf(yield* stored("several2"), 0)
      }))

    it.effect("keeps the beginning of a mail, and rejects one that is too large", () =>
      Effect.gen(function* () {
        const to = yield* returnPath("large")
        yield* Effect.promise(async () => {
          const large = bounce.replace(/--4XwVQ91[^\n]*--\r\n$/, `${"Original line\r\n".repeat(5_000)}`)
          assert.match(await sendMail(port, to, large), /^250/)
          assert.match(await sendMail(port, to, "a: b\r\n".repeat(20_000)), /^552/)
          const { quit, say } = await session(port)
          await say("EHLO mx.mailbox.example")
          assert.match(await say("MAIL FROM:<> SIZE=50000000"), /^552/)
          await quit()
        })
        const [only, ...others] = yield* stored("large")
        assert.deepStrictEqual(others, [])
        assert.strictEqual(only!.bytes, limits.storedBytes)
        assert.isAbove(Number(only!.headers["size"]), limits.storedBytes)
        yield* settle("large")
        assert.deepStrictEqual(yield* eventsOf("large"), [{ event: "bounce" }])
      }))

    it.effect("cuts off an endless mail and stores none of it", () =>
      Effect.gen(function* () {
        const to = yield* returnPath("endless")
        yield* Effect.promise(async () => {
          const { closed, socket } = await receiving(to)
          const pour = () => {
            while (!socket.destroyed && socket.write("a".repeat(16_384)));
          }
          socket.on("drain", pour)
          pour()
          await closed
        })
        assert.deepStrictEqual(yield* stored("endless"), [])
      }))

    it.effect("stores nothing if the client disconnects during a mail", () =>
      Effect.gen(function* () {
        const to = yield* returnPath("broken")
        yield* Effect.promise(async () => {
          const { closed, socket, write } = await receiving(to)
          write(bounce)
          socket.destroy()
          await closed
          assert.match(await sendMail(port, to, absence), /^250/)
        })
        assert.lengthOf(yield* stored("broken"), 1)
      }))

    it.effect("limits the mails about one delivery per hour", () =>
      Effect.gen(function* () {
        const to = yield* returnPath("flood")
        yield* Effect.promise(async () => {
          for (let i = 0; i < limits.mailsOfDelivery; i++) assert.match(await sendMail(port, to, bounce), /^250/)
          assert.match(await sendMail(port, to, bounce), /^450 4\.2\.1/)
        })
        assert.lengthOf(yield* stored("flood"), limits.mailsOfDelivery)
        yield* settle("flood")
        assert.deepStrictEqual(yield* eventsOf("flood"), [{ event: "bounce" }])
      }))

    it.effect("serves others while clients are silent, and limits sessions per address", () =>
      Effect.gen(function* () {
        const to = yield* returnPath("slow")
        const other = yield* returnPath("slow2")
        yield* Effect.promise(async () => {
          const silent = [await receiving(to), await receiving(to)]
          silent[0]!.write("Subject: slow")
          assert.match(await sendMail(port, other, bounce), /^250/)
          const third = await session(port)
          const refused = await session(port)
          assert.match(refused.greeting, /^421 4\.7\.0 Too many connections/)
          for (const { socket } of [...silent, third, refused]) socket.destroy()
          await Promise.all([...silent, third, refused].map(({ closed }) => closed))
        })
      }))

    it.effect("parses hostile mail in the reader process and reports the fault", () =>
      Effect.gen(function* () {
        const hostile = [
          Array.from({ length: 1_000 }, (_, i) => `Content-Type: multipart/mixed; boundary="b${i}"\r\n\r\n--b${i}\r\n`)
            .join(""),
          `Subject: ${"a".repeat(15_000)}\r\n\r\n`,
          mail("Subject: x", "Content-Transfer-Encoding: base64", "", "/w==".repeat(3_000)),
          "\0\u0001\u0002\r\n".repeat(1_000),
          mail("From: a@b.example\rBcc: c@d.example", "Subject: =?utf-8?Q?=0D=0ABcc:_c@d.example?=", "", "."),
        ]
        for (const [i, text] of hostile.entries()) {
          const to = yield* returnPath(`hostile${i}`)
          assert.match(yield* Effect.promise(() => sendMail(port, to, text)), /^250/)
          yield* settle(`hostile${i}`)
          assert.deepStrictEqual((yield* stored(`hostile${i}`)).map(({ status }) => status), ["rejected"])
          assert.deepStrictEqual(yield* eventsOf(`hostile${i}`), [])
        }
      }))
  })

  layer(layerListening({ mailsOfDelivery: 10_000 }, { STORE_TIMEOUT: "200 millis" }), { excludeTestServices: true })(
    (it) => {
      it.effect("answers with a temporary failure while the database is unavailable", () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const to = yield* returnPath("outage")
          yield* sql`ALTER TABLE inbox RENAME TO inbox_away`
          assert.match(yield* Effect.promise(() => sendMail(port, to, bounce)), /^451 4\.3\.0/)
          yield* sql`ALTER TABLE inbox_away RENAME TO inbox`
          // The sender comes again until the mail is taken.
          let answer = ""
          while (!answer.startsWith("250")) answer = yield* Effect.promise(() => sendMail(port, to, bounce))
          yield* settle("outage")
          assert.deepStrictEqual(yield* eventsOf("outage"), [{ event: "bounce" }])
        }))
    },
  )

  layer(layerListening({}, { WEBHOOK_DAILY_BYTES: "1000" }), { excludeTestServices: true })((it) => {
    it.effect("counts mail toward the quota of its organization", () =>
      Effect.gen(function* () {
        const to = yield* returnPath("quota")
        assert.match(yield* Effect.promise(() => sendMail(port, to, bounce)), /^250/)
        assert.match(yield* Effect.promise(() => sendMail(port, to, bounce)), /^452 4\.3\.1/)
        const other = yield* returnPath("quota2")
        assert.match(yield* Effect.promise(() => sendMail(port, other, bounce)), /^250/)
      }))
  })

  layer(layerListening({ idle: "1 second", session: "1 minute" }), { excludeTestServices: true })((it) => {
    it.effect("ends a session in which the client is silent", () =>
      Effect.gen(function* () {
        const to = yield* returnPath("idle")
        yield* Effect.promise(async () => {
          const { closed, reply } = await receiving(to)
          assert.match(await reply(), /^421/)
          await closed
        })
      }))
  })

  layer(layerListening({ session: "200 millis" }), { excludeTestServices: true })((it) => {
    it.effect("ends a session that takes too long, even with an active client", () =>
      Effect.gen(function* () {
        const to = yield* returnPath("long")
        yield* Effect.promise(async () => {
          const { closed, socket } = await receiving(to)
          let isOpen = true
          void closed.then(() => isOpen = false)
          const drip = (): Promise<void> =>
            new Promise((resolve) => socket.write("a", () => setImmediate(resolve))).then(() =>
              isOpen ? drip() : undefined
            )
          await drip()
        })
        assert.deepStrictEqual(yield* stored("long"), [])
      }))
  })

  it.effect("names the faulty setting if it cannot listen", () =>
    Effect.gen(function* () {
      const taken = createServer()
      yield* Effect.callback<void>((resume) => void taken.listen(0, "127.0.0.1", () => resume(Effect.void)))
      const address = taken.address()
      assert(typeof address === "object" && address !== null)
      const error = yield* Layer.build(
        layerListening({}, { BOUNCE_LISTEN: `127.0.0.1:${address.port}` }),
      ).pipe(Effect.scoped, Effect.flip)
      taken.close()
      assert.match(String((error as Error).message), /^BOUNCE_LISTEN: nothing can listen at 127\.0\.0\.1:\d+/)
    }))
})

describe("the count of mails about a delivery", () => {
  it("restarts after an hour", () => {
    const counts = new ReportCounts(2)
    for (const now of [0, 1]) {
      assert.isTrue(counts.admits("a", now))
      counts.add("a", now)
    }
    assert.isFalse(counts.admits("a", 3_599_999))
    assert.isTrue(counts.admits("b", 3_599_999))
    assert.isTrue(counts.admits("a", 3_600_000))
    counts.add("a", 3_600_000)
    assert.isTrue(counts.admits("a", 3_600_001))
  })
})
