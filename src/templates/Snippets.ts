import { Context, DateTime, Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { reaches } from "../accounts/Account.ts"
import { type Actor, roleIn } from "../accounts/Actor.ts"
import { type Author, authorOf, currentActor } from "../accounts/Author.ts"
import { MemberNames, nameOfAuthor } from "../accounts/MemberNames.ts"
import type { Sources } from "../checking/Checks.ts"
import type { RecordFields } from "../domain/Difference.ts"
import {
  type ChecksBusy,
  type InvalidInput,
  NotAllowed,
  type OrganizationNotFound,
  ProposalConflict,
  ProposalNotFound,
  SnippetChanged,
  SnippetInUse,
  SnippetNotFound,
  VersionNotFound,
} from "../domain/Errors.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import {
  type Snippet,
  type SnippetDetail,
  type SnippetFileInput,
  type SnippetInput,
  type SnippetUser,
  type SnippetVersion,
  usersOf,
} from "../domain/Snippet.ts"
import { Changes } from "../organizations/Changes.ts"
import { existingOrganization } from "../organizations/Existing.ts"
import { lockContent, readTemplateApproval } from "../organizations/OrganizationRows.ts"
import { SourceCheck } from "../rendering/SourceCheck.ts"
import { currentAuthor, tell } from "../store/ChangeTrail.ts"
import { reviewedAuthor } from "./ContentWrite.ts"
import { reviewRefusal } from "./Proposals.ts"
import { notifyAuthor, notifyReviewers } from "./ReviewNotices.ts"
import { type CheckedSnippet, type CheckedSnippets, snippetChecks } from "./SnippetCheck.ts"
import {
  deleteSnippetProposal,
  findProposedMatches,
  findUses,
  readSnippetProposal,
  readSnippetProposals,
  readSnippets,
  readSnippetStamp,
  renderPattern,
  type SnippetRow,
  sourcesOf,
  withSnippets,
  writeSnippet,
  writeSnippetProposal,
} from "./SnippetRows.ts"

/** A saved snippet, or a change of one that awaits approval. */
export interface SavedSnippet {
  readonly snippet: SnippetDetail
  /** Whether the change awaits approval. */
  readonly isProposed: boolean
}

/** A change of a snippet that awaits approval, without its text. */
export interface SnippetProposalHead {
  /** Id of the snippet. */
  readonly id: string
  /** Name of the snippet in the change. */
  readonly name: string
  readonly author: string
  readonly updatedAt: Date
}

/** The approval of a change. */
export interface SnippetDecision {
  /** The version that was reviewed. */
  readonly version: number
  /** For the author. */
  readonly comment?: string
}

/** Another snippet was changed between the check and the write of one. */
class Moved extends Schema.TaggedError<Moved>()("Moved", {}) {}

/** Maximum number of times a snippet is checked again because others change concurrently. */
const maxRechecks = 5

const wireOf = ({ createdAt, format, id, name, text, updatedAt }: SnippetRow): Snippet => ({
  id,
  name,
  text,
  format,
  created_at: createdAt.toISOString(),
  updated_at: updatedAt.toISOString(),
})

/** Returns the fields of a snippet in the audit log. */
export const fieldsOfSnippet = ({ format, name, text }: Pick<Snippet, "format" | "name" | "text">): RecordFields => ({
  "/name": name,
  "/format": format,
  "/text": text,
})

/** Returns the pointer to a snippet of an import. */
const inImport = (index: number) => `/snippets/${index}`

const shown = (text: string) => JSON.stringify(text)

