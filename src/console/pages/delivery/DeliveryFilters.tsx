import { Result } from "effect"
import type { BulkKind } from "../../../delivery/BulkPreview.ts"
import { DeliveryState } from "../../../delivery/Delivery.ts"
import { decodeMembers, type DeliveryFilter, type FilterMembers, filterOf } from "../../../delivery/DeliveryFilter.ts"
import type { Fault } from "../../../domain/Errors.ts"
import { english, fill, plural, t, translated } from "../../../languages/Language.ts"
import { count, counted } from "../../Format.ts"
import { inField, instantOf } from "../../FieldTime.ts"
import { Field, SelectField } from "../../components/Field.tsx"
import { Time } from "../../components/Time.tsx"
import { stateText } from "./DeliveryViews.tsx"

/** A filter as the query of a page has it. */
export interface DeliveryQuery {
  readonly filter: DeliveryFilter
  /** All parameters except the state, for links to other pages. */
  readonly members: FilterMembers
  readonly faults: ReadonlyArray<Fault>
  /** The query that asks for the same. */
  readonly query: URLSearchParams
}

const names = ["email", "template_id", "connection", "reason", "since", "until"] as const

const isState = (text: string): text is DeliveryState =>
  (DeliveryState.literals as ReadonlyArray<string>).includes(text)

/** A fault in the words of the form. */
const inWords = ({ detail, pointer }: Fault): Fault => ({
  pointer,
  detail: pointer === "/since" || pointer === "/until" ? t`must be a date and time after 1970-01-01` : detail,
})

/** Reads the filter of a query, with all its faults. An empty value is no filter. */
export const filterIn = (query: URLSearchParams, zone: string): DeliveryQuery => {
  const given = names.flatMap((name) => {
    const text = (query.get(name) ?? "").trim()
    return text === "" ? [] : [[name, name === "since" || name === "until" ? instantOf(text, zone) : text] as const]
  })
  const decoded = decodeMembers(Object.fromEntries(given))
  const stateText = query.get("state") ?? ""
  const state = isState(stateText) ? stateText : undefined
  const members = Result.isSuccess(decoded) ? decoded.success : {}
  return {
    filter: { ...filterOf(members), state },
    members,
    faults: Result.isSuccess(decoded) ? [] : decoded.failure.map(inWords),
    query: new URLSearchParams([...(state === undefined ? [] : [["state", state]]), ...Object.entries(members)]),
  }
}

/** The labels of the members. */
const filterLabels = {
  email: english("Address"),
  template_id: english("Template"),
  connection: english("Connection"),
  reason: english("Reason contains"),
  since: english("From"),
  until: english("Until"),
} as const

/** The form that filters the list. Fields that are seldom needed are folded until one of them is filled. */
export const FilterForm = ({ all, at, connections, filtered, query, templates, zone }: {
  readonly filtered: DeliveryQuery
  readonly at: string
  /** The address of the list without a filter. */
  readonly all: string
  readonly connections: ReadonlyArray<string>
  readonly templates: ReadonlyArray<string>
  /** The query of the page, with the typed text of fields that have faults. */
  readonly query: URLSearchParams
  readonly zone: string
}) => {
  const { faults, filter, members } = filtered
  const typed = (name: typeof names[number]) => (query.get(name) ?? "").trim().slice(0, 400)
  const field = (
    name: typeof names[number],
    more: { readonly type?: "email"; readonly list?: ReadonlyArray<string> },
  ) => (
    <Field
      name={name}
      label={translated(filterLabels[name])}
      required={false}
      value={typed(name)}
      faults={faults}
      {...more}
    />
  )
  const time = (name: "since" | "until") => (
    <Field
      name={name}
      label={translated(filterLabels[name])}
      type="datetime-local"
      required={false}
      value={inField(filter[name], zone)}
      faults={faults}
    />
  )
  const { email: _, ...seldom } = members
  const isOpen = Object.keys(seldom).length > 0 || faults.length > 0
  return (
    <form method="get" action={at} class="filters" role="search" aria-label={t`Filter deliveries`}>
      <SelectField
        name="state"
        label={t`State`}
        value={filter.state ?? ""}
        options={[["", t`All`], ...DeliveryState.literals.map((one) => [one, stateText(one)] as const)]}
      />
      {field("email", { type: "email" })}
      <details open={isOpen}>
        <summary>{t`Template, connection, reason, time`}</summary>
        <div class="more-filters">
          {field("template_id", { list: templates })}
          {field("connection", { list: connections })}
          {field("reason", {})}
          {time("since")}
          {time("until")}
        </div>
        <p class="hint">
          {t`The time is that at which a message ended, or was queued if it has not ended (${zone}). In the
            reason, … stands for any characters.`}
        </p>
      </details>
      <div class="buttons">
        <button type="submit" class="button">{t`Filter`}</button>
        {(filtered.query.size > 0 || faults.length > 0) && <a class="button" href={all}>{t`Show all`}</a>}
      </div>
    </form>
  )
}

/** Returns a number of messages in words, such as `1 message`. */
export const messagesOf = (many: number) => counted(many, "message")

/** A bulk action on so many messages in words, for buttons and titles. */
export const bulkTitle: { readonly [kind in BulkKind]: (many: number) => string } = {
  retry: (many) => fill(plural(many, "Retry {0} message", "Retry {0} messages"), [count(many)]),
  cancel: (many) => fill(plural(many, "Cancel {0} message", "Cancel {0} messages"), [count(many)]),
}

/** The members of a filter in words. */
export const FilterFacts = ({ members, state, zone }: {
  readonly members: FilterMembers
  readonly state: DeliveryState
  readonly zone: string
}) => (
  <dl class="facts">
    <dt>{t`State`}</dt>
    <dd>{stateText(state)}</dd>
    {names.flatMap((name) => {
      const value = members[name]
      return value === undefined ? [] : [
        <dt>{translated(filterLabels[name])}</dt>,
        <dd>{name === "since" || name === "until" ? <Time at={value} zone={zone} /> : value}</dd>,
      ]
    })}
  </dl>
)
