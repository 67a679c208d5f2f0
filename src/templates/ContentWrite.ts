import { DateTime, Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { isDeepStrictEqual } from "node:util"
import type { Actor } from "../accounts/Actor.ts"
import { type Author, authorOf, currentActor } from "../accounts/Author.ts"
import { ChangeProposed } from "../domain/Errors.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import type { Changes } from "../organizations/Changes.ts"
import type { TemplateApproval } from "../domain/Organization.ts"
import { lockContent, readTemplateApproval } from "../organizations/OrganizationRows.ts"
import { ChangeTrail, currentAuthor, emptyTrail, tell, tellAll, tellApart } from "../store/ChangeTrail.ts"
import { changesServed, combineContent, contentOf, type WholeContent } from "./Content.ts"
import { putContent } from "./ImportRows.ts"
import { closeProposal, insertProposal, type ProposalRow, readOpen, replaceContent } from "./ProposalRows.ts"
import { notifyReviewers } from "./ReviewNotices.ts"
import { fieldsOfTemplate } from "./TemplateFields.ts"
import { pagesOf, readTemplates } from "./TemplateRows.ts"

// The only place where content is written. With approval on, a change is first made in a savepoint. If the change
// affects live messages, the savepoint is rolled back and the resulting content is stored as a proposal. Changes
// contain no approval logic, so no change can bypass approval.

/** A change was tried, and its savepoint is rolled back. */
class Tried extends Schema.TaggedError<Tried>()("Tried", {
  after: Schema.Unknown,
  /** The result of the change. */
  value: Schema.Unknown,
}) {}

/**
 * Makes one change of an organization's content: a transaction that raises its revision, then an update of this node's
 * views.
 */
const liveWriter =
  (sql: SqlClient.SqlClient, changes: Changes["Service"]) =>
  <A, E>(org: OrgSlug, effect: Effect.Effect<A, E | SqlError>) =>
    sql.withTransaction(Effect.tap(effect, changes.bump(org))).pipe(
      Effect.tap(changes.refresh),
      Effect.catchTag("SqlError", Effect.die),
    ) as Effect.Effect<A, Exclude<E, SqlError>>

/**
 * Returns the author whose changes need approval. Undefined for the admin token, for keys with the scope
 * `templates:publish`, and for the service itself.
 */
export const reviewedAuthor = (actor: Actor | undefined): Author | undefined => {
  if (actor === undefined || actor.kind === "token") return undefined
  if (actor.kind === "key" && (actor.scopes.has("templates:publish") || actor.scopes.has("admin"))) return undefined
  return authorOf(actor)
}

type Contents = ReadonlyMap<string, WholeContent>

const readContents = Effect.fnUntraced(
  function* (sql: SqlClient.SqlClient, org: OrgSlug, ids: ReadonlyArray<string>): Effect.fn.Return<Contents, SqlError> {
    const contents = new Map<string, WholeContent>()
    for (const page of yield* pagesOf(sql, org, ids)) {
      for (const template of yield* readTemplates(sql, org, page)) contents.set(template.id, contentOf(template))
    }
    return contents
  },
)

const readRevisions = (sql: SqlClient.SqlClient, org: OrgSlug) =>
  Effect.map(
    sql<{ id: string; revision: number }>`
      SELECT t.id, t.revision::float8 AS revision FROM templates t WHERE t.org_slug = ${org}`,
    (rows) => new Map(rows.map(({ id, revision }) => [id, revision])),
  )

/** Returns the ids of templates that differ in revision, or are in only one of the maps. */
const movedIds = (before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>): ReadonlyArray<string> =>
  [...new Set([...before.keys(), ...after.keys()])].filter((id) => before.get(id) !== after.get(id))

const fieldsOf = (content: WholeContent | undefined) => content === undefined ? undefined : fieldsOfTemplate(content)

/** Maximum number of templates of one change with a notification for each. Above it, reviewers get one notification. */
const mostToldApart = 5

/** A proposal in which a change was stored. */
interface Stored {
  readonly id: number
  readonly templateId: string
  readonly isNew: boolean
}

/** Stores the tried content as proposals of the author. Templates with unchanged content need no proposal. */
const storeProposals = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: OrgSlug,
  author: Author,
  { after, before, now, onLive, open }: {
    readonly open: ReadonlyArray<ProposalRow>
    readonly before: Contents
    readonly after: ReadonlyArray<readonly [id: string, content: WholeContent | undefined]>
    readonly onLive: boolean
    readonly now: Date
  },
) {
  const known = new Map(open.map((row) => [row.templateId, row]))
  const stored: Array<Stored> = []
  for (const [templateId, content] of after) {
    const existing = known.get(templateId)
    const live = before.get(templateId)
    const base = existing === undefined ? live : existing.base ?? undefined
    const proposed = existing === undefined || !onLive
      ? content
      : combineContent(live, content, existing.proposed ?? undefined).content
    if (existing === undefined) {
      if (isDeepStrictEqual(base, proposed)) continue
      const id = yield* insertProposal(sql, org, { templateId, author, base, proposed }, now)
      stored.push({ id, templateId, isNew: true })
    } else {
      yield* replaceContent(sql, org, existing.id, { base, proposed }, now)
      // Nothing is left of the change.
      if (isDeepStrictEqual(base, proposed)) {
        yield* closeProposal(sql, org, existing.id, { state: "withdrawn", by: author, comment: null, now })
      }
      stored.push({ id: existing.id, templateId, isNew: false })
    }
    yield* tell("proposal", templateId, fieldsOf(existing?.proposed ?? base), fieldsOf(proposed))
  }
  return stored
})

