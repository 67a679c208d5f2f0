import { defaultShareDays, ResultShareInput, shareDays } from "../domain/ResultShare.ts"
import { call, commandGroup } from "./ApiCommand.ts"
import { argument, template, whole } from "./Flags.ts"
import { withLink } from "./Links.ts"

/** `parlance share …` */
export const shareCommand = commandGroup("share", "Read-only links to results", {
  create: call("createResultShare", "Make a read-only link to the results of a template; prints it this once", {
    template,
    expires_in_days: whole(
      "days",
      `Days until the link expires: ${shareDays.join(", ")}. Default: ${defaultShareDays}`,
      defaultShareDays,
    ),
  }).checks(ResultShareInput)
    .andThen(withLink)
    .examples("parlance share create abandoned-cart --days 30")
    .text(({ expires_at, link }, { template }) =>
      `People with this link see the results of ${template} until ${expires_at}:\n\n${link}`
    ),

  list: call("listResultShares", "List the links to the results of a template", { template })
    .result(({ shares }) => shares)
    .table(
      { id: "id", "created by": "created_by", created: "created_at", expires: "expires_at" },
      ({ template }) => `No link to the results of ${template}`,
    ),

  revoke: call("revokeResultShare", "Revoke a link to the results of a template at once", {
    template,
    share: argument("link", "The link's id"),
  }).result((_, { share }) => ({ id: share, revoked: true })).text(({ id }) => `Revoked the link ${id}`),
})
