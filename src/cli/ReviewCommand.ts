import { Argument, Flag } from "effect/cli"
import type { ProposalDetail } from "../domain/Proposal.ts"
import { call, commandGroup, steps } from "./ApiCommand.ts"
import { fieldText } from "./ChangesText.ts"
import { optionalWhole, text } from "./Flags.ts"
import { organization } from "./Root.ts"

const proposal = Argument.Int("proposal").pipe(Argument.withDescription("The number of the proposed change"))

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

/** `parlance review …` */
export const reviewCommand = commandGroup("review", "Changes to live templates that wait for approval", {
  list: call("listProposals", "List changes that wait for approval", {
    state: Flag.Literals("state", ["requested", "approved", "rejected", "withdrawn", "all"]).pipe(
      Flag.withDescription("Only changes in this state"),
      Flag.withDefault("requested" as const),
    ),
    template: text("template", "Only changes of this template"),
  }).pages("proposals").table({
    id: "id",
    template: "template_id",
    kind: "kind",
    state: "state",
    author: "author",
    proposed: "created_at",
    "decided by": ({ decided_by }) => decided_by ?? "",
  }),

  show: call("getProposal", "Show a proposed change, each field before and after", { proposal }).text(detailText),

  approve: steps("Approve a change of somebody else, which goes live", {
    proposal,
    version: optionalWhole("version", "The version that you read. Default: the current version"),
    comment,
  }, function* (client, { comment, proposal, version }) {
    const params = { org: yield* organization, proposal: String(proposal) }
    const seen = version ?? (yield* client.getProposal({ params })).version
    return yield* client.approveProposal({ params, payload: { version: seen, comment } })
  }).text(({ template_id }) => `Approved: the change of ${template_id} is live`),

  reject: call("rejectProposal", "Reject a change of somebody else", { proposal, comment })
    .text(({ template_id }) => `Rejected the change of ${template_id}`),

  withdraw: call("withdrawProposal", "Withdraw a proposed change", { proposal })
    .text(({ template_id }) => `Withdrew the change of ${template_id}`),

  update: call(
    "reviseProposal",
    "Bring a proposed change of yours up to date with the live template, or add a message",
    {
      proposal,
      note: text("note", "A message to reviewers; the change stays as it is"),
    },
  ).sends(({ note, proposal }) => note === undefined ? { proposal, update: true } : { proposal, note })
    .text(({ template_id }, { note }) =>
      note === undefined ? `The change of ${template_id} is up to date` : "The message is saved"
    ),
})
