import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { ProposalDetail } from "../domain/Proposal.ts"
import { fieldText } from "./ChangesText.ts"
import { given, optionalWhole, text } from "./Flags.ts"
import { organizationCommand } from "./ManagementCommand.ts"
import { allPages } from "./Pages.ts"

const id = Argument.Int("proposal").pipe(Argument.withDescription("The number of the proposed change"))

const comment = Flag.String("comment").pipe(Flag.withDescription("A comment for the author"), Flag.withDefault(""))

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

const list = organizationCommand({
  name: "list",
  description: "List changes that wait for approval",
  flags: {
    state: Flag.Literals("state", ["requested", "approved", "rejected", "withdrawn", "all"]).pipe(
      Flag.withDescription("Only changes in this state"),
      Flag.withDefault("requested" as const),
    ),
    template: text("template", "Only changes of this template"),
  },
  call: (client, { org, state, template }) =>
    allPages((before) =>
      Effect.map(
        client.reviews.listProposals({
          params: { org },
          query: { state, limit: "200", ...given({ template, before }) },
        }),
        ({ next, proposals }) => ({ items: proposals, next }),
      )
    ),
}).table({
  id: "id",
  template: "template_id",
  kind: "kind",
  state: "state",
  author: "author",
  proposed: "created_at",
  "decided by": ({ decided_by }) => decided_by ?? "",
})

const show = organizationCommand({
  name: "show",
  description: "Show a proposed change, each field before and after",
  flags: { id },
  call: (client, { id, org }) => client.reviews.getProposal({ params: { org, proposal: String(id) } }),
}).text(detailText)

const approve = organizationCommand({
  name: "approve",
  description: "Approve a change of somebody else, which goes live",
  flags: {
    id,
    version: optionalWhole("version", "The version that you read. Default: the current version"),
    comment,
  },
  call: (client, { comment, id, org, version }) =>
    Effect.gen(function* () {
      const params = { org, proposal: String(id) }
      const seen = Option.isSome(version) ? version.value : (yield* client.reviews.getProposal({ params })).version
      return yield* client.reviews.approveProposal({ params, payload: { version: seen, comment } })
    }),
}).text(({ template_id }) => `Approved: the change of ${template_id} is live`)

const reject = organizationCommand({
  name: "reject",
  description: "Reject a change of somebody else",
  flags: { id, comment },
  call: (client, { comment, id, org }) =>
    client.reviews.rejectProposal({ params: { org, proposal: String(id) }, payload: { comment } }),
}).text(({ template_id }) => `Rejected the change of ${template_id}`)

const withdraw = organizationCommand({
  name: "withdraw",
  description: "Withdraw a proposed change",
  flags: { id },
  call: (client, { id, org }) => client.reviews.withdrawProposal({ params: { org, proposal: String(id) } }),
}).text(({ template_id }) => `Withdrew the change of ${template_id}`)

const update = organizationCommand({
  name: "update",
  description: "Bring a proposed change of yours up to date with the live template, or add a message",
  flags: { id, note: text("note", "A message to reviewers; the change stays as it is") },
  call: (client, { id, note, org }) =>
    client.reviews.reviseProposal({
      params: { org, proposal: String(id) },
      payload: Option.isSome(note) ? { note: note.value } : { update: true },
    }),
}).text(({ template_id }, { note }) =>
  Option.isSome(note) ? "The message is saved" : `The change of ${template_id} is up to date`
)

/** `parlance review …` */
export const reviewCommand = Command.make("review").pipe(
  Command.withDescription("Changes to live templates that wait for approval"),
  Command.withSubcommands([list, show, approve, reject, withdraw, update]),
)
