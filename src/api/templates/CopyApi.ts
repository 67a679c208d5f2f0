import { Schema } from "effect"
import { HttpApiEndpoint, OpenApi } from "effect/http-api"
import { reads, writes } from "../../accounts/Access.ts"
import { platformNames } from "../../domain/CopyPlatform.ts"
import { Formats, Vars } from "../../domain/Template.ts"
import { managementGroup } from "../admission/ManagementGroup.ts"
import * as Problems from "../Problems.ts"
import { waiting } from "../reviews/Proposed.ts"
import { dryRun, ImportAnswer, ProposedImport } from "./ImportAnswer.ts"

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

/** Endpoints of copy of other platforms. */
export class CopyGroup extends managementGroup(
  "copy",
  "Copy of other platforms and of spreadsheets",
  {
    convertCopy: reads("viewer", "templates:read"),
    importCopy: writes("editor", "templates imported", "templates:write"),
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
) {}
