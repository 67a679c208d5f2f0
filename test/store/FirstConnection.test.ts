import { assert, describe, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Fiber, Layer, Logger, Ref } from "effect"
import { TestClock } from "effect/testing"
import { AuthenticationError, ConnectionError, SqlError, UnknownError } from "effect/sql/SqlError"
import { createServer } from "node:net"
import { isPassing } from "../../src/store/ConnectFailure.ts"
import { servicePatience, StartPatience, whenReachable } from "../../src/store/FirstConnection.ts"
import { migrate } from "../../src/store/Migrations.ts"
import { Store } from "../../src/store/Store.ts"
import { StoreUnreachable } from "../../src/store/StoreUnreachable.ts"
import * as StoreFromSettings from "../../src/store/StoreFromSettings.ts"
import { freePort } from "../support/service.ts"
import { embeddedEnvironment, layerSettings } from "../support/stores.ts"
import { startPostgres } from "../support/throwawayPostgres.ts"

const causeOf = (message: string, code?: string) =>
  Object.assign(new Error(message), code === undefined ? {} : { code })
const unconnected = (message: string, code?: string) =>
  new SqlError({ reason: new ConnectionError({ cause: causeOf(message, code) }) })
const refused = (message: string, code: string) =>
  new SqlError({ reason: new AuthenticationError({ cause: causeOf(message, code) }) })
const failed = (message: string, code: string) =>
  new SqlError({ reason: new UnknownError({ cause: causeOf(message, code) }) })

describe("a failure of the first connection", () => {
  const passing: ReadonlyArray<readonly [string, SqlError]> = [
    ["no server listens", unconnected("connect ECONNREFUSED 127.0.0.1:5432", "ECONNREFUSED")],
    ["there is no socket yet", unconnected("connect ENOENT /tmp/.s.PGSQL.5432", "ENOENT")],
    ["the connection is reset", unconnected("read ECONNRESET", "ECONNRESET")],
    ["the server closes it", unconnected("Connection closed unexpectedly")],
    ["the server does not answer", unconnected("Connection timed out")],
    ["the network does not answer", unconnected("connect ETIMEDOUT 10.0.0.1:5432", "ETIMEDOUT")],
    ["there is no route", unconnected("connect EHOSTUNREACH 10.0.0.1:5432", "EHOSTUNREACH")],
    ["there is no network", unconnected("connect ENETUNREACH 10.0.0.1:5432", "ENETUNREACH")],
    ["the name is not known", unconnected("getaddrinfo ENOTFOUND db", "ENOTFOUND")],
    ["the name server does not answer", unconnected("getaddrinfo EAI_AGAIN db", "EAI_AGAIN")],
    ["the server starts", unconnected("the database system is starting up", "57P03")],
    ["the server stops", unconnected("terminating connection due to administrator command", "57P01")],
    ["the server crashed", unconnected("terminating connection because of crash of another server process", "57P02")],
    ["the server is full", failed("sorry, too many clients already", "53300")],
    ["the server has no memory", failed("out of memory", "53200")],
    ["the server is a standby", failed("cannot execute CREATE TABLE in a read-only transaction", "25006")],
    ["the connection fails", unconnected("could not establish the connection", "08001")],
    ["PgBouncer has no server", unconnected("server login has been failing, try again later", "08P01")],
  ]
  const lasting: ReadonlyArray<readonly [string, SqlError]> = [
    ["the password is wrong", refused(`password authentication failed for user "shop"`, "28P01")],
    ["the role is unknown", refused(`role "shop" does not exist`, "28000")],
    ["the database is unknown", failed(`database "shop" does not exist`, "3D000")],
    ["a right is missing", failed("permission denied for schema public", "42501")],
    ["there is no schema", failed("no schema has been selected to create in", "3F000")],
    ["the database takes no connections", failed("database is not currently accepting connections", "55000")],
    ["the database was dropped", unconnected("terminating connection", "57P04")],
    ["another program answers", unconnected("The server that answered is not a PostgreSQL server", "ERR_NO_POSTGRES")],
    ["the server has no TLS", unconnected("The server takes no encrypted connections", "ERR_SERVER_WITHOUT_TLS")],
    ["the certificate expired", unconnected("certificate has expired", "CERT_HAS_EXPIRED")],
    ["the authority is unknown", unconnected("self signed certificate", "DEPTH_ZERO_SELF_SIGNED_CERT")],
    ["the server wants a certificate", unconnected("received fatal alert: CertificateRequired")],
    ["the server is too old", failed(`syntax error at or near "GENERATED"`, "42601")],
    ["PgBouncer knows no such database", unconnected("no such database: shop", "08P01")],
  ]

  it.each([...passing])("is temporary if %s", (_, error) => assert.isTrue(isPassing(error)))
  it.each([...lasting])("is permanent if %s", (_, error) => assert.isFalse(isPassing(error)))
})

/** A failure of a start on `db:5432`. */
const unreachable = (reason: string, passes: boolean) =>
  new StoreUnreachable({
    setting: "DATABASE_URL",
    address: "db:5432/shop",
    reason,
    isPassing: passes,
    triedSeconds: 0,
  })

const layerStore = Layer.succeed(
  Store,
  Store.of({
    kind: "postgres",
    setting: "DATABASE_URL",
    direct: undefined,
    read: (effect) => effect,
    replica: undefined,
    address: "db:5432/shop",
    answers: Effect.succeed(false),
    look: undefined,
    listen: () => Effect.never,
    explain: () => Effect.undefined,
  }),
)

