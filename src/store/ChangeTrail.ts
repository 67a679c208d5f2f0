import { Context, Effect, Option } from "effect"
import { type Difference, difference, type RecordFields } from "../domain/Difference.ts"

/** The kind of a record. */
export type RecordKind = "account" | "connection" | "organization" | "proposal" | "source" | "template" | "variant"

/** A record that was created, changed or removed. */
export interface Changed {
  readonly kind: RecordKind
  /** The id of the record. For a variant: `TEMPLATE / VARIANT`. For a proposal: that of its template. */
  readonly subject: string
  readonly what: "created" | "changed" | "removed"
  readonly difference: Difference
}

/** The changes that services made during a management request, for the audit log. */
export interface Trail {
  readonly changed: Array<Changed>
  /** Set if each record is a change of its own, such as in an import: the details of each, by subject. */
  apart: Readonly<Record<string, string>> | undefined
  /** What the request is about, where its path does not say it. */
  subject: string | undefined
  /** Who makes the changes, as the audit log names them; undefined where that is not known. */
  readonly author: string | undefined
}

/** Collects the changes of a request. */
export class ChangeTrail extends Context.Service<ChangeTrail, Trail>()("parlance/store/ChangeTrail") {}

/** An empty trail of the changes that `author` makes. */
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

/** Who makes the changes of this request, as the audit log names them; undefined outside a management request. */
export const currentAuthor: Effect.Effect<string | undefined> = Effect.contextWith((context) =>
  Effect.succeed(
    Option.getOrUndefined(Context.getOption(context as Context.Context<ChangeTrail>, ChangeTrail))?.author,
  )
)

/**
 * Reports a change of a record: its fields before and after, undefined if it did not exist. They must not contain
 * secrets. Does nothing outside a management request, such as in jobs.
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

/** Adds changes whose differences are known. Does nothing outside of a request. */
export const tellAll = (all: ReadonlyArray<Changed>): Effect.Effect<void> =>
  withTrail(({ changed }) => {
    for (const one of all) changed.push(one)
  })

/** Reports that each record of this request is a change of its own, with its details. */
export const tellApart = (details: Readonly<Record<string, string>>): Effect.Effect<void> =>
  withTrail((trail) => {
    trail.apart = details
  })

/** Reports what this request is about, such as the template of a proposed change that its path names by a number. */
export const tellSubject = (subject: string): Effect.Effect<void> =>
  withTrail((trail) => {
    trail.subject = subject
  })
