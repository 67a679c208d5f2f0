// deno-lint-ignore-file jsx-key -- rendered once, on the server
/** @jsxImportSource preact */
import type { ComponentChildren } from "preact"
import type { Fault } from "../../../domain/Errors.ts"
import { Card } from "../../components/Card.tsx"
import { Field } from "../../components/Field.tsx"
import { Submit } from "../../components/Form.tsx"
import { ErrorSummary } from "../../components/Note.tsx"
import {
  type ConditionDraft,
  type Draft,
  operatorWords,
  type Sample,
  type SeasonDraft,
  type VariableDraft,
} from "./Draft.ts"
import { Labelled, RowTitle, tied, Wrong } from "./EditorParts.tsx"
import { dayNames } from "./Words.ts"

// The form of a variant. Its rows are numbered; a button that adds or takes away a row sends the form to be shown again.

/** A text area whose text begins with a line break would lose it when it is read. */
const content = (text: string): string => text.startsWith("\n") ? `\n${text}` : text

const rowsOf = (text: string, least: number, most: number): number =>
  Math.min(most, Math.max(least, text.split("\n").length + Math.floor(text.length / 90)))

const Variable = ({ at, faults, remove, row }: {
  readonly at: number
  readonly row: VariableDraft
  readonly faults: ReadonlyArray<Fault>
  readonly remove: ComponentChildren
}) => {
  const id = `var_${at}`
  const shown = row.name.trim() === "" ? `variable ${at + 1}` : row.name.trim()
  return (
    <fieldset class="row variable">
      <legend class="visually-hidden">{shown}</legend>
      <RowTitle remove={remove}>
        <span class="mono">{shown}</span>
      </RowTitle>
      <div class="row-head">
        <Labelled id={`${id}_name`} label="Variable" faults={faults}>
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
        <Labelled id={`${id}_format`} label="Format" faults={faults}>
          <select {...tied(faults, `${id}_format`)}>
            <option value="text" selected={row.format !== "html"}>text</option>
            <option value="html" selected={row.format === "html"}>html</option>
          </select>
        </Labelled>
      </div>
      <Labelled id={`${id}_source`} label={`Liquid of ${shown}`} faults={faults} excerptOf={row.source}>
        <textarea
          class="mono source"
          rows={rowsOf(row.source, row.format === "html" ? 8 : 2, 24)}
          spellcheck={row.format !== "html"}
          {...tied(faults, `${id}_source`)}
        >
          {content(row.source)}
        </textarea>
      </Labelled>
    </fieldset>
  )
}

const Condition = ({ at, faults, remove, row }: {
  readonly at: number
  readonly row: ConditionDraft
  readonly faults: ReadonlyArray<Fault>
  readonly remove: ComponentChildren
}) => {
  const id = `condition_${at}`
  return (
    <fieldset class="row">
      <legend class="visually-hidden">Condition {at + 1}</legend>
      <RowTitle remove={remove}>Condition {at + 1}</RowTitle>
      <div class="row-head three">
        <Labelled id={`${id}_attribute`} label="Attribute" faults={faults}>
          <input
            type="text"
            value={row.attribute}
            autocomplete="off"
            spellcheck={false}
            placeholder="tier"
            {...tied(faults, `${id}_attribute`)}
          />
        </Labelled>
        <Labelled id={`${id}_op`} label="Comparison" faults={faults}>
          <select {...tied(faults, `${id}_op`)}>
            {Object.entries(operatorWords).map(([op, word]) => (
              <option value={op} selected={op === row.op}>{word}</option>
            ))}
          </select>
        </Labelled>
        <Labelled id={`${id}_values`} label="Values, one a line" faults={faults}>
          <textarea rows={rowsOf(row.values, 1, 10)} spellcheck={false} {...tied(faults, `${id}_values`)}>
            {content(row.values)}
          </textarea>
        </Labelled>
      </div>
    </fieldset>
  )
}

/** Times as the device's picker writes them; what has an offset of its own stays a text. */
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
      <option value="">any</option>
      {hourOptions(from, to).map(([hour, word]) => <option value={hour} selected={hour === value}>{word}</option>)}
    </select>
  </Labelled>
)

