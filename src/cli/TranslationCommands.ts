import { Console, Effect, Option, Result } from "effect"
import { Command } from "effect/cli"
import { writeFileSync } from "node:fs"
import type { Fault } from "../domain/Errors.ts"
import { inputOf } from "../templates/TemplateFile.ts"
import { applyTranslations, translationFormats, writeTranslations } from "../templates/Translations.ts"
import { CommandFailed, ManagementClient } from "./Connection.ts"
import { argument, choice, template, text, texts, toggle } from "./Flags.ts"
import { readText } from "./Inputs.ts"
import { organization, printChange } from "./Root.ts"
import { differenceText } from "./TemplateFileCommands.ts"

// The strings of a template as a file for translators.

const refused = (file: string, faults: ReadonlyArray<Fault>) =>
  new CommandFailed({
    message: faults.map(({ detail, pointer }) => {
      const [, line] = /^\/line\/(\d+)$/.exec(pointer) ?? []
      return line === undefined ? `${file}: ${detail}` : `${file}:${line}: ${detail}`
    }).join("\n"),
  })

const exportStrings = Command.make(
  "export",
  {
    template,
    format: choice("format", translationFormats, "csv (default) with a column for each locale, or xliff (XLIFF 1.2)"),
    locales: texts(
      "locale",
      "A locale to translate to, such as de; repeat for several. Default: every locale with texts",
    ),
    out: text("out", "File to write. Default: standard output"),
  },
  Effect.fnUntraced(function* ({ format, locales = [], out, template: id }) {
    const client = yield* ManagementClient
    const template = yield* client.getTemplate({ params: { org: yield* organization, template: id } })
    const { locale } = template
    if (locale === null) {
      return yield* new CommandFailed({
        message: `The template ${id} has one locale. Set its locale first: parlance template update ${id} --locale ` +
          "attribute=language,default=en",
      })
    }
    const written = writeTranslations({ ...template, locale }, locales, Option.getOrElse(format, () => "csv" as const))
    if (Option.isNone(out)) return yield* Console.log(written.trimEnd())
    writeFileSync(out.value, written)
    yield* Console.log(`Wrote the strings of ${id} to ${out.value}`)
  }),
).pipe(
  Command.withDescription("Write the texts of a template and their translations for translators"),
  Command.withExamples([{
    command: "parlance template strings export welcome --locale de --format xliff --out de.xlf",
  }]),
)

const importStrings = Command.make(
  "import",
  {
    template,
    file: argument("file", "CSV, or XLIFF 1.2 or 2.0; - for standard input"),
    dryRun: toggle("dry-run", "Check the file and show its changes, without making them"),
  },
  Effect.fnUntraced(function* ({ dryRun, file, template: id }) {
    const client = yield* ManagementClient
    const params = { org: yield* organization }
    const content = yield* readText(file)
    const template = yield* client.getTemplate({ params: { ...params, template: id } })
    const applied = applyTranslations(template, content)
    if (Result.isFailure(applied)) return yield* refused(file, applied.failure)
    const { faultAt, variants } = applied.success
    const result = yield* client.importTemplates({
      params,
      query: dryRun ? { dry_run: "true" } : {},
      payload: { templates: [inputOf({ ...template, variants })] },
    }).pipe(
      Effect.mapError((error) =>
        error._tag === "InvalidRequest" && error.errors !== undefined ? refused(file, error.errors.map(faultAt)) : error
      ),
    )
    yield* printChange(
      result,
      (imported) =>
        dryRun
          ? `${differenceText(imported)}\nNothing was imported: this is a dry run`
          : imported.updated.length > 0
          ? `Translated ${variants.length === 1 ? "1 variant" : `${variants.length} variants`} of ${id}`
          : "The file changes nothing",
    )
  }),
).pipe(
  Command.withDescription("Import translations of a template; imports all of them or nothing"),
  Command.withExamples([{ command: "parlance template strings import welcome de.xlf --dry-run" }]),
)

/** `parlance template strings …` */
export const stringsCommand = Command.make("strings").pipe(
  Command.withDescription("Texts of a template for translators, as CSV or XLIFF"),
  Command.withSubcommands([exportStrings, importStrings]),
)
