import { assert, it } from "@effect/vitest"
import { gzipSync } from "node:zlib"
import { reportedEvents, sampleBodies, signedHeaders } from "../../src/cli/PlatformSamples.ts"
import { eventKinds } from "../../src/domain/EventKinds.ts"
import { senderNames, testSenders } from "../support/testSenders.ts"
import { assertProblem, type Json, read } from "./harness.ts"
import { organizationOf, suiteOnPlatforms } from "./platformSuite.ts"

suiteOnPlatforms("Senders of e-mail", (server) => {
  const organization = organizationOf(server)

  for (const sender of senderNames) {
    const { secret, settings = {} } = testSenders[sender]

    /** The sender's reports of an event of a message, the last one with the event itself. */
    const bodiesOf = (event: string, trackingId: string) => {
      const name = reportedEvents(sender).find((one) => one === event)!
      const email = `${trackingId}@example.com`
      return sampleBodies(sender, name, { trackingId, user: "u", email, messageId: `m-${trackingId}`, at: Date.now() })!
    }
    const signed = (body: string, letter = "a") => signedHeaders(sender, secret(letter), settings, body, Date.now())

    it(`counts every event of ${sender} once, and suppresses before the answer`, async () => {
      const org = await organization(`counts-${sender}`)
      await org.put(sender, { secret: secret("a"), settings })
      for (const event of reportedEvents(sender)) {
        await org.decide(`trk-${event}`, "u")
        for (const body of bodiesOf(event, `trk-${event}`)) {
          const headers = signed(body)
          for (let attempt = 0; attempt < 2; attempt++) {
            const answer = await org.post(sender, body, headers)
            assert.strictEqual(answer.status, 200, `${event}: ${answer.text}`)
          }
        }
        const { body } = await org.manage("GET", `/suppressions/lookup?email=trk-${event}%40example.com`)
        const { suppresses, suppressesRepeated } = eventKinds[event]
        const expected = suppresses === undefined || suppressesRepeated === true ? [] : [suppresses]
        assert.deepStrictEqual(body.suppressions.map(({ reason }: Json) => reason), expected, event)
      }
      await org.taken()
      for (const event of reportedEvents(sender)) {
        const found = await org.events(`?tracking_id=trk-${event}`)
        assert.deepStrictEqual(found.filter((one) => one.event === event).length, 1, event)
        assert.isTrue(found.every(({ source, status }) => source === sender && status === "attributed"), event)
      }
      assert.deepInclude(await org.source(sender), { platform: sender, not_understood: 0, ignored: 0 })
    })

    it(`stores only genuine requests of ${sender}, compressed or not`, async () => {
      const org = await organization(`checks-${sender}`)
      const [body = ""] = bodiesOf("open", "trk")
      const post = async (headers: Readonly<Record<string, string>>, sent: BodyInit = body) =>
        read(
          await server().service.request(`/api/webhook/${sender}/${org.slug}`, {
            method: "POST",
            headers: { "content-type": "application/json", ...headers },
            body: sent,
          }),
        )
      assertProblem(await post(signed(body)), 401)
      await org.put(sender, { secret: secret("a"), settings })
      assertProblem(await post(signed(body, "b")), 401)
      assertProblem(await post({}), 401)
      assertProblem(await post({ authorization: `Bearer ${secret("b")}` }, ""), 401)
      assertProblem(await post({ ...signed(body), "content-encoding": "compress" }), 415)
      assert.strictEqual((await org.stored()).length, 0)
      const compressed = gzipSync(body) as unknown as BodyInit
      assert.strictEqual((await post({ ...signed(body), "content-encoding": "gzip" }, compressed)).status, 200)
      await org.put(sender, { secret: secret("b") })
      for (const letter of ["a", "b"]) assert.strictEqual((await post(signed(body, letter))).status, 200)
      await org.put(sender, { enabled: false })
      assertProblem(await post(signed(body)), 401)
      await org.taken()
      assert.deepStrictEqual((await org.events()).map(({ event }) => event), ["open"])
      assert.isTrue((await org.stored()).every(({ status }) => status === "done"))
    })
  }
})
