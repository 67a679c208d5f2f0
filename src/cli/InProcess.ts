import { Context, Effect, Layer, Option, Redacted } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import { randomBytes } from "node:crypto"
import { layerRoutes, layerServices } from "../service/App.ts"
import { CurrentArrival, RequestArrival } from "../api/http/RequestArrival.ts"
import { routerConfig } from "../api/http/Server.ts"
import { Settings } from "../settings/Settings.ts"
import { clientFor, ManagementClient, ServiceFetch } from "./Client.ts"
import { inProcessUrl } from "./Report.ts"

/** Starts the API within this process, on the store of the settings, and returns a client of it. */
export const inProcess = Effect.gen(function* () {
  // Only this process can send requests, so a random token is enough.
  const token = Redacted.make(randomBytes(24).toString("hex"))
  const settings = yield* Settings
  const services = yield* Layer.build(
    layerServices.pipe(Layer.provide(Layer.succeed(Settings, {
      ...settings,
      adminToken: Option.some(token),
    }))),
  )
  const { handler } = yield* Effect.acquireRelease(
    Effect.sync(() =>
      HttpRouter.toWebHandler(
        layerRoutes.pipe(
          Layer.provide(Layer.succeedContext(services)),
          Layer.provide(Layer.succeed(Settings, settings)),
          Layer.provide(HttpServer.layerServices),
        ),
        { disableLogger: true, routerConfig },
      )
    ),
    ({ dispose }) => Effect.promise(dispose),
  )
  const respond = (request: Request) =>
    handler(request, Context.add(services, CurrentArrival, new RequestArrival(request, "127.0.0.1", Infinity)))
  const client = yield* clientFor(inProcessUrl, token, {
    fetch: (input, init) => respond(new Request(input, init)),
  })
  return Context.make(ManagementClient, client).pipe(
    Context.add(ServiceFetch, (path, init) => respond(new Request(`${inProcessUrl}${path}`, init))),
  )
})