/** Collects the messages of the log, and completes `first` with the first one. */
const collected = (lines: Array<string>, first?: Deferred.Deferred<void>) =>
  Logger.layer([
    Logger.make(({ message }) => {
      lines.push(String(Array.isArray(message) ? message[0] : message))
      if (first !== undefined) Deferred.doneUnsafe(first, Effect.void)
    }),
  ])

describe("a start without a usable database", () => {
  it.effect("retries with growing pauses, and ends with the reason and the time spent", () => {
    const lines: Array<string> = []
    return Effect.gen(function* () {
      const attempts = yield* Ref.make(0)
      const attempt = Effect.andThen(
        Ref.update(attempts, (count) => count + 1),
        Effect.fail(unreachable("nothing accepts connections. Start the server", true)),
      )
      const start = yield* Effect.forkChild(Effect.flip(whenReachable(attempt)), { startImmediately: true })
      yield* TestClock.adjust("59 seconds")
      assert.isUndefined(start.pollUnsafe())
      yield* TestClock.adjust("1 second")
      const { message } = yield* Fiber.join(start)
      assert.strictEqual(
        message,
        "DATABASE_URL: the database at db:5432/shop cannot be used for 60 s: " +
          "nothing accepts connections. Start the server",
      )
      assert.isAbove(yield* Ref.get(attempts), 12)
      assert.isBelow(yield* Ref.get(attempts), 25)
      assert.strictEqual(
        lines[0],
        "Waiting up to 60 s for the database at db:5432/shop: nothing accepts connections. Start the server",
      )
      assert.strictEqual(lines.filter((line) => line.startsWith("Waiting up to")).length, 1)
    }).pipe(
      Effect.provideService(StartPatience, servicePatience),
      Effect.provide(Layer.merge(layerStore, collected(lines))),
    )
  })

  it.effect("logs a reason when it changes", () => {
    const lines: Array<string> = []
    return Effect.gen(function* () {
      const reasons = ["the name is not known", "the name is not known", "the server is starting up"]
      const attempt = Effect.suspend(() => {
        const reason = reasons.shift()
        return reason === undefined ? Effect.succeed("started") : Effect.fail(unreachable(reason, true))
      })
      const start = yield* Effect.forkChild(whenReachable(attempt), { startImmediately: true })
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual(yield* Fiber.join(start), "started")
      const warnings = lines.filter((line) => line.startsWith("Waiting up to"))
      assert.deepStrictEqual(warnings.map((line) => line.replace(/^.*shop: /, "")), [
        "the name is not known",
        "the server is starting up",
      ])
    }).pipe(Effect.provide(Layer.merge(layerStore, collected(lines))))
  })

  it.effect("ends at once if waiting cannot help", () => {
    const lines: Array<string> = []
    return Effect.gen(function* () {
      const { message } = yield* Effect.flip(whenReachable(Effect.fail(unreachable("wrong password", false))))
      assert.strictEqual(message, "DATABASE_URL: the database at db:5432/shop cannot be used: wrong password")
      assert.deepStrictEqual(lines, [])
    }).pipe(Effect.provide(Layer.merge(layerStore, collected(lines))))
  })

  it.live("continues when the server starts", () => {
    const lines: Array<string> = []
    return Effect.scoped(Effect.gen(function* () {
      const { DATA_DIR: seed } = yield* embeddedEnvironment
      const port = yield* Effect.promise(freePort)
      const waits = yield* Deferred.make<void>()
      const start = yield* Effect.forkChild(
        migrate.pipe(
          Effect.provide(StoreFromSettings.layer.pipe(
            Layer.provide(layerSettings({ DATABASE_URL: `postgres://postgres@127.0.0.1:${port}/postgres` })),
          )),
          Effect.provideService(StartPatience, Duration.minutes(5)),
          Effect.provide(collected(lines, waits)),
        ),
        { startImmediately: true },
      )
      yield* Deferred.await(waits)
      assert.match(lines[0]!, /^Waiting up to 300 s for the database at .*nothing accepts connections at port/)
      yield* Effect.acquireRelease(
        Effect.promise(() => startPostgres({ seed: seed!, settings: { port: String(port) } })),
        ({ stop }) => Effect.promise(stop),
      )
      assert.deepStrictEqual(yield* Fiber.join(start), [])
    }))
  })

  it.live("retries if the server accepts connections and closes them", () => {
    const lines: Array<string> = []
    return Effect.scoped(Effect.gen(function* () {
      const server = yield* Effect.acquireRelease(
        Effect.callback<ReturnType<typeof createServer>>((resume) => {
          const listening = createServer((socket) => socket.destroy())
          listening.listen(0, "127.0.0.1", () => resume(Effect.succeed(listening)))
        }),
        (listening) => Effect.sync(() => listening.close()),
      )
      const { port } = server.address() as { readonly port: number }
      const waits = yield* Deferred.make<void>()
      const start = yield* Effect.forkChild(
        migrate.pipe(
          Effect.provide(StoreFromSettings.layer.pipe(
            Layer.provide(layerSettings({ DATABASE_URL: `postgres://shop@127.0.0.1:${port}/shop` })),
          )),
          Effect.provideService(StartPatience, Duration.minutes(5)),
          Effect.provide(collected(lines, waits)),
        ),
        { startImmediately: true },
      )
      yield* Deferred.await(waits)
      assert.match(lines[0]!, /the server closed the connection/)
      assert.isUndefined(start.pollUnsafe())
      yield* Fiber.interrupt(start)
    }))
  })
})
