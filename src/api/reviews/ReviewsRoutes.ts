import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { CurrentActor } from "../../accounts/Actor.ts"
import { accountOf } from "../../accounts/Author.ts"
import { MemberNames, type NamedMember, nameOfAuthor } from "../../accounts/MemberNames.ts"
import { wholeDifference } from "../../domain/Difference.ts"
import { ProposalNotFound } from "../../domain/Errors.ts"
import { decoder } from "../../domain/Faults.ts"
import type { OrgSlug } from "../../domain/Ids.ts"
import {
  ApprovalInput,
  type Proposal,
  type ProposalDetail,
  ProposalPatch,
  RejectionInput,
} from "../../domain/Proposal.ts"
import { Learning } from "../../learning/Learning.ts"
import { Organizations } from "../../organizations/Organizations.ts"
import type { WholeContent } from "../../templates/Content.ts"
import type { ProposalHead } from "../../templates/ProposalRows.ts"
import { Proposals, type ProposalView } from "../../templates/Proposals.ts"
import { fieldsOfTemplate } from "../../templates/TemplateFields.ts"
import { ServedApi } from "../Api.ts"
import * as Parameters from "../server/Parameters.ts"
import { body, existing, toProblems } from "../server/Requests.ts"

const patchBody = decoder(ProposalPatch)
const approvalBody = decoder(ApprovalInput)
const rejectionBody = decoder(RejectionInput)

type Members = ReadonlyMap<string, NamedMember>

/** A proposal as the API answers it. */
export const proposalOf = (row: ProposalHead, members: Members): Proposal => ({
  id: row.id,
  template_id: row.templateId,
  template_name: row.templateName,
  kind: row.kind,
  state: row.state,
  version: row.version,
  author: nameOfAuthor(row.author, members),
  author_id: accountOf(row.author) ?? null,
  note: row.note,
  created_at: row.createdAt.toISOString(),
  updated_at: row.updatedAt.toISOString(),
  decided_by: row.decidedBy === null ? null : nameOfAuthor(row.decidedBy, members),
  decided_at: row.decidedAt?.toISOString() ?? null,
  comment: row.comment,
})

const fieldsOf = (content: WholeContent | null) => content === null ? undefined : fieldsOfTemplate(content)

/** A proposal with its content and differences, as the API answers it. */
export const proposalDetailOf = (view: ProposalView, members: Members): ProposalDetail => ({
  ...proposalOf(view, members),
  base: view.base,
  proposed: view.proposed,
  live: view.live,
  changes: wholeDifference(fieldsOf(view.base), fieldsOf(view.proposed)),
  is_outdated: view.isOutdated,
  live_changes: view.isOutdated ? wholeDifference(fieldsOf(view.base), fieldsOf(view.live)) : null,
  both: view.both,
})

/** The id of a proposal or comment in a path; undefined for a text that is none. */
export const idIn = (text: string): number | undefined => /^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined

const states = ["requested", "approved", "rejected", "withdrawn", "all"] as const

export const layer = HttpApiBuilder.group(
  ServedApi,
  "reviews",
  Effect.fnUntraced(function* (handlers) {
    const learning = yield* Learning
    const names = yield* MemberNames
    const organizations = yield* Organizations
    const proposals = yield* Proposals

    const named = Effect.fnUntraced(function* (params: { readonly org: string; readonly proposal: string }) {
      const org = yield* existing(organizations, params)
      const id = idIn(params.proposal)
      if (id === undefined) return yield* new ProposalNotFound({ id: params.proposal.slice(0, 100) })
      yield* proposals.get(org, id)
      return { org, id, actor: yield* CurrentActor }
    })

    /** The proposal as it is now. */
    const answer = (org: OrgSlug, id: number) =>
      Effect.map(Effect.all([proposals.get(org, id), names.of(org)]), ([view, members]) => proposalOf(view, members))

    return handlers
      .handleRaw("listProposals", ({ params, request }) =>
        Effect.gen(function* () {
          const org = yield* existing(organizations, params)
          const { before: cursor, limit, state = "requested", template } = yield* Parameters.parameters(request, {
            limit: Parameters.limit(200, 50),
            before: Parameters.numericCursor(),
            state: Parameters.oneOf(states),
            template: Parameters.text("must be the id of a template"),
          })
          const rows = yield* proposals.list(org, {
            cursor,
            limit,
            template,
            ...(state === "all" ? {} : { state }),
          })
          const members = yield* names.of(org)
          return {
            proposals: rows.map((row) => proposalOf(row, members)),
            next: rows.length < limit ? null : rows.at(-1)!.id,
          }
        }).pipe(toProblems))
      .handle("getProposal", ({ params }) =>
        Effect.gen(function* () {
          const { id, org } = yield* named(params)
          return proposalDetailOf(yield* proposals.get(org, id), yield* names.of(org))
        }).pipe(toProblems))
      .handleRaw("reviseProposal", ({ params, request }) =>
        Effect.gen(function* () {
          const { actor, id, org } = yield* named(params)
          yield* proposals.revise(org, id, yield* body(request, patchBody), actor)
          return yield* answer(org, id)
        }).pipe(toProblems))
      .handleRaw("approveProposal", ({ params, request }) =>
        Effect.gen(function* () {
          const { actor, id, org } = yield* named(params)
          const { comment = "", version } = yield* body(request, approvalBody)
          const { proposal, relearns } = yield* proposals.approve(org, id, { version, comment }, actor)
          if (relearns) yield* learning.relearn(org, proposal.templateId)
          return yield* answer(org, id)
        }).pipe(toProblems))
      .handleRaw("rejectProposal", ({ params, request }) =>
        Effect.gen(function* () {
          const { actor, id, org } = yield* named(params)
          const { comment = "" } = yield* body(request, rejectionBody)
          yield* proposals.reject(org, id, comment, actor)
          return yield* answer(org, id)
        }).pipe(toProblems))
      .handle("withdrawProposal", ({ params }) =>
        Effect.gen(function* () {
          const { actor, id, org } = yield* named(params)
          yield* proposals.withdraw(org, id, actor)
          return yield* answer(org, id)
        }).pipe(toProblems))
  }),
)
