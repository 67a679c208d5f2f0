import { Effect, Redacted, Result } from "effect"
import { SqlClient } from "effect/sql"
import type { Rendered } from "../checking/Checks.ts"
import { Previews } from "../decide/Previews.ts"
import { excerpt } from "../delivery/connections/Answers.ts"
import * as OutboundHttp from "../delivery/OutboundHttp.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import type { Suggestion } from "../domain/Suggestion.ts"
import { type Template, textsInAll, type Variant } from "../domain/Template.ts"
import { Organizations } from "../organizations/Organizations.ts"
import { Settings } from "../settings/Settings.ts"
import { SamplePeople } from "../templates/SamplePeople.ts"
import { readSuggestions, type SuggestionRow } from "../templates/SuggestionRows.ts"
import {
  type ChatAnswer,
  type ChatFault,
  chatRequest,
  maxAnswerBytes,
  type Messages,
  readAnswer,
  type Tokens,
} from "./ChatEndpoint.ts"
import {
  type CheckContext,
  checkRendered,
  checkSources,
  maxRendered,
  type NamedTexts,
  readDrafts,
} from "./DraftChecks.ts"
import { answerSchema, askAgain, type Material, promptOf } from "./Prompt.ts"
import { SuggestionsFailed } from "./SuggestionErrors.ts"
import type { UsedEndpoint } from "./SuggestionSetups.ts"

// Asks a model, and checks its drafts for people.

/** Maximum number of sample people for whom drafts are rendered. */
const mostPeople = 10

/** What a request for suggestions would send, and from which variant its drafts are made. */
export interface Question {
  readonly template: Template
  readonly material: Material
  readonly base: Variant
}

/** A draft that was dropped, with the reasons. `told`: the reasons for the model, without the names of sample people. */
interface Dropped {
  readonly name: string
  readonly reasons: ReadonlyArray<string>
  readonly told: ReadonlyArray<string>
}

interface Person {
  readonly name: string
  readonly fields: string
}

/** Returns a stored suggestion. */
export const suggestionOf = ({ content, id, model, suggestedAt }: SuggestionRow): Suggestion => ({
  id,
  name: content.variant.name ?? id,
  written: Object.fromEntries(content.variables.map((name) => [name, content.variant.vars[name]!])),
  base: content.base,
  model,
  suggested_at: new Date(suggestedAt).toISOString(),
})

const sum = (a: Tokens | undefined, b: Tokens | undefined): Tokens | undefined =>
  a === undefined || b === undefined ? a ?? b : { input: a.input + b.input, output: a.output + b.output }

/** Returns the tokens of a request in words. */
export const usageOf = (tokens: Tokens | undefined): string =>
  tokens === undefined ? "not reported" : `${tokens.input} input tokens, ${tokens.output} output tokens`

const failed = ({ detail, tokens }: ChatFault) =>
  new SuggestionsFailed({ detail: detail.replace(/\.$/, ""), usage: usageOf(tokens) })

/** Reasons against a rendered draft. Only its first reason has the name of the person. */
const renderedReasons = (
  one: Rendered,
  { fields, name }: Person,
  others: ReadonlyArray<string>,
  context: CheckContext,
): Pick<Dropped, "reasons" | "told"> => {
  if ("vars" in one) {
    const reasons = checkRendered(one.vars, { fields, others }, context)
    return {
      // A draft could choose its length by the person's values.
      told: reasons.map((reason) =>
        reason.replace(/has \d+ characters, and at most (\d+) are allowed$/, "has more than $1 characters")
      ),
      reasons: reasons.map((reason) => `${reason} (for ${name})`),
    }
  }
  const of = one.faults.map(({ message, variable }) => `${variable}: ${message}`)
  // Messages of a rendering may quote values of the person.
  return one.stage === "source"
    ? { told: of, reasons: of }
    : { told: ["cannot be rendered for a sample person"], reasons: of.map((reason) => `${reason} (for ${name})`) }
}

