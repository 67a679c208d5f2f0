import { Console, Effect } from "effect"
import type { Fault } from "../domain/Errors.ts"
import { translationFormats } from "../templates/Translations.ts"
import { commandGroup, steps } from "./ApiCommand.ts"
import { CommandFailed } from "./Connection.ts"
import { argument, choice, out, template, texts } from "./Flags.ts"
import { printOrWrite, readText } from "./Inputs.ts"
import { organization } from "./Root.ts"
import { dryRun, dryRunText } from "./TemplateFileCommands.ts"

// The strings of a template as a file for translators.

const refused = (file: string, faults: ReadonlyArray<Fault>) =>
  new CommandFailed({
    message: faults.map(({ detail, pointer }) => {
      const [, line] = /^\/line\/(\d+)$/.exec(pointer) ?? []
      return line === undefined ? `${file}: ${detail}` : `${file}:${line}: ${detail}`
    }).join("\n"),
  })

/** `parlance template strings …` */
export const stringsCommand = commandGroup("strings", "Texts of a template for translators, as CSV or XLIFF", {
  export: steps("Write the texts of a template and their translations for translators", {
    template,
    format: choice("format", translationFormats, "csv (default) with a column for each locale, or xliff (XLIFF 1.2)"),
    locales: texts(
      "locale",
      "A locale to translate to, such as de; repeat for several. Default: every locale with texts",
    ),
    out,
  }, function* (client, { format = "csv", locales = [], out, template: id }) {
    const { text: written } = yield* client.exportStrings({
      params: { org: yield* organization, template: id },
      query: { format, ...(locales.length === 0 ? {} : { locales: locales.join(",") }) },
    })
    if (yield* printOrWrite(out, written)) yield* Console.log(`Wrote the strings of ${id} to ${out}`)
  }).examples("parlance template strings export welcome --locale de --format xliff --out de.xlf").silent(),

  import: steps("Import translations of a template; imports all of them or nothing", {
    template,
    file: argument("file", "CSV, or XLIFF 1.2 or 2.0; - for standard input"),
    dryRun,
  }, function* (client, { dryRun, file, template: id }) {
    return yield* client.importStrings({
      params: { org: yield* organization, template: id },
      query: dryRun ? { dry_run: "true" } : {},
      payload: { text: yield* readText(file) },
    }).pipe(
      Effect.mapError((error) =>
        error._tag === "InvalidRequest" && error.errors !== undefined ? refused(file, error.errors) : error
      ),
    )
  })
    .examples("parlance template strings import welcome de.xlf --dry-run")
    .change((imported, { dryRun, template }) =>
      dryRun
        ? dryRunText(imported)
        : "variants" in imported && imported.variants > 0
        ? `Translated ${imported.variants === 1 ? "1 variant" : `${imported.variants} variants`} of ${template}`
        : "The file changes nothing"
    ),
})
