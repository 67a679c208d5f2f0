import { assert, it } from "@effect/vitest"
import { Cause, ConfigProvider, Effect, Layer, Logger, Schema } from "effect"
import { HttpRouter, HttpServer, HttpServerResponse } from "effect/http"
import { HttpApiError } from "effect/http-api"
import { SqlClient } from "effect/sql"
import { describe } from "vitest"
import { PublicCalls } from "../../src/api/http/PublicCalls.ts"
import * as Envelope from "../../src/api/http/Envelope.ts"
import { LoadGate } from "../../src/api/admission/LoadGate.ts"
import * as Server from "../../src/api/http/Server.ts"
import { Settings } from "../../src/settings/Settings.ts"
import { jsonLogger } from "../../src/telemetry/Discreet.ts"
import { layerMigrated, layerSettings, temporaryEnvironment } from "../support/stores.ts"

const person = "Zephyrine Quill"
const email = "zephyrine@personal.example"

/** The output of a process, and the layer that writes it. */
const printed = () => {
  const lines: Array<string> = []
  const layer = Logger.layer([Logger.map(jsonLogger, (line) => void lines.push(line))])
  return { lines, layer }
}

/** Serves a route that fails. `status` requests an address, and returns the status of the answer. */
const failing = Effect.fnUntraced(
  function* (path: `/${string}`, handler: Effect.Effect<HttpServerResponse.HttpServerResponse>) {
    const { layer, lines } = printed()
    const context = yield* Layer.build(
      Server.serve(Layer.merge(HttpRouter.add("GET", path, handler), Envelope.layer)).pipe(
        Layer.provideMerge(Server.layerServer),
        Layer.provide([LoadGate.layer, Layer.mock(PublicCalls)({ respond: () => undefined })]),
        Layer.provide(layerSettings({ PORT: "0" })),
        Layer.provide(layer),
      ),
    )
    const { address } = yield* Effect.provideContext(HttpServer.HttpServer, context)
    assert(address._tag !== "UnixPathAddress")
    const status = (url: string) =>
      Effect.promise(async () => {
        const response = await fetch(url, { headers: { "x-request-id": "one-request" } })
        await response.text()
        assert.strictEqual(response.headers.get("x-request-id"), "one-request")
        return response.status
      })
    return { lines, status, url: `http://127.0.0.1:${address.port}` }
  },
)

