import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Buffer } from "node:buffer"
import { NoAnswer, type OutboundHttp } from "../../src/delivery/OutboundHttp.ts"
import { SenderChecks } from "../../src/intake/SenderChecks.ts"
import { verify } from "../../src/intake/signatures/Verify.ts"
import { WebhookSources } from "../../src/intake/WebhookSources.ts"
import { certificateUrl, confirmation, makeSigner, message, signed, topic } from "../support/snsMessages.ts"

const signer = makeSigner()
const bytesOf = (json: unknown) => Buffer.from(JSON.stringify(json))

/** Runs with a source that names the topic, and an Amazon that gives `answers` by URL. Returns the requested URLs. */
const withAmazon = (
  answers: Readonly<Record<string, { readonly status: number; readonly body: string } | undefined>>,
  run: Effect.Effect<void, unknown, SenderChecks>,
) =>
  Effect.suspend(() => {
    const requested: Array<string> = []
    const http: OutboundHttp = {
      request: ({ url }) => {
        requested.push(url.href)
        const answer = answers[url.href]
        return answer === undefined
          ? Effect.fail(new NoAnswer({ kind: "unreachable", detail: "no route", sent: false }))
          : Effect.succeed({ ...answer, headers: {}, bytes: new Uint8Array() })
      },
    }
    const sources = {
      verify: (_org: string, _source: string, headers: Record<string, string>, body: Uint8Array, certificates = {}) =>
        verify("ses", { secrets: [], topics: [topic], certificates }, headers, body, Date.now()),
    } as unknown as WebhookSources["Service"]
    return run.pipe(
      Effect.provide(
        SenderChecks.layerOf(Effect.succeed(http)).pipe(Layer.provide(Layer.succeed(WebhookSources, sources))),
      ),
      Effect.as(requested),
    )
  })

const check = (sent: unknown) =>
  Effect.flatMap(SenderChecks, (checks) => checks.verify("acme", "ses", {}, bytesOf(sent)))
const isAccepted = (sent: unknown) => Effect.map(check(sent), (verdict) => verdict?.ok === true)
const confirm = (sent: unknown) => Effect.flatMap(SenderChecks, (checks) => checks.confirm("ses", bytesOf(sent)))

const request = confirmation()
const subscribeUrl = request["SubscribeURL" as keyof typeof request] as string

describe("SenderChecks", () => {
  it.effect("fetches a certificate once for all messages that it signs", () =>
    Effect.gen(function* () {
      const requested = yield* withAmazon(
        { [certificateUrl]: { status: 200, body: signer.pem } },
        Effect.gen(function* () {
          for (const MessageId of ["1", "2", "3"]) {
            assert.isTrue(yield* isAccepted(signed(signer, message({ MessageId }))))
          }
          assert.isFalse(yield* isAccepted({ ...signed(signer, message()), Message: "changed" }))
        }),
      )
      assert.deepStrictEqual(requested, [certificateUrl])
    }))

  it.effect("fetches nothing for topics that the source does not name", () =>
    Effect.gen(function* () {
      const TopicArn = "arn:aws:sns:us-east-1:999999999999:mail"
      const requested = yield* withAmazon(
        {},
        Effect.gen(function* () {
          assert.isFalse(yield* isAccepted(signed(signer, message({ TopicArn }))))
          assert.isFalse(yield* isAccepted(signed(signer, confirmation({ TopicArn }))))
        }),
      )
      assert.deepStrictEqual(requested, [])
    }))

  it.effect("fails without a certificate, so that the sender tries again", () =>
    Effect.gen(function* () {
      for (
        const answer of [
          undefined,
          { status: 302, body: signer.pem },
          { status: 404, body: "" },
          { status: 200, body: signer.pem + " ".repeat(20_000) },
        ]
      ) {
        yield* withAmazon(
          { [certificateUrl]: answer },
          Effect.gen(function* () {
            const error = yield* Effect.flip(check(signed(signer, message())))
            assert.include(error.message, certificateUrl)
          }),
        )
      }
    }))

  it.effect("confirms a subscription once", () =>
    Effect.gen(function* () {
      const requested = yield* withAmazon(
        { [subscribeUrl]: { status: 200, body: "<ConfirmSubscriptionResponse/>" } },
        Effect.gen(function* () {
          for (let attempt = 0; attempt < 3; attempt++) {
            assert.deepStrictEqual(yield* confirm(signed(signer, request)), {})
          }
          assert.deepStrictEqual(yield* confirm(signed(signer, message())), {})
        }),
      )
      assert.deepStrictEqual(requested, [subscribeUrl])
    }))

  it.effect("tries a confirmation three times, and returns why it failed", () =>
    Effect.gen(function* () {
      const requested = yield* withAmazon(
        {},
        Effect.gen(function* () {
          assert.deepStrictEqual(yield* confirm(signed(signer, request)), { "sns-confirmation": "no route" })
        }),
      )
      assert.strictEqual(requested.length, 3)
    }))
})
