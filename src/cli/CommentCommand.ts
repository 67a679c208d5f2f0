import { Argument, Flag } from "effect/cli"
import { type Comment, CommentInput } from "../domain/Comment.ts"
import { call, commandGroup } from "./ApiCommand.ts"
import { argument, template, text } from "./Flags.ts"

const comment = Argument.Int("comment").pipe(Argument.withDescription("The number of the comment"))
const variant = text("variant", "The variant that it is about")

const describe = (comments: ReadonlyArray<Comment>): string =>
  comments.length === 0 ? "No comments" : comments.map((one) =>
    [
      `${one.id}  ${one.created_at}  ${one.author}${one.variant_id === null ? "" : `  on ${one.variant_id}`}` +
      `${one.edited_at === null ? "" : "  edited"}${one.resolved_at === null ? "" : "  resolved"}`,
      ...one.text.split("\n").map((line) => `  ${line}`),
    ].join("\n")
  ).join("\n\n")

const setResolved = (description: string, resolved: boolean) =>
  call("updateComment", description, { template, comment })
    .sends((values) => ({ ...values, resolved }))
    .text((comment) => describe([comment]))

/** `parlance comment …` */
export const commentCommand = commandGroup("comment", "Comments on templates", {
  list: call("listComments", "List the comments on a template, newest first", {
    template,
    variant,
    state: Flag.Literals("state", ["open", "resolved", "all"]).pipe(
      Flag.withDescription("Only comments in this state"),
      Flag.withDefault("open" as const),
    ),
  }).pages("comments").text(describe),

  add: call("createComment", "Comment on a template or variant", {
    template,
    text: argument("text", "@ with the name or e-mail address of a member mentions the member"),
    variant_id: variant,
  }).checks(CommentInput)
    .examples('parlance comment add welcome "@Ann Smith is this still true?"')
    .text(({ id }) => `Added comment ${id}`),

  edit: call("updateComment", "Change the text of a comment of yours", {
    template,
    comment,
    text: argument("text", "The new text"),
  }).text((comment) => describe([comment])),

  resolve: setResolved("Resolve a comment", true),
  reopen: setResolved("Open a resolved comment again", false),

  delete: call("deleteComment", "Delete a comment", { template, comment })
    .result((_, { comment }) => ({ id: comment, deleted: true }))
    .text(({ id }) => `Deleted comment ${id}`),
})
