import { Context, DateTime, Effect, JsonPointer, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { writes } from "../accounts/Access.ts"
import { Audit, note, notSuggestedAction } from "../accounts/Audit.ts"
import { currentActor } from "../accounts/Author.ts"
import {
  type AlreadyExists,
  type ChangeProposed,
  type ChecksBusy,
  type Fault,
  InvalidInput,
  type OrganizationNotFound,
  TemplateNotFound,
  VariantNotFound,
} from "../domain/Errors.ts"
import { CopyId, type OrgSlug, randomId } from "../domain/Ids.ts"
import type { SuggestInput, Suggestion, SuggestionRun } from "../domain/Suggestion.ts"
import type { Variant, VariantInput } from "../domain/Template.ts"
import { Results } from "../results/Results.ts"
import type { SecretFileFaulty, SecretUnreadable } from "../store/SecretBox.ts"
import {
  deleteSuggestion,
  insertSuggestions,
  markKept,
  readSuggestions,
  type SuggestionRow,
} from "../templates/SuggestionRows.ts"
import { Templates } from "../templates/Templates.ts"
import { makeAsking, type Question, suggestionOf, usageOf } from "./Asking.ts"
import type { Messages, Tokens } from "./ChatEndpoint.ts"
import type { NamedTexts } from "./DraftChecks.ts"
import { askedVariables, promptOf } from "./Prompt.ts"
import { SuggestionNotFound, type SuggestionsBusy, type SuggestionsFailed, SuggestionsOff } from "./SuggestionErrors.ts"
import { SuggestionSetups, type UsedEndpoint } from "./SuggestionSetups.ts"

/** Default number of drafts. */
const usualCount = 3

/** Returns a draft as an inactive variant. Texts in other locales of what the model wrote are left out. */
const variantOf = (base: Variant, { name, vars }: NamedTexts): VariantInput => ({
  name,
  vars: { ...base.vars, ...vars },
  formats: base.formats,
  locales: Object.fromEntries(
    Object.entries(base.locales).map(([locale, texts]) => [
      locale,
      Object.fromEntries(Object.entries(texts).filter(([variable]) => !Object.hasOwn(vars, variable))),
    ]),
  ),
  active: false,
  targeting: base.targeting,
  seasons: base.seasons,
})

const invalid = (faults: ReadonlyArray<Fault>) => new InvalidInput({ faults })

const costOf = (tokens: Tokens | undefined, { price }: UsedEndpoint): SuggestionRun["cost"] =>
  price === undefined || tokens === undefined ? null : {
    amount: Number(((tokens.input * price.input + tokens.output * price.output) / 1e6).toPrecision(3)),
    currency: price.currency,
  }

type ReadFailure = TemplateNotFound | VariantNotFound | InvalidInput

/** Variants that a model suggests. A broken store is a defect. */
export class Suggestions extends Context.Service<Suggestions, {
  /** Returns what a request would send: the messages to the model. Fails like `suggest`, without asking the model. */
  readonly preview: (
    org: OrgSlug,
    template: string,
    input: SuggestInput,
  ) => Effect.Effect<Messages, ReadFailure>
  /**
   * Asks the model for drafts, at most twice, and stores the drafts that pass all checks. Fails with `TemplateNotFound`,
   * `VariantNotFound` for an unknown base, `InvalidInput` for variables that cannot be written, `SuggestionsOff` without a
   * model, `SuggestionsBusy` at a limit, and `SuggestionsFailed` without a usable answer.
   */
  readonly suggest: (
    org: OrgSlug,
    template: string,
    input: SuggestInput,
  ) => Effect.Effect<
    SuggestionRun,
    | ReadFailure
    | ChecksBusy
    | OrganizationNotFound
    | SecretFileFaulty
    | SecretUnreadable
    | SuggestionsBusy
    | SuggestionsFailed
    | SuggestionsOff
  >
  /** Returns the drafts that wait for a decision, newest first. Fails with `TemplateNotFound`. */
  readonly list: (org: OrgSlug, template: string) => Effect.Effect<ReadonlyArray<Suggestion>, TemplateNotFound>
  /**
   * Makes a suggestion an inactive variant, which is marked as suggested. Fails with `SuggestionNotFound`, and with the
   * errors of `Templates.createVariant`.
   */
  readonly keep: (
    org: OrgSlug,
    template: string,
    id: string,
  ) => Effect.Effect<
    Variant,
    SuggestionNotFound | TemplateNotFound | InvalidInput | AlreadyExists | ChecksBusy | ChangeProposed
  >
  /** Deletes a suggestion. Fails with `SuggestionNotFound`. */
  readonly discard: (org: OrgSlug, template: string, id: string) => Effect.Effect<void, SuggestionNotFound>
}>()("parlance/suggestions/Suggestions") {
  static readonly layer = Layer.effect(
    Suggestions,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const templates = yield* Templates
      const results = yield* Results
      const setups = yield* SuggestionSetups
      const audit = yield* Audit
      const ask = yield* makeAsking

      const questionOf = Effect.fnUntraced(function* (org: OrgSlug, id: string, input: SuggestInput) {
        const template = yield* templates.get(org, id)
        const found = yield* results.results(org, id, {})
        const wanted = input.base ?? found.winner.leader
        const named = template.variants.find((one) => one.id === wanted)
        if (input.base !== undefined && named === undefined) return yield* new VariantNotFound({ id: input.base })
        const base = named ?? template.variants.find(({ active }) => active) ?? template.variants[0]
        if (base === undefined) {
          return yield* invalid([{ pointer: "", detail: "The template has no variant to start from: write one first" }])
        }
        const rules = yield* setups.get(org)
        const { asked, impossible } = askedVariables(base, input, rules)
        if (impossible.length > 0 || asked.length === 0) {
          const faults = impossible.map((name) => ({
            pointer: `/variables/${JsonPointer.escapeToken(String(input.variables!.indexOf(name)))}`,
            detail: `must be a variable of ${JSON.stringify(base.name)} with at most 20,000 characters and no MJML`,
          }))
          const none =
            "has no variable that a model can write: name variables of at most 20,000 characters without MJML"
          return yield* invalid(faults.length > 0 ? faults : [{ pointer: "/variables", detail: none }])
        }
        const { instructions = "" } = input
        return {
          base,
          template,
          material: { template, variables: asked, rules, results: found, instructions },
        } satisfies Question
      })

      /** Stores usable drafts in one transaction. */
      const store = Effect.fnUntraced(function* (
        org: OrgSlug,
        template: string,
        { base, material }: Question,
        model: string,
        usable: ReadonlyArray<NamedTexts>,
      ) {
        const suggestedAt = yield* DateTime.nowAsDate
        const rows = usable.map((draft): SuggestionRow => ({
          id: randomId("v"),
          content: {
            variant: variantOf(base, draft),
            variables: material.variables.map(({ name }) => name),
            base: base.name,
          },
          model,
          suggestedAt,
        }))
        if (rows.length > 0) {
          const stored = yield* Effect.orDie(sql.withTransaction(insertSuggestions(sql, org, template, rows)))
          // Somebody deleted the template while the model wrote.
          if (stored.length === 0) return yield* new TemplateNotFound({ id: template })
        }
        return rows.map(suggestionOf)
      })

      const suggest = Effect.fn("Suggestions.suggest")(function* (org: OrgSlug, template: string, input: SuggestInput) {
        const question = yield* questionOf(org, template, input)
        const used = yield* setups.endpoint(org)
        if (used === undefined) return yield* new SuggestionsOff()
        const { model, url: { host } } = used
        const count = input.count ?? usualCount
        const { dropped, requests, tokens, usable } = yield* setups.asOnly(org, ask(org, used, question, count)).pipe(
          Effect.tapErrorTag(
            "SuggestionsFailed",
            ({ detail, usage }) => noteFailure(org, template, { model, host, reason: detail, usage }),
          ),
        )
        const drafts = yield* store(org, template, question, model, usable.slice(0, count))
        const cost = costOf(tokens, used)
        yield* note({
          model,
          host,
          requests,
          usage: usageOf(tokens),
          ...(cost === null ? {} : { cost: `${cost.amount} ${cost.currency}` }),
          kept: drafts.length,
          dropped: dropped.length,
          ...(input.instructions === undefined ? {} : { instructions: input.instructions }),
        })
        return {
          drafts,
          dropped: dropped.map(({ name, reasons }) => ({ name, reasons })),
          host,
          model,
          requests,
          input_tokens: tokens?.input ?? null,
          output_tokens: tokens?.output ?? null,
          cost,
        }
      })

      const noteFailure = Effect.fnUntraced(function* (org: OrgSlug, template: string, body: object) {
        const actor = yield* currentActor
        if (actor === undefined) return
        const rule = writes("editor", notSuggestedAction)
        yield* audit.record({ actor, endpoint: "suggestVariants", rule, params: { org, template }, body })
      })

      const preview = Effect.fn("Suggestions.preview")((org: OrgSlug, template: string, input: SuggestInput) =>
        Effect.map(
          questionOf(org, template, input),
          ({ material }) => promptOf(material, input.count ?? usualCount),
        )
      )

      const list = Effect.fn("Suggestions.list")(function* (org: OrgSlug, template: string) {
        const { id } = yield* templates.outline(org, template)
        return (yield* Effect.orDie(readSuggestions(sql, org, id))).map(suggestionOf)
      })

      const keep = Effect.fn("Suggestions.keep")(function* (org: OrgSlug, template: string, id: string) {
        const found = (yield* Effect.orDie(readSuggestions(sql, org, template))).find((one) => one.id === id)
        if (found === undefined) return yield* new SuggestionNotFound({ id })
        const mark = () => Effect.orDie(markKept(sql, org, template, id))
        const variant = { ...found.content.variant, id: CopyId.make(id) }
        yield* templates.createVariant(org, template, variant).pipe(
          Effect.tap(mark),
          // A variant of an open proposal is kept as a part of it.
          Effect.tapErrorTag("ChangeProposed", mark),
        )
        return yield* Effect.catchTag(templates.getVariant(org, template, id), "VariantNotFound", Effect.die)
      })

      const discard = Effect.fn("Suggestions.discard")(function* (org: OrgSlug, template: string, id: string) {
        const deleted = yield* Effect.orDie(deleteSuggestion(sql, org, template, id))
        if (deleted.length === 0) return yield* new SuggestionNotFound({ id })
      })

      return Suggestions.of({ preview, suggest, list, keep, discard })
    }),
  )
}
