import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { MayBegin } from "../../../src/delivery/MayBegin.ts"
import type { Connection } from "../../../src/delivery/Connection.ts"
import { startSmtp } from "../../support/platformServers/SmtpReceiver.ts"
import { certificate } from "../../support/platformServers/Certificate.ts"
import { signingSecret } from "../receiver.ts"
import { connect, layerLoopback, message, sendTo, server } from "./support.ts"

/** Answers the question of an attempt later than it is asked. */
const withQuestion = (connection: Connection, answer: (decide: (may: boolean) => void) => void) =>
  connection.send(message()).pipe(Effect.provideService(MayBegin, answer))

const startHttp = () =>
  new Promise<{ readonly port: number; readonly seen: Array<string>; readonly close: () => Promise<void> }>(
    (resolve) => {
      const seen: Array<string> = []
      const http = createServer((request, response) => {
        seen.push(String(request.headers["webhook-id"]))
        request.resume().on("end", () => response.end("{}"))
      })
      const close = () =>
        new Promise<void>((done) => {
          http.closeAllConnections()
          http.close(() => done())
        })
      http.listen(0, "127.0.0.1", () => resolve({ port: (http.address() as AddressInfo).port, seen, close }))
    },
  )

describe("connections with a withheld message", () => {
  it.live("send no SMTP command for it, and reuse the session for the next message", () =>
    Effect.gen(function* () {
      const receiver = yield* server(() => startSmtp())
      const connection = yield* connect("smtp", {
        host: "127.0.0.1",
        port: receiver.port,
        tls: "starttls",
        ca: certificate,
        from: "news@shop.example",
      }, {})
      yield* sendTo(connection, "accepted")
      const withheld = yield* withQuestion(connection, (decide) => void setTimeout(() => decide(false), 5))
      assert.strictEqual(withheld._tag, "yielded")
      assert.strictEqual(receiver.mails.length, 1)
      const allowed = yield* withQuestion(connection, (decide) => void setTimeout(() => decide(true), 5))
      assert.strictEqual(allowed._tag, "accepted")
      assert.deepStrictEqual([receiver.mails.length, receiver.sessions()], [2, 1])
    }).pipe(Effect.provide(layerLoopback)))

  it.live("send no HTTP request for it, and send it once it may begin", () =>
    Effect.gen(function* () {
      const { port, seen } = yield* server(startHttp)
      const connection = yield* connect("webhook", { url: `http://127.0.0.1:${port}/` }, {
        signing_secret: signingSecret,
      })
      const withheld = yield* withQuestion(connection, (decide) => void setTimeout(() => decide(false), 5))
      assert.strictEqual(withheld._tag, "yielded")
      assert.deepStrictEqual(seen, [])
      const allowed = yield* withQuestion(connection, (decide) => void setTimeout(() => decide(true), 5))
      assert.strictEqual(allowed._tag, "accepted")
      yield* sendTo(connection, "accepted")
      assert.lengthOf(seen, 2)
    }).pipe(Effect.provide(layerLoopback)))
})
