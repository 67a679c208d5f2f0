import { assert } from "@effect/vitest"
import { Effect, Exit, Layer, Scope } from "effect"
import { AddressGuard } from "../../../src/settings/AddressGuard.ts"
import { SinkMessages } from "../../../src/delivery/sandbox/SinkMessages.ts"
import { Composer } from "../../../src/delivery/Composer.ts"
import type { Connection, Message, SendResult } from "../../../src/delivery/Connection.ts"
import { layerSpares } from "../../support/spares.ts"
import { type PlatformName, platforms } from "../../../src/delivery/connections/Platforms.ts"

/** For connections that keep nothing in the store; the sink is tested with a store in test/sandbox. */
export const layerWithoutSink = Layer.succeed(SinkMessages, {
  take: () => Effect.die("There is no store"),
  list: () => Effect.die("There is no store"),
  get: () => Effect.die("There is no store"),
  clear: () => Effect.die("There is no store"),
})

/** Servers under test are on loopback. */
export const layerLoopback = Layer.mergeAll(
  AddressGuard.layer(["127.0.0.0/8", "::1"]),
  Layer.provide(Composer.layer, layerSpares),
  layerWithoutSink,
)

/** A message; texts are named like the parts of an e-mail. */
export const message = (change: Partial<Message> = {}): Message => ({
  id: "0192f0c1-7c1e-7000-8000-000000000001",
  org: "acme",
  templateId: "welcome",
  copyId: "a",
  email: "ada@example.com",
  vars: { subject: "Hello Ada", body: "<p>Hello <b>Ada</b></p>", preheader: "Only today" },
  formats: { subject: "text", body: "html", preheader: "text" },
  attempt: 1,
  queuedAt: 1_778_486_400_000,
  firstAttemptAt: 1_778_486_400_000,
  ...change,
})

/** A connection with settings that must be right; closed with the test. */
export const connect = (
  name: PlatformName,
  settings: Readonly<Record<string, unknown>>,
  secrets: Readonly<Record<string, string>>,
) => Effect.mapError(platforms[name].make({ settings, secrets }), (faults) => new Error(JSON.stringify(faults)))

/** Makes it in a scope of its own that `close` ends. */
export const connectApart = Effect.fnUntraced(function* (
  name: PlatformName,
  settings: Readonly<Record<string, unknown>>,
  secrets: Readonly<Record<string, string>>,
) {
  const scope = yield* Scope.make()
  const connection = yield* connect(name, settings, secrets).pipe(Effect.provideService(Scope.Scope, scope))
  return { connection, close: Scope.close(scope, Exit.void) }
})

/** Something that is open until the test ends. */
export const server = <S extends { readonly close: () => Promise<void> }>(start: () => Promise<S>) =>
  Effect.acquireRelease(Effect.promise(start), ({ close }) => Effect.promise(close))

/** Sends, and expects an outcome of this kind. */
export const sendTo = <Tag extends SendResult["_tag"]>(connection: Connection, tag: Tag, sent = message()) =>
  Effect.map(connection.send(sent), (result) => {
    assert.strictEqual(result._tag, tag, JSON.stringify(result))
    return result as Extract<SendResult, { _tag: Tag }>
  })