/** Returns the function that asks a model for `count` drafts, at most twice. It fails with `SuggestionsFailed`. */
export const makeAsking = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const http = yield* OutboundHttp.make
  const organizations = yield* Organizations
  const previews = yield* Previews
  const people = yield* SamplePeople
  const { suggestionsTimeout } = yield* Settings

  /** The people for whom drafts must render. Without `strict`, also a person without any field. */
  const peopleOf = Effect.fnUntraced(function* (org: OrgSlug, { strict }: Template) {
    const all = (yield* people.list(org)).slice(0, mostPeople)
    const saved = yield* Effect.forEach(
      all,
      ({ id, name }) =>
        Effect.map(people.get(org, id), ({ fields }) => ({ name, fields: JSON.stringify(fields) })).pipe(
          Effect.orElseSucceed(() => undefined),
        ),
    )
    const known = saved.filter((one) => one !== undefined)
    return strict ? known : [...known, { name: "a person without fields", fields: "{}" }]
  })

  /** Divides the drafts of an answer into usable and dropped ones. */
  const sorted = Effect.fnUntraced(function* (
    org: OrgSlug,
    { base, template }: Question,
    text: string,
    context: CheckContext,
  ) {
    const drafts = readDrafts(text)
    if (drafts === undefined) {
      const reason = "the answer has no JSON object with drafts"
      return { usable: [], dropped: [{ name: "Answer", reasons: [reason], told: [reason] }] }
    }
    const dropped: Array<Dropped> = []
    let usable: ReadonlyArray<NamedTexts> = []
    for (const draft of drafts) {
      const checked = checkSources(draft, { ...context, existing: [...context.existing, ...usable] })
      if (Result.isSuccess(checked)) usable = [...usable, checked.success]
      else dropped.push({ name: draft.name, reasons: checked.failure, told: checked.failure })
    }
    const { time_zone: timeZone } = yield* organizations.get(org)
    const others = Object.entries(base.vars).filter(([name]) => !context.variables.some((one) => one.name === name))
    for (const person of yield* peopleOf(org, template)) {
      const sources = usable.map(({ vars }) => ({ vars, formats: base.formats }))
      const rendered = yield* previews.render(org, sources, {
        fields: person.fields,
        strict: template.strict,
        timeZone,
        maxText: maxRendered,
        check: "draft",
      })
      usable = usable.filter(({ name }, at) => {
        const found = renderedReasons(rendered[at]!, person, others.map(([, source]) => source), context)
        if (found.told.length > 0) dropped.push({ name, ...found })
        return found.told.length === 0
      })
    }
    return { usable, dropped }
  })

  /** Sends one request. A request without an answer is an answer that cannot be used. */
  const exchange = (used: UsedEndpoint, messages: Messages, schema: object | undefined) => {
    const secrets = used.key === undefined ? [] : [Redacted.value(used.key)]
    const { host } = used.url
    return http.request({
      ...chatRequest(used, messages, schema),
      timeout: suggestionsTimeout,
      maxBytes: maxAnswerBytes,
    }).pipe(
      Effect.map((answer) => readAnswer(answer, host, secrets)),
      Effect.catchTag(
        "NoAnswer",
        ({ detail }): Effect.Effect<Result.Result<ChatAnswer, ChatFault>> =>
          Effect.succeed(Result.fail({
            detail: excerpt(`${host} gave no answer: ${detail}. Check the URL of the endpoint`, secrets),
            isAboutFormat: false,
          })),
      ),
    )
  }

  /** Asks for `count` drafts, and once more if too few are usable. */
  const ask = Effect.fnUntraced(function* (org: OrgSlug, used: UsedEndpoint, question: Question, count: number) {
    const { material, template } = question
    const schema = answerSchema(material.variables)
    const waiting = (yield* Effect.orDie(readSuggestions(sql, org, template.id))).map(suggestionOf)
    const context: CheckContext = {
      variables: material.variables,
      rules: material.rules,
      existing: [...template.variants, ...waiting.map(({ name, written }) => ({ name, vars: written }))],
      sources: template.variants.flatMap((one) => textsInAll(one).flatMap((vars) => Object.values(vars))),
    }
    const messages = promptOf(material, count)
    const first = yield* exchange(used, messages, schema)
    const needsPlain = Result.isFailure(first) && first.failure.isAboutFormat
    const answer = needsPlain ? yield* exchange(used, messages, undefined) : first
    if (Result.isFailure(answer)) return yield* failed(answer.failure)
    const { text, tokens } = answer.success
    const one = yield* sorted(org, question, text, context)
    const missing = count - one.usable.length
    if (missing <= 0 || needsPlain || one.dropped.length === 0) {
      return { ...one, tokens, requests: needsPlain ? 2 : 1 }
    }
    const told = one.dropped.flatMap(({ told }) => told)
    const again = yield* exchange(used, askAgain(messages, text, missing, told), schema)
    // The drafts of the first answer are paid for, and remain usable.
    const two = Result.isFailure(again)
      ? { usable: [], dropped: [{ name: "Second request", reasons: [again.failure.detail], told: [] }] }
      : yield* sorted(org, question, again.success.text, {
        ...context,
        existing: [...context.existing, ...one.usable],
      })
    const more = Result.isFailure(again) ? again.failure.tokens : again.success.tokens
    return {
      usable: [...one.usable, ...two.usable],
      dropped: [...one.dropped, ...two.dropped],
      tokens: sum(tokens, more),
      requests: 2,
    }
  })

  return ask
})
