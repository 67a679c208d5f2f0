import type { ComponentChildren } from "preact"
import type { ActiveConnection } from "../../../delivery/Connections.ts"
import type { Fault } from "../../../domain/Errors.ts"
import type { ConditionDraft, SeasonDraft, VariableDraft } from "../../../templates/VariantForm.ts"
import { Format } from "../../../domain/Template.ts"
import { currentLanguage, t, translated } from "../../../languages/Language.ts"
import { RowMenu } from "../../components/RowMenu.tsx"
import { operatorWords } from "./Draft.ts"
import { isAtFault, Labelled, RowTitle, tied, Wrong } from "./EditorParts.tsx"
import { dayNames } from "./Words.ts"

/** A text area whose text begins with a line break would lose it when it is read. */
export const content = (text: string): string => text.startsWith("\n") ? `\n${text}` : text

/** Returns the height of a text field. Unit: lines, from `least` to `most`. */
export const rowsOf = (text: string, least: number, most: number): number =>
  Math.min(most, Math.max(least, text.split("\n").length + Math.floor(text.length / 90)))

/** Names of the variables that make an e-mail, as the active connection has them. Absent: the default name of the part. */
export type PartVariables = NonNullable<ActiveConnection["variables"]>

/** Returns the label of a variable that is a part of the e-mail, such as `Subject`. Other names are their own labels. */
export const variableLabel = (
  name: string,
  { body = "body", html, preheader = "preheader", subject = "subject", text }: PartVariables,
): string => {
  const labels = new Map([[text, t`Plain text`], [html, t`HTML body`], [body, t`Body`], [preheader, t`Preheader`]])
  return labels.set(subject, t`Subject`).get(name) ?? name
}

/** The fields of a variable. */
export const Variable = ({ at, faults, images, parts, remove, row }: {
  readonly at: number
  /** The path of the images of the organization. */
  readonly images: string
  readonly parts: PartVariables
  readonly row: VariableDraft
  readonly faults: ReadonlyArray<Fault>
  readonly remove: ComponentChildren
}) => {
  const id = `var_${at}`
  const name = row.name.trim()
  const shown = name === "" ? t`variable ${at + 1}` : variableLabel(name, parts)
  return (
    <fieldset class="row variable">
      <legend class="visually-hidden">{shown}</legend>
      <RowTitle
        remove={
          <RowMenu label={t`More for ${shown}`}>
            <li>{remove}</li>
          </RowMenu>
        }
      >
        {shown === name ? <span class="mono">{shown}</span> : shown}
      </RowTitle>
      <details
        class="variable-settings"
        open={row.name.trim() === "" || isAtFault(faults, `${id}_name`) || isAtFault(faults, `${id}_format`)}
      >
        <summary>{t`Name and format (${row.format || "text"})`}</summary>
        <div class="row-head">
          <Labelled id={`${id}_name`} label={t`Variable`} faults={faults}>
            <input
              type="text"
              class="mono"
              value={row.name}
              autocomplete="off"
              spellcheck={false}
              placeholder="subject"
              {...tied(faults, `${id}_name`)}
            />
          </Labelled>
          <Labelled id={`${id}_format`} label={t`Format`} faults={faults}>
            <select {...tied(faults, `${id}_format`)}>
              {Format.literals.map((format) => (
                <option key={format} value={format} selected={row.format === format}>{format}</option>
              ))}
            </select>
          </Labelled>
        </div>
      </details>
      <Labelled
        id={`${id}_source`}
        label={shown}
        faults={faults}
        excerptOf={row.source}
        isTitled
      >
        <textarea
          class="mono source"
          dir="auto"
          rows={rowsOf(row.source, row.format === "html" || row.format === "mjml" ? 8 : 2, 24)}
          spellcheck={row.format !== "html" && row.format !== "mjml"}
          {...([parts.subject ?? "subject", parts.preheader ?? "preheader"].includes(name)
            ? { "data-one-line": "" }
            : {})}
          {...tied(faults, `${id}_source`)}
        >
          {content(row.source)}
        </textarea>
      </Labelled>
      {name === (parts.body ?? "body") && row.format !== "mjml" && row.source !== "" && (
        <p class="hint">
          {row.format === "html"
            ? t`HTML is written as it is. For blocks without code, begin a new variant with a layout.`
            : t`Text is written as it is. For blocks without code, begin a new variant with a layout.`}
        </p>
      )}
      {(row.format === "html" || row.format === "mjml") && (
        <div>
          <a class="button compact" href={images} target="_blank" data-insert-image={id}>{t`Insert an image`}</a>
        </div>
      )}
    </fieldset>
  )
}

/** The fields of a condition. */
export const Condition = ({ at, faults, remove, row }: {
  readonly at: number
  readonly row: ConditionDraft
  readonly faults: ReadonlyArray<Fault>
  readonly remove: ComponentChildren
}) => {
  const id = `condition_${at}`
  return (
    <fieldset class="row">
      <legend class="visually-hidden">{t`Condition ${at + 1}`}</legend>
      <RowTitle remove={remove}>{t`Condition ${at + 1}`}</RowTitle>
      <div class="row-head three">
        <Labelled id={`${id}_attribute`} label={t`Attribute`} faults={faults}>
          <input
            type="text"
            value={row.attribute}
            autocomplete="off"
            spellcheck={false}
            placeholder="tier"
            list="attribute-names"
            {...tied(faults, `${id}_attribute`)}
          />
        </Labelled>
        <Labelled id={`${id}_op`} label={t`Comparison`} faults={faults}>
          <select {...tied(faults, `${id}_op`)}>
            {Object.entries(operatorWords).map(([op, word]) => (
              <option value={op} selected={op === row.op}>{translated(word)}</option>
            ))}
          </select>
        </Labelled>
        <Labelled id={`${id}_values`} label={t`Values, one a line`} faults={faults}>
          <textarea rows={rowsOf(row.values, 1, 10)} spellcheck={false} {...tied(faults, `${id}_values`)}>
            {content(row.values)}
          </textarea>
        </Labelled>
      </div>
    </fieldset>
  )
}