const Season = ({ at, faults, remove, row }: {
  readonly at: number
  readonly row: SeasonDraft
  readonly faults: ReadonlyArray<Fault>
  readonly remove: ComponentChildren
}) => {
  const id = `season_${at}`
  return (
    <fieldset class="row">
      <legend class="visually-hidden">Season {at + 1}</legend>
      <RowTitle remove={remove}>Season {at + 1}</RowTitle>
      <div class="pair dates">
        <Instant id={`${id}_starts_at`} label="Starts" value={row.starts_at} faults={faults} />
        <Instant id={`${id}_ends_at`} label="Ends before" value={row.ends_at} faults={faults} />
      </div>
      <div class="pair">
        <Labelled id={`${id}_annual_from`} label="Every year from" faults={faults}>
          <input type="text" value={row.annual_from} placeholder="11-15" {...tied(faults, `${id}_annual_from`)} />
        </Labelled>
        <Labelled id={`${id}_annual_to`} label="until before" faults={faults}>
          <input type="text" value={row.annual_to} placeholder="01-06" {...tied(faults, `${id}_annual_to`)} />
        </Labelled>
      </div>
      <div class="pair">
        <HourSelect
          id={`${id}_hours_from`}
          label="Hours from"
          value={row.hours_from}
          from={0}
          to={23}
          faults={faults}
        />
        <HourSelect
          id={`${id}_hours_to`}
          label="until before"
          value={row.hours_to}
          from={0}
          to={24}
          faults={faults}
        />
      </div>
      <fieldset class="days" id={`${id}_days`}>
        <legend>Days; none ticked means every day</legend>
        <div class="day-list">
          {Object.entries(dayNames).map(([day, name]) => (
            <label>
              <input type="checkbox" name={`${id}_days`} value={day} checked={row.days.includes(day)} />
              {name}
            </label>
          ))}
        </div>
        <Wrong faults={faults} id={`${id}_days`} />
      </fieldset>
    </fieldset>
  )
}

/** Names of the controls for the summary of what is wrong. */
export const labelsOf = (draft: Draft): Record<string, string> => {
  const labels: Record<string, string> = { name: "Name", id: "Id", components: "Made of" }
  for (const [at, { name }] of draft.variables.entries()) {
    labels[`var_${at}_name`] = `Variable ${at + 1}`
    labels[`var_${at}_format`] = `Format of ${name}`
    labels[`var_${at}_source`] = name
  }
  for (const at of draft.conditions.keys()) {
    labels[`condition_${at}_attribute`] = `Condition ${at + 1}, attribute`
    labels[`condition_${at}_op`] = `Condition ${at + 1}, comparison`
    labels[`condition_${at}_values`] = `Condition ${at + 1}, values`
  }
  for (const at of draft.seasons.keys()) {
    for (
      const [member, word] of [
        ["starts_at", "start"],
        ["ends_at", "end"],
        ["annual_from", "first day of the year"],
        ["annual_to", "last day of the year"],
        ["days", "days"],
        ["hours_from", "first hour"],
        ["hours_to", "last hour"],
      ]
    ) labels[`season_${at}_${member}`] = `Season ${at + 1}, ${word}`
  }
  return labels
}

export interface EditorProps {
  readonly draft: Draft
  readonly faults: ReadonlyArray<Fault>
  readonly sample: Sample
  readonly csrf: string
  readonly isNew: boolean
  /** Where the form is sent to be saved, shown again with a row more or less, and previewed. */
  readonly save: string
  readonly again: string
  readonly preview: string
  readonly back: string
  readonly timeZone: string
  /** The frame's first content; the preview is asked for where there is none yet. */
  readonly stored?: string
}

