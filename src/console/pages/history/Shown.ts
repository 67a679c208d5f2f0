import type { AuditEntry } from "../../../accounts/Audit.ts"
import type { Difference, FieldChange } from "../../../domain/Difference.ts"
import { t, translated } from "../../../languages/Language.ts"
import { type DiffLine, lineDiff } from "../../../text/LineDiff.ts"
import { firstOf } from "../../Format.ts"
import { labelOf, valueText } from "./FieldWords.ts"

/** A displayed line of a difference, or a number of equal lines that are left out. */
export type ShownLine = DiffLine | { readonly kind: "gap"; readonly count: number }

/** A changed field, ready to display. */
export interface ShownField {
  readonly label: string
  /** Values of one line each. Absent for longer texts, which have `lines`. */
  readonly short?: { readonly before: string | undefined; readonly after: string | undefined }
  readonly lines: ReadonlyArray<ShownLine>
  /** A remark on the change, such as `too long to keep`. */
  readonly remark?: string
}

/** The changes of an audit entry, ready to display. */
export interface Shown {
  readonly fields: ReadonlyArray<ShownField>
  /** Names of other fields that differ, and the number of fields that are not named. */
  readonly others: ReadonlyArray<string>
  readonly omitted: number
  /** Whether all stored changes are displayed. */
  readonly whole: boolean
}

/** Lines around a change, and the fewest that are worth leaving out. */
const context = 2
const worthLeaving = 3

/** Old and new values up to this length share a line. Unit: characters. */
const shortUpTo = 90

/** Fixed cost of a line, in characters. */
const costOfLine = 90

const folded = (lines: ReadonlyArray<DiffLine>): ReadonlyArray<ShownLine> => {
  const near = lines.map((_, at) =>
    lines.slice(Math.max(0, at - context), at + context + 1).some(({ kind }) => kind !== "same")
  )
  const shown: Array<ShownLine> = []
  for (let at = 0; at < lines.length; at++) {
    let end = at
    while (end < lines.length && !near[end]) end++
    if (end - at >= worthLeaving) {
      shown.push({ kind: "gap", count: end - at })
      at = end - 1
    } else shown.push(lines[at]!)
  }
  return shown
}

const shownField = (change: FieldChange): ShownField => {
  const { after, before, cut, line } = change
  const label = labelOf(change)
  if (before === undefined && after === undefined) return { label, lines: [], remark: t`too long to keep` }
  const [a, b] = [valueText(change, before), valueText(change, after)]
  const remarks = [
    ...(line === undefined || line === 1 ? [] : [t`from line ${line}`]),
    ...(cut === true ? [t`not kept to the end`] : []),
  ]
  const remark = remarks.length === 0 ? {} : { remark: remarks.join(", ") }
  if (!a.includes("\n") && !b.includes("\n") && a.length + b.length <= shortUpTo) {
    return {
      label,
      short: { before: before === undefined ? undefined : a, after: after === undefined ? undefined : b },
      lines: [],
      ...remark,
    }
  }
  const of = (kind: DiffLine["kind"], text: string) => text.split("\n").map((one): DiffLine => ({ kind, text: one }))
  const lines = before === undefined ? of("added", b) : after === undefined ? of("removed", a) : folded(lineDiff(a, b))
  return { label, lines, ...remark }
}

const costOf = ({ lines, short }: ShownField): number =>
  lines.reduce((sum, line) => sum + costOfLine + (line.kind === "gap" ? 0 : line.text.length), 0) +
  (short === undefined ? 0 : (short.before?.length ?? 0) + (short.after?.length ?? 0)) + 2 * costOfLine

/** The changes of an entry, up to `most` characters of HTML. */
export const shownOf = ({ fields, omitted }: Difference, most: number): Shown & { readonly cost: number } => {
  const shown: Array<ShownField> = []
  let cost = 0
  for (const change of fields) {
    const field = shownField(change)
    const more = costOf(field)
    if (cost + more > most) break
    cost += more
    shown.push(field)
  }
  const others = fields.slice(shown.length).map(labelOf)
  return {
    fields: shown,
    others: others.slice(0, 20),
    omitted: omitted + Math.max(0, others.length - 20),
    cost,
    whole: others.length === 0,
  }
}

/** A short text about the action of an entry. */
export const deedOf = ({ action, changes, details }: AuditEntry): string => {
  const [first, second] = changes?.fields ?? []
  if (action === "variant changed" && first?.field === "/active" && second === undefined) {
    return first.after === true ? t`variant activated` : t`variant deactivated`
  }
  if (details["duplicated"] === "true") return t`template duplicated`
  if (details["copy_of"] !== undefined) return t`template created as a copy of ${String(details["copy_of"])}`
  const deed = translated(action)
  const count = details["count"]
  if (typeof count === "number" && count > 1) return t`${deed} ${count} times within a minute`
  return details["by"] === "import" ? t`${deed} by an import` : deed
}

/** The names of the fields that an entry changed, in a line. */
export const namesOf = ({ fields, omitted }: Difference): string => firstOf(fields.map(labelOf), 4, omitted)