/** Notifies reviewers of waiting changes: of each change, or with one notification for a change of many templates. */
const notifyOfStored = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: OrgSlug,
  approval: TemplateApproval,
  by: Actor,
  stored: ReadonlyArray<Stored>,
) {
  const requested = stored.filter(({ isNew }) => isNew)
  const told = requested.length > mostToldApart ? requested.slice(0, 1) : requested
  const more = requested.length - told.length
  const note = more === 0 ? null : `The same change affects ${more} more templates, which await review as well.`
  yield* notifyReviewers(sql, org, approval, by, told, { note, now: yield* DateTime.nowAsDate })
})

/** The outcome of a change while approval is on. */
type Outcome<A> =
  | { readonly isLive: true; readonly value: A }
  | { readonly isLive: false; readonly value: unknown; readonly stored: ReadonlyArray<Stored> }

/**
 * Tries a change, and keeps it only if it does not affect live messages. Requires a transaction that has locked the
 * content.
 */
const attempt = Effect.fnUntraced(function* <A, E>(
  sql: SqlClient.SqlClient,
  org: OrgSlug,
  author: Author,
  ids: ReadonlyArray<string>,
  effect: Effect.Effect<A, E | SqlError>,
  onLive: boolean,
): Effect.fn.Return<Outcome<A>, E | SqlError> {
  const now = yield* DateTime.nowAsDate
  const open = yield* readOpen(sql, org, author, ids)
  const revisions = yield* readRevisions(sql, org)
  const before = yield* readContents(sql, org, ids)
  const trail = emptyTrail(yield* currentAuthor)
  const tried = sql.withTransaction(Effect.gen(function* () {
    // The author continues from the author's own proposal, not from the live content.
    for (const { proposed, templateId, updatedAt } of onLive ? [] : open) {
      // With the time that the author has seen, which detects a save over another person's change.
      yield* putContent(sql, org, templateId, before.get(templateId), proposed ?? undefined, updatedAt)
    }
    const value = yield* effect
    const moved = movedIds(revisions, yield* readRevisions(sql, org))
    const contents = yield* readContents(sql, org, moved)
    const isHarmless = (onLive || open.length === 0) &&
      moved.every((id) => !changesServed(before.get(id), contents.get(id)))
    if (isHarmless) return value
    return yield* new Tried({ value, after: moved.map((id) => [id, contents.get(id)] as const) })
  })).pipe(Effect.provideService(ChangeTrail, trail))
  return yield* tried.pipe(
    Effect.matchEffect({
      onSuccess: (value) =>
        Effect.gen(function* (): Effect.fn.Return<Outcome<A>> {
          yield* tellAll(trail.changed)
          if (trail.apart !== undefined) yield* tellApart(trail.apart)
          return { isLive: true, value }
        }),
      onFailure: (error): Effect.Effect<Outcome<A>, E | SqlError> =>
        error instanceof Tried
          ? Effect.map(
            storeProposals(sql, org, author, { open, before, after: error.after as never, onLive, now }),
            (stored) => ({ isLive: false, value: error.value, stored }),
          )
          : Effect.fail(error as E | SqlError),
    }),
  )
})

/** Writes content that has been approved: like `contentWriter`, but without approval. */
export const approvedWriter = (sql: SqlClient.SqlClient, changes: Changes["Service"]) => {
  const write = liveWriter(sql, changes)
  return <A, E>(org: OrgSlug, effect: Effect.Effect<A, E | SqlError>) =>
    write(org, Effect.andThen(lockContent(sql, org), effect))
}

/**
 * Changes an organization's content in one transaction. `ids` are the existing templates that `effect` may change. If
 * approval is on and the change affects live messages, it is stored as a proposal instead, and the effect fails with
 * `ChangeProposed`. An open proposal of the author is continued: `effect` sees it as if it were live. With `onLive`,
 * `effect` sees the live content, and its change is combined with the proposal. A broken store is a defect.
 */
export const contentWriter = (sql: SqlClient.SqlClient, changes: Changes["Service"]) => {
  const live = liveWriter(sql, changes)
  return Effect.fnUntraced(function* <A, E>(
    org: OrgSlug,
    ids: ReadonlyArray<string>,
    effect: Effect.Effect<A, E | SqlError>,
    { onLive = false }: { readonly onLive?: boolean } = {},
  ): Effect.fn.Return<A, Exclude<E, SqlError> | ChangeProposed> {
    const approval = yield* Effect.orDie(readTemplateApproval(sql, org))
    if (approval === "none") return yield* live(org, effect)
    const actor = yield* currentActor
    const author = reviewedAuthor(actor)
    // Every change locks the organization first, so that changes lock in one order.
    if (actor === undefined || author === undefined) {
      return yield* live(org, Effect.andThen(lockContent(sql, org), effect))
    }
    const outcome = yield* live(
      org,
      Effect.gen(function* () {
        yield* lockContent(sql, org)
        const outcome = yield* attempt(sql, org, author, ids, effect, onLive)
        if (!outcome.isLive) yield* notifyOfStored(sql, org, approval, actor, outcome.stored)
        return outcome
      }),
    )
    if (outcome.isLive) return outcome.value
    return yield* new ChangeProposed({
      value: outcome.value,
      proposals: outcome.stored.map(({ id, templateId }) => ({ id, template_id: templateId })),
    })
  })
}

/**
 * Returns the content from which the author of the current request continues: the author's open proposal, or undefined.
 */
export const readOwnProposal = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, org: OrgSlug, template: string) {
  const author = reviewedAuthor(yield* currentActor)
  if (author === undefined) return undefined
  const [open] = yield* readOpen(sql, org, author, [template])
  return open
})
