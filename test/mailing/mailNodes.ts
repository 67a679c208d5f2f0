import { Context, Effect, Layer } from "effect"
import { layerNodeServices } from "../../src/service/App.ts"
import { certificate } from "../support/platformServers/Certificate.ts"
import { type SmtpReceiver, startSmtp } from "../support/platformServers/SmtpReceiver.ts"
import { layerSettings, temporaryEnvironment } from "../support/stores.ts"

type Services = Layer.Success<typeof layerNodeServices>

/** Two nodes on one database with one mail server. */
export class MailNodes extends Context.Service<MailNodes, {
  readonly nodes: ReadonlyArray<Context.Context<Services>>
  readonly server: SmtpReceiver
}>()("test/MailNodes") {}

/** Settings of a service that sends mail to `server`. */
export const mailSettings = (server: SmtpReceiver) => ({
  SECRET_KEY: "5e".repeat(32),
  OUTBOUND_ALLOW: "127.0.0.1/32",
  PUBLIC_URL: "https://parlance.example/base",
  MAIL_URL: `smtp://localhost:${server.port}`,
  MAIL_FROM: "Parlance <parlance@parlance.example>",
  MAIL_CA: certificate,
})

export const layerMailNodes = Layer.effect(
  MailNodes,
  Effect.gen(function* () {
    const server = yield* Effect.acquireRelease(
      Effect.promise(() => startSmtp()),
      ({ close }) => Effect.promise(close),
    )
    const settings = { ...yield* temporaryEnvironment, ...mailSettings(server), LOG_LEVEL: "None" }
    const node = Layer.build(Layer.fresh(layerNodeServices).pipe(Layer.provide(layerSettings(settings))))
    return MailNodes.of({ server, nodes: [yield* node, yield* node] })
  }),
)

/** Runs an effect on both nodes at once. */
export const onEach = <A, E>(effect: Effect.Effect<A, E, Services>) =>
  Effect.flatMap(
    MailNodes,
    ({ nodes }) => Effect.forEach(nodes, (node) => Effect.provideContext(effect, node), { concurrency: "unbounded" }),
  )

/** Runs an effect on the first node. */
export const onFirst = <A, E>(effect: Effect.Effect<A, E, Services>) =>
  Effect.flatMap(MailNodes, ({ nodes }) => Effect.provideContext(effect, nodes[0]!))
