import { Context, Effect, Layer, Schema } from "effect"
import { ModelSnapshot } from "../bandit/Model.ts"
import { ActorRequests } from "../cluster/ActorRequests.ts"
import { Cluster } from "../cluster/Cluster.ts"
import { Learner } from "./Learner.ts"
import { LearningWindow } from "../domain/LearningWindow.ts"
import * as Json from "../json/Json.ts"

/** Requests from a node to an actor on another node. */
const Request = Schema.Union([
  Schema.TaggedStruct("Wake", { stale: Schema.Boolean }),
  Schema.TaggedStruct("Refresh", {}),
  Schema.TaggedStruct("Windowed", {
    window: LearningWindow,
  }),
])
type Request = typeof Request.Type

const decoderOf = <S extends Schema.ConstraintDecoder<unknown>>(schema: S) => {
  const decode = Schema.decodeUnknownEffect(schema)
  return (text: string | null) => Effect.flatMap(Effect.try(() => Json.parseStored(text ?? "null")), decode)
}
const decodeRequest = decoderOf(Request)
const decodeModel = decoderOf(ModelSnapshot)

/**
 * The actors of templates, on this node and on others. If an actor moves or its node hangs, an effect fails or never
 * returns, so callers need a timeout.
 */
export class TemplateActors extends Context.Service<TemplateActors, {
  /**
   * Requests the actor to fold pending rows, and with `stale` to fit. Returns once the request is sent. Fails with the
   * error of the cluster if the actor's node cannot be reached.
   */
  readonly wake: (actorId: string, stale: boolean) => Effect.Effect<void, unknown>
  /**
   * Folds pending rows and fits. Returns once the model is published. Fails with the error of the cluster if the
   * actor's node cannot be reached.
   */
  readonly refresh: (actorId: string) => Effect.Effect<void, unknown>
  /** Fits the model of a window. Fails with the error of the cluster if the actor's node cannot be reached. */
  readonly windowed: (actorId: string, window: LearningWindow) => Effect.Effect<ModelSnapshot, unknown>
}>()("parlance/learning/TemplateActors") {
  static readonly layer = Layer.effect(
    TemplateActors,
    Effect.gen(function* () {
      const client = yield* Learner.client
      const cluster = yield* Cluster
      const requests = yield* ActorRequests

      yield* requests.serve((actorId, text) =>
        Effect.flatMap(decodeRequest(text), (request): Effect.Effect<string | null, unknown> => {
          const actor = client(actorId)
          switch (request._tag) {
            case "Wake":
              return Effect.as(actor.Wake({ stale: request.stale }, { discard: true }), null)
            case "Refresh":
              return Effect.as(actor.Refresh(), null)
            case "Windowed":
              return Effect.map(actor.Windowed({ window: request.window }), (model) => JSON.stringify(model))
          }
        })
      )

      const elsewhere = (actorId: string, request: Request) => requests.ask(actorId, JSON.stringify(request))
      const orElsewhere = <A>(actorId: string, here: Effect.Effect<A, unknown>, there: Effect.Effect<A, unknown>) =>
        Effect.suspend(() => cluster.isHere(actorId) ? here : there)

      return TemplateActors.of({
        wake: (actorId, stale) =>
          orElsewhere(
            actorId,
            client(actorId).Wake({ stale }, { discard: true }),
            requests.tell(actorId, JSON.stringify({ _tag: "Wake", stale } satisfies Request)),
          ),
        refresh: (actorId) =>
          orElsewhere(
            actorId,
            client(actorId).Refresh(),
            Effect.asVoid(elsewhere(actorId, { _tag: "Refresh" })),
          ),
        windowed: (actorId, window) =>
          orElsewhere(
            actorId,
            client(actorId).Windowed({ window }),
            Effect.flatMap(elsewhere(actorId, { _tag: "Windowed", window }), decodeModel),
          ),
      })
    }),
  )
}
