import { Effect } from "effect"
import { noteNothing } from "../../../accounts/Audit.ts"
import { Connections } from "../../../delivery/Connections.ts"
import type { Fault } from "../../../domain/Errors.ts"
import { SuggestInput, type Suggestion, type SuggestionRun } from "../../../domain/Suggestion.ts"
import { formatOf, type Template } from "../../../domain/Template.ts"
import { t } from "../../../languages/Language.ts"
import { Suggestions } from "../../../suggestions/Suggestions.ts"
import { SuggestionSetups } from "../../../suggestions/SuggestionSetups.ts"
import { Templates } from "../../../templates/Templates.ts"
import { Badge } from "../../components/Badge.tsx"
import { Card } from "../../components/Card.tsx"
import { PostButton } from "../../components/Form.tsx"
import { inputForm } from "../../components/InputForm.tsx"
import { Note } from "../../components/Note.tsx"
import { Time } from "../../components/Time.tsx"
import { count, counted, firstOf } from "../../Format.ts"
import { ifFilled, text } from "../../FormReaders.ts"
import { pages } from "../../Pages.ts"
import type { Fields, Visit } from "../../Routes.tsx"
import { view } from "../../View.tsx"
import { templatePath, variantPath } from "./Paths.ts"
import { type PartVariables, variableLabel } from "./VariantRows.tsx"

const path = "/console/o/:org/templates/:template/suggestions"

const here = ({ org, params }: Visit) => `${templatePath(org.slug, params["template"] ?? "")}/suggestions`

/** Whether a page links to the suggestions of a template. */
export const offersSuggestions = Effect.fnUntraced(function* (visit: Visit, { variants }: Template) {
  return visit.can("suggestVariants") && variants.length > 0 &&
    (yield* (yield* SuggestionSetups).get(visit.org.slug)).used !== null
})

/** Warns of HTML in variables of the format `text`, because drafts with HTML in them are dropped. */
const FormatHint = ({ parts, template: { variants } }: {
  readonly parts: PartVariables
  readonly template: Template
}) => {
  const unmarked = variants.flatMap(({ formats, name, vars }) =>
    Object.entries(vars)
      .filter(([variable, source]) => (formats[variable] ?? "text") === "text" && formatOf(source) !== "text")
      .map(([variable]) => t`${variableLabel(variable, parts)} of ${name}`)
  )
  return unmarked.length === 0 ? null : (
    <Note kind="warn">
      <p>
        {t`These texts contain HTML, and their format is text: ${firstOf(unmarked, 5)}.`}
      </p>
      <p>{t`Set their format in the editor. Otherwise drafts with HTML are dropped.`}</p>
    </Note>
  )
}

const formOf = ({ variants }: Template) =>
  inputForm(SuggestInput, {
    instructions: {
      label: t`What to try`,
      required: false,
      hint: t`Such as “shorter, with a question in the subject”. Write no names or addresses of people.`,
    },
    base: {
      label: t`Take over everything else from`,
      as: "select",
      read: ifFilled(text),
      options: [["", t`the variant with the best results`], ...variants.map(({ id, name }) => [id, name] as const)],
    },
    count: {
      label: t`Drafts`,
      as: "select",
      initial: "3",
      read: Number,
      options: [["1", "1"], ["2", "2"], ["3", "3"], ["4", "4"], ["5", "5"]],
    },
  })

/** Shows the data and the host of a request before it is sent. */
const WhatIsSent = ({ host, message, model }: {
  readonly host: string
  readonly model: string
  readonly message: string
}) => (
  <>
    <p>
      {t`Parlance asks the model ${<b>{model}</b>} at ${<b>{host}</b>}. It sends:`}
    </p>
    <ul>
      <li>{t`the name and the goal of this template, and the texts of its variants,`}</li>
      <li>{t`the tone and the rules of your brand, and what you write below,`}</li>
      <li>{t`results by variant, by component and by segment of at least 100 sends.`}</li>
    </ul>
    <p>{t`It never sends names, addresses, ids, fields or other data of a person, and no sample people.`}</p>
    <details class="why">
      <summary>{t`Show the whole request`}</summary>
      <pre tabIndex={0}>{message}</pre>
    </details>
  </>
)

/** A draft with its buttons. */
const Draft = ({ draft, parts, visit }: {
  readonly draft: Suggestion
  readonly parts: PartVariables
  readonly visit: Visit
}) => (
  <li class="card variant-card">
    <header>
      <div>
        <h3 dir="auto">{draft.name}</h3>
        <p class="small muted">
          {draft.model}, <Time at={draft.suggested_at} zone={visit.org.time_zone} />
        </p>
      </div>
      <Badge kind="accent">{t`suggested`}</Badge>
    </header>
    <dl class="said">
      {Object.entries(draft.written).map(([name, source]) => (
        <div key={name}>
          <dt>{variableLabel(name, parts)}</dt>
          <dd dir="auto">{source}</dd>
        </div>
      ))}
    </dl>
    <p class="small muted">{t`Everything else is as in ${draft.base}.`}</p>
    <div class="buttons">
      {visit.can("keepSuggestion") && (
        <PostButton to={`${here(visit)}/${draft.id}/keep`} kind="primary" label={t`Keep ${draft.name} as draft`}>
          {t`Keep as draft`}
        </PostButton>
      )}
      {visit.can("discardSuggestion") && (
        <PostButton to={`${here(visit)}/${draft.id}/discard`} label={t`Discard ${draft.name}`}>{t`Discard`}</PostButton>
      )}
    </div>
  </li>
)

