import type { VNode } from "preact"
import type { Fault } from "../../../domain/Errors.ts"
import { Card } from "../../components/Card.tsx"
import { Field } from "../../components/Field.tsx"
import { SessionFields, Submit } from "../../components/Form.tsx"
import { ErrorSummary } from "../../components/Note.tsx"
import { isBlank } from "../../../templates/Layouts.ts"
import type { Draft } from "../../../templates/VariantForm.ts"
import { type PreviewLook, type Sample } from "./Draft.ts"
import { editorFormId } from "./ConflictCard.tsx"
import { Advanced, EditorKeys, isAtFault, Labelled, LayoutChoice, PasteFrom, tied } from "./EditorParts.tsx"
import { EditorSettings, type Hints } from "./EditorSettings.tsx"
import { type OfferedPeople, PersonPicker } from "./PersonPicker.tsx"
import { namesOf, type SampleInput, SampleInputs } from "./SampleInputs.tsx"
import { type TestChoice, TestForm } from "./VariantTest.tsx"
import { localeName, LocalesCard, localesIn } from "./LocalesCard.tsx"
import type { Template } from "../../../domain/Template.ts"
import { t } from "../../../languages/Language.ts"
import { Condition, content, type PartVariables, rowsOf, Season, Variable, variableLabel } from "./VariantRows.tsx"

// The form of a variant. Its rows are numbered; a button that adds or takes away a row sends the form to be shown again.

/** Labels of the controls for the summary of faults. */
export const labelsOf = (draft: Draft, parts: PartVariables): Record<string, string> => {
  const labels: Record<string, string> = {
    name: t`Name`,
    id: t`Id`,
    components: t`Made of`,
    test_to: t`Send a test to`,
  }
  labels["convert_from"] = t`Platform`
  labels["person_name"] = t`Name of the person`
  for (const [at, { name }] of draft.variables.entries()) {
    labels[`var_${at}_name`] = t`Variable ${at + 1}`
    labels[`var_${at}_format`] = t`Format of ${name}`
    labels[`var_${at}_source`] = variableLabel(name, parts)
  }
  for (const [at, { locale }] of draft.locales?.entries() ?? []) {
    labels[`locale_${at}`] = labels[`locale_${at}_tag`] = t`Locale ${at + 1}`
    for (const [i, { name }] of draft.variables.entries()) labels[`locale_${at}_text_${i}`] = `${name} (${locale})`
  }
  for (const at of draft.conditions.keys()) {
    labels[`condition_${at}_attribute`] = t`Condition ${at + 1}, attribute`
    labels[`condition_${at}_op`] = t`Condition ${at + 1}, comparison`
    labels[`condition_${at}_values`] = t`Condition ${at + 1}, values`
  }
  for (const at of draft.seasons.keys()) {
    for (
      const [member, word] of [
        ["starts_at", t`start`],
        ["ends_at", t`end`],
        ["annual_from", t`first day of the year`],
        ["annual_to", t`last day of the year`],
        ["days", t`days`],
        ["hours_from", t`first hour`],
        ["hours_to", t`last hour`],
      ] as const
    ) labels[`season_${at}_${member}`] = t`Season ${at + 1}, ${word}`
  }
  return labels
}