/** Reads snippets with their uses. */
const makeReads = (sql: SqlClient.SqlClient, names: MemberNames["Service"]) => {
  const one = Effect.fnUntraced(function* (org: OrgSlug, id: string) {
    const rows = yield* readSnippets(sql, org)
    const row = rows.find((row) => row.id === id) ?? (yield* new SnippetNotFound({ id: id.slice(0, 100) }))
    return { row, rows }
  })

  const detail = Effect.fnUntraced(function* (org: OrgSlug, id: string) {
    const { row, rows } = yield* one(org, id)
    const users = usersOf(sourcesOf(rows), id)
    const proposal = yield* readSnippetProposal(sql, org, id)
    const members = proposal === undefined ? undefined : yield* names.of(org)
    return {
      ...wireOf(row),
      templates: yield* findUses(sql, org, users),
      snippets: users.filter((user) => user !== id),
      proposal: proposal === undefined ? null : {
        name: proposal.name,
        text: proposal.text,
        author: nameOfAuthor(proposal.author, members!),
        version: proposal.version,
        updated_at: proposal.updatedAt.toISOString(),
      },
    }
  })

  const list = Effect.fn("Snippets.list")(
    (org: OrgSlug) => Effect.map(readSnippets(sql, org), (rows) => rows.map(wireOf)),
    Effect.catchTag("SqlError", Effect.die),
  )

  const get = Effect.fn("Snippets.get")(detail, Effect.catchTag("SqlError", Effect.die))

  const versions = Effect.fn("Snippets.versions")(
    function* (org: OrgSlug, id: string) {
      yield* one(org, id)
      const rows = yield* sql<Omit<SnippetVersion, "saved_at"> & { readonly savedAt: Date }>`
        SELECT w.id::float8 AS id, w.name, w.text, w.format, w.author, w.saved_at FROM snippet_versions w
        WHERE w.org_slug = ${org} AND w.snippet_id = ${id} ORDER BY w.id DESC`
      return rows.map(({ savedAt, ...version }) => ({ ...version, saved_at: savedAt.toISOString() }))
    },
    Effect.catchTag("SqlError", Effect.die),
  )

  const proposals = Effect.fn("Snippets.proposals")(
    function* (org: OrgSlug) {
      const rows = yield* readSnippetProposals(sql, org)
      const members = yield* names.of(org)
      return rows.map(({ author, ...row }) => ({ ...row, author: nameOfAuthor(author, members) }))
    },
    Effect.catchTag("SqlError", Effect.die),
  )

  const version = Effect.fn("Snippets.version")(function* (org: OrgSlug, id: string, number: string) {
    const found = (yield* versions(org, id)).find((version) => String(version.id) === number)
    return found ?? (yield* new VersionNotFound({ id: number.slice(0, 100) }))
  })

  const attach = Effect.fn("Snippets.attach")(
    (org: OrgSlug, variants: ReadonlyArray<Sources>) => withSnippets(sql, org, variants),
    Effect.catchTag("SqlError", Effect.die),
  )

  return { one, detail, reads: { list, get, proposals, versions, version, attach } }
}

type Reads = ReturnType<typeof makeReads>

/** Makes one change of an organization's snippets: a transaction, then an update of this node's templates. */
const writerOf =
  (sql: SqlClient.SqlClient, changes: Changes["Service"]) => <A, E>(org: OrgSlug, effect: Effect.Effect<A, E>) =>
    sql.withTransaction(lockContent(sql, org).pipe(Effect.andThen(effect), Effect.tap(changes.bump(org)))).pipe(
      Effect.tap(changes.refresh),
    )

type Write = ReturnType<typeof writerOf>

