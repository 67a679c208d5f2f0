import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { once } from "node:events"
import { createConnection, createServer, type Socket } from "node:net"
import { bounded } from "../../src/store/bounded.ts"
import { make, type Reached } from "../../src/store/ServerWatch.ts"
import { Store } from "../../src/store/Store.ts"
import * as StoreFromSettings from "../../src/store/StoreFromSettings.ts"
import { relayTo } from "../process/relay.ts"
import { emptyEnvironment, layerSettings } from "../support/stores.ts"

/** An address and its watch. `reached` is the server that answers there now; undefined without one. */
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
    connect: () => createConnection({ host: "127.0.0.1", port: address.port }),
    identify: Effect.suspend(() => now.reached === undefined ? Effect.fail("nobody") : Effect.succeed(now.reached)),
  })
  /** Lets `server` be who is reached, and looks. */
  const lookAt = (server: string | undefined, isStandby = false) => {
    now.reached = server === undefined ? undefined : { server, isStandby }
    return watch.look
  }
  /** A connection to the current server, and a function with which that server sends data over it. */
  const connect = Effect.promise(async () => {
    const near = watch.open().on("error", () => {})
    const [far] = await Promise.all([once(server, "connection"), once(near, "connect")])
    const speak = Effect.promise(async () => {
      const heard = once(near, "data")
      ;(far[0] as Socket).write("something")
      await heard
    })
    /** Asks over it, and comes back once that has arrived. */
    const ask = Effect.promise(async () => {
      const arrived = once(far[0] as Socket, "data")
      near.write("something")
      await arrived
    })
    return { near, speak, ask }
  })
  return { lookAt, connect }
})

describe("ServerWatch", () => {
  it.effect("closes connections to a replaced server, even if it still answers", () =>
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

  it.effect("keeps connections that may belong to the new server while they answer", () =>
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
      // A connection that has received data once belongs to the server. From then on it may be silent, as during a long
      // statement.
      assert.isFalse(answering.near.destroyed)
      assert.isFalse(later.near.destroyed)
    }))

  it.effect("closes connections whose statements were lost in a network failure", () =>
    Effect.gen(function* () {
      const { connect, lookAt } = yield* scopedAddress
      const [long, before, during, late, idle] = yield* Effect.all([connect, connect, connect, connect, connect])
      yield* long.ask
      yield* lookAt("first")
      yield* before.ask
      yield* lookAt(undefined)
      yield* during.ask
      yield* late.ask
      yield* lookAt(undefined)
      const after = yield* connect
      yield* after.ask
      assert.isTrue(yield* lookAt("first"))
      for (const { near } of [before, during, late]) assert.isFalse(near.destroyed)
      yield* late.speak
      yield* lookAt("first")
      assert.isTrue(before.near.destroyed)
      assert.isTrue(during.near.destroyed)
      // A long statement from before, one that was only late, one that was not asked, and one that is new.
      for (const { near } of [long, late, idle, after]) assert.isFalse(near.destroyed)
      yield* lookAt("first")
      for (const { near } of [long, late, idle, after]) assert.isFalse(near.destroyed)
    }))

  it.effect("keeps connections with long statements while the server answers", () =>
    Effect.gen(function* () {
      const { connect, lookAt } = yield* scopedAddress
      const long = yield* connect
      yield* lookAt("first")
      yield* long.ask
      for (const server of ["first", "first", undefined, "first", "first"]) yield* lookAt(server)
      assert.isFalse(long.near.destroyed)
    }))

  it.effect("waits until a standby takes over, and ignores an address of several servers", () =>
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

describe("a Postgres whose network fails silently", () => {
  it.live("fails the pending statements soon after the network is back", () =>
    Effect.scoped(Effect.gen(function* () {
      const env = yield* emptyEnvironment
      const url = new URL(env["DATABASE_URL"]!)
      const port = Number(url.port || 5432)
      const relay = yield* relayTo(port)
      url.hostname = "127.0.0.1"
      url.port = String(relay.port)
      const context = yield* Layer.build(
        StoreFromSettings.layer.pipe(Layer.provide(layerSettings({ ...env, DATABASE_URL: url.href }))),
      )
      const sql = yield* Effect.provideContext(SqlClient.SqlClient, context)
      const { look } = yield* Effect.provideContext(Store, context)
      yield* sql`SELECT 1`
      assert.isTrue(yield* look!)
      relay.block()
      const asked = yield* Effect.forkScoped(Effect.flip(sql`SELECT 2`), { startImmediately: true })
      assert.strictEqual((yield* Effect.flip(bounded("200 millis")(look!)))._tag, "TimeoutError")
      // Open connections are lost without a notice. New connections get through.
      relay.redirect(port)
      assert.isTrue(yield* look!)
      assert.isUndefined(asked.pollUnsafe())
      assert.isTrue(yield* look!)
      assert.strictEqual((yield* Fiber.join(asked))._tag, "SqlError")
      yield* sql`SELECT 3`
    })))
})