/** Reads times as the browser's time picker writes them. A time with an offset is returned unchanged. */
const Instant = ({ faults, id, label, value }: {
  readonly id: string
  readonly label: string
  readonly value: string
  readonly faults: ReadonlyArray<Fault>
}) => {
  const local = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2})?)?$/.test(value) || value === ""
  const attributes: object = {
    type: local ? "datetime-local" : "text",
    value: /^\d{4}-\d{2}-\d{2}$/.test(value) ? `${value}T00:00` : value,
    ...tied(faults, id),
  }
  return (
    <Labelled id={id} label={label} faults={faults}>
      <input {...attributes} />
    </Labelled>
  )
}

const hourOptions = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => {
    const hour = from + index
    return [String(hour), `${String(hour).padStart(2, "0")}:00`] as const
  })

const HourSelect = ({ faults, from, id, label, to, value }: {
  readonly id: string
  readonly label: string
  readonly value: string
  readonly from: number
  readonly to: number
  readonly faults: ReadonlyArray<Fault>
}) => (
  <Labelled id={id} label={label} faults={faults}>
    <select {...tied(faults, id)}>
      <option value="">{t`any`}</option>
      {hourOptions(from, to).map(([hour, word]) => <option value={hour} selected={hour === value}>{word}</option>)}
    </select>
  </Labelled>
)

const twoDigits = (value: number) => String(value).padStart(2, "0")

const monthNames = (): ReadonlyArray<string> => {
  const { format } = new Intl.DateTimeFormat(currentLanguage().locale, { month: "long", timeZone: "UTC" })
  return Array.from({ length: 12 }, (_, month) => format(Date.UTC(2026, month)))
}

/** A day of the year: a day and a month, which the form sends under one name. `value`: as `MM-DD`. */
const YearDay = ({ faults, id, label, value }: {
  readonly id: string
  readonly label: string
  readonly value: string
  readonly faults: ReadonlyArray<Fault>
}) => {
  const [month = "", day = ""] = value.split("-")
  const { id: _, ...tie } = tied(faults, id) as { readonly id: string; readonly name: string }
  return (
    <Labelled id={id} label={label} faults={faults}>
      <div class="year-day">
        <select id={id} {...tie}>
          <option value="">{t`any day`}</option>
          {Array.from({ length: 31 }, (_, index) => twoDigits(index + 1)).map((one) => (
            <option value={one} selected={one === day}>{Number(one)}</option>
          ))}
        </select>
        <select {...tie} aria-label={t`${label}: month`}>
          <option value="">{t`month`}</option>
          {monthNames().map((name, index) => (
            <option value={twoDigits(index + 1)} selected={twoDigits(index + 1) === month}>{name}</option>
          ))}
        </select>
      </div>
    </Labelled>
  )
}

/** The fields of a season. */
export const Season = ({ at, faults, remove, row }: {
  readonly at: number
  readonly row: SeasonDraft
  readonly faults: ReadonlyArray<Fault>
  readonly remove: ComponentChildren
}) => {
  const id = `season_${at}`
  return (
    <fieldset class="row">
      <legend class="visually-hidden">{t`Season ${at + 1}`}</legend>
      <RowTitle remove={remove}>{t`Season ${at + 1}`}</RowTitle>
      <div class="pair dates">
        <Instant id={`${id}_starts_at`} label={t`Starts`} value={row.starts_at} faults={faults} />
        <Instant id={`${id}_ends_at`} label={t`Ends before`} value={row.ends_at} faults={faults} />
      </div>
      <div class="pair">
        <YearDay id={`${id}_annual_from`} label={t`Every year from`} value={row.annual_from} faults={faults} />
        <YearDay id={`${id}_annual_to`} label={t`until before`} value={row.annual_to} faults={faults} />
      </div>
      <div class="pair">
        <HourSelect
          id={`${id}_hours_from`}
          label={t`Hours from`}
          value={row.hours_from}
          from={0}
          to={23}
          faults={faults}
        />
        <HourSelect
          id={`${id}_hours_to`}
          label={t`until before`}
          value={row.hours_to}
          from={0}
          to={24}
          faults={faults}
        />
      </div>
      <fieldset class="days" id={`${id}_days`}>
        <legend>{t`Days; none ticked means every day`}</legend>
        <div class="day-list">
          {Object.entries(dayNames).map(([day, name]) => (
            <label>
              <input type="checkbox" name={`${id}_days`} value={day} checked={row.days.includes(day)} />
              {translated(name)}
            </label>
          ))}
        </div>
        <Wrong faults={faults} id={`${id}_days`} />
      </fieldset>
    </fieldset>
  )
}
