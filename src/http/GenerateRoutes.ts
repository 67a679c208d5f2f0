import { Effect, Result } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { KeyAuth } from "../auth/KeyAuth.ts"
import { Decider, type Outcome } from "../decisions/Decider.ts"
import { Api } from "./Api.ts"
import { type Ask, batchBody, generateBody, generateQuery } from "./GenerateWire.ts"
import { authorize } from "./KeyRequired.ts"
import { TemplateNotFound, Unavailable, type Unprocessable } from "./Problems.ts"
import { body, invalid, notRendered, query } from "./Requests.ts"

const messages = {
  "no-candidate": "No candidates found",
  "template-not-found": "Template not found",
  "variant-not-found": "Variant not found",
} as const

/** An outcome as the interface describes it. */
const toWire = (outcome: Outcome) => {
  switch (outcome._tag) {
    case "Chosen":
      return {
        tracking_id: outcome.trackingId,
        copy: { id: outcome.copyId, vars: outcome.vars },
        ...(outcome.trace === undefined ? {} : { trace: outcome.trace }),
      }
    case "None":
      return {
        tracking_id: outcome.trackingId,
        copy: {},
        message: messages[outcome.reason],
        ...(outcome.trace === undefined ? {} : { trace: outcome.trace }),
      }
    case "NotRendered":
      return {
        tracking_id: outcome.trackingId,
        copy: {},
        message: `Not rendered: ${
          outcome.error.faults.map(({ detail, variable }) => `${variable}: ${detail}`).join("; ")
        }`,
      }
  }
}

// What is answered is for one user, and a second call may answer differently.
const fresh = { "cache-control": "no-store" }
const memoryOnly = { ...fresh, "decision-durable": "false" }

const isDurable = (outcome: Outcome) => outcome._tag !== "Chosen" || outcome.durable

/** Generate by POST and GET, and Batch generate. */
export const layer = HttpApiBuilder.group(
  Api,
  "generate",
  Effect.fnUntraced(function* (handlers) {
    const keys = yield* KeyAuth
    const decider = yield* Decider

    const unavailable = () =>
      new Unavailable({ detail: "The store does not take decisions and the buffer in front of it is full" })

    const one = (org: string, ask: Ask) =>
      Effect.matchEffect(
        decider.decide(org, {
          templateId: ask.templateId,
          trackingId: ask.trackingId,
          userId: ask.userId,
          fields: ask.fields,
          attrs: ask.attrs,
        }),
        {
          onFailure: unavailable,
          onSuccess: (
            outcome,
          ): Effect.Effect<HttpServerResponse.HttpServerResponse, TemplateNotFound | Unprocessable> => {
            if (outcome._tag === "NotRendered") return notRendered(outcome.error)
            if (outcome._tag === "None" && outcome.reason === "template-not-found") {
              return new TemplateNotFound({ detail: `There is no template ${JSON.stringify(ask.templateId)} here.` })
            }
            return Effect.succeed(
              HttpServerResponse.jsonUnsafe(toWire(outcome), { headers: isDurable(outcome) ? fresh : memoryOnly }),
            )
          },
        },
      )

    return handlers
      .handleRaw(
        "generate",
        ({ params, request }) =>
          Effect.flatMap(
            authorize(keys, request, params.org, "generate"),
            ({ org }) => Effect.flatMap(body(request, generateBody), (ask) => one(org, ask)),
          ),
      )
      .handleRaw(
        "generateByQuery",
        ({ params, request }) =>
          Effect.flatMap(authorize(keys, request, params.org, "generate"), ({ org }) => {
            const ask = generateQuery(query(request))
            return Effect.flatMap(
              Result.isSuccess(ask) ? Effect.succeed(ask.success) : Effect.fail(invalid(ask.failure)),
              (ask) => one(org, ask),
            )
          }),
      )
      .handleRaw(
        "batchGenerate",
        ({ params, request }) =>
          Effect.flatMap(
            authorize(keys, request, params.org, "generate"),
            ({ org }) =>
              Effect.flatMap(body(request, batchBody), (ask) =>
                Effect.matchEffect(decider.decideBatch(org, ask), {
                  onFailure: unavailable,
                  onSuccess: (outcomes) => {
                    const answer: Record<string, unknown> = Object.create(null)
                    for (const [templateId, outcome] of outcomes) {
                      answer[templateId] = toWire(outcome)
                    }
                    return Effect.succeed(
                      HttpServerResponse.jsonUnsafe(answer, {
                        headers: outcomes.every(([, outcome]) => isDurable(outcome)) ? fresh : memoryOnly,
                      }),
                    )
                  },
                })),
          ),
      )
  }),
)
