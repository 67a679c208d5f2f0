import { Result, Schema } from "effect"
import { HttpApiEndpoint, OpenApi } from "effect/http-api"
import { reads, writes } from "../../accounts/Access.ts"
import { platformNames } from "../../domain/CopyPlatform.ts"
import { described } from "../../domain/described.ts"
import { localeFault } from "../../domain/Locale.ts"
import { Formats, Vars } from "../../domain/Template.ts"
import { translationFormats } from "../../templates/Translations.ts"
import { managementGroup } from "../admission/ManagementGroup.ts"
import * as Parameters from "../http/Parameters.ts"
import * as Problems from "../Problems.ts"
import { waiting } from "../reviews/Proposed.ts"
import { dryRun, ImportAnswer, ProposedImport, StringsAnswer } from "./ImportAnswer.ts"

// The part of the management API about copy that was written elsewhere.

const ConversionFinding = Schema.Struct({
  variable: Schema.String,
  line: Schema.Int.annotate({ description: "In the copy that was sent" }),
  column: Schema.Int,
  text: Schema.String.annotate({ description: "The beginning of the construct" }),
  message: Schema.String.annotate({ description: "Why a person must check the construct, with the remedy" }),
  state: Schema.Literals(["mend", "check"]).annotate({
    description:
      "`mend`: has no equivalent. It remains as it was, and cannot be saved. `check`: was converted, and may " +
      "mean something else",
  }),
}).annotate({ identifier: "ConversionFinding" })

const ConvertedField = Schema.Struct({
  from: Schema.String.annotate({ description: "As the copy names it" }),
  to: Schema.String.annotate({ description: "The field that a request passes" }),
}).annotate({ identifier: "ConvertedField" })

/** Copy of another platform. */
export const ConversionBody = Schema.Struct({
  from: Schema.Literals(platformNames).annotate({
    description: "The platform. `other`: placeholders of a platform without a name of its own here",
  }),
  vars: Vars.annotate({ description: "Copy by variable name, such as `subject`: up to 100" }),
  formats: Schema.optionalKey(Formats).annotate({ description: "By variable. Default: `text`" }),
}).annotate({ identifier: "ConversionRequest" })

/** The copy in Liquid. */
export const Conversion = Schema.Struct({
  vars: Vars,
  findings: Schema.Array(ConversionFinding),
  fields: Schema.Array(ConvertedField),
}).annotate({ identifier: "Conversion" })

/** Copy as CSV. */
export const CopyBody = Schema.Struct({
  csv: Schema.String.annotate({ description: "CSV with a header, up to 2,000 rows" }),
}).annotate({ identifier: "CopyImportRequest" })

/** The texts of a template for translators. */
const Strings = Schema.Struct({
  text: described(Schema.String, "The file"),
  locales: Schema.Array(
    Schema.Struct({
      locale: Schema.String,
      texts: described(Schema.Int, "Number of texts with words"),
      missing: described(
        Schema.Array(Schema.Struct({ copy_id: Schema.String, variable: Schema.String })),
        "Texts without a translation, not even in a locale of the fallback chain",
      ),
    }).annotate({ identifier: "LocaleProgress" }),
  ),
}).annotate({ identifier: "Strings" })

const StringsBody = Schema.Struct({
  text: described(Schema.String, "CSV as exported, or XLIFF 1.2 or 2.0"),
}).annotate({ identifier: "StringsImportRequest" })

const strings = "/organizations/:org/templates/:template/strings" as const

const readLocales: Parameters.ReadParameter<ReadonlyArray<string>> = (given) => {
  const tags = given === undefined || given === "" ? [] : given.split(",")
  const wrong = tags.find((tag) => localeFault(tag) !== undefined)
  return wrong === undefined
    ? Result.succeed(tags)
    : Result.fail(`has ${JSON.stringify(wrong.slice(0, 100))}, which ${localeFault(wrong)}`)
}

/** Endpoints of copy of other platforms. */
export class CopyGroup extends managementGroup(
  "copy",
  "Copy of other platforms and of spreadsheets, and strings for translators",
  {
    convertCopy: reads("viewer", "templates:read"),
    importCopy: writes("editor", "templates imported", "templates:write"),
    exportStrings: reads("viewer", "templates:read"),
    importStrings: writes("editor", "translations imported", "templates:write"),
  },
  HttpApiEndpoint.post("convertCopy", "/organizations/:org/templates/convert", {
    params: { org: Schema.String },
    payload: ConversionBody,
    success: Conversion,
    error: [...Problems.ofBody, Problems.OrganizationNotFound],
  }).annotate(OpenApi.Summary, "Converts copy of another platform to Liquid").annotate(
    OpenApi.Description,
    "Stores nothing. Everything without an equivalent is listed with its remedy. Checks the result as before saving, " +
      "within 2 seconds.",
  ),
  HttpApiEndpoint.post("importCopy", "/organizations/:org/templates/import-copy", {
    params: { org: Schema.String },
    query: { dry_run: dryRun },
    payload: CopyBody,
    success: [ImportAnswer, waiting(ProposedImport)],
    error: [...Problems.ofBody, Problems.OrganizationNotFound],
  }).annotate(OpenApi.Summary, "Imports copy from a spreadsheet").annotate(
    OpenApi.Description,
    "A row for each variant, with the columns `template`, `variant`, and `subject`, `preheader`, `body` or `vars.NAME`. An " +
      "empty cell leaves the variable as it is. Other members of templates and variants stay. New variants are inactive. " +
      "Imports all rows or none.",
  ),
  HttpApiEndpoint.get("exportStrings", strings, {
    params: { org: Schema.String, template: Schema.String },
    query: {
      format: Parameters.described(
        "`csv` (default): a column for each locale. `xliff`: XLIFF 1.2",
        Parameters.oneOf(translationFormats),
        Schema.Literals(translationFormats),
      ),
      locales: Parameters.described(
        "Locales to translate to, such as `de,fr`. Default: every locale with texts",
        readLocales,
      ),
    },
    success: Strings,
    error: [Problems.InvalidRequest, Problems.OrganizationNotFound, Problems.TemplateNotFound],
  }).annotate(OpenApi.Summary, "The texts of a template and their translations, for translators"),
  HttpApiEndpoint.post("importStrings", strings, {
    params: { org: Schema.String, template: Schema.String },
    query: { dry_run: dryRun },
    payload: StringsBody,
    success: [StringsAnswer, waiting(ProposedImport)],
    error: [...Problems.ofBody, Problems.OrganizationNotFound, Problems.TemplateNotFound],
  }).annotate(OpenApi.Summary, "Imports translations of a template").annotate(
    OpenApi.Description,
    "Imports all translations or none. An empty translation changes nothing. Faults name the line of the file as " +
      "`/line/3`. A file is refused at each text and translation that has changed since its export.",
  ),
) {}