/** Saves snippets. */
const makeSave = (
  sql: SqlClient.SqlClient,
  write: Write,
  check: ReturnType<typeof snippetChecks>,
  { detail, one }: Reads,
) => {
  /** Fails with `Moved` if a snippet was changed since the check. */
  const stillChecked = Effect.fnUntraced(function* (org: OrgSlug, { stamp }: CheckedSnippets) {
    if ((yield* readSnippetStamp(sql, org)) !== stamp) return yield* new Moved()
  })

  const store = Effect.fnUntraced(function* (org: OrgSlug, { after, before }: CheckedSnippet, now: Date) {
    yield* writeSnippet(sql, org, after, yield* currentAuthor, now)
    yield* tell("snippet", after.id, before === undefined ? undefined : fieldsOfSnippet(before), fieldsOfSnippet(after))
  })

  /** Returns the author whose change needs approval. Undefined if it goes live. */
  const proposer = Effect.fnUntraced(function* (org: OrgSlug, { templates }: CheckedSnippet) {
    if (!templates.some(({ served }) => served)) return undefined
    if ((yield* readTemplateApproval(sql, org)) === "none") return undefined
    return reviewedAuthor(yield* currentActor)
  })

  /** Stores a change that awaits approval. Fails with `ProposalConflict` if another author's change does. */
  const propose = Effect.fnUntraced(function* (
    org: OrgSlug,
    { after }: CheckedSnippet,
    row: SnippetRow,
    author: Author,
    now: Date,
  ) {
    const open = yield* readSnippetProposal(sql, org, after.id)
    if (open !== undefined && open.author !== author) {
      return yield* new ProposalConflict({
        reason: "changed",
        detail: `Another change of the snippet ${
          shown(after.id)
        } awaits approval. It must be approved or dismissed first.`,
      })
    }
    yield* writeSnippetProposal(sql, org, row, { ...after, author }, now)
    if (open === undefined) {
      const approval = yield* readTemplateApproval(sql, org)
      const by = yield* currentActor
      if (by !== undefined) {
        yield* notifyReviewers(sql, org, approval, by, [{ snippetId: after.id }], { note: null, now })
      }
    }
    yield* tell("proposal", `snippet ${after.id}`, fieldsOfSnippet({ ...row, ...open }), fieldsOfSnippet(after))
  })

  /** Checks and stores changes, all of them or none. Returns each with whether it awaits approval. */
  const storeAll = Effect.fnUntraced(function* (
    org: OrgSlug,
    inputs: ReadonlyArray<SnippetFileInput>,
    pointerTo?: (index: number) => string,
  ) {
    const now = yield* DateTime.nowAsDate
    const storeOne = Effect.fnUntraced(function* (change: CheckedSnippet) {
      const author = yield* proposer(org, change)
      if (author === undefined) yield* store(org, change, now)
      else yield* propose(org, change, change.before!, author, now)
      return { id: change.after.id, isProposed: author !== undefined }
    })
    const attempt = Effect.gen(function* () {
      const checked = yield* check(org, inputs, pointerTo)
      if (checked.changes.length === 0) return []
      return yield* write(
        org,
        Effect.gen(function* () {
          yield* existingOrganization(sql, org)
          yield* stillChecked(org, checked)
          return yield* Effect.forEach(checked.changes, storeOne)
        }),
      )
    })
    return yield* attempt.pipe(
      Effect.retry({ times: maxRechecks, while: (error) => error._tag === "Moved" }),
      Effect.catchTag("Moved", () => new SnippetChanged({ id: inputs[0]!.id })),
    )
  })

  const save = Effect.fn("Snippets.save")(
    function* (org: OrgSlug, id: string, input: SnippetInput, { base }: { readonly base?: string | undefined } = {}) {
      const before = yield* Effect.option(one(org, id))
      if (base !== undefined && base !== Option.getOrUndefined(before)?.row.updatedAt.toISOString()) {
        return yield* new SnippetChanged({ id })
      }
      const [stored] = yield* storeAll(org, [{ id, ...input }])
      const snippet = yield* detail(org, id).pipe(Effect.catchTag("SnippetNotFound", Effect.die))
      return { snippet, isProposed: stored?.isProposed === true }
    },
    Effect.catchTag("SqlError", Effect.die),
  )

  const saveAll = Effect.fn("Snippets.saveAll")(
    (org: OrgSlug, inputs: ReadonlyArray<SnippetFileInput>) => storeAll(org, inputs, inImport),
    Effect.catchTag("SqlError", Effect.die),
  )

  const approve = Effect.fn("Snippets.approve")(
    function* (org: OrgSlug, id: string, { comment = "", version }: SnippetDecision, by: Actor) {
      const now = yield* DateTime.nowAsDate
      const { row } = yield* one(org, id)
      const proposal = (yield* readSnippetProposal(sql, org, id)) ?? (yield* new ProposalNotFound({ id }))
      const refused = reviewRefusal(by, org, proposal.author, yield* readTemplateApproval(sql, org))
      if (refused !== undefined) return yield* new NotAllowed({ detail: refused })
      if (proposal.version !== version) {
        const detail = `The proposed change of ${shown(id)} has changed since you opened it. Review it again`
        return yield* new ProposalConflict({ reason: "changed", detail })
      }
      const outdated = (why: string) =>
        new ProposalConflict({ reason: "live_changed", detail: `${why}. Its author can save it again` })
      if (proposal.baseRevision !== row.revision) {
        return yield* outdated(`The snippet ${shown(id)} has changed since this change was proposed`)
      }
      const checked = yield* check(org, [{ id, name: proposal.name, text: proposal.text }]).pipe(
        Effect.catchTag(
          "InvalidInput",
          ({ faults }) => outdated(`The proposed change cannot be saved: ${faults[0]!.detail}`),
        ),
      )
      yield* write(
        org,
        Effect.gen(function* () {
          yield* stillChecked(org, checked)
          yield* deleteSnippetProposal(sql, org, id)
          for (const change of checked.changes) yield* store(org, change, now)
          yield* notifyAuthor(sql, org, proposal.author, { snippetId: id }, { state: "approved", comment, by, now })
        }),
      ).pipe(Effect.catchTag("Moved", () => outdated("Another snippet has changed in the meantime")))
      return yield* detail(org, id)
    },
    Effect.catchTag("SqlError", Effect.die),
  )

  return { save, saveAll, approve }
}

