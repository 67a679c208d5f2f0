import { Effect, Result } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { KeyAuth } from "../auth/KeyAuth.ts"
import { Decider, type Outcome } from "../decisions/Decider.ts"
import { Api } from "./Api.ts"
import { type Ask, batchBody, generateBody, generateQuery } from "./GenerateWire.ts"
import { authorize } from "./KeyRequired.ts"
import { TemplateNotFound, Unavailable, Unprocessable } from "./Problems.ts"
import { body, invalid, query } from "./Requests.ts"

const messages = {
  "no-candidate": "No candidates found",
  "template-not-found": "Template not found",
  "variant-not-found": "Variant not found",
} as const

/** An outcome as the interface describes it. */
const toWire = (outcome: Outcome) =>
  outcome._tag === "Chosen"
    ? {
      tracking_id: outcome.trackingId,
      copy: { id: outcome.copyId, vars: outcome.vars },
      ...(outcome.trace === undefined ? {} : { trace: outcome.trace }),
    }
    : {
      tracking_id: outcome.trackingId,
      copy: {},
      message: messages[outcome.reason],
      ...(outcome.trace === undefined ? {} : { trace: outcome.trace }),
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
          onFailure: (error) => {
            if (error._tag === "BufferFull") return unavailable()
            return new Unprocessable({
              detail: `The variant ${JSON.stringify(error.copyId)} of ${
                JSON.stringify(error.templateId)
              } cannot be rendered`,
              errors: error.faults.map(({ detail, variable }) => ({ pointer: `/copy/vars/${variable}`, detail })),
            })
          },
          onSuccess: (outcome) =>
            outcome._tag === "None" && outcome.reason === "template-not-found"
              ? new TemplateNotFound({ detail: `There is no template ${JSON.stringify(ask.templateId)} here.` })
              : Effect.succeed(
                HttpServerResponse.jsonUnsafe(toWire(outcome), { headers: isDurable(outcome) ? fresh : memoryOnly }),
              ),
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
            return Result.isSuccess(ask) ? one(org, ask.success) : invalid(ask.failure)
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
