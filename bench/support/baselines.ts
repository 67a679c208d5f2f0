// Servers for the baselines of Generate (bench/generate.ts) and of events (bench/learn.ts, mode `effect`). They parse a
// body and respond with equal bytes.
//
//   deno run -A bench/support/baselines.ts bare|effect     (PORT from the environment)
import "../../src/runtime/leakGuard.ts"
import { Effect, Layer, Schema } from "effect"
import { HttpRouter, HttpServer, HttpServerRequest, HttpServerResponse } from "effect/http"

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

const Texts = Schema.Record(Schema.String, Schema.String)
const Asked = Schema.Struct({
  template_id: Schema.String,
  user_id: Schema.optionalKey(Schema.String),
  fields: Schema.optionalKey(Texts),
  attrs: Schema.optionalKey(Texts),
})
const Answer = Schema.Struct({
  tracking_id: Schema.String,
  copy: Schema.Struct({ id: Schema.String, vars: Texts }),
})

const generate = Effect.flatMap(
  HttpServerRequest.schemaBodyJson(Asked),
  () => HttpServerResponse.schemaJson(Answer)(answer),
)
const events = Effect.gen(function* () {
  const request = yield* HttpServerRequest.HttpServerRequest
  const body: unknown = JSON.parse(yield* request.text)
  return HttpServerResponse.jsonUnsafe({ status: "ok", received: Array.isArray(body) ? body.length : 1 })
})
const routes = Layer.mergeAll(
  HttpRouter.add("POST", "/api/generate/:org", generate),
  HttpRouter.add("POST", "/api/webhook/events/:org", events),
  HttpRouter.add("GET", "/healthz", HttpServerResponse.text("ok")),
)

const bare = async (request: Request) => {
  if (request.method === "POST") await request.json()
  return Response.json(answer)
}
const { handler } = HttpRouter.toWebHandler(routes.pipe(Layer.provideMerge(HttpServer.layerServices)), {
  disableLogger: true,
})
const isBare = Deno.args[0] === "bare"
Deno.serve({ port, hostname: "127.0.0.1", onListen: () => {} }, isBare ? bare : (request) => handler(request))