/** Deletes snippets, and changes that await approval. */
const makeRemovals = (sql: SqlClient.SqlClient, write: Write, { one }: Reads) => {
  const remove = Effect.fn("Snippets.remove")(
    (org: OrgSlug, id: string) =>
      write(
        org,
        Effect.gen(function* () {
          const { row, rows } = yield* one(org, id)
          const others = usersOf(sourcesOf(rows), id).filter((user) => user !== id)
          const uses = yield* findUses(sql, org, [id])
          const places = [
            ...uses.flatMap(({ copy_ids, template_id }) =>
              copy_ids.map((copy) => `the variant ${shown(copy)} of the template ${shown(template_id)}`)
            ),
            ...(yield* findProposedMatches(sql, org, renderPattern([id]))).map((proposal) =>
              `the proposed change ${proposal}`
            ),
            ...others.map((other) => `the snippet ${shown(other)}`),
          ]
          if (places.length > 0) return yield* new SnippetInUse({ id, places })
          yield* sql`DELETE FROM snippets s WHERE s.org_slug = ${org} AND s.id = ${id}`
          yield* tell("snippet", id, fieldsOfSnippet(row), undefined)
        }),
      ),
    Effect.catchTag("SqlError", Effect.die),
  )

  const dismiss = Effect.fn("Snippets.dismiss")(
    function* (org: OrgSlug, id: string, by: Actor, comment = "") {
      const now = yield* DateTime.nowAsDate
      yield* one(org, id)
      const proposal = (yield* readSnippetProposal(sql, org, id)) ?? (yield* new ProposalNotFound({ id }))
      const refused = reviewRefusal(by, org, proposal.author, yield* readTemplateApproval(sql, org))
      const isOwn = authorOf(by) === proposal.author
      if (!isOwn && refused !== undefined && !reaches(roleIn(by, org), "admin")) {
        return yield* new NotAllowed({ detail: refused })
      }
      yield* sql.withTransaction(Effect.gen(function* () {
        yield* deleteSnippetProposal(sql, org, id)
        if (isOwn) return
        yield* notifyAuthor(sql, org, proposal.author, { snippetId: id }, { state: "rejected", comment, by, now })
      }))
    },
    Effect.catchTag("SqlError", Effect.die),
  )

  return { remove, dismiss }
}

/**
 * Snippets of organizations. A change takes effect on each node as a whole: a message has the old text or the new one in
 * all places. A broken store is a defect in all methods.
 */
