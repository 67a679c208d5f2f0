import { Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { type Comment, CommentInput } from "../domain/Comment.ts"
import { argument, given, template, text } from "./Flags.ts"
import { decodeInput } from "./Inputs.ts"
import { organizationCommand } from "./ManagementCommand.ts"
import { allPages } from "./Pages.ts"

const id = Argument.Int("comment").pipe(Argument.withDescription("The number of the comment"))
const variant = text("variant", "The variant that it is about")

const describe = (comments: ReadonlyArray<Comment>): string =>
  comments.length === 0 ? "No comments" : comments.map((one) =>
    [
      `${one.id}  ${one.created_at}  ${one.author}${one.variant_id === null ? "" : `  on ${one.variant_id}`}` +
      `${one.edited_at === null ? "" : "  edited"}${one.resolved_at === null ? "" : "  resolved"}`,
      ...one.text.split("\n").map((line) => `  ${line}`),
    ].join("\n")
  ).join("\n\n")

const list = organizationCommand({
  name: "list",
  description: "List the comments on a template, newest first",
  flags: {
    template,
    variant,
    state: Flag.Literals("state", ["open", "resolved", "all"]).pipe(
      Flag.withDescription("Only comments in this state"),
      Flag.withDefault("open" as const),
    ),
  },
  call: (client, { org, state, template, variant }) =>
    allPages((before) =>
      Effect.map(
        client.comments.listComments({
          params: { org, template },
          query: { state, limit: "200", ...given({ variant, before }) },
        }),
        ({ comments, next }) => ({ items: comments, next }),
      )
    ),
}).text(describe)

const add = organizationCommand({
  name: "add",
  description: "Comment on a template or variant",
  examples: ['parlance comment add welcome "@Ann Smith is this still true?"'],
  flags: {
    template,
    text: argument("text", "@ with the name or e-mail address of a member mentions the member"),
    variant,
  },
  payload: ({ text, variant }) => decodeInput(CommentInput, { text, ...given({ variant_id: variant }) }),
  call: (client, { org, payload, template }) => client.comments.createComment({ params: { org, template }, payload }),
}).text(({ id }) => `Added comment ${id}`)

const edit = organizationCommand({
  name: "edit",
  description: "Change the text of a comment of yours",
  flags: { template, id, text: argument("text", "The new text") },
  call: (client, { id, org, template, text }) =>
    client.comments.updateComment({ params: { org, template, comment: String(id) }, payload: { text } }),
}).text((comment) => describe([comment]))

const setResolved = (name: string, description: string, resolved: boolean) =>
  organizationCommand({
    name,
    description,
    flags: { template, id },
    call: (client, { id, org, template }) =>
      client.comments.updateComment({ params: { org, template, comment: String(id) }, payload: { resolved } }),
  }).text((comment) => describe([comment]))

const resolve = setResolved("resolve", "Resolve a comment", true)
const reopen = setResolved("reopen", "Open a resolved comment again", false)

const remove = organizationCommand({
  name: "delete",
  description: "Delete a comment",
  flags: { template, id },
  call: (client, { id, org, template }) =>
    client.comments.deleteComment({ params: { org, template, comment: String(id) } }),
  result: (_, { id }) => ({ id, deleted: true }),
}).text(({ id }) => `Deleted comment ${id}`)

/** `parlance comment …` */
export const commentCommand = Command.make("comment").pipe(
  Command.withDescription("Comments on templates"),
  Command.withSubcommands([list, add, edit, resolve, reopen, remove]),
)
