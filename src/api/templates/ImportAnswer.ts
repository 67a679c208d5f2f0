import { Schema } from "effect"
import { described } from "../../domain/described.ts"
import { WaitingChange } from "../../domain/Proposal.ts"
import { TemplateChange } from "../../templates/ImportPlan.ts"
import * as Parameters from "../http/Parameters.ts"

// The parameter and the answer that all imports of templates share.

/** The parameter of an import that is only checked. */
export const dryRun = Parameters.described(
  "`true`: checks the import and returns its `changes`, without making them",
  Parameters.flag,
  Schema.Literals(["true", "false"]),
)

const importAnswer = {
  created: Schema.Array(Schema.String),
  updated: Schema.Array(Schema.String),
  unchanged: Schema.Array(Schema.String),
  snippets: Schema.optionalKey(described(
    Schema.Array(Schema.Struct({ id: Schema.String, proposed: Schema.Boolean })),
    "Present if the import has snippets: the created and changed snippets, and whether the change awaits approval",
  )),
  changes: Schema.optionalKey(described(
    Schema.Array(TemplateChange),
    "Present with `dry_run=true`: the fields of created and updated templates that the import would change. A field " +
      "without `before` is new, one without `after` is removed",
  )),
}

/** The templates that an import changed. */
export const ImportAnswer = Schema.Struct(importAnswer)
/** The translations that an import changed. */
export const StringsAnswer = Schema.Struct({
  ...importAnswer,
  variants: described(Schema.Int, "Number of variants with translations in the file. 0 if the file changes nothing"),
}).annotate({ identifier: "StringsImport" })
/** An import that awaits approval. */
export const ProposedImport = Schema.Struct({ ...importAnswer, ...WaitingChange.fields }).annotate({
  identifier: "ProposedImport",
})
