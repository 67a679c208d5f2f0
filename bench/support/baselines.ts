// The baselines: what a server costs that parses a body and answers the same bytes, of Generate (bench/generate.ts) and of
// events (bench/learn.ts, mode `effect`).
//
//   deno run -A bench/support/baselines.ts bare|effect     (PORT from the environment)
import "../../src/runtime/leakGuard.ts"
import { NodeHttpServer, NodeRuntime } from "@effect/platform-node"
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { createServer } from "node:http"

const port = Number(process.env.PORT)
const answer = {
  tracking_id: "9bea0280-d182-4c3a-821c-d67e2677f525",
  copy: {
    id: "v1",
    vars: {
      subject: "Hi Ann, offer 1 for you",
      preheader: "Only in OSLO today",
      body: "Dear Ann, we picked boots for you.",
    },
  },
}

if (Deno.args[0] === "bare") {
  Deno.serve({ port, hostname: "127.0.0.1", onListen: () => {} }, async (request) => {
    if (request.method === "POST") await request.json()
    return Response.json(answer)
  })
} else {
  const route = Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    const body: unknown = JSON.parse(yield* request.text)
    return HttpServerResponse.jsonUnsafe(body === null ? {} : answer)
  })
  const events = Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    const body: unknown = JSON.parse(yield* request.text)
    return HttpServerResponse.jsonUnsafe({ status: "ok", received: Array.isArray(body) ? body.length : 1 })
  })
  const routes = Layer.mergeAll(
    HttpRouter.add("POST", "/api/generate/:org", route),
    HttpRouter.add("POST", "/api/webhook/events/:org", events),
    HttpRouter.add("GET", "/healthz", HttpServerResponse.text("ok")),
  )
  HttpRouter.serve(routes, { disableLogger: true, disableListenLog: true }).pipe(
    Layer.provide(NodeHttpServer.layer(() => createServer(), { port, host: "127.0.0.1" })),
    Layer.launch,
    NodeRuntime.runMain,
  )
}