interface EditorProps {
  /** Whether drafts may be stored. */
  readonly canKeep: boolean
  readonly canSavePeople: boolean
  readonly people: OfferedPeople
  readonly draft: Draft
  readonly faults: ReadonlyArray<Fault>
  readonly sample: Sample
  readonly inputs: ReadonlyArray<SampleInput>
  readonly look: PreviewLook
  readonly hints: Hints
  readonly isNew: boolean
  /** The locale of the template. */
  readonly locale: Template["locale"]
  /** Whether the form has text that is stored nowhere. */
  readonly isUnsaved: boolean
  /** Time of the visitor's stored draft. Empty without a draft. */
  readonly known: string
  /** `updated_at` of the stored variant, which a save replaces; empty for a new one. */
  readonly over: string
  /** Where the form is sent to be saved, shown again with a row more or less, and previewed. */
  readonly save: string
  readonly again: string
  readonly preview: string
  /** The path of the images of the organization. */
  readonly images: string
  /** The path of the snippets of the organization. Empty if the visitor may not save one. */
  readonly snippets: string
  readonly parts: PartVariables
  readonly back: string
  /** The recipients of a test message. Undefined if the visitor may not send one. */
  readonly test: TestChoice | undefined
  readonly timeZone: string
  /** The frame's first content; undefined: the script requests the preview. */
  readonly stored?: string
}

/** Choices of how the preview shows the message. They are sent with the form. */
const Choice = ({ choices, legend, name, value }: {
  readonly legend: string
  readonly name: string
  readonly value: string
  readonly choices: ReadonlyArray<readonly [value: string, label: string]>
}) => (
  <fieldset class="segments">
    <legend class="visually-hidden">{legend}</legend>
    {choices.map(([one, label]) => (
      <label key={one}>
        <input type="radio" name={name} value={one} checked={one === value} /> <span>{label}</span>
      </label>
    ))}
  </fieldset>
)

const PreviewCard = ({ locales, look, preview, stored }: {
  /** Locales to choose from, the default locale first. Empty for a template in one locale. */
  readonly locales: ReadonlyArray<string>
  readonly preview: string
  readonly stored: string | undefined
  readonly look: PreviewLook
}) => (
  <Card stacked title={t`Preview`}>
    <div class="looks">
      <Choice
        legend={t`Width of the preview`}
        name="view_width"
        value={look.width}
        choices={[["600", t`Desktop`], ["375", t`Phone`]]}
      />
      <Choice
        legend={t`Colors of the preview`}
        name="view_colors"
        value={look.colors}
        choices={[["light", t`Light`], ["dark", t`Dark`]]}
      />
      <Choice
        legend={t`Part of the message`}
        name="view_part"
        value={look.part}
        choices={[["html", "HTML"], ["text", t`Plain text`]]}
      />
      {locales.length > 1 && (
        <select name="view_locale" aria-label={t`Locale of the preview`}>
          <option value="">{t`Locale of the sample`}</option>
          {locales.map((tag) => <option value={tag} selected={tag === look.locale}>{localeName(tag)}</option>)}
        </select>
      )}
    </div>
    <div class="frame-holder">
      <iframe
        name="preview"
        title={t`Preview`}
        sandbox="allow-same-origin"
        {...(stored === undefined ? {} : { src: stored })}
      >
      </iframe>
    </div>
    <p class="small muted" role="status" data-live-status></p>
    <div>
      <button type="submit" class="button" formaction={preview} formtarget="preview" data-preview>
        {t`Show the preview`}
      </button>
    </div>
  </Card>
)

const SampleCard = ({ canSavePeople, faults, inputs, people, sample, save, timeZone }: EditorProps) => (
  <Card stacked title={t`Samples`} lead={t`The person of the preview and of test messages.`}>
    <PersonPicker canSave={canSavePeople} faults={faults} path={save} people={people} zone={timeZone} />
    <div class="stack" data-samples={namesOf(inputs)}>
      <SampleInputs inputs={inputs} sample={sample} />
    </div>
    <details class="sample-json" open={isAtFault(faults, "fields") || isAtFault(faults, "attrs")}>
      <summary>{t`All values as JSON`}</summary>
      <div class="stack">
        <SampleJson faults={faults} sample={sample} />
      </div>
    </details>
    <Labelled id="at" label={t`Sample time`} hint={t`For seasons; empty means now.`} faults={faults}>
      <input type="datetime-local" value={sample.at} {...tied(faults, "at", "at-hint")} />
    </Labelled>
  </Card>
)

