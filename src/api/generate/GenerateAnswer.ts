import type { Answer } from "../../decide/Answer.ts"
import type { BatchAnswers } from "../../decide/DecideBatch.ts"
import { named, namedAtMost } from "../../domain/WarningText.ts"
import { noMessage } from "../../journal/decisions/Decision.ts"
import { trackingIdReused } from "../problems/TemplateProblems.ts"

const messages = {
  "no-candidate": "No candidates found",
  "template-not-found": "Template not found",
  "template-archived": "Template archived",
  "variant-not-found": "Variant not found",
} as const

/** The members that say why a person gets no message. */
const unsent = {
  "held-out": { message: "Held out: send no message", held_out: true },
  "send-nothing": { message: "Send nothing: a message is expected to do more harm than good", send_nothing: true },
} as const

/** Returns the problem of a request that forces another variant than the existing decision of its tracking id. */
export const reused = ({ forced, existing, trackingId }: Extract<Answer, { readonly _tag: "Reused" }>) => ({
  ...trackingIdReused,
  detail: `The tracking id ${JSON.stringify(trackingId)} has a decision for ${
    existing === noMessage ? "no message" : `the variant ${JSON.stringify(existing)}`
  }, and \`copy_id\` forces ${
    JSON.stringify(forced)
  }. Use another tracking id, or leave \`copy_id\` out to get the decision again.`,
})

/** Returns an outcome in the form of the response. */
export const toWire = (outcome: Answer) => {
  switch (outcome._tag) {
    case "Chosen":
      return {
        tracking_id: outcome.trackingId,
        copy: { id: outcome.copyId, vars: outcome.vars },
        ...(outcome.trace === undefined ? {} : { trace: outcome.trace }),
      }
    case "NoMessage":
      return {
        tracking_id: outcome.trackingId,
        copy: {},
        ...unsent[outcome.reason],
        ...(outcome.trace === undefined ? {} : { trace: outcome.trace }),
      }
    case "None":
      return {
        tracking_id: outcome.trackingId,
        copy: {},
        message: messages[outcome.reason],
        ...(outcome.trace === undefined ? {} : { trace: outcome.trace }),
      }
    case "Reused": {
      const problem = reused(outcome)
      return { tracking_id: outcome.trackingId, copy: {}, message: `Tracking id reused: ${problem.detail}`, problem }
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

/** Returns the outcomes of a batch in the form of the response, by template id. */
export const toWireBatch = (answers: BatchAnswers): Readonly<Record<string, unknown>> => {
  const wire: Record<string, unknown> = Object.create(null)
  for (const [templateId, answer] of answers) wire[templateId] = toWire(answer)
  return wire
}

// Responses are for one user, and a second request can get a different variant.
// The charset is explicit because AMPscript reads responses as Windows-1252 otherwise.
const fresh = { "content-type": "application/json; charset=utf-8", "cache-control": "no-store" }
const memoryOnly = { ...fresh, "decision-durable": "false" }

const isDurable = (answer: Answer) => (answer._tag !== "Chosen" && answer._tag !== "NoMessage") || answer.durable

/** Returns the headers of a response with `answers`. */
export const headersOf = (answers: ReadonlyArray<Answer>): Readonly<Record<string, string>> =>
  answers.every(isDurable) ? fresh : memoryOnly

/**
 * Returns the warnings of a batch. A warning of all items appears once, and any other warning follows the ids of its
 * templates. Undefined without warnings.
 */
export const warningsOfBatch = (answers: BatchAnswers): ReadonlyArray<string> | undefined => {
  if (answers.every(([, { warnings }]) => warnings === undefined)) return undefined
  const templates = new Map<string, Array<string>>()
  for (const [template, { warnings = [] }] of answers) {
    for (const warning of new Set(warnings)) templates.set(warning, [...templates.get(warning) ?? [], template])
  }
  return [...templates].map(([warning, of]) =>
    of.length === answers.length
      ? warning
      : `in ${of.slice(0, 3).map((id) => `"${named(id)}"`).join(", ")}${
        of.length > 3 ? ` and ${of.length - 3} more` : ""
      }: ${warning}`
  ).slice(0, namedAtMost)
}