/** The editor of a variant: what it says, whom it is for, when, and beside it what comes of that. */
export const VariantEditor = (props: EditorProps) => {
  const { again, back, csrf, draft, faults, isNew, preview, sample, save, stored, timeZone } = props
  const button = (value: string, at: string, word: string, label: string, kind: string) => (
    <button
      type="submit"
      class={`button compact ${kind}`}
      name="do"
      value={value}
      formaction={`${again}#${at}`}
      aria-label={label}
    >
      {word}
    </button>
  )
  const remove = (kind: string, at: number, what: string, anchor: string) =>
    button(`remove-${kind}-${at}`, anchor, "Remove", `Remove ${what}`, "danger")
  return (
    <>
      <ErrorSummary faults={faults} labels={labelsOf(draft)} />
      <form method="post" action={save} class="editor" noValidate data-live>
        <input type="hidden" name="_csrf" value={csrf} />
        <input type="hidden" name="base" value={draft.base} />
        {/* The button that Enter presses: without it that would be the first of the rows' own. */}
        <button type="submit" hidden tabIndex={-1}>Save</button>
        <div class="editor-form stack">
          <Card>
            <div class="stack">
              <Field name="name" label="Name" value={draft.name} faults={faults} />
              {isNew
                ? (
                  <Field
                    name="id"
                    label="Id"
                    value={draft.id}
                    faults={faults}
                    required={false}
                    hint="The copy_id in answers and results; it cannot be changed. One is made when this stays empty."
                  />
                )
                : null}
              <div class="choice">
                <input type="checkbox" id="active" name="active" value="true" checked={draft.active} />
                <label for="active">Switched on</label>
                <span>May be chosen as soon as it is saved, for whom and when the rest says.</span>
              </div>
            </div>
          </Card>
          <Card title="Content" lead="One text per variable, in Liquid: {{ first_name | default: &quot;there&quot; }}.">
            <div class="stack" id="variables">
              {draft.variables.map((row, at) => (
                <Variable
                  at={at}
                  row={row}
                  faults={faults}
                  remove={remove("var", at, row.name.trim() || `variable ${at + 1}`, "variables")}
                />
              ))}
              <div>
                {button("add-var", `var_${draft.variables.length}_name`, "Add a variable", "Add a variable", "")}
              </div>
            </div>
          </Card>
          <Card
            title="Components"
            lead="Variants that share a component are learned about together. Optional; useful with many variants."
          >
            <Labelled
              id="components"
              label="Made of"
              hint="One a line: a kind, a colon and a value, such as subject: question."
              faults={faults}
            >
              <textarea
                class="mono"
                rows={rowsOf(draft.components, 2, 10)}
                spellcheck={false}
                {...tied(faults, "components", "components-hint")}
              >
                {content(draft.components)}
              </textarea>
            </Labelled>
          </Card>
          <Card title="Whom it is for" lead="All conditions must hold; without any, it is for everybody.">
            <div class="stack" id="conditions">
              {draft.conditions.map((row, at) => (
                <Condition
                  at={at}
                  row={row}
                  faults={faults}
                  remove={remove("condition", at, `condition ${at + 1}`, "conditions")}
                />
              ))}
              <div>
                {button(
                  "add-condition",
                  `condition_${draft.conditions.length}_attribute`,
                  "Add a condition",
                  "Add a condition",
                  "",
                )}
              </div>
            </div>
          </Card>
          <Card
            title="When"
            lead={`In season while any of these holds; without any, always. Times are those of ${timeZone}.`}
          >
            <div class="stack" id="seasons">
              {draft.seasons.map((row, at) => (
                <Season
                  at={at}
                  row={row}
                  faults={faults}
                  remove={remove("season", at, `season ${at + 1}`, "seasons")}
                />
              ))}
              <div>
                {button("add-season", `season_${draft.seasons.length}_starts_at`, "Add a season", "Add a season", "")}
              </div>
            </div>
          </Card>
        </div>
        <div class="editor-side stack">
          <Card title="Preview">
            <div class="stack">
              <fieldset class="widths">
                <legend class="visually-hidden">Width of the preview</legend>
                <label>
                  <input type="radio" name="width" value="desktop" checked form="no-form" /> Desktop
                </label>
                <label>
                  <input type="radio" id="width-phone" name="width" value="phone" form="no-form" /> Phone
                </label>
              </fieldset>
              <div class="frame-holder">
                <iframe
                  name="preview"
                  title="Preview"
                  sandbox="allow-same-origin"
                  {...(stored === undefined ? {} : { src: stored })}
                >
                </iframe>
              </div>
              <p class="small muted" role="status" data-live-status></p>
              <div>
                <button
                  type="submit"
                  class="button"
                  formaction={preview}
                  formtarget="preview"
                  data-preview
                >
                  Show the preview
                </button>
              </div>
            </div>
          </Card>
          <Card title="Samples" lead="What the preview is made with. It is not saved.">
            <div class="stack">
              <Labelled id="fields" label="Sample fields" hint="A JSON object: what Liquid can use." faults={faults}>
                <textarea
                  class="mono"
                  rows={rowsOf(sample.fields, 5, 14) + 1}
                  spellcheck={false}
                  {...tied(faults, "fields", "fields-hint")}
                >
                  {content(sample.fields)}
                </textarea>
              </Labelled>
              <Labelled
                id="attrs"
                label="Sample attributes"
                hint="A JSON object: what targeting looks at."
                faults={faults}
              >
                <textarea class="mono" rows={3} spellcheck={false} {...tied(faults, "attrs", "attrs-hint")}>
                  {content(sample.attrs)}
                </textarea>
              </Labelled>
              <Labelled id="at" label="Sample time" hint="For seasons; empty means now." faults={faults}>
                <input type="datetime-local" value={sample.at} {...tied(faults, "at", "at-hint")} />
              </Labelled>
            </div>
          </Card>
        </div>
        <div class="save-bar">
          <Submit>{isNew ? "Create variant" : "Save variant"}</Submit>
          <a class="button" href={back}>Cancel</a>
        </div>
      </form>
    </>
  )
}
