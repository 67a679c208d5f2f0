import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { DraftBody, DraftResource, DraftSummary } from "../api/templates/DraftsApi.ts"
import type { Difference } from "../domain/Difference.ts"
import { fieldText } from "./ChangesText.ts"
import { ManagementClient } from "./Connection.ts"
import { bodyOf, readJson, readText } from "./Inputs.ts"
import { organization, print } from "./Root.ts"
import { table } from "./Table.ts"

const place = {
  template: Argument.String("template").pipe(Argument.withDescription("The template's id")),
  variant: Argument.String("variant").pipe(
    Argument.withDescription("The variant's id. Without it: the draft of a new variant"),
    Argument.optional,
  ),
}

const author = Flag.String("author").pipe(
  Flag.withDescription("The author of the draft, such as a member's e-mail address. Default: your own"),
  Flag.optional,
)

const ofVariant = (variant: Option.Option<string>) => Option.isSome(variant) ? { variant: variant.value } : {}
const ofAuthor = (name: Option.Option<string>) => Option.isSome(name) ? { author: name.value } : {}

const describe = (drafts: ReadonlyArray<DraftSummary>) =>
  table(
    ["variant", "author", "saved", "begun from"],
    drafts.map((one) => [one.variant ?? "(new)", one.author, one.saved_at, one.base ?? ""]),
  )

/** The fields of a difference before and after. */
export const differenceText = ({ fields, omitted }: Difference): string =>
  fields.length === 0
    ? "No differences"
    : [...fields.flatMap(fieldText), ...(omitted > 0 ? [`  and ${omitted} more`] : [])].join("\n")

const list = Command.make(
  "list",
  { template: place.template },
  Effect.fnUntraced(function* ({ template }) {
    const client = yield* ManagementClient
    const { drafts } = yield* client.drafts.listDrafts({ params: { org: yield* organization, template } })
    yield* print(drafts, drafts.length === 0 ? "No drafts" : describe(drafts))
  }),
).pipe(Command.withDescription("List the drafts of a template, latest first"))

const draftText = (draft: DraftResource) =>
  [
    `Draft of ${draft.variant ?? "a new variant"} by ${draft.author}, ${draft.saved_at}`,
    ...(draft.conflict ? ["The variant was saved after this draft was begun"] : []),
    ...draft.faults.map(({ detail, pointer }) => `${pointer}: ${detail}`),
    differenceText(draft.changes),
  ].join("\n")

const show = Command.make(
  "show",
  { ...place, author },
  Effect.fnUntraced(function* ({ author, template, variant }) {
    const client = yield* ManagementClient
    const draft = yield* client.drafts.getDraft({
      params: { org: yield* organization, template },
      query: { ...ofVariant(variant), ...ofAuthor(author) },
    })
    yield* print(draft, draftText(draft))
  }),
).pipe(Command.withDescription("Show how a draft differs from the variant that is served. --json prints its text"))

const save = Command.make(
  "save",
  {
    ...place,
    file: Flag.String("file").pipe(
      Flag.withDescription("The members of the variant to change, as a JSON file, - for standard input"),
    ),
  },
  Effect.fnUntraced(function* ({ file, template, variant }) {
    const client = yield* ManagementClient
    const change = yield* readJson("--file", yield* readText(file))
    const draft = yield* client.drafts.putDraft({
      params: { org: yield* organization, template },
      query: ofVariant(variant),
      payload: bodyOf<DraftBody>({ change }),
    })
    yield* print(draft, describe([draft]))
  }),
).pipe(
  Command.withDescription("Store your draft of a variant. Nothing of it is served until it is published"),
  Command.withExamples([{ command: "parlance draft save welcome warm --file warm.json" }]),
)

const discard = Command.make(
  "discard",
  place,
  Effect.fnUntraced(function* ({ template, variant }) {
    const client = yield* ManagementClient
    yield* client.drafts.discardDraft({ params: { org: yield* organization, template }, query: ofVariant(variant) })
    yield* print({ discarded: true }, "Discarded your draft")
  }),
).pipe(Command.withDescription("Discard your draft of a variant"))

const publish = Command.make(
  "publish",
  { ...place, author },
  Effect.fnUntraced(function* ({ author, template, variant }) {
    const client = yield* ManagementClient
    const saved = yield* client.drafts.publishDraft({
      params: { org: yield* organization, template },
      query: { ...ofVariant(variant), ...ofAuthor(author) },
    })
    yield* print(saved, `Saved variant ${saved.id}`)
  }),
).pipe(Command.withDescription("Save a draft as the variant. Refused if somebody has saved the variant since"))

/** `parlance draft …` */
export const draftCommand = Command.make("draft").pipe(
  Command.withDescription("Drafts of variants: text that is stored and not served"),
  Command.withSubcommands([list, show, save, discard, publish]),
)
