import { assert, it } from "@effect/vitest"
import { gzipSync } from "node:zlib"
import { reportedEvents, sampleBodies, signedBody, signedHeaders } from "../../src/intake/samples/PlatformSamples.ts"
import { eventKinds } from "../../src/domain/EventKinds.ts"
import { certificateUrl, confirmation, makeSigner, message, signed, topic } from "../support/snsMessages.ts"
import { senderNames, testSenders } from "../support/testSenders.ts"
import { assertProblem, type Json, read } from "./harness.ts"
import { organizationOf, suiteOnPlatforms } from "./platformSuite.ts"

suiteOnPlatforms("Senders of e-mail", (server) => {
  const organization = organizationOf(server)

  for (const sender of senderNames) {
    const { secret, settings = {}, signing = secret } = testSenders[sender]

    /** The sender's reports of an event of a message, the last one with the event itself. */
    const bodiesOf = (event: string, trackingId: string, letter = "a", at = Date.now()) => {
      const name = reportedEvents(sender).find((one) => one === event)!
      const email = `${trackingId}@example.com`
      const message = { trackingId, user: "u", email, messageId: `m-${trackingId}`, at }
      return sampleBodies(sender, name, message)!.map((body) => signedBody(sender, signing(letter), body, Date.now()))
    }
    const headersOf = (body: string, letter = "a") => signedHeaders(sender, signing(letter), settings, body, Date.now())

    it(`counts every event of ${sender} once, and suppresses before the answer`, async () => {
      const org = await organization(`counts-${sender}`)
      await org.put(sender, { secret: secret("a"), settings })
      for (const event of reportedEvents(sender)) {
        await org.decide(`trk-${event}`, "u")
        for (const body of bodiesOf(event, `trk-${event}`)) {
          const headers = headersOf(body)
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
      const at = Date.now()
      const [body = "", forged = ""] = [...bodiesOf("open", "trk", "a", at), ...bodiesOf("open", "trk", "b", at)]
      const post = async (headers: Readonly<Record<string, string>>, sent: BodyInit = body) =>
        read(
          await server().service.request(`/api/webhook/${sender}/${org.slug}`, {
            method: "POST",
            headers: { "content-type": "application/json", ...headers },
            body: sent,
          }),
        )
      assertProblem(await post(headersOf(body)), 401)
      await org.put(sender, { secret: secret("a"), settings })
      assertProblem(await post(headersOf(forged, "b"), forged), 401)
      assertProblem(await post({}, "{}"), 401)
      assertProblem(await post({ authorization: `Bearer ${secret("b")}` }, ""), 401)
      assertProblem(await post({ ...headersOf(body), "content-encoding": "compress" }), 415)
      assert.strictEqual((await org.stored()).length, 0)
      const compressed = gzipSync(body) as unknown as BodyInit
      assert.strictEqual((await post({ ...headersOf(body), "content-encoding": "gzip" }, compressed)).status, 200)
      await org.put(sender, { secret: secret("b") })
      assert.strictEqual((await post(headersOf(body))).status, 200)
      assert.strictEqual((await post(headersOf(forged, "b"), forged)).status, 200)
      await org.put(sender, { enabled: false })
      assertProblem(await post(headersOf(body)), 401)
      await org.taken()
      assert.deepStrictEqual((await org.events()).map(({ event }) => event), ["open"])
      assert.isTrue((await org.stored()).every(({ status }) => status === "done"))
    })
  }

  it("accepts signed messages of the topics that a source of Amazon SES names, and no others", async () => {
    const org = await organization("topics")
    const signer = makeSigner()
    assert.deepStrictEqual((await org.put("ses", { settings: {} }, 400)).errors.map(({ pointer }: Json) => pointer), [
      "/secret",
    ])
    await org.put("ses", { settings: { topics: [topic], certificates: { [certificateUrl]: signer.pem } } })
    await org.decide("trk", "u")
    const Message = JSON.stringify({
      eventType: "Complaint",
      mail: { messageId: "m", destination: ["a@example.com"], tags: { tracking_id: ["trk"] } },
      complaint: { complainedRecipients: [{ emailAddress: "a@example.com" }], timestamp: new Date().toISOString() },
    })
    const post = (sent: Readonly<Record<string, unknown>>) =>
      org.post("ses", JSON.stringify(sent), {
        "content-type": "text/plain; charset=UTF-8",
        "x-amz-sns-message-type": String(sent["Type"]),
        "x-amz-sns-topic-arn": String(sent["TopicArn"]),
      })
    assert.strictEqual((await post(signed(signer, message({ Message })))).status, 200)
    assert.deepStrictEqual(
      (await org.manage("GET", "/suppressions/lookup?email=a%40example.com")).body.suppressions.map((
        { reason }: Json,
      ) => reason),
      ["complaint"],
    )
    const foreign = { TopicArn: "arn:aws:sns:us-east-1:999999999999:mail" }
    for (
      const sent of [
        signed(signer, message({ Message, ...foreign })),
        signed(signer, confirmation(foreign)),
        signed(makeSigner(), message({ Message })),
        { ...signed(signer, message({ Message })), Message: "changed" },
        message({ Message }),
        JSON.parse(Message),
      ]
    ) assertProblem(await post(sent), 401)
    await org.taken()
    assert.deepStrictEqual((await org.events()).map(({ event, status }) => [event, status]), [["spam", "attributed"]])
    assert.strictEqual((await org.stored()).length, 1)
  })

  it("refuses a token of Mailgun that was used for another event", async () => {
    const org = await organization("tokens")
    const { secret } = testSenders.mailgun
    await org.put("mailgun", { secret: secret("a") })
    const [unsigned = ""] = sampleBodies("mailgun", "open", {
      trackingId: "trk",
      user: "u",
      email: "a@example.com",
      messageId: "m",
      at: Date.now(),
    })!
    const body = signedBody("mailgun", secret("a"), unsigned, Date.now())
    assert.strictEqual((await org.post("mailgun", body)).status, 200)
    assert.strictEqual((await org.post("mailgun", body)).status, 200)
    const other = body.replace('"id":"m-open"', '"id":"m-forged"').replace('"opened"', '"complained"')
    assert.notStrictEqual(other, body)
    assertProblem(await org.post("mailgun", other), 401)
    // Mailgun's id is unique only within a day, so the same id on another day would be another event.
    const otherDay = JSON.parse(body)
    otherDay["event-data"].event = "complained"
    otherDay["event-data"].timestamp -= 86_400
    assertProblem(await org.post("mailgun", JSON.stringify(otherDay)), 401)
    await org.taken()
    assert.deepStrictEqual((await org.events()).map(({ event }) => event), ["open"])
  })
})
