import { Cause, Console, Effect, Layer, Option } from "effect"
import { HttpServer } from "effect/http"
import { layerJobs, layerNodeServices, layerRoutes } from "./App.ts"
import * as FirstRun from "./FirstRun.ts"
import { Drain } from "../api/http/Drain.ts"
import { isLoopback, proxyAdvice } from "../api/http/ProxyAdvice.ts"
import * as Server from "../api/http/Server.ts"
import { Settings } from "../settings/Settings.ts"
import * as LocalService from "../store/LocalService.ts"
import { Store } from "../store/Store.ts"

/**
 * Logs the address of the service. On an empty embedded store of this machine, also creates the demo and prints an
 * example call.
 */
const announce = Effect.gen(function* () {
  const server = yield* HttpServer.HttpServer
  const settings = yield* Settings
  const store = yield* Store
  const port = server.address._tag === "UnixPathAddress" ? settings.port : server.address.port
  const localUrl = `http://${settings.host.includes(":") ? `[${settings.host}]` : settings.host}:${port}`
  const url = Option.match(settings.publicUrl, {
    onNone: () => localUrl,
    onSome: ({ href }) => href.replace(/\/$/, ""),
  })
  yield* Effect.logInfo(`Parlance answers at ${url}`, { store: store.kind, pid: Deno.pid })
  const advice = proxyAdvice(settings.host, settings.trustedProxies)
  if (advice !== undefined) yield* Effect.logWarning(advice)
  if (Option.isSome(settings.bounceListen)) {
    const { host, port } = settings.bounceListen.value
    yield* Effect.logInfo(`Bounces and complaints are received by SMTP at ${host}:${port}`)
  }
  if (store.kind === "embedded") {
    const isEverywhere = settings.host === "0.0.0.0" || settings.host === "::"
    yield* LocalService.announce(settings.dataDir, isEverywhere ? `http://127.0.0.1:${port}` : localUrl)
  }
  if (store.kind === "embedded" && isLoopback(settings.host)) {
    // The service continues without the greeting, because it already serves requests.
    const greeting = yield* FirstRun.greeting(url, settings.dataDir).pipe(
      Effect.catchCause((cause) =>
        Cause.hasInterruptsOnly(cause) ? Effect.failCause(cause) : Effect.as(
          Effect.logWarning("The first-run link could not be created. Restart the service to get one", cause),
          undefined,
        )
      ),
    )
    // Without a terminal, standard output contains only lines of the log.
    if (greeting !== undefined) yield* process.stdout.isTTY ? Console.log(greeting) : Console.error(greeting)
  }
})

/** The whole service. Serves until its scope closes. */
export const layer = Layer.effectDiscard(announce).pipe(
  Layer.provideMerge(Drain.layerDelay),
  Layer.provideMerge(Server.serve(layerRoutes)),
  Layer.provideMerge(layerJobs),
  Layer.provideMerge(Server.layerServer),
  Layer.provideMerge(layerNodeServices),
)
