import { Console, Effect } from "effect"
import { Argument, Flag } from "effect/cli"
import type { ReadImport } from "../checking/Checks.ts"
import { type SnippetFileInput, snippetsForFile } from "../domain/Snippet.ts"
import type { TemplateInput } from "../domain/Template.ts"
import { withProgress } from "../runtime/Progress.ts"
import { doubleEncoding } from "../text/DoubleEncoding.ts"
import type { TemplateChange } from "../templates/ImportPlan.ts"
import * as TemplateFile from "../templates/TemplateFile.ts"
import { allTemplates } from "./allTemplates.ts"
import { steps } from "./ApiCommand.ts"
import { fieldText } from "./ChangesText.ts"
import { CommandFailed, ManagementClient, OnWarnings } from "./Connection.ts"
import { argument, out, toggle } from "./Flags.ts"
import { printOrWrite, readText } from "./Inputs.ts"
import { organization } from "./Root.ts"

type FileFault = TemplateFile.FileFault

/** Exit status of `template diff` if an import of the file would change something. */
export const statusOfDifferences = 2

const atPlace = ({ column, file, line, message, path }: FileFault) =>
  `${file}:${line}:${column}: ${path === "" ? "" : `${path}: `}${message}`

const placed = (faults: ReadonlyArray<FileFault>) => new CommandFailed({ message: faults.map(atPlace).join("\n") })

/** Prints the warnings of the service at their places in the file. */
const printWarnings = (faultAt: TemplateFile.ReadFile["faultAt"]) => (warnings: ReadonlyArray<string>) =>
  Effect.forEach(warnings, (warning) => {
    const [, pointer, detail] = /^(\/(?:templates|snippets)\/\S*): (.*)$/s.exec(warning) ?? []
    const text = pointer === undefined ? warning : atPlace(faultAt({ pointer, detail: detail! }))
    return Console.error(`warning: ${text}`)
  }, { discard: true })

const send = Effect.fnUntraced(function* (
  templates: ReadonlyArray<TemplateInput>,
  snippets: ReadonlyArray<SnippetFileInput>,
  dryRun: boolean,
) {
  const client = yield* ManagementClient
  return yield* client.importTemplates({
    params: { org: yield* organization },
    query: dryRun ? { dry_run: "true" } : {},
    payload: snippets.length === 0 ? { templates } : { templates, snippets },
  })
})

/**
 * The faults that the service finds in templates, at their places in the file. Empty if the service does not respond.
 */
const faultsOfService = (
  { snippets, templates }: ReadImport<FileFault>,
  faultAt: TemplateFile.ReadFile["faultAt"],
) => {
  const sound = templates.flatMap((input, index) => input === null ? [] : [{ input, index }])
  if (sound.length === 0) return Effect.succeed([])
  return send(sound.map(({ input }) => input), snippets, true).pipe(
    Effect.as<ReadonlyArray<FileFault>>([]),
    Effect.catch((error) =>
      Effect.succeed(
        error._tag !== "InvalidRequest" ? [] : (error.errors ?? []).map(({ detail, pointer }) =>
          faultAt({
            detail,
            pointer: pointer.replace(/^\/templates\/(\d+)/, (_, at) => `/templates/${sound[Number(at)]?.index ?? at}`),
          })
        ),
      )
    ),
  )
}

/** Imports copy as CSV. The faults of the service name rows and columns. */
const sendCopy = Effect.fnUntraced(function* (file: string, csv: string, dryRun: boolean) {
  const client = yield* ManagementClient
  return yield* client.importCopy({
    params: { org: yield* organization },
    query: dryRun ? { dry_run: "true" } : {},
    payload: { csv },
  }).pipe(
    Effect.mapError((error) =>
      error._tag === "InvalidRequest" && error.errors !== undefined
        ? new CommandFailed({ message: error.errors.map(({ detail }) => `${file}: ${detail}`).join("\n") })
        : error
    ),
  )
})

/**
 * Imports the templates of a file, or copy as CSV if its name ends with `.csv`. Fails with `CommandFailed`, which lists all faults with their places in the file.
 */
const sendFile = Effect.fnUntraced(function* (file: string, dryRun: boolean) {
  const text = yield* readText(file)
  if (/\.csv$/i.test(file)) return yield* sendCopy(file, text, dryRun)
  const double = doubleEncoding(text)
  if (double !== undefined) {
    const { column, line, meant, written } = double
    yield* Console.error(`warning: ${file}:${line}:${column}: ${written} looks like ${meant} that was encoded twice`)
  }
  const { faultAt, faults, snippets, templates } = TemplateFile.examine(text, file)
  if (faults.length > 0) {
    // Loaded on demand, because the parser of Liquid would delay the start of every command.
    const { checkFile } = yield* Effect.promise(() => import("../checker/Imports.ts"))
    const checked = checkFile(text, file, () => {})
    const ofService = yield* faultsOfService(checked, faultAt)
    return yield* placed(TemplateFile.inOrder([...checked.faults, ...ofService]))
  }
  const request = send(templates.flatMap((template) => template ?? []), snippets, dryRun).pipe(
    Effect.provideService(OnWarnings, printWarnings(faultAt)),
  )
  return yield* withProgress(`${dryRun ? "Comparing" : "Importing"} templates from ${file}`, () => request).pipe(
    Effect.mapError((error) =>
      error._tag === "InvalidRequest" && error.errors !== undefined
        ? placed(TemplateFile.inOrder(error.errors.map(faultAt)))
        : error
    ),
  )
})