const SampleJson = ({ faults, sample }: Pick<EditorProps, "faults" | "sample">) => (
  <>
    <Labelled id="fields" label={t`Sample fields`} hint={t`A JSON object with the fields for Liquid.`} faults={faults}>
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
      label={t`Sample attributes`}
      hint={t`A JSON object with the attributes for targeting.`}
      faults={faults}
    >
      <textarea class="mono" rows={3} spellcheck={false} {...tied(faults, "attrs", "attrs-hint")}>
        {content(sample.attrs)}
      </textarea>
    </Labelled>
  </>
)

const ContentCard = ({ again, button, draft, faults, images, parts, remove }: {
  readonly images: string
  readonly parts: PartVariables
  readonly again: string
  readonly button: (value: string, at: string, word: string, label: string, kind: string) => VNode
  readonly draft: Draft
  readonly faults: readonly { readonly pointer: string; readonly detail: string }[]
  readonly remove: (kind: string, at: number, what: string, anchor: string) => VNode
}) => (
  <Card title={t`Content`} lead={t`One text per variable, in Liquid: {{ first_name | default: "there" }}.`}>
    <EditorKeys />
    <div class="stack" id="variables">
      {isBlank(draft) && <LayoutChoice again={again} />}
      {draft.variables.map((row, at) => (
        <Variable
          at={at}
          row={row}
          faults={faults}
          images={images}
          parts={parts}
          remove={remove("var", at, row.name.trim() || t`variable ${at + 1}`, "variables")}
        />
      ))}
      <div>{button("add-var", `var_${draft.variables.length}_name`, t`Add a variable`, t`Add a variable`, "")}</div>
      <PasteFrom again={again} />
    </div>
  </Card>
)

const ComponentsCard = ({ draft, faults }: {
  readonly draft: Draft
  readonly faults: readonly { readonly pointer: string; readonly detail: string }[]
}) => (
  <Card
    title={t`Components`}
    lead={t`Variants that share a component share what Parlance learns. Optional, and useful with many variants.`}
  >
    <Labelled
      id="components"
      label={t`Made of`}
      hint={t`One per line: a kind, a colon and a value, such as subject: question.`}
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
)

const AudienceCard = ({ button, draft, faults, remove }: {
  readonly button: (value: string, at: string, word: string, label: string, kind: string) => VNode
  readonly draft: Draft
  readonly faults: readonly { readonly pointer: string; readonly detail: string }[]
  readonly remove: (kind: string, at: number, what: string, anchor: string) => VNode
}) => (
  <Card title={t`Audience`} lead={t`People must match all conditions. Without conditions, everyone is included.`}>
    <div class="stack" id="conditions">
      {draft.conditions.map((row, at) => (
        <Condition
          at={at}
          row={row}
          faults={faults}
          remove={remove("condition", at, t`condition ${at + 1}`, "conditions")}
        />
      ))}
      <div>
        {button(
          "add-condition",
          `condition_${draft.conditions.length}_attribute`,
          t`Add a condition`,
          t`Add a condition`,
          "",
        )}
      </div>
    </div>
  </Card>
)

const ScheduleCard = ({ button, draft, faults, remove, timeZone }: {
  readonly button: (value: string, at: string, word: string, label: string, kind: string) => VNode
  readonly draft: Draft
  readonly faults: readonly { readonly pointer: string; readonly detail: string }[]
  readonly remove: (kind: string, at: number, what: string, anchor: string) => VNode
  readonly timeZone: string
}) => (
  <Card
    title={t`Schedule`}
    lead={t`Active when any rule matches. Without rules, always active. Times are in ${timeZone}.`}
  >
    <div class="stack" id="seasons">
      {draft.seasons.map((row, at) => (
        <Season at={at} row={row} faults={faults} remove={remove("season", at, t`season ${at + 1}`, "seasons")} />
      ))}
      <div>
        {button("add-season", `season_${draft.seasons.length}_starts_at`, t`Add a season`, t`Add a season`, "")}
      </div>
    </div>
  </Card>
)

