import { Argument, Flag } from "effect/cli"
import { type SnippetDetail, SnippetInput, type SnippetUser } from "../domain/Snippet.ts"
import { call, callWith, commandGroup, steps } from "./ApiCommand.ts"
import { argument, parsed, text } from "./Flags.ts"
import { readText } from "./Inputs.ts"
import { organization } from "./Root.ts"
import { tableOf } from "./Table.ts"

const snippet = argument("snippet", "The snippet's id, such as footer")
const version = argument("version", "The version's number")

const content = {
  snippet,
  name: text("name", "Display name. Default: the id"),
  format: Flag.Literals("format", ["text", "html"]).pipe(
    Flag.withDescription("html escapes values. Default: as before, text for a new snippet"),
    Flag.optional,
  ),
  text: text("text", "The Liquid of the snippet"),
  file: parsed("file", "A file with the Liquid, - for standard input", readText),
}

const inputOf = ({ file, text, ...values }: { readonly text: string | undefined; readonly file: unknown }) => ({
  ...values,
  text: text ?? file,
})

const usersText = (templates: ReadonlyArray<SnippetUser>): string =>
  templates.length === 0
    ? "No template uses it"
    : tableOf({ template: "template_id", variants: ({ copy_ids }) => copy_ids.join(" "), served: "served" }, templates)

const savedText = ({ id, proposal, templates }: SnippetDetail): string =>
  proposal === null
    ? `Saved ${id}\n${usersText(templates)}`
    : `The change of ${id} waits for approval as version ${proposal.version}:\n  parlance snippet approve ${id} ${proposal.version}`

const detailText = ({ format, id, name, proposal, snippets, templates, text }: SnippetDetail): string =>
  [
    `${id} (${name}), ${format}`,
    text,
    "",
    usersText(templates),
    ...(snippets.length === 0 ? [] : [`Snippets that render it: ${snippets.join(" ")}`]),
    ...(proposal === null
      ? []
      : [`A change by ${proposal.author} waits for approval as version ${proposal.version}:`, proposal.text]),
  ].join("\n")

/** `parlance snippet …` */
export const snippetCommand = commandGroup("snippet", "Snippets: blocks that variants share, such as a footer", {
  list: call("listSnippets", "List the snippets")
    .result(({ snippets }) => snippets)
    .table({ id: "id", name: "name", format: "format", updated: "updated_at" }, "No snippets"),

  show: call("getSnippet", "Show a snippet and where it is used", { snippet }).text(detailText),

  set: callWith("saveSnippet", "Create or change a snippet. The change takes effect in all variants at once", {
    ...content,
    "if-match": text(
      "base",
      "updated_at of the version you have seen: refused if somebody has saved the snippet since",
    ),
  }, inputOf).checks(SnippetInput)
    .examples(
      "parlance snippet set footer --format html --file footer.html",
      "parlance snippet set legal --text '© {{ year }} Acme'",
    )
    .text(savedText),

  check: callWith("checkSnippet", "Show which templates a change affects, without saving it", content, inputOf)
    .checks(SnippetInput)
    .result(({ templates }) => templates)
    .text(usersText),

  delete: call("deleteSnippet", "Delete a snippet that nothing uses", { snippet })
    .result((_, { snippet }) => ({ id: snippet, deleted: true }))
    .text(({ id }) => `Deleted ${id}`),

  versions: call("listSnippetVersions", "List the versions of a snippet, newest first", { snippet })
    .result(({ versions }) => versions)
    .table({ version: "id", saved: "saved_at", author: ({ author }) => author ?? "", name: "name" }),

  version: call("getSnippetVersion", "Show the text of a version", { snippet, version }).text(({ text }) => text),

  restore: steps("Save the content of an earlier version again", { snippet, version }, function* (client, params) {
    const at = { org: yield* organization, snippet: params.snippet }
    const { format, name, text } = yield* client.getSnippetVersion({ params: { ...at, version: params.version } })
    return { changed: yield* client.saveSnippet({ params: at, headers: {}, payload: { format, name, text } }) }
  }).result(({ changed }) => changed).text(savedText),

  approve: call("approveSnippet", "Approve the proposed change of a snippet, which goes live", {
    snippet,
    version: Argument.Int("version").pipe(Argument.withDescription("The version of the proposed change")),
  }).text(savedText),

  dismiss: call("dismissSnippet", "Withdraw or reject the proposed change of a snippet", { snippet })
    .result((_, { snippet }) => ({ id: snippet, dismissed: true }))
    .text(({ id }) => `Dismissed the proposed change of ${id}`),
})
