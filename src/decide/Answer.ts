import { Schema } from "effect"
import type { CopyId } from "../domain/Ids.ts"
import type { NoMessageReason } from "../journal/decisions/Decision.ts"
import type { LimitReached } from "../rendering/LimitReached.ts"
import { named } from "../domain/WarningText.ts"
import type { TemplateView } from "../templates/TemplateCache.ts"

/** No candidate can be rendered with these fields, or the choice exceeds the limits of work. Nothing was recorded. */
export class NotRendered extends Schema.TaggedError<NotRendered>()("NotRendered", {
  templateId: Schema.String,
  /** Null if targeting exceeds the limit of work, so that no variant was chosen. */
  copyId: Schema.NullOr(Schema.String),
  faults: Schema.Array(Schema.Struct({
    variable: Schema.String,
    detail: Schema.String,
    /** Names of fields that the request lacks. */
    missing: Schema.optionalKey(Schema.Array(Schema.String)),
  })),
}) {}

/** Warnings about an answered request, for the header `Parlance-Warnings`. */
interface Warned {
  /**
   * Each warning states the fault, its place and its effect, with names in the form of `named`. Absent without
   * warnings.
   */
  readonly warnings?: ReadonlyArray<string> | undefined
  /**
   * Members of the request that differ from the existing decision of its tracking id, such as `user_id`. Absent for a
   * retry, which repeats a request unchanged.
   */
  readonly repeated?: ReadonlyArray<string> | undefined
}

/** A rendered variant, or the reason for its absence. Without a variant, no decision is recorded. */
export type Answer = Warned & Outcome

type Outcome =
  | {
    readonly _tag: "Chosen"
    readonly trackingId: string
    readonly copyId: CopyId
    readonly vars: Readonly<Record<string, string>>
    /** The locale of the texts. Undefined for a template in one locale. */
    readonly locale?: string | undefined
    /** False if the store is down and the decision is only in memory. */
    readonly durable: boolean
    readonly trace?: unknown
    /**
     * Variants that were chosen earlier in this request and could not be rendered, first choice first. Absent without
     * any.
     */
    readonly failed?: ReadonlyArray<NotRendered>
  }
  | {
    readonly _tag: "None"
    readonly trackingId: string
    readonly reason: "no-candidate" | "template-not-found" | "template-archived" | "variant-not-found"
    readonly trace?: unknown
  }
  | {
    /** The user gets no message, which is recorded. */
    readonly _tag: "NoMessage"
    readonly trackingId: string
    readonly reason: NoMessageReason
    /** False if the store is down and the decision is only in memory. */
    readonly durable: boolean
    readonly trace?: unknown
  }
  | {
    /**
     * The request forces another variant than the existing decision of its tracking id. The existing decision does not
     * change.
     */
    readonly _tag: "Reused"
    readonly trackingId: string
    readonly forced: CopyId
    /** The variant of the existing decision, or `noMessage`. */
    readonly existing: CopyId
  }
  | {
    readonly _tag: "NotRendered"
    readonly trackingId: string
    /** The fault of the first choice. */
    readonly error: NotRendered
    /** Faults of the candidates that were tried after the first choice. Absent without any. */
    readonly others?: ReadonlyArray<NotRendered>
  }

/** Adds warnings to an answer. */
export const withWarnings = <A extends Answer>(answer: A, warnings: ReadonlyArray<string>): A =>
  warnings.length === 0 ? answer : { ...answer, warnings: [...answer.warnings ?? [], ...warnings] }

type Chosen = Extract<Answer, { readonly _tag: "Chosen" }>

/** Maximum number of fields named in one warning. */
const fieldsNamed = 5

const causeOf = ({ detail, missing = [], variable }: NotRendered["faults"][number]): string => {
  if (missing.length === 0) return `"${named(variable)}" ${detail}`
  const fields = missing.slice(0, fieldsNamed).map((name) => `/fields/${named(name).replaceAll(".", "/")}`)
  const more = missing.length > fieldsNamed ? ` and ${missing.length - fieldsNamed} more` : ""
  return `${fields.join(", ")}${more} ${missing.length === 1 ? "is" : "are"} missing, needed by "${named(variable)}"`
}

/** Marks a variant as a fallback for variants that could not be rendered, and adds warnings about them. */
export const inPlaceOf = (answer: Chosen, failed: ReadonlyArray<NotRendered>): Chosen =>
  withWarnings(
    { ...answer, failed },
    failed.map(({ copyId, faults }) =>
      `the variant "${named(copyId ?? "")}" could not be rendered: ${
        faults.map(causeOf).join(", ").replaceAll(";", ",")
      }. The variant "${named(answer.copyId)}" was sent instead`
    ),
  )

const noFailures: ReadonlyArray<NotRendered> = []

/** Returns the failed renderings behind an answer, in their order. */
export const failuresOf = (answer: Answer): ReadonlyArray<NotRendered> =>
  answer._tag === "Chosen"
    ? answer.failed ?? noFailures
    : answer._tag === "NotRendered"
    ? [answer.error, ...(answer.others ?? noFailures)]
    : noFailures

/** Returns the error of a template whose targeting exceeds the limit of work for these attributes. */
export const targetingLimit = ({ id }: TemplateView, { limit, message }: LimitReached): NotRendered =>
  new NotRendered({
    templateId: id,
    copyId: null,
    faults: [{
      variable: "targeting",
      detail: limit === undefined
        ? message
        : `takes too much work to check (more than ${limit}): send fewer values in each attribute, ` +
          "or give the template fewer variants or conditions",
    }],
  })
