import { Effect } from "effect"
import { accountOf } from "../../accounts/Author.ts"
import { MemberNames, type NamedMember, nameOfAuthor } from "../../accounts/MemberNames.ts"
import { wholeDifference } from "../../domain/Difference.ts"
import { type OrganizationNotFound, ProposalNotFound } from "../../domain/Errors.ts"
import type { OrgSlug } from "../../domain/Ids.ts"
import { Proposal, type ProposalDetail } from "../../domain/Proposal.ts"
import { Learning } from "../../learning/Learning.ts"
import type { WholeContent } from "../../templates/Content.ts"
import type { ProposalHead } from "../../templates/ProposalRows.ts"
import { Proposals, type ProposalView } from "../../templates/Proposals.ts"
import { fieldsOfTemplate } from "../../templates/TemplateFields.ts"
import { managed } from "../http/Managed.ts"
import { pageOf } from "../http/Paging.ts"
import { wireForm } from "../http/WireForm.ts"

type Members = ReadonlyMap<string, NamedMember>

const write = wireForm(Proposal)

/** Returns a proposal in the form of the API. */
export const proposalOf = (row: ProposalHead, members: Members): Proposal =>
  write({
    ...row,
    author: nameOfAuthor(row.author, members),
    authorId: accountOf(row.author),
    decidedBy: row.decidedBy === null ? null : nameOfAuthor(row.decidedBy, members),
  })

const fieldsOf = (content: WholeContent | null) => content === null ? undefined : fieldsOfTemplate(content)

/** Returns a proposal with its content and differences, in the form of the API. */
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

/** Returns the id of a proposal or comment in a path. Undefined if the text is not an id. */
export const idIn = (text: string): number | undefined => /^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined

/** Serves `ReviewsGroup`. */
export const layer = managed(
  "reviews",
  Effect.gen(function* () {
    const learning = yield* Learning
    const names = yield* MemberNames
    const proposals = yield* Proposals

    /** Finds the proposal of a path. Runs before a body is decoded. */
    const named = Effect.fnUntraced(function* (
      organization: Effect.Effect<OrgSlug, OrganizationNotFound>,
      { proposal }: { readonly proposal: string },
    ) {
      const org = yield* organization
      const id = idIn(proposal)
      if (id === undefined) return yield* new ProposalNotFound({ id: proposal.slice(0, 100) })
      return { org, id, found: yield* proposals.get(org, id) }
    })

    /** Returns the current proposal. */
    const answer = (org: OrgSlug, id: number) =>
      Effect.map(Effect.all([proposals.get(org, id), names.of(org)]), ([view, members]) => proposalOf(view, members))

    return {
      listProposals: Effect.fnUntraced(
        function* ({ org, query: { cursor, limit, state = "requested", template } }) {
          const filter = { cursor, template, ...(state === "all" ? {} : { state }) }
          const { next, page } = yield* pageOf(limit, (limit) => proposals.list(org, { ...filter, limit }))
          const members = yield* names.of(org)
          return { proposals: page.map((row) => proposalOf(row, members)), next }
        },
      ),
      getProposal: {
        inSteps: Effect.fnUntraced(function* ({ org: organization, params }) {
          const { found, org } = yield* named(organization, params)
          return proposalDetailOf(found, yield* names.of(org))
        }),
      },
      reviseProposal: {
        inSteps: Effect.fnUntraced(function* ({ actor, body, org: organization, params }) {
          const { id, org } = yield* named(organization, params)
          yield* proposals.revise(org, id, yield* body, actor)
          return yield* answer(org, id)
        }),
      },
      approveProposal: {
        inSteps: Effect.fnUntraced(function* ({ actor, body, org: organization, params }) {
          const { id, org } = yield* named(organization, params)
          const { comment = "", version } = yield* body
          const { proposal, relearns } = yield* proposals.approve(org, id, { version, comment }, actor)
          if (relearns) yield* learning.relearn(org, proposal.templateId)
          return yield* answer(org, id)
        }),
      },
      rejectProposal: {
        inSteps: Effect.fnUntraced(function* ({ actor, body, org: organization, params }) {
          const { id, org } = yield* named(organization, params)
          const { comment = "" } = yield* body
          yield* proposals.reject(org, id, comment, actor)
          return yield* answer(org, id)
        }),
      },
      withdrawProposal: {
        inSteps: Effect.fnUntraced(function* ({ actor, org: organization, params }) {
          const { id, org } = yield* named(organization, params)
          yield* proposals.withdraw(org, id, actor)
          return yield* answer(org, id)
        }),
      },
    }
  }),
)