/** The buttons of the form, and the state of the draft. */
const SaveBar = ({ back, canKeep, faults, isNew, save, test }: EditorProps) => (
  <div class="save-bar">
    <div class="note bad" role="alert" data-draft-problem hidden></div>
    <Submit>{isNew ? t`Create variant` : t`Save variant`}</Submit>
    {isNew && <button type="submit" class="button" name="do" value="activate">{t`Create and activate`}</button>}
    {isNew && <button type="submit" class="button" name="do" value="another">{t`Activate and write another`}</button>}
    {canKeep && (
      <button type="submit" class="button" formaction={`${save}/save-draft`} data-save-draft>{t`Save as draft`}</button>
    )}
    {test !== undefined && <TestForm action={`${save}/test`} faults={faults} test={test} />}
    <a class="button" href={back}>{t`Cancel`}</a>
    <p class="small muted draft-status" role="status" data-draft-status></p>
  </div>
)

/** The editor of a variant: content, audience, schedule and a preview. */
export const VariantEditor = (props: EditorProps) => {
  const { again, draft, faults, hints, isNew, look, preview, save, stored, timeZone } = props
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
    button(`remove-${kind}-${at}`, anchor, t`Remove`, t`Remove ${what}`, "danger")
  return (
    <>
      <ErrorSummary faults={faults} labels={labelsOf(draft, props.parts)} />
      <form
        method="post"
        action={save}
        class="editor"
        id={editorFormId}
        noValidate
        data-live
        data-images={props.images}
        data-snippets={props.snippets}
        {...(props.canKeep ? { "data-autosave": `${save}/autosave` } : {})}
        {...(props.isUnsaved ? { "data-unsaved": "" } : {})}
      >
        <SessionFields />
        <input type="hidden" name="base" value={draft.base} />
        <input type="hidden" name="over" value={props.over} />
        <input type="hidden" name="draft" value={props.known} />
        {/* The button that Enter presses: without it that would be the first of the rows' own. */}
        <button type="submit" hidden tabIndex={-1}>{t`Save`}</button>
        <div class="editor-form stack">
          <EditorSettings hints={hints} />
          <Card stacked>
            <Field name="name" label={t`Name`} value={draft.name} faults={faults} />
            <div class="choice">
              <input type="checkbox" id="active" name="active" value="true" checked={draft.active} />
              <label for="active">{t`Active`}</label>
              <span>{t`Served as soon as you save, within its audience and schedule.`}</span>
            </div>
          </Card>
          <ContentCard
            again={again}
            button={button}
            draft={draft}
            faults={faults}
            images={props.images}
            parts={props.parts}
            remove={remove}
          />
          <LocalesCard button={button} draft={draft} faults={faults} remove={remove} locale={props.locale} />
          <SampleCard {...props} />
          <AudienceCard button={button} draft={draft} faults={faults} remove={remove} />
          <ScheduleCard button={button} draft={draft} faults={faults} remove={remove} timeZone={timeZone} />
          <Advanced
            isOpen={draft.components !== "" || (isNew && draft.id !== "") ||
              faults.some(({ pointer }) => pointer === "/id" || pointer === "/components")}
          >
            {isNew && (
              <Card>
                <Field
                  name="id"
                  label={t`Id`}
                  value={draft.id}
                  faults={faults}
                  required={false}
                  hint={t`The copy_id in responses and results. It cannot be changed later. Leave empty to have it made from
                    the name.`}
                />
              </Card>
            )}
            <ComponentsCard draft={draft} faults={faults} />
          </Advanced>
        </div>
        <div class="editor-side stack">
          <PreviewCard preview={preview} stored={stored} look={look} locales={localesIn(props.locale, draft)} />
        </div>
        <SaveBar {...props} />
      </form>
    </>
  )
}
