import { Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { DraftBody, DraftResource, DraftSummary } from "../api/templates/DraftsApi.ts"
import type { Difference } from "../domain/Difference.ts"
import { fieldText } from "./ChangesText.ts"
import { argument, given, template, text } from "./Flags.ts"
import { bodyOf, readJson, readText } from "./Inputs.ts"
import { organizationCommand } from "./ManagementCommand.ts"
import type { TableColumns } from "./Table.ts"

const place = {
  template,
  variant: argument("variant", "The variant's id. Without it: the draft of a new variant").pipe(Argument.optional),
}

const author = text("author", "The author of the draft, such as a member's e-mail address. Default: your own")

const columns: TableColumns<DraftSummary> = {
  variant: ({ variant }) => variant ?? "(new)",
  author: "author",
  saved: "saved_at",
  "begun from": ({ base }) => base ?? "",
}

/** The changed fields of a draft or version, each with its value before and after. */
export const differenceText = ({ fields, omitted }: Difference): string =>
  fields.length === 0
    ? "No differences"
    : [...fields.flatMap(fieldText), ...(omitted > 0 ? [`  and ${omitted} more`] : [])].join("\n")

const list = organizationCommand({
  name: "list",
  description: "List the drafts of a template, latest first",
  flags: { template },
  call: (client, { org, template }) => client.drafts.listDrafts({ params: { org, template } }),
  result: ({ drafts }) => drafts,
}).table(columns, "No drafts")

const draftText = (draft: DraftResource) =>
  [
    `Draft of ${draft.variant ?? "a new variant"} by ${draft.author}, ${draft.saved_at}`,
    ...(draft.conflict ? ["The variant was saved after this draft was begun"] : []),
    ...draft.faults.map(({ detail, pointer }) => `${pointer}: ${detail}`),
    differenceText(draft.changes),
  ].join("\n")

const show = organizationCommand({
  name: "show",
  description: "Show how a draft differs from the variant that is served. --json prints its text",
  flags: { ...place, author },
  call: (client, { author, org, template, variant }) =>
    client.drafts.getDraft({ params: { org, template }, query: given({ variant, author }) }),
}).text(draftText)

const save = organizationCommand({
  name: "save",
  description: "Store your draft of a variant. Nothing of it is served until it is published",
  examples: ["parlance draft save welcome warm --file warm.json"],
  flags: {
    ...place,
    file: Flag.String("file").pipe(
      Flag.withDescription("The members of the variant to change, as a JSON file, - for standard input"),
    ),
  },
  payload: ({ file }) =>
    Effect.map(
      Effect.flatMap(readText(file), (text) => readJson("--file", text)),
      (change) => bodyOf<DraftBody>({ change }),
    ),
  call: (client, { org, payload, template, variant }) =>
    client.drafts.putDraft({ params: { org, template }, query: given({ variant }), payload }),
}).table(columns)

const discard = organizationCommand({
  name: "discard",
  description: "Discard your draft of a variant",
  flags: place,
  call: (client, { org, template, variant }) =>
    client.drafts.discardDraft({ params: { org, template }, query: given({ variant }) }),
  result: () => ({ discarded: true }),
}).text(() => "Discarded your draft")

const publish = organizationCommand({
  name: "publish",
  description: "Save a draft as the variant. Refused if somebody has saved the variant since",
  flags: { ...place, author },
  call: (client, { author, org, template, variant }) =>
    client.drafts.publishDraft({ params: { org, template }, query: given({ variant, author }) }),
}).text(({ id }) => `Saved variant ${id}`)

/** `parlance draft …` */
export const draftCommand = Command.make("draft").pipe(
  Command.withDescription("Drafts of variants: text that is stored and not served"),
  Command.withSubcommands([list, show, save, discard, publish]),
)