type ChangedSnippets = ReadonlyArray<{ readonly id: string; readonly proposed: boolean }>

/** The snippets that an import creates or changes. */
const snippetLines = (word: string, snippets: ChangedSnippets): ReadonlyArray<string> =>
  snippets.length === 0
    ? []
    : [`${word}: ${snippets.map(({ id, proposed }) => proposed ? `${id} (waits for approval)` : id).join(", ")}`]

/** The changes of an import, field by field. */
export const differenceText = (
  { changes = [], snippets = [], unchanged }: {
    readonly snippets?: ChangedSnippets
    readonly changes?: ReadonlyArray<TemplateChange>
    readonly unchanged: ReadonlyArray<string>
  },
): string => {
  const count = (outcome: string) => changes.filter((change) => change.outcome === outcome).length
  const summary = `${count("created")} to create, ${count("updated")} to change, ${unchanged.length} unchanged`
  return [
    ...changes.flatMap(({ fields, omitted, outcome, template_id }) => [
      `${outcome === "created" ? "Create" : "Change"} ${template_id}`,
      ...fields.flatMap(fieldText),
      ...(omitted === 0 ? [] : [`  and ${omitted} more fields`]),
      "",
    ]),
    ...snippetLines("Snippets to save", snippets),
    `Templates: ${summary}`,
  ].join("\n")
}

/** The changes that a dry run has found. */
export const dryRunText = (differences: Parameters<typeof differenceText>[0]) =>
  `${differenceText(differences)}\nNothing was imported: this is a dry run`

/** The flag that only checks a file. */
export const dryRun = toggle("dry-run", "Check the file and show its changes, without making them")

const fileArgument = argument("file", "YAML, JSON, or CSV with copy (.csv); - for standard input")

const line = (word: string, ids: ReadonlyArray<string>) => ids.length === 0 ? [] : [`${word}: ${ids.join(", ")}`]

/** `parlance template import` */
export const importFile = steps(
  "Create and update templates from a file of up to 1,000 templates and 2,000 variants; imports all of it or nothing",
  { file: fileArgument, dryRun },
  (_, { dryRun, file }) => sendFile(file, dryRun),
)
  .examples("parlance template import examples/abandoned-cart.yaml", {
    command: "parlance template import --dry-run examples/abandoned-cart.yaml",
    description: "Check a file in a pipeline",
  })
  .change((imported, { dryRun }) =>
    dryRun ? dryRunText(imported) : [
      ...line("Created", imported.created),
      ...line("Updated", imported.updated),
      ...line("Unchanged", imported.unchanged),
      ...snippetLines("Snippets", "snippets" in imported ? imported.snippets ?? [] : []),
    ].join("\n")
  )

/** `parlance template diff` */
export const diff = steps(
  "Show what an import of the file would create, change and remove, field by field. Exit status: 0 without differences, " +
    `${statusOfDifferences} with differences, 1 after an error, such as a faulty file`,
  { file: fileArgument },
  (_, { file }) => sendFile(file, true),
)
  .examples("parlance template diff examples/abandoned-cart.yaml")
  .failsIf(
    (compared) => "changes" in compared && compared.changes.length + (compared.snippets ?? []).length > 0,
    statusOfDifferences,
  )
  .change(differenceText)

/** `parlance template export` */
export const exportFile = steps("Export templates in the format of `template import`", {
  ids: Argument.String("template").pipe(
    Argument.withDescription("Ids of templates. Default: every template, including archived templates"),
    Argument.variadic(),
  ),
  format: Flag.Literals("format", ["yaml", "json"]).pipe(Flag.withDefault("yaml" as const)),
  out,
}, function* (client, { format, ids, out }) {
  const org = yield* organization
  const templates = ids.length === 0
    ? yield* allTemplates(org, "all")
    : yield* Effect.forEach(ids, (template) => client.getTemplate({ params: { org, template } }))
  const text = TemplateFile.format(
    templates.map(TemplateFile.inputOf),
    format,
    snippetsForFile((yield* client.listSnippets({ params: { org } })).snippets, templates),
  )
  if (yield* printOrWrite(out, text)) yield* Console.error(`Wrote ${templates.length} templates to ${out}`)
}).silent()