export class Snippets extends Context.Service<Snippets, {
  /** Returns all snippets, by id. At most 200. */
  readonly list: (org: OrgSlug) => Effect.Effect<ReadonlyArray<Snippet>>
  /** Returns a snippet with its uses. Fails with `SnippetNotFound` for an unknown id. */
  readonly get: (org: OrgSlug, id: string) => Effect.Effect<SnippetDetail, SnippetNotFound>
  /** Checks a change without saving it, and returns the templates that it affects. Fails like `save`. */
  readonly check: (
    org: OrgSlug,
    id: string,
    input: SnippetInput,
  ) => Effect.Effect<ReadonlyArray<SnippetUser>, InvalidInput | ChecksBusy>
  /**
   * Creates or changes a snippet. If approval is on and the change affects live messages, it is stored and awaits
   * approval. `base` is the `updated_at` of the version that was edited. Fails with `InvalidInput` and every fault of the
   * snippet, and of variants that it would break, `SnippetChanged` if somebody has saved it since, `ProposalConflict` if
   * a change of another author awaits approval, and `ChecksBusy` if too many checks are waiting.
   */
  readonly save: (
    org: OrgSlug,
    id: string,
    input: SnippetInput,
    options?: { readonly base?: string | undefined },
  ) => Effect.Effect<
    SavedSnippet,
    InvalidInput | ChecksBusy | SnippetChanged | ProposalConflict | OrganizationNotFound
  >
  /**
   * Checks the snippets of an import without saving them, and returns the ids of changed snippets. Fails with
   * `InvalidInput` and every fault, with pointers below `/snippets`, and with `ChecksBusy`.
   */
  readonly checkAll: (
    org: OrgSlug,
    inputs: ReadonlyArray<SnippetFileInput>,
  ) => Effect.Effect<ReadonlyArray<string>, InvalidInput | ChecksBusy>
  /** Saves every snippet of an import, or no snippet. Returns the changed snippets. Fails like `save`. */
  readonly saveAll: (
    org: OrgSlug,
    inputs: ReadonlyArray<SnippetFileInput>,
  ) => Effect.Effect<
    ReadonlyArray<{ readonly id: string; readonly isProposed: boolean }>,
    InvalidInput | ChecksBusy | SnippetChanged | ProposalConflict | OrganizationNotFound
  >
  /** Returns the changes that await approval, newest first. At most one for each snippet. */
  readonly proposals: (org: OrgSlug) => Effect.Effect<ReadonlyArray<SnippetProposalHead>>
  /**
   * Makes a proposed change live, and notifies its author. Fails with `ProposalNotFound` without one, `NotAllowed` for its
   * author and for roles that do not approve, and `ProposalConflict` for another `version` or if the snippet has changed
   * in the meantime.
   */
  readonly approve: (
    org: OrgSlug,
    id: string,
    decision: SnippetDecision,
    by: Actor,
  ) => Effect.Effect<SnippetDetail, SnippetNotFound | ProposalNotFound | ProposalConflict | NotAllowed | ChecksBusy>
  /**
   * Deletes a proposed change: withdraws the caller's own, or rejects another author's, who is notified with `comment`.
   * Fails with `ProposalNotFound` without one, and `NotAllowed` for roles that do not approve.
   */
  readonly dismiss: (
    org: OrgSlug,
    id: string,
    by: Actor,
    comment?: string,
  ) => Effect.Effect<void, SnippetNotFound | ProposalNotFound | NotAllowed>
  /** Deletes a snippet. Fails with `SnippetNotFound` for an unknown id, and `SnippetInUse` if something renders it. */
  readonly remove: (org: OrgSlug, id: string) => Effect.Effect<void, SnippetNotFound | SnippetInUse>
  /** Returns the latest 200 versions, newest first. Fails with `SnippetNotFound` for an unknown id. */
  readonly versions: (
    org: OrgSlug,
    id: string,
  ) => Effect.Effect<ReadonlyArray<SnippetVersion>, SnippetNotFound>
  /** Returns a version. Fails with `SnippetNotFound` for an unknown id, and `VersionNotFound` for an unknown version. */
  readonly version: (
    org: OrgSlug,
    id: string,
    version: string,
  ) => Effect.Effect<SnippetVersion, SnippetNotFound | VersionNotFound>
  /** Adds the snippets that they render to the sources of variants. */
  readonly attach: (org: OrgSlug, variants: ReadonlyArray<Sources>) => Effect.Effect<ReadonlyArray<Sources>>
}>()("parlance/templates/Snippets") {
  static readonly layer = Layer.effect(
    Snippets,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const write = writerOf(sql, yield* Changes)
      const examine = snippetChecks(sql, yield* SourceCheck)
      const reads = makeReads(sql, yield* MemberNames)
      const check = Effect.fn("Snippets.check")(
        (org: OrgSlug, id: string, input: SnippetInput) =>
          Effect.map(examine(org, [{ id, ...input }]), ({ changes: [change] }) => change?.templates ?? []),
        Effect.catchTag("SqlError", Effect.die),
      )
      const checkAll = Effect.fn("Snippets.checkAll")(
        (org: OrgSlug, inputs: ReadonlyArray<SnippetFileInput>) =>
          Effect.map(examine(org, inputs, inImport), ({ changes }) => changes.map(({ after }) => after.id)),
        Effect.catchTag("SqlError", Effect.die),
      )
      return Snippets.of({
        ...reads.reads,
        check,
        checkAll,
        ...makeSave(sql, write, examine, reads),
        ...makeRemovals(sql, write, reads),
      })
    }),
  )
}
