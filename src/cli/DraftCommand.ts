import { Effect } from "effect"
import { Argument, Flag } from "effect/cli"
import type { DraftResource, DraftSummary } from "../api/templates/DraftsApi.ts"
import type { Difference } from "../domain/Difference.ts"
import { call, commandGroup } from "./ApiCommand.ts"
import { fieldText } from "./ChangesText.ts"
import { argument, template, text } from "./Flags.ts"
import { readJson, readText } from "./Inputs.ts"
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

const draftText = (draft: DraftResource) =>
  [
    `Draft of ${draft.variant ?? "a new variant"} by ${draft.author}, ${draft.saved_at}`,
    ...(draft.conflict ? ["The variant was saved after this draft was begun"] : []),
    ...draft.faults.map(({ detail, pointer }) => `${pointer}: ${detail}`),
    differenceText(draft.changes),
  ].join("\n")

/** `parlance draft …` */
export const draftCommand = commandGroup("draft", "Drafts of variants: text that is stored and not served", {
  list: call("listDrafts", "List the drafts of a template, latest first", { template })
    .result(({ drafts }) => drafts)
    .table(columns, "No drafts"),

  show: call("getDraft", "Show how a draft differs from the variant that is served. --json prints its text", {
    ...place,
    author,
  }).text(draftText),

  save: call("putDraft", "Store your draft of a variant. Nothing of it is served until it is published", {
    ...place,
    change: Flag.String("file").pipe(
      Flag.withDescription("The members of the variant to change, as a JSON file, - for standard input"),
      Flag.map((file) => Effect.flatMap(readText(file), (text) => readJson("--file", text))),
    ),
  }).examples("parlance draft save welcome warm --file warm.json").table(columns),

  discard: call("discardDraft", "Discard your draft of a variant", place)
    .result(() => ({ discarded: true }))
    .text(() => "Discarded your draft"),

  publish: call("publishDraft", "Save a draft as the variant. Refused if somebody has saved the variant since", {
    ...place,
    author,
  }).text(({ id }) => `Saved variant ${id}`),
})
