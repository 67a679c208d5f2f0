import { Context, DateTime, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { isDeepStrictEqual } from "node:util"
import { reaches } from "../accounts/Account.ts"
import { type Actor, roleIn } from "../accounts/Actor.ts"
import { type Author, authorOf } from "../accounts/Author.ts"
import { templateFaults } from "../domain/TemplateFaults.ts"
import { NotAllowed, ProposalConflict, ProposalNotFound, TemplateNotFound } from "../domain/Errors.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import type { TemplateApproval } from "../domain/Organization.ts"
import type { Template } from "../domain/Template.ts"
import { english, t, translated } from "../languages/Language.ts"
import { Changes } from "../organizations/Changes.ts"
import { readTemplateApproval } from "../organizations/OrganizationRows.ts"
import { tell, tellApart, tellSubject } from "../store/ChangeTrail.ts"
import { combineContent, contentOf, type WholeContent } from "./Content.ts"
import { approvedWriter, readOwnProposal } from "./ContentWrite.ts"
import { variantContent } from "./ImportPlan.ts"
import { putContent } from "./ImportRows.ts"
import {
  closeProposal,
  type ProposalFilter,
  type ProposalHead,
  type ProposalRow,
  readHeads,
  readProposal,
  replaceContent,
} from "./ProposalRows.ts"
import { notifyAuthor } from "./ReviewNotices.ts"
import { holdSnippets } from "./SnippetRows.ts"
import { fieldsOfTemplate } from "./TemplateFields.ts"
import { readTemplates } from "./TemplateRows.ts"

/** Returns the reason why an actor may not approve or reject a proposal. Undefined if the actor may. */
export const reviewRefusal = (actor: Actor, org: string, author: Author, approval: TemplateApproval) => {
  if (authorOf(actor) === author) return t`You proposed this change. Somebody else has to approve it`
  if (actor.kind !== "session") return undefined
  const needed = approval === "admin" ? "admin" : "editor"
  return reaches(roleIn(actor, org), needed)
    ? undefined
    : t`A review requires the role ${translated(needed)} in this organization. Your role is ${
      translated(roleIn(actor, org) ?? english("none"))
    }`
}

/** A proposal with the live content of its template. */
export interface ProposalView extends ProposalRow {
  /** Null if the template does not exist. */
  readonly live: WholeContent | null
  /** Whether the template changed since the proposal was made, so that the proposal must be updated before approval. */
  readonly isOutdated: boolean
  /**
   * JSON pointers of members that both the proposal and the live template changed. Empty if the proposal is not
   * outdated.
   */
  readonly both: ReadonlyArray<string>
}

const viewOf = (row: ProposalRow, template: Template | undefined): ProposalView => {
  const live = template === undefined ? null : contentOf(template)
  const isOutdated = row.state === "requested" && !isDeepStrictEqual(live, row.base)
  return {
    ...row,
    live,
    isOutdated,
    both: isOutdated ? combineContent(row.base ?? undefined, row.proposed ?? undefined, live ?? undefined).both : [],
  }
}

/**
 * Converts a content to a template for display and editing. Variants that the change touched have the time of the
 * change.
 */
const asTemplate = ({ proposed, updatedAt }: ProposalRow, live: Template | undefined): Template | undefined => {
  if (proposed === null) return undefined
  const known = new Map(live?.variants.map((variant) => [variant.id, variant]))
  const changed = updatedAt.toISOString()
  return {
    ...proposed,
    archived_at: proposed.archived ? live?.archived_at ?? changed : null,
    revision: live?.revision ?? 0,
    created_at: live?.created_at ?? changed,
    updated_at: changed,
    variants: proposed.variants.map((variant) => {
      const existing = known.get(variant.id)
      const isSame = existing !== undefined && isDeepStrictEqual(variantContent(existing), variant)
      return {
        ...variant,
        created_at: existing?.created_at ?? changed,
        updated_at: isSame ? existing.updated_at : changed,
      }
    }),
  }
}

const closed = ({ id, state }: ProposalHead) =>
  new ProposalConflict({ reason: "closed", detail: `The proposed change ${id} is ${state} already` })

const outdated = ({ id }: ProposalHead) =>
  new ProposalConflict({
    reason: "live_changed",
    detail:
      `The live template has changed since change ${id} was proposed. Both versions are shown with the proposal. ` +
      "Its author can bring it up to date, after which it can be approved",
  })

/** A template in the state on which its author works. */
interface Working {
  readonly template: Template
  /** Id of the open proposal with this content. Undefined for the live template. */
  readonly proposal: number | undefined
}

/** An approved change. */
interface Approved {
  readonly proposal: ProposalRow
  /** Whether the objective of the template changes, so that it learns again. */
  readonly relearns: boolean
}

/** Reads the rows of decisions on proposals. */
const makeRows = (sql: SqlClient.SqlClient) => {
  const found = (id: number, row: ProposalRow | undefined) =>
    row === undefined ? Effect.fail(new ProposalNotFound({ id: String(id) })) : Effect.succeed(row)

  /** Reads an open proposal and locks it until the transaction ends. */
  const held = Effect.fnUntraced(function* (org: OrgSlug, id: number) {
    const row = yield* found(id, yield* readProposal(sql, org, id, true))
    yield* tellSubject(row.templateId)
    return row.state === "requested" ? row : yield* closed(row)
  })

  const live = (org: OrgSlug, template: string) =>
    Effect.map(readTemplates(sql, org, [template]), ([template]) => template)

  const mayReview = Effect.fnUntraced(function* (org: OrgSlug, { author }: ProposalHead, by: Actor) {
    const refused = reviewRefusal(by, org, author, yield* readTemplateApproval(sql, org))
    if (refused !== undefined) return yield* new NotAllowed({ detail: refused })
  })

  return { found, held, live, mayReview }
}

type Rows = ReturnType<typeof makeRows>

/** Reads proposals. */
const makeReads = (sql: SqlClient.SqlClient, { found, live }: Rows) => {
  const list = Effect.fn("Proposals.list")(
    (org: OrgSlug, page: ProposalFilter & { readonly cursor?: number | undefined; readonly limit: number }) =>
      readHeads(sql, org, page),
    Effect.orDie,
  )

  const countOpen = Effect.fn("Proposals.countOpen")(function* (org: OrgSlug) {
    const [row] = yield* Effect.orDie(sql<{ count: number }>`
      SELECT (SELECT count(*) FROM template_proposals p WHERE p.org_slug = ${org} AND p.state = 'requested')::int
        + (SELECT count(*) FROM snippet_proposals s WHERE s.org_slug = ${org})::int AS count`)
    return row!.count
  })

  const countsOpen = Effect.fn("Proposals.countsOpen")(function* (org: OrgSlug, templates: ReadonlyArray<string>) {
    const rows = yield* Effect.orDie(sql<{ readonly id: string; readonly count: number }>`
      SELECT p.template_id AS id, count(*)::float8 AS count FROM template_proposals p
      WHERE p.org_slug = ${org} AND p.state = 'requested' AND p.template_id = ANY(${templates}::text[])
      GROUP BY p.template_id`)
    return new Map(rows.map(({ count, id }) => [id, count]))
  })

  const get = Effect.fn("Proposals.get")(
    function* (org: OrgSlug, id: number) {
      const row = yield* found(id, yield* readProposal(sql, org, id))
      return viewOf(row, yield* live(org, row.templateId))
    },
    Effect.catchTag("SqlError", Effect.die),
  )

  const working = Effect.fn("Proposals.working")(function* (org: OrgSlug, template: string) {
    const stored = yield* live(org, template)
    const proposal = yield* readOwnProposal(sql, org, template)
    const proposed = proposal === undefined ? undefined : asTemplate(proposal, stored)
    if (proposal !== undefined && proposed !== undefined) return { template: proposed, proposal: proposal.id }
    return { template: stored ?? (yield* new TemplateNotFound({ id: template })), proposal: undefined }
  }, Effect.catchTag("SqlError", Effect.die))

  return { list, countOpen, countsOpen, get, working }
}

/** Decides on proposals. */
const makeDecisions = (
  sql: SqlClient.SqlClient,
  write: ReturnType<typeof approvedWriter>,
  { held, live, mayReview }: Rows,
) => {
  const approve = Effect.fn("Proposals.approve")(function* (
    org: OrgSlug,
    id: number,
    { comment, version }: { readonly version: number; readonly comment: string },
    by: Actor,
  ) {
    const now = yield* DateTime.nowAsDate
    return yield* write(
      org,
      Effect.gen(function* () {
        const row = yield* held(org, id)
        yield* mayReview(org, row, by)
        if (row.version !== version) {
          return yield* new ProposalConflict({
            reason: "changed",
            detail: `The proposed change ${id} has changed since you opened it. Review it again`,
          })
        }
        const view = viewOf(row, yield* live(org, row.templateId))
        if (view.isOutdated) return yield* outdated(row)
        const [before, after] = [view.live ?? undefined, row.proposed ?? undefined]
        yield* holdSnippets(sql, org, after?.variants ?? []).pipe(
          Effect.catchTag(
            "InvalidInput",
            ({ faults: [fault] }) =>
              new ProposalConflict({ reason: "live_changed", detail: `The proposed change ${id} ${fault!.detail}` }),
          ),
        )
        if (!(yield* putContent(sql, org, row.templateId, before, after, now))) return yield* outdated(row)
        yield* closeProposal(sql, org, id, { state: "approved", by: authorOf(by), comment: comment || null, now })
        yield* tellApart({ by: "approval", proposal: String(id) })
        yield* tell(
          "template",
          row.templateId,
          before === undefined ? undefined : fieldsOfTemplate(before),
          after === undefined ? undefined : fieldsOfTemplate(after),
        )
        const relearns = before !== undefined && after !== undefined &&
          !isDeepStrictEqual(before.objective, after.objective)
        yield* notifyAuthor(sql, org, row.author, row, { state: "approved", comment, by, now })
        return { proposal: row, relearns }
      }),
    )
  })

  const reject = Effect.fn("Proposals.reject")(
    function* (org: OrgSlug, id: number, comment: string, by: Actor) {
      const now = yield* DateTime.nowAsDate
      return yield* sql.withTransaction(Effect.gen(function* () {
        const row = yield* held(org, id)
        yield* mayReview(org, row, by)
        yield* closeProposal(sql, org, id, { state: "rejected", by: authorOf(by), comment: comment || null, now })
        yield* notifyAuthor(sql, org, row.author, row, { state: "rejected", comment, by, now })
        return row
      }))
    },
    Effect.catchTag("SqlError", Effect.die),
  )

  const withdraw = Effect.fn("Proposals.withdraw")(
    function* (org: OrgSlug, id: number, by: Actor) {
      const now = yield* DateTime.nowAsDate
      return yield* sql.withTransaction(Effect.gen(function* () {
        const row = yield* held(org, id)
        if (authorOf(by) !== row.author && !reaches(roleIn(by, org), "admin")) {
          return yield* new NotAllowed({ detail: "Only its author or an admin can withdraw a proposed change" })
        }
        yield* closeProposal(sql, org, id, { state: "withdrawn", by: authorOf(by), comment: null, now })
        return row
      }))
    },
    Effect.catchTag("SqlError", Effect.die),
  )

  const revise = Effect.fn("Proposals.revise")(
    function* (
      org: OrgSlug,
      id: number,
      { note, update = false }: { readonly note?: string | undefined; readonly update?: boolean | undefined },
      by: Actor,
    ) {
      const now = yield* DateTime.nowAsDate
      return yield* sql.withTransaction(Effect.gen(function* () {
        const row = yield* held(org, id)
        if (authorOf(by) !== row.author) {
          return yield* new NotAllowed({ detail: "Only its author can change a proposed change" })
        }
        if (note !== undefined) {
          yield* sql`
            UPDATE template_proposals p SET note = ${note} WHERE p.org_slug = ${org} AND p.id = ${id}::bigint`
        }
        if (update) {
          const template = yield* live(org, row.templateId)
          const base = template === undefined ? undefined : contentOf(template)
          const { content } = combineContent(row.base ?? undefined, row.proposed ?? undefined, base)
          const [fault] = content === undefined ? [] : templateFaults(content, content.variants)
          if (fault !== undefined) {
            const name = fault.pointer.split("/")[1]
            return yield* new ProposalConflict({
              reason: "live_changed",
              detail: `The ${name} of the proposed change ${fault.detail}. Change it, or withdraw the proposed change`,
            })
          }
          yield* replaceContent(sql, org, id, { base, proposed: content }, now)
        }
        return (yield* readProposal(sql, org, id))!
      }))
    },
    Effect.catchTag("SqlError", Effect.die),
  )

  return { approve, reject, withdraw, revise }
}

/**
 * Changes to live templates that await approval. Any change of content can create one, see `contentWriter`. A broken
 * store is a defect.
 */
export class Proposals extends Context.Service<Proposals, {
  /** Returns proposals without content, newest first, with ids below `cursor`. */
  readonly list: (
    org: OrgSlug,
    page: ProposalFilter & { readonly cursor?: number | undefined; readonly limit: number },
  ) => Effect.Effect<ReadonlyArray<ProposalHead>>
  /** Returns the number of changes of templates and snippets that await approval. */
  readonly countOpen: (org: OrgSlug) => Effect.Effect<number>
  /** Returns the number of proposals that await approval, of each of the templates that has some. */
  readonly countsOpen: (org: OrgSlug, templates: ReadonlyArray<string>) => Effect.Effect<ReadonlyMap<string, number>>
  /** Returns a proposal. Fails with `ProposalNotFound` for an unknown proposal, like all methods below. */
  readonly get: (org: OrgSlug, id: number) => Effect.Effect<ProposalView, ProposalNotFound>
  /**
   * Returns the template in the state on which the caller of this request works: the caller's open proposal with its
   * id, otherwise the live template. Fails with `TemplateNotFound` if neither exists. For a proposal to delete the
   * template, returns the live template.
   */
  readonly working: (org: OrgSlug, template: string) => Effect.Effect<Working, TemplateNotFound>
  /**
   * Makes a proposal live in one transaction. Fails with `NotAllowed` for its author and for roles that do not approve.
   * Fails with `ProposalConflict` if it is closed, if its `version` differs from the reviewed one, or if the live
   * template has changed in the meantime.
   */
  readonly approve: (
    org: OrgSlug,
    id: number,
    decision: { readonly version: number; readonly comment: string },
    by: Actor,
  ) => Effect.Effect<Approved, ProposalNotFound | ProposalConflict | NotAllowed>
  /**
   * Rejects a proposal. Fails with `NotAllowed` for its author and for roles that do not approve, and with
   * `ProposalConflict` if it is closed.
   */
  readonly reject: (
    org: OrgSlug,
    id: number,
    comment: string,
    by: Actor,
  ) => Effect.Effect<ProposalRow, ProposalNotFound | ProposalConflict | NotAllowed>
  /**
   * Withdraws a proposal. Requires its author or an admin. Fails with `NotAllowed` for other callers, and with
   * `ProposalConflict` if it is closed.
   */
  readonly withdraw: (
    org: OrgSlug,
    id: number,
    by: Actor,
  ) => Effect.Effect<ProposalRow, ProposalNotFound | ProposalConflict | NotAllowed>
  /**
   * Sets the message to reviewers. With `update`, applies the proposed changes on top of the live template: if both
   * changed a member, the proposal wins. Requires its author. Fails with `NotAllowed` for other callers, and with
   * `ProposalConflict` if it is closed.
   */
  readonly revise: (
    org: OrgSlug,
    id: number,
    change: { readonly note?: string | undefined; readonly update?: boolean | undefined },
    by: Actor,
  ) => Effect.Effect<ProposalRow, ProposalNotFound | ProposalConflict | NotAllowed>
}>()("parlance/templates/Proposals") {
  static readonly layer = Layer.effect(
    Proposals,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const write = approvedWriter(sql, yield* Changes)

      const rows = makeRows(sql)
      const reads = makeReads(sql, rows)
      const decisions = makeDecisions(sql, write, rows)
      return Proposals.of({ ...reads, ...decisions })
    }),
  )
}
