import { Effect } from "effect"
import type { ConvertedSource } from "../../../checking/Checks.ts"
import { type CopyPlatform, copyPlatforms } from "../../../domain/CopyPlatform.ts"
import type { Fault } from "../../../domain/Errors.ts"
import type { Format } from "../../../domain/Template.ts"
import { t } from "../../../languages/Language.ts"
import { convertCopy } from "../../../rendering/CopyConversion.ts"
import type { Draft } from "../../../templates/VariantForm.ts"
import { Badge } from "../../components/Badge.tsx"
import { Card } from "../../components/Card.tsx"
import { Table } from "../../components/Table.tsx"
import { counted } from "../../Format.ts"
import type { Fields, Visit } from "../../Routes.tsx"
import { ofFields } from "./Draft.ts"
import { resent } from "./EditorPage.tsx"

// Copy of other platforms that was pasted into the editor, and its Liquid.

/** A variable of the form with its converted text. */
interface Converted {
  readonly name: string
  readonly original: string
  readonly result: ConvertedSource
}

const Findings = ({ converted }: { readonly converted: ReadonlyArray<Converted> }) => {
  const rows = converted.flatMap(({ name, result }) => result.findings.map((finding) => ({ name, ...finding })))
  return rows.length === 0 ? null : (
    <Table
      cards="labelled"
      caption={t`Places to look at`}
      headings={[t`Place`, t`In the original`, t`What to do`, ""]}
      rows={rows.map(({ column, line, message, name, state, text }) => [
        t`${name}, line ${line}, column ${column}`,
        <code>{text}</code>,
        message,
        state === "mend" ? <Badge kind="bad">{t`mend`}</Badge> : <Badge kind="warn">{t`check`}</Badge>,
      ])}
    />
  )
}

/** The original next to its Liquid, with the constructs that a person must check. */
const ConversionCard = ({ converted, platform }: {
  readonly converted: ReadonlyArray<Converted>
  readonly platform: string
}) => {
  const fields = new Map(converted.flatMap(({ result }) => result.fields.map(({ from, to }) => [from, to] as const)))
  const renamed = [...fields].filter(([from, to]) => from !== to)
  const mend = converted.flatMap(({ result }) => result.findings.filter(({ state }) => state === "mend")).length
  return (
    <Card
      stacked
      title={t`Converted from ${platform}`}
      lead={t`Nothing is saved yet. ${
        mend === 0 ? t`Everything was converted.` : counted(
          mend,
          "place without an equivalent: mend it in the form below.",
          "places without an equivalent: mend them in the form below.",
        )
      }`}
    >
      <Findings converted={converted} />
      {renamed.length > 0 && (
        <Table
          cards="labelled"
          caption={t`Fields that your system sends`}
          headings={[t`In the original`, t`Field here`]}
          rows={renamed.slice(0, 100).map(([from, to]) => [<code>{from}</code>, <code>{to}</code>])}
        />
      )}
      {converted.map(({ name, original, result }) => (
        <div class="columns">
          <div class="stack tight">
            <h3>{t`${name}, original`}</h3>
            <pre tabIndex={0}>{original}</pre>
          </div>
          <div class="stack tight">
            <h3>{t`${name}, in Liquid`}</h3>
            <pre tabIndex={0}>{result.liquid}</pre>
          </div>
        </div>
      ))}
    </Card>
  )
}

const isPlatform = (name: string): name is CopyPlatform => Object.hasOwn(copyPlatforms, name)

/** Converts the texts of a form, and shows the form again with their Liquid. */
export const convertAction = Effect.fnUntraced(function* (visit: Visit, fields: Fields) {
  const draft = ofFields(fields)
  const from = fields["convert_from"] ?? ""
  if (!isPlatform(from)) {
    return yield* resent(visit, fields, { faults: [{ pointer: "/convert_from", detail: t`choose a platform` }] })
  }
  const entries = draft.variables.map(({ format, source }, at) => [String(at), source, format as Format] as const)
  return yield* convertCopy(visit.org.slug, {
    from,
    vars: Object.fromEntries(entries.map(([at, source]) => [at, source])),
    formats: Object.fromEntries(entries.map(([at, , format]) => [at, format])),
  }).pipe(
    Effect.flatMap((results) => {
      const variables = draft.variables.map((row, at) => ({ ...row, source: results[at]!.liquid }))
      const converted = draft.variables.map(({ name, source }, at) => ({
        name: name.trim() || t`variable ${at + 1}`,
        original: source,
        result: results[at]!,
      })).filter(({ original, result }) => result.liquid !== original || result.findings.length > 0)
      const next: Draft = { ...draft, variables }
      return resent(visit, fields, {
        draft: next,
        notes: <ConversionCard converted={converted} platform={copyPlatforms[from]} />,
      })
    }),
    Effect.catchTag("InvalidInput", ({ faults }) =>
      resent(visit, fields, {
        faults: faults.map(({ detail, pointer }): Fault => ({
          pointer: pointer.replace(/^\/vars(?:\/(\d+))?$/, (_, at = "0") => `/var_${at}_source`),
          detail,
        })),
      })),
  )
})
