import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { type Comment, CommentInput } from "../domain/Comment.ts"
import { ManagementClient } from "./Connection.ts"
import { decodeInput } from "./Inputs.ts"
import { organization, print } from "./Root.ts"

const template = Argument.String("template").pipe(Argument.withDescription("The template's id"))
const id = Argument.Int("comment").pipe(Argument.withDescription("The number of the comment"))
const variant = Flag.String("variant").pipe(Flag.withDescription("The variant that it is about"), Flag.optional)

const describe = (comments: ReadonlyArray<Comment>): string =>
  comments.length === 0 ? "No comments" : comments.map((one) =>
    [
      `${one.id}  ${one.created_at}  ${one.author}${one.variant_id === null ? "" : `  on ${one.variant_id}`}` +
      `${one.edited_at === null ? "" : "  edited"}${one.resolved_at === null ? "" : "  resolved"}`,
      ...one.text.split("\n").map((line) => `  ${line}`),
    ].join("\n")
  ).join("\n\n")

const list = Command.make(
  "list",
  {
    template,
    variant,
    state: Flag.Literals("state", ["open", "resolved", "all"]).pipe(
      Flag.withDescription("Only comments in this state"),
      Flag.withDefault("open" as const),
    ),
  },
  Effect.fnUntraced(function* ({ state, template, variant }) {
    const client = yield* ManagementClient
    const org = yield* organization
    const comments: Array<Comment> = []
    let cursor: number | undefined
    do {
      const page = yield* client.comments.listComments({
        params: { org, template },
        query: {
          state,
          limit: "200",
          ...(Option.isSome(variant) ? { variant: variant.value } : {}),
          ...(cursor === undefined ? {} : { before: String(cursor) }),
        },
      })
      comments.push(...page.comments)
      cursor = page.next ?? undefined
    } while (cursor !== undefined)
    yield* print(comments, describe(comments))
  }),
).pipe(Command.withDescription("List the comments on a template, newest first"))

const add = Command.make(
  "add",
  {
    template,
    text: Argument.String("text").pipe(
      Argument.withDescription("@ with the name or e-mail address of a member mentions the member"),
    ),
    variant,
  },
  Effect.fnUntraced(function* ({ template, text, variant }) {
    const client = yield* ManagementClient
    const payload = yield* decodeInput(CommentInput, {
      text,
      ...(Option.isSome(variant) ? { variant_id: variant.value } : {}),
    })
    const made = yield* client.comments.createComment({ params: { org: yield* organization, template }, payload })
    yield* print(made, `Added comment ${made.id}`)
  }),
).pipe(
  Command.withDescription("Comment on a template or variant"),
  Command.withExamples([{ command: 'parlance comment add welcome "@Ann Smith is this still true?"' }]),
)

const change = Effect.fnUntraced(
  function* (template: string, id: number, payload: { readonly text?: string; readonly resolved?: boolean }) {
    const client = yield* ManagementClient
    const done = yield* client.comments.updateComment({
      params: { org: yield* organization, template, comment: String(id) },
      payload,
    })
    yield* print(done, describe([done]))
  },
)

const edit = Command.make(
  "edit",
  { template, id, text: Argument.String("text").pipe(Argument.withDescription("The new text")) },
  ({ id, template, text }) => change(template, id, { text }),
).pipe(Command.withDescription("Change the text of a comment of yours"))

const resolve = Command.make(
  "resolve",
  { template, id },
  ({ id, template }) => change(template, id, { resolved: true }),
)
  .pipe(Command.withDescription("Resolve a comment"))

const reopen = Command.make("reopen", { template, id }, ({ id, template }) => change(template, id, { resolved: false }))
  .pipe(Command.withDescription("Open a resolved comment again"))

const remove = Command.make(
  "delete",
  { template, id },
  Effect.fnUntraced(function* ({ id, template }) {
    const client = yield* ManagementClient
    yield* client.comments.deleteComment({ params: { org: yield* organization, template, comment: String(id) } })
    yield* print({ id, deleted: true }, `Deleted comment ${id}`)
  }),
).pipe(Command.withDescription("Delete a comment"))

/** `parlance comment …` */
export const commentCommand = Command.make("comment").pipe(
  Command.withDescription("Comments on templates"),
  Command.withSubcommands([list, add, edit, resolve, reopen, remove]),
)
