import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { once } from "node:events"
import { createServer, type Socket } from "node:net"
import { make, type Reached } from "../../src/store/ServerWatch.ts"

/** An address, and a watch of what is said of it: `reached` is who answers there now, undefined for nobody. */
const scopedAddress = Effect.gen(function* () {
  const accepted: Array<Socket> = []
  const server = createServer((socket) => void accepted.push(socket.on("error", () => {}).resume()))
  yield* Effect.acquireRelease(
    Effect.promise(async () => {
      server.listen(0, "127.0.0.1")
      await once(server, "listening")
    }),
    () =>
      Effect.sync(() => {
        for (const socket of accepted) socket.destroy()
        server.close()
      }),
  )
  const address = server.address()
  if (typeof address !== "object" || address === null) return yield* Effect.die("no port")
  const now: { reached: Reached | undefined } = { reached: undefined }
  const watch = make({
    host: "127.0.0.1",
    port: address.port,
    keepAliveMillis: 10_000,
    identify: Effect.suspend(() => now.reached === undefined ? Effect.fail("nobody") : Effect.succeed(now.reached)),
  })
  /** Lets `server` be who is reached, and looks. */
  const lookAt = (server: string | undefined, isStandby = false) => {
    now.reached = server === undefined ? undefined : { server, isStandby }
    return watch.look
  }
  /** A connection to whoever is there, and a way for that one to say something over it. */
  const connect = Effect.promise(async () => {
    const near = watch.open().on("error", () => {})
    const [far] = await Promise.all([once(server, "connection"), once(near, "connect")])
    const speak = Effect.promise(async () => {
      const heard = once(near, "data")
      ;(far[0] as Socket).write("something")
      await heard
    })
    return { near, speak }
  })
  return { lookAt, connect }
})

describe("ServerWatch", () => {
  it.effect("breaks connections to a server that was replaced, even one that still answers", () =>
    Effect.gen(function* () {
      const { connect, lookAt } = yield* scopedAddress
      const silent = yield* connect
      const answering = yield* connect
      assert.isTrue(yield* lookAt("first"))
      yield* answering.speak
      assert.isTrue(yield* lookAt("first"))
      assert.isFalse(silent.near.destroyed)
      assert.isFalse(yield* lookAt(undefined))
      assert.isFalse(silent.near.destroyed)
      yield* answering.speak
      assert.isTrue(yield* lookAt("second"))
      assert.isTrue(silent.near.destroyed)
      assert.isTrue(answering.near.destroyed)
    }))

  it.effect("keeps what may lead to the new server already for as long as it answers", () =>
    Effect.gen(function* () {
      const { connect, lookAt } = yield* scopedAddress
      yield* lookAt("first")
      const [answering, falling, silent] = yield* Effect.all([connect, connect, connect])
      // Of these three none has been heard before a change is seen.
      yield* lookAt(undefined)
      yield* answering.speak
      yield* falling.speak
      yield* lookAt("second")
      assert.isTrue(silent.near.destroyed)
      assert.isFalse(answering.near.destroyed)
      const later = yield* connect
      yield* answering.speak
      yield* lookAt("second")
      assert.isTrue(falling.near.destroyed)
      yield* lookAt("second")
      yield* lookAt("second")
      // Whoever is heard once leads there; from then on it may be silent, as it is in a long statement.
      assert.isFalse(answering.near.destroyed)
      assert.isFalse(later.near.destroyed)
    }))

  it.effect("waits for a standby to take over, and leaves an address of several servers alone", () =>
    Effect.gen(function* () {
      const { connect, lookAt } = yield* scopedAddress
      const first = yield* connect
      yield* lookAt("first")
      assert.isFalse(yield* lookAt("second", true))
      assert.isFalse(first.near.destroyed)
      yield* lookAt("second")
      assert.isTrue(first.near.destroyed)
      const either = yield* connect
      yield* lookAt("second")
      for (const server of ["first", "second", "first"]) assert.isTrue(yield* lookAt(server))
      assert.isFalse(either.near.destroyed)
    }))
})
