import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { Proposal, ProposalDetail } from "../domain/Proposal.ts"
import { fieldText } from "./ChangesText.ts"
import { ManagementClient } from "./Connection.ts"
import { organization, print } from "./Root.ts"
import { table } from "./Table.ts"

const id = Argument.Int("proposal").pipe(Argument.withDescription("The number of the proposed change"))

const comment = Flag.String("comment").pipe(Flag.withDescription("A comment for the author"), Flag.withDefault(""))

const describe = (proposals: ReadonlyArray<Proposal>) =>
  table(
    ["id", "template", "kind", "state", "author", "proposed", "decided by"],
    proposals.map((one) => [
      one.id,
      one.template_id,
      one.kind,
      one.state,
      one.author,
      one.created_at,
      one.decided_by ?? "",
    ]),
  )

const detailText = (proposal: ProposalDetail): string =>
  [
    `${proposal.id}: ${proposal.kind} ${proposal.template_id}, by ${proposal.author}, ${proposal.state}`,
    ...(proposal.note === "" ? [] : [proposal.note]),
    ...(proposal.comment === null ? [] : [`Comment of ${proposal.decided_by}: ${proposal.comment}`]),
    ...(proposal.changes.fields.length === 0 ? ["  nothing is changed"] : proposal.changes.fields.flatMap(fieldText)),
    ...(proposal.live_changes === null ? [] : [
      "",
      "The live template has changed since:",
      ...proposal.live_changes.fields.flatMap(fieldText),
      ...(proposal.both.length === 0 ? [] : [`Changed by both: ${proposal.both.join(", ")}`]),
      `Its author can bring it up to date: parlance review update ${proposal.id}`,
    ]),
  ].join("\n")

const list = Command.make(
  "list",
  {
    state: Flag.Literals("state", ["requested", "approved", "rejected", "withdrawn", "all"]).pipe(
      Flag.withDescription("Only changes in this state"),
      Flag.withDefault("requested" as const),
    ),
    template: Flag.String("template").pipe(Flag.withDescription("Only changes of this template"), Flag.optional),
  },
  Effect.fnUntraced(function* ({ state, template }) {
    const client = yield* ManagementClient
    const org = yield* organization
    const proposals: Array<Proposal> = []
    let cursor: number | undefined
    do {
      const page = yield* client.reviews.listProposals({
        params: { org },
        query: {
          state,
          limit: "200",
          ...(Option.isSome(template) ? { template: template.value } : {}),
          ...(cursor === undefined ? {} : { before: String(cursor) }),
        },
      })
      proposals.push(...page.proposals)
      cursor = page.next ?? undefined
    } while (cursor !== undefined)
    yield* print(proposals, describe(proposals))
  }),
).pipe(Command.withDescription("List changes that wait for approval"))

const params = Effect.fnUntraced(function* (proposal: number) {
  return { params: { org: yield* organization, proposal: String(proposal) } }
})

const show = Command.make(
  "show",
  { id },
  Effect.fnUntraced(function* ({ id }) {
    const client = yield* ManagementClient
    const proposal = yield* client.reviews.getProposal(yield* params(id))
    yield* print(proposal, detailText(proposal))
  }),
).pipe(Command.withDescription("Show a proposed change, each field before and after"))

const approve = Command.make(
  "approve",
  {
    id,
    version: Flag.Int("version").pipe(
      Flag.withDescription("The version that you looked at. Default: the present one"),
      Flag.optional,
    ),
    comment,
  },
  Effect.fnUntraced(function* ({ comment, id, version }) {
    const client = yield* ManagementClient
    const named = yield* params(id)
    const seen = Option.isSome(version) ? version.value : (yield* client.reviews.getProposal(named)).version
    const done = yield* client.reviews.approveProposal({ ...named, payload: { version: seen, comment } })
    yield* print(done, `Approved: the change of ${done.template_id} is live`)
  }),
).pipe(Command.withDescription("Approve a change of somebody else, which goes live"))

const reject = Command.make(
  "reject",
  { id, comment },
  Effect.fnUntraced(function* ({ comment, id }) {
    const client = yield* ManagementClient
    const done = yield* client.reviews.rejectProposal({ ...yield* params(id), payload: { comment } })
    yield* print(done, `Rejected the change of ${done.template_id}`)
  }),
).pipe(Command.withDescription("Reject a change of somebody else"))

const withdraw = Command.make(
  "withdraw",
  { id },
  Effect.fnUntraced(function* ({ id }) {
    const client = yield* ManagementClient
    const done = yield* client.reviews.withdrawProposal(yield* params(id))
    yield* print(done, `Withdrew the change of ${done.template_id}`)
  }),
).pipe(Command.withDescription("Withdraw a proposed change"))

const update = Command.make(
  "update",
  {
    id,
    note: Flag.String("note").pipe(
      Flag.withDescription("A message to reviewers; the change stays as it is"),
      Flag.optional,
    ),
  },
  Effect.fnUntraced(function* ({ id, note }) {
    const client = yield* ManagementClient
    const payload = Option.isSome(note) ? { note: note.value } : { update: true }
    const done = yield* client.reviews.reviseProposal({ ...yield* params(id), payload })
    yield* print(done, Option.isSome(note) ? "The message is saved" : `The change of ${done.template_id} is up to date`)
  }),
).pipe(Command.withDescription("Bring a proposed change of yours up to date with the live template, or add a message"))

/** `parlance review …` */
export const reviewCommand = Command.make("review").pipe(
  Command.withDescription("Changes to live templates that wait for approval"),
  Command.withSubcommands([list, show, approve, reject, withdraw, update]),
)
