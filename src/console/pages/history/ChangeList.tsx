import type { ComponentChildren } from "preact"
import type { AddressedEntry, AuditEntry } from "../../../accounts/Audit.ts"
import type { Difference } from "../../../domain/Difference.ts"
import { english, t, translated } from "../../../languages/Language.ts"
import { Time } from "../../components/Time.tsx"
import { counted } from "../../Format.ts"
import { deedOf, namesOf, type Shown, type ShownField, type ShownLine, shownOf } from "./Shown.ts"
import { MoreRows } from "../../components/MoreRows.tsx"

/** Size limits of differences: of an entry in a list, of all entries, and of an entry on its page. Unit: characters of HTML. */
const mostOfEntry = 6_000
const mostOfList = 70_000
const mostAlone = 90_000

/**
 * A difference in a list is open at first up to this size. Unit: characters of HTML. A created object has only new values,
 * so its details are closed at first.
 */
const openUpTo = 2_500

const isShort = ({ action }: AuditEntry, { cost, whole }: ReturnType<typeof shownOf>): boolean =>
  whole && cost <= openUpTo && !action.endsWith("created")

const marks = { same: " ", removed: "−", added: "+" } as const
const said = {
  removed: english("removed:"),
  added: english("added:"),
  before: english("before:"),
  after: english("after:"),
} as const

/** The kind of a value or line, for screen readers. */
const Said = ({ kind }: { readonly kind: keyof typeof said }) => (
  <span class="visually-hidden">{`${translated(said[kind])} `}</span>
)

const Line = ({ line }: { readonly line: ShownLine }) => {
  if (line.kind === "gap") return <span class="gap">{counted(line.count, "line the same", "lines the same")}</span>
  const { kind, text } = line
  const inside = (
    <>
      <span class="mark" aria-hidden="true">{marks[kind]}</span>
      {kind !== "same" && <Said kind={kind} />}
      {text === "" ? "\u200b" : text}
    </>
  )
  return kind === "removed" ? <del>{inside}</del> : kind === "added" ? <ins>{inside}</ins> : <span>{inside}</span>
}

const Field = ({ field: { label, lines, remark, short } }: { readonly field: ShownField }) => (
  <div class="field-change">
    <dt>
      {label}
      {remark !== undefined && <span class="sub">{remark}</span>}
    </dt>
    <dd>
      {short !== undefined && (
        <>
          {short.before !== undefined && (
            <del>
              <Said kind="before" />
              {short.before === "" ? <i>{t`nothing`}</i> : short.before}
            </del>
          )}
          {short.before !== undefined && short.after !== undefined && <span aria-hidden="true">→</span>}
          {short.after !== undefined && (
            <ins>
              <Said kind="after" />
              {short.after === "" ? <i>{t`nothing`}</i> : short.after}
            </ins>
          )}
        </>
      )}
      {lines.length !== 0 && <div class="line-diff">{lines.map((line) => <Line line={line} />)}</div>}
    </dd>
  </div>
)

const Fields = ({ more, shown }: { readonly shown: Shown; readonly more?: ComponentChildren }) => (
  <>
    <dl class="field-changes">{shown.fields.map((field) => <Field field={field} />)}</dl>
    {(shown.others.length !== 0 || shown.omitted !== 0) && (
      <p class="small muted">
        {shown.others.length === 0
          ? t`Also changed: ${counted(shown.omitted, "more field")}.`
          : shown.omitted === 0
          ? t`Also changed: ${shown.others.join(", ")}.`
          : t`Also changed: ${shown.others.join(", ")} and ${counted(shown.omitted, "more field")}.`}
      </p>
    )}
    {!shown.whole && more}
  </>
)

const detailsText = (details: Readonly<Record<string, unknown>>): string => {
  const text = Object.entries(details)
    .map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`).join(", ")
  return text.length > 400 ? `${text.slice(0, 400)}…` : text
}

/** Entries of the audit log with what they changed, newest first. */
export const ChangeList = ({ caption, entries, pathOf, subjectOf, zone }: {
  readonly caption: string
  readonly entries: ReadonlyArray<AuditEntry | AddressedEntry>
  /** Where an entry has a page of its own. */
  readonly pathOf: (id: number) => string
  /** The name of the subject of an entry. */
  readonly subjectOf: (entry: AuditEntry) => string
  readonly zone: string
}) => {
  let left = mostOfList
  return (
    <>
      <ol class="change-list" aria-label={caption}>
        {entries.map((entry) => {
          const { actor, at, changes, details, id } = entry
          const shown = changes === null ? undefined : shownOf(changes, Math.min(mostOfEntry, left))
          left -= shown?.cost ?? 0
          const subject = subjectOf(entry)
          const text = changes === null ? detailsText(details) : ""
          return (
            <li>
              <div class="change-head">
                <p>
                  <a href={pathOf(id)}>{deedOf(entry)}</a>
                  {subject !== "" && <span class="subject">{subject}</span>}
                </p>
                <p class="small muted">
                  {actor} ·{" "}
                  {"address" in entry && entry.address !== null && <span class="mono">{`${entry.address} · `}</span>}
                  <Time at={at} zone={zone} />
                </p>
              </div>
              {shown === undefined || changes === null
                ? text === "" ? null : <p class="small details">{text}</p>
                : changes.fields.length === 0
                ? <p class="small muted">{t`No changes.`}</p>
                : isShort(entry, shown)
                ? <Fields shown={shown} />
                : (
                  <details>
                    <summary>{namesOf(changes)}</summary>
                    <Fields
                      shown={shown}
                      more={
                        <p class="small">
                          <a href={pathOf(id)}>
                            {t`Show the whole change${(
                              <span class="visually-hidden">: {deedOf(entry)} {subject}</span>
                            )}`}
                          </a>
                        </p>
                      }
                    />
                  </details>
                )}
            </li>
          )
        })}
      </ol>
      <MoreRows first={6} rows={entries.length} label={t`Show all ${entries.length} changes`} />
    </>
  )
}

/** The fields in which two states of a record differ, before and after. */
export const DifferenceView = ({ changes }: { readonly changes: Difference }) =>
  changes.fields.length === 0
    ? <p class="muted">{t`No differences.`}</p>
    : <Fields shown={shownOf(changes, mostAlone)} />

/** All stored changes of one entry. */
export const WholeChange = ({ entry: { changes, details } }: { readonly entry: AuditEntry }) => {
  if (changes === null) {
    return Object.keys(details).length === 0
      ? <p class="muted">{t`No details were kept.`}</p>
      : <pre class="details" tabIndex={0}>{JSON.stringify(details, null, 2)}</pre>
  }
  return <DifferenceView changes={changes} />
}