const costText = ({ cost, input_tokens: input, output_tokens: output }: SuggestionRun): string =>
  input === null || output === null
    ? t`The endpoint reports no tokens.`
    : cost === null
    ? t`${count(input)} input tokens and ${count(output)} output tokens.`
    : t`${count(input)} input tokens and ${count(output)} output tokens, ${cost.amount} ${cost.currency}.`

/** The result of a request: its cost, and why drafts were dropped. */
const RunNote = ({ run }: { readonly run: SuggestionRun }) => (
  <Note kind={run.drafts.length === 0 ? "warn" : "good"} live>
    <p>
      {run.drafts.length === 0
        ? t`No draft passed the checks.`
        : counted(run.drafts.length, "draft passed the checks.", "drafts passed the checks.")} {costText(run)}
    </p>
    {run.dropped.length > 0 && (
      <details class="why" open={run.drafts.length === 0}>
        <summary>{counted(run.dropped.length, "draft dropped", "drafts dropped")}</summary>
        <ul>
          {run.dropped.map(({ name, reasons }) => (
            <li dir="auto">
              <b>{name}</b>: {reasons.join("; ")}
            </li>
          ))}
        </ul>
      </details>
    )}
  </Note>
)

/** What happened to the request that the page answers. */
type Outcome = { readonly run: SuggestionRun } | { readonly failure: string }

const show = Effect.fnUntraced(function* (
  visit: Visit,
  fields?: Fields,
  faults: ReadonlyArray<Fault> = [],
  outcome?: Outcome,
) {
  const suggestions = yield* Suggestions
  const { org } = visit
  const template = yield* (yield* Templates).get(org.slug, visit.params["template"] ?? "")
  const { daily_limit, requests_today, used } = yield* (yield* SuggestionSetups).get(org.slug)
  const drafts = yield* suggestions.list(org.slug, template.id)
  const parts = (yield* Connections).active(org.slug)?.variables ?? {}
  const Form = formOf(template)
  const mayAsk = visit.can("suggestVariants") && used !== null && template.variants.length > 0
  const messages = mayAsk ? yield* Effect.orElseSucceed(suggestions.preview(org.slug, template.id, {}), () => []) : []
  return view(
    {
      title: t`Suggest variants`,
      back: { href: templatePath(org.slug, template.id), label: template.name },
      lead: t`Drafts by a language model. Nothing is sent to recipients until you keep a draft and activate it.`,
    },
    outcome !== undefined &&
      ("run" in outcome ? <RunNote run={outcome.run} /> : <Note kind="bad" live>{outcome.failure}</Note>),
    drafts.length > 0 && (
      <section class="stack" aria-label={t`Drafts`}>
        <h2>{counted(drafts.length, "draft to decide", "drafts to decide")}</h2>
        <ul class="variants">
          {drafts.map((draft) => <Draft key={draft.id} draft={draft} parts={parts} visit={visit} />)}
        </ul>
      </section>
    ),
    used === null && (
      <Note>
        {t`No model is configured. ${
          visit.can("updateSuggestionSetup")
            ? <a href={`/console/o/${org.slug}/settings/suggestions`}>{t`Choose one in the settings.`}</a>
            : t`An admin can choose one under Settings, Suggestions.`
        }`}
      </Note>
    ),
    used !== null && template.variants.length === 0 && (
      <Note>{t`Write a first variant, from which drafts can be made.`}</Note>
    ),
    mayAsk && (
      <>
        <FormatHint parts={parts} template={template} />
        <Card stacked title={t`What is sent`}>
          <WhatIsSent {...used} message={messages.map(({ content }) => content).join("\n\n")} />
        </Card>
        <Form.Card action={here(visit)} submit={t`Suggest variants`} values={fields} faults={faults}>
          <p class="hint">
            {t`This takes up to a minute. Asked ${requests_today} of ${daily_limit} times today.`}
          </p>
        </Form.Card>
      </>
    ),
  )
})

const ask = Effect.fnUntraced(function* (visit: Visit, fields: Fields) {
  const template = yield* (yield* Templates).get(visit.org.slug, visit.params["template"] ?? "")
  const input = yield* formOf(template).decode(fields)
  const failure = ({ message }: Error) => Effect.as(noteNothing, { failure: message } satisfies Outcome)
  const outcome = yield* (yield* Suggestions).suggest(visit.org.slug, template.id, input).pipe(
    Effect.map((run): Outcome => ({ run })),
    Effect.catchTags({ SuggestionsBusy: failure, SuggestionsFailed: failure, SuggestionsOff: failure }),
  )
  return yield* show(visit, fields, [], outcome)
})

const keep = Effect.fnUntraced(function* (visit: Visit) {
  const template = visit.params["template"] ?? ""
  const { id } = yield* (yield* Suggestions).keep(visit.org.slug, template, visit.params["suggestion"] ?? "")
  return { to: variantPath(visit.org.slug, template, id), done: "suggestion-kept" }
})

const discard = Effect.fnUntraced(function* (visit: Visit) {
  const template = visit.params["template"] ?? ""
  yield* (yield* Suggestions).discard(visit.org.slug, template, visit.params["suggestion"] ?? "")
  return { to: here(visit), done: "suggestion-discarded" }
})

/** Variants that a model suggests: what is sent, the form, and the drafts to decide. */
export const layer = pages(({ action, page }) => [
  page(path, "listSuggestions", (visit) => show(visit)),
  action(path, "suggestVariants", ask, show),
  action(`${path}/:suggestion/keep`, "keepSuggestion", keep),
  action(`${path}/:suggestion/discard`, "discardSuggestion", discard),
])
