import { Context, Effect, Option } from "effect"
import { type Difference, difference, type RecordFields } from "../domain/Difference.ts"

/** The kind of a record. */
export type RecordKind =
  | "account"
  | "connection"
  | "image"
  | "organization"
  | "proposal"
  | "snippet"
  | "source"
  | "template"
  | "variant"

/** A record that was created, changed or removed. */
export interface Changed {
  readonly kind: RecordKind
  /** The id of the record. For a variant: `TEMPLATE / VARIANT`. For a proposal: the id of its template. */
  readonly subject: string
  readonly what: "created" | "changed" | "removed"
  readonly difference: Difference
}

/** The changes of a management request, for the audit log. */
export interface Trail {
  readonly changed: Array<Changed>
  /** If each record is a separate change, such as in an import: the details of each record, by subject. */
  apart: Readonly<Record<string, string>> | undefined
  /** The subject of the request, if its path does not contain it. */
  subject: string | undefined
  /** The author of the changes for the audit log; undefined if unknown. */
  readonly author: string | undefined
}

/** Collects the changes of a request. */
export class ChangeTrail extends Context.Service<ChangeTrail, Trail>()("parlance/store/ChangeTrail") {}

/** Creates an empty trail for the changes of `author`. */
export const emptyTrail = (author?: string): Trail => ({
  changed: [],
  apart: undefined,
  subject: undefined,
  author,
})

const withTrail = (use: (trail: Trail) => void): Effect.Effect<void> =>
  Effect.contextWith((context) => {
    const trail = Context.getOption(context as Context.Context<ChangeTrail>, ChangeTrail)
    if (trail._tag === "Some") use(trail.value)
    return Effect.void
  })

/** The author of this request's changes for the audit log; undefined outside of management requests. */
export const currentAuthor: Effect.Effect<string | undefined> = Effect.contextWith((context) =>
  Effect.succeed(
    Option.getOrUndefined(Context.getOption(context as Context.Context<ChangeTrail>, ChangeTrail))?.author,
  )
)

/**
 * Reports a change of a record: its fields before and after, undefined if it did not exist. The fields must not contain
 * secrets. Has no effect outside of management requests, such as in jobs.
 */
export const tell = (
  kind: RecordKind,
  subject: string,
  before: RecordFields | undefined,
  after: RecordFields | undefined,
): Effect.Effect<void> =>
  withTrail(({ changed }) => {
    const what = before === undefined ? "created" : after === undefined ? "removed" : "changed"
    changed.push({ kind, subject, what, difference: difference(before, after) })
  })

/** Reports changes whose differences are known. Has no effect outside of management requests. */
export const tellAll = (all: ReadonlyArray<Changed>): Effect.Effect<void> =>
  withTrail(({ changed }) => {
    for (const one of all) changed.push(one)
  })

/** Reports that each record of this request is a separate change, with the details of each. */
export const tellApart = (details: Readonly<Record<string, string>>): Effect.Effect<void> =>
  withTrail((trail) => {
    trail.apart = details
  })

/** Reports the subject of this request, such as the template of a proposed change whose path contains only a number. */
export const tellSubject = (subject: string): Effect.Effect<void> =>
  withTrail((trail) => {
    trail.subject = subject
  })
