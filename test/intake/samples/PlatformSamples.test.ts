import { assert, describe, it } from "vitest"
import { Buffer } from "node:buffer"
import type { Normalized } from "../../../src/domain/Event.ts"
import { EventName } from "../../../src/domain/EventKinds.ts"
import { type Platform, platforms, sourceIdOf } from "../../../src/domain/Source.ts"
import { normalizer } from "../../../src/intake/Sources.ts"
import { type SignatureSettings, verify } from "../../../src/intake/signatures/Verify.ts"
import { type SenderName, senderNames, testSenders } from "../../support/testSenders.ts"
import { reportedEvents, sampleBodies, signedBody, signedHeaders } from "../../../src/intake/samples/PlatformSamples.ts"

const at = Date.parse("2026-05-11T09:00:00Z")
const message = { trackingId: "trk-1", user: "u-1", email: "ann@example.com", messageId: "m-1", at }

const bytesOf = (text: string) => new TextEncoder().encode(text)

const read = (platform: Platform, body: string): Normalized => {
  const read = normalizer(sourceIdOf(platform)!)(bytesOf(body), {}, at)
  return "reason" in read ? assert.fail(read.reason) : read
}

const secrets: { readonly [platform in Platform]: string } = {
  braze: "b".repeat(32),
  iterable: "i".repeat(32),
  customerio: "c".repeat(32),
  segment: "s".repeat(32),
  sfmc: "f".repeat(32),
  events: `whsec_${Buffer.from("e".repeat(32)).toString("base64")}`,
  ...Object.fromEntries(senderNames.map((sender) => [sender, testSenders[sender].secret("p")])) as Record<
    SenderName,
    string
  >,
}

describe("sample bodies of platforms", () => {
  for (const platform of Object.values(platforms)) {
    it(`are read as the event reported by ${platform}`, () => {
      for (const event of reportedEvents(platform)) {
        const bodies = sampleBodies(platform, event, message) ?? []
        const all = bodies.map((body) => read(platform, body))
        assert.deepStrictEqual(all.flatMap(({ skipped }) => skipped), [], event)
        const events = all.flatMap(({ events }) => events)
        const last = events.at(-1)!
        assert.strictEqual(last.event, event)
        assert.strictEqual(last.occurredAt, at)
        assert.isFalse(last.automated)
        assert.isAtMost(events.length, 2)
        // The tracking id is on the event itself, or on a send of the same message.
        const linked = events.filter(({ messageKey, trackingId }) =>
          trackingId === "trk-1" && (messageKey === last.messageKey || last.trackingId === "trk-1")
        )
        assert.isAbove(linked.length, 0, event)
        assert.strictEqual(new Set(events.map(({ key }) => key)).size, events.length)
      }
    })

    it(`are signed as by ${platform}`, () => {
      const [unsigned = ""] = sampleBodies(platform, "click", message) ?? []
      const settings: SignatureSettings = { secrets: [secrets[platform]] }
      const isAccepted = (secret: string) => {
        const body = signedBody(platform, secret, unsigned, at)
        return verify(platform, settings, signedHeaders(platform, secret, {}, body, at), bytesOf(body), at).ok
      }
      const sender = Object.hasOwn(testSenders, platform) ? testSenders[platform as SenderName] : undefined
      const signing = sender?.signing ?? sender?.secret
      assert.isTrue(isAccepted(signing?.("p") ?? secrets[platform]))
      assert.isFalse(isAccepted(signing?.("q") ?? secrets[platform].replace(/^.{12}/, "whsec_AAAAAA")))
    })
  }

  it("follow the settings of a source", () => {
    const body = "{}"
    const check = (platform: Platform, settings: Omit<SignatureSettings, "secrets">, secret: string) =>
      verify(
        platform,
        { secrets: [secret], ...settings },
        signedHeaders(platform, secret, settings, body, at),
        bytesOf(body),
        at,
      )
        .ok
    assert.isTrue(check("braze", { header: "x-braze-token" }, secrets.braze))
    assert.isTrue(check("iterable", { header: "x-iterable" }, secrets.iterable))
    assert.isTrue(check("postmark", { header: "x-postmark" }, secrets.postmark))
    assert.isTrue(check("segment", { scheme: "token", header: "x-token" }, secrets.segment))
    assert.isTrue(check("sfmc", { key_encoding: "base64" }, Buffer.from("k".repeat(32)).toString("base64")))
  })

  it("are absent for events that a platform does not report", () => {
    assert.isUndefined(sampleBodies("sfmc", "conversion", message))
    assert.isUndefined(sampleBodies("iterable", "delivered", message))
    assert.deepStrictEqual(new Set(reportedEvents("events")), new Set(EventName.literals))
  })
})