describe("logs", () => {
  it.live("name the refused column and the failure, but not the value", () =>
    Effect.scoped(Effect.gen(function* () {
      const { layer, lines } = printed()
      const context = yield* Layer.build(layerMigrated(temporaryEnvironment))
      const sql = yield* Effect.provideContext(SqlClient.SqlClient, context)
      const refused = yield* Effect.flip(sql`SELECT ${person}::text::int`)
      const broken = yield* Effect.flip(sql`SELECT 1 FROM nowhere_at_all`)
      yield* Effect.gen(function* () {
        yield* Effect.logError("A body was set aside", refused)
        yield* Effect.logWarning("An actor did not answer", { template: "acme/offer", cause: refused })
        yield* Effect.ignoreCause(Effect.orDie(Effect.fail(refused)), { log: true })
        yield* Effect.logError("The store is odd", broken)
      }).pipe(Effect.provide(layer))
      const text = lines.join("\n")
      assert.strictEqual(lines.length, 4, text)
      assert.notInclude(text, person)
      assert.lengthOf(lines.filter((line) => line.includes("SQLSTATE 22P02")), 3, text)
      assert.match(text, /SQLSTATE 42P01/)
      assert.match(text, /acme\/offer/)
    })))

  it.effect("omit quoted texts, addresses and queries of other errors", () =>
    Effect.gen(function* () {
      const { layer, lines } = printed()
      const unexpected = yield* Effect.flip(
        Schema.decodeUnknownEffect(Schema.Struct({ age: Schema.Int }))({ age: person }),
      )
      yield* Effect.gen(function* () {
        yield* Effect.logError("Odd", unexpected)
        yield* Effect.logWarning(`The "offer" is odd`, { template: "acme/offer", reason: unexpected.message })
        yield* Effect.logError("Odd", new Error(`Mail to ${email} failed at https://x.example/send?to=${email}`))
        yield* Effect.logError("Odd", new TypeError("It is no function", { cause: new Error(`no "${person}"`) }))
      }).pipe(Effect.provide(layer))
      const text = lines.join("\n")
      assert.notInclude(text, person)
      assert.notInclude(text, email)
      assert.include(text, "SchemaError")
      assert.include(JSON.parse(lines[1]!).message, `"offer"`)
      assert.include(text, "It is no function")
      assert.match(text, /at .+\.ts:\d+/)
    }))

  it.effect("have a text as the message, and other values as annotations and cause", () =>
    Effect.gen(function* () {
      const { layer, lines } = printed()
      const cause = Cause.fail(new Error("it broke"))
      yield* Effect.gen(function* () {
        yield* Effect.logInfo("Alone")
        yield* Effect.logInfo("With members", { store: "embedded", pid: 1 })
        yield* Effect.logInfo("With a reason", "it rained")
        yield* Effect.logInfo("With reasons", "it rained", 7)
        yield* Effect.logInfo("With a cause", cause)
        yield* Effect.logInfo("With a cause among members", { template: "offer", cause })
        yield* Effect.logInfo(cause)
        yield* Effect.logInfo({ lost: 3 })
      }).pipe(Effect.annotateLogs({ requestId: "r-1" }), Effect.provide(layer))
      const shapes = lines.map((line) => {
        const { annotations: { requestId, ...annotations }, cause, message } = JSON.parse(line)
        assert.strictEqual(requestId, "r-1")
        return [message, annotations, cause?.split("\n")[0]]
      })
      assert.deepStrictEqual(shapes, [
        ["Alone", {}, undefined],
        ["With members", { store: "embedded", pid: 1 }, undefined],
        ["With a reason", { reason: "it rained" }, undefined],
        ["With reasons", { reason: ["it rained", 7] }, undefined],
        ["With a cause", {}, "Error: it broke"],
        ["With a cause among members", { template: "offer" }, "Error: it broke"],
        ["Error: it broke", {}, "Error: it broke"],
        ["No message", { lost: 3 }, undefined],
      ])
    }))

  it.live("contain the id and route of a request, not its path", () =>
    Effect.scoped(Effect.gen(function* () {
      const { lines, status, url } = yield* failing(
        "/people/:person",
        Effect.andThen(Effect.logInfo("Looking"), Effect.die(new Error(`nobody is "${person}"`))),
      )
      assert.strictEqual(yield* status(`${url}/people/${encodeURIComponent(email)}?who=${email}`), 500)
      const records = lines.map((line) => JSON.parse(line))
      assert.deepStrictEqual(records.map(({ annotations }) => annotations.requestId), ["one-request", "one-request"])
      assert.strictEqual(records[1].annotations.route, "/people/:person")
      assert.notMatch(lines.join("\n"), /zephyrine|quill/i)
    })))

  it.live("contain an answer that does not match the contract, as a fault of the service", () =>
    Effect.scoped(Effect.gen(function* () {
      const encoded = Schema.encodeUnknownEffect(Schema.Struct({ rate: Schema.Finite }))({ rate: null })
      const { lines, status, url } = yield* failing(
        "/answers",
        Effect.as(Effect.orDie(HttpApiError.HttpApiSchemaError.wrap("Body", encoded)), HttpServerResponse.empty()),
      )
      assert.strictEqual(yield* status(`${url}/answers`), 500)
      assert.strictEqual(JSON.parse(lines[0]!).annotations.route, "/answers")
    })))
})

describe("settings of telemetry", () => {
  it.effect("are reported with their expected form if they are invalid", () =>
    Effect.gen(function* () {
      const env = {
        OTEL_EXPORTER_OTLP_ENDPOINT: "collector:4318",
        OTEL_EXPORTER_OTLP_HEADERS: "secret",
        OTEL_EXPORTER_OTLP_PROTOCOL: "grpc",
        OTEL_RESOURCE_ATTRIBUTES: "a=%zz",
        OTEL_TRACES_SAMPLER_ARG: "5",
      }
      const { faults } = yield* Effect.flip(
        Effect.provide(
          Settings,
          Settings.layer.pipe(Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env })))),
        ),
      )
      assert.deepStrictEqual(faults.map((fault) => fault.split(":", 1)[0]).sort(), Object.keys(env).sort())
      assert.notInclude(faults.join("\n"), "secret")
    }))
})
