import type { AuditEntry } from "../accounts/Audit.ts"
import type { FieldChange } from "../domain/Difference.ts"
import { lineDiff } from "../text/LineDiff.ts"
import { table } from "./Table.ts"

const textOf = (value: unknown): string => typeof value === "string" ? value : JSON.stringify(value, null, 2)

const marks = { same: "  ", removed: "- ", added: "+ " } as const

/** The lines about a changed field: its values before and after, or the changed lines of a long text. */
export const fieldText = ({ after, before, cut, field, line }: FieldChange): ReadonlyArray<string> => {
  const remark = `${line === undefined ? "" : ` from line ${line}`}${cut === true ? ", shortened" : ""}`
  const of = (mark: string, value: unknown) => textOf(value).split("\n").map((one) => mark + one)
  const lines = before === undefined && after === undefined
    ? []
    : before === undefined
    ? of(marks.added, after)
    : after === undefined
    ? of(marks.removed, before)
    : lineDiff(textOf(before), textOf(after)).map(({ kind, text }) => marks[kind] + text)
  return [`  ${field}${remark}`, ...lines.map((one) => `    ${one}`)]
}

/** The names of the fields that an entry changed. */
const names = ({ changes }: AuditEntry): string => {
  if (changes === null) return ""
  const all = changes.fields.map(({ field }) => field.slice(1))
  const more = Math.max(0, all.length - 4) + changes.omitted
  return `${all.slice(0, 4).join(", ")}${more > 0 ? ` and ${more} more` : ""}`
}

/** Entries of the audit log as a table. With `whole`, each entry is followed by its changed fields. */
export const changesText = (entries: ReadonlyArray<AuditEntry>, whole: boolean): string =>
  whole
    ? entries.map((entry) =>
      [
        `${entry.at}  ${entry.actor}  ${entry.action}  ${entry.subject}`,
        ...(entry.changes?.fields ?? []).flatMap(fieldText),
        ...((entry.changes?.omitted ?? 0) > 0 ? [`  and ${entry.changes!.omitted} more`] : []),
      ].join("\n")
    ).join("\n\n")
    : table(
      ["when", "who", "what", "of", "fields"],
      entries.map((entry) => [entry.at, entry.actor, entry.action, entry.subject, names(entry)]),
    )
