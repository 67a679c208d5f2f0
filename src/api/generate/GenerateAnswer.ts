import type { Answer } from "../../decide/Answer.ts"
import type { BatchAnswers } from "../../decide/DecideBatch.ts"

const messages = {
  "no-candidate": "No candidates found",
  "template-not-found": "Template not found",
  "template-archived": "Template archived",
  "variant-not-found": "Variant not found",
} as const

/** An outcome as the interface describes it. */
export const toWire = (outcome: Answer) => {
  switch (outcome._tag) {
    case "Chosen":
      return {
        tracking_id: outcome.trackingId,
        copy: { id: outcome.copyId, vars: outcome.vars },
        ...(outcome.trace === undefined ? {} : { trace: outcome.trace }),
      }
    case "HeldOut":
      return {
        tracking_id: outcome.trackingId,
        copy: {},
        message: "Held out: send no message",
        held_out: true,
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

/** The answers of a batch by template. */
export const toWireBatch = (answers: BatchAnswers): Readonly<Record<string, unknown>> => {
  const wire: Record<string, unknown> = Object.create(null)
  for (const [templateId, answer] of answers) wire[templateId] = toWire(answer)
  return wire
}

// Responses are for one user, and a second request can get a different variant.
const fresh = { "cache-control": "no-store" }
const memoryOnly = { ...fresh, "decision-durable": "false" }

/** The charset is explicit because AMPscript reads responses as Windows-1252 otherwise. */
export const contentType = "application/json; charset=utf-8"

const isDurable = (answer: Answer) => (answer._tag !== "Chosen" && answer._tag !== "HeldOut") || answer.durable

/** The headers of a response that tells `answers`. */
export const headersOf = (answers: ReadonlyArray<Answer>): Readonly<Record<string, string>> =>
  answers.every(isDurable) ? fresh : memoryOnly

const freshTyped = { ...fresh, "content-type": contentType }
const memoryOnlyTyped = { ...memoryOnly, "content-type": contentType }

/** As `headersOf`, with the type of the content. */
export const typedHeadersOf = (answers: ReadonlyArray<Answer>): Readonly<Record<string, string>> =>
  answers.every(isDurable) ? freshTyped : memoryOnlyTyped
