import { Config, Context, Effect, flow, Layer, Option, Redacted, Schema } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest, HttpRouter, HttpServer } from "effect/http"
import { HttpApiClient } from "effect/http-api"
import { randomBytes } from "node:crypto"
import { layerRoutes, layerServices } from "../App.ts"
import { Api } from "../api/Api.ts"
import { routerConfig } from "../api/server/Server.ts"
import { Settings } from "../Settings.ts"
import { inProcessUrl } from "./Report.ts"

/** A command cannot be carried out; the message gives the next step. */
export class CommandFailed extends Schema.TaggedError<CommandFailed>()("CommandFailed", {
  message: Schema.String,
}) {}

/** The management API, wherever it is answered. */
export class ManagementClient extends Context.Service<ManagementClient, HttpApiClient.ForApi<typeof Api>>()(
  "parlance/cli/ManagementClient",
) {}

const clientFor = (baseUrl: string, token: Redacted.Redacted<string>, fetch?: typeof globalThis.fetch) =>
  HttpApiClient.make(Api, {
    transformClient: flow(
      HttpClient.mapRequest((request) =>
        request.pipe(HttpClientRequest.prependUrl(baseUrl), HttpClientRequest.bearerToken(token))
      ),
      // Kept with its headers, declared or not: they say when to try again.
      HttpClient.filterStatus((status) => status !== 503),
    ),
  }).pipe(
    Effect.provide(
      fetch === undefined
        ? FetchHttpClient.layer
        : FetchHttpClient.layer.pipe(Layer.provide(Layer.succeed(FetchHttpClient.Fetch, fetch))),
    ),
  )

/** Answers the API within this process, on the store of the settings. */
const inProcess = Effect.gen(function* () {
  // Only this process can send requests, so the token need not outlive it.
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
  return yield* clientFor(
    inProcessUrl,
    token,
    (input, init) => handler(new Request(input, init), services),
  )
})

/**
 * Runs commands at `PARLANCE_URL`, with `ADMIN_TOKEN` or with the API key in `PARLANCE_KEY`. Without `PARLANCE_URL` they run
 * within this process on the store of the settings, which a running service uses as well.
 */
export const layer = Layer.effect(
  ManagementClient,
  Effect.gen(function* () {
    const settings = yield* Settings
    const url = yield* Config.option(Config.URL("PARLANCE_URL"))
    const key = yield* Config.option(Config.Redacted("PARLANCE_KEY"))
    if (Option.isSome(url)) {
      const token = Option.orElse(settings.adminToken, () => key)
      if (Option.isNone(token)) {
        return yield* new CommandFailed({
          message:
            "PARLANCE_URL is set, but neither ADMIN_TOKEN nor PARLANCE_KEY. Set ADMIN_TOKEN to the admin token of that " +
            "service, or PARLANCE_KEY to an API key with a scope of the management API.",
        })
      }
      return yield* clientFor(url.value.href.replace(/\/$/, ""), token.value)
    }
    return yield* inProcess
  }),
)
