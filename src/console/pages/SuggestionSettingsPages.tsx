import { roleName } from "../Format.ts"
import { Effect } from "effect"
import type { Fault } from "../../domain/Errors.ts"
import { english, t } from "../../languages/Language.ts"
import { type SuggestionSetup, SuggestionSetupPatch, SuggestionSetups } from "../../suggestions/SuggestionSetups.ts"
import { inputForm } from "../components/InputForm.tsx"
import { Note } from "../components/Note.tsx"
import { ifFilled, list, orNull, type Reader, text, typed } from "../FormReaders.ts"
import { pages } from "../Pages.ts"
import type { Fields, Visit } from "../Routes.tsx"
import { view } from "../View.tsx"

const path = "/console/o/:org/settings/suggestions"

/** Reads lines such as `subject: 60`. A line of another form is a fault. */
const lengths: Reader = (sent) =>
  Object.fromEntries(
    list()(sent).map((line) => {
      const at = line.lastIndexOf(":")
      const most = line.slice(at + 1).trim()
      return [line.slice(0, Math.max(at, 0)).trim() || line, /^\d+$/.test(most) ? Number(most) : most]
    }),
  )

const form = inputForm(SuggestionSetupPatch, {
  endpoint: {
    label: english("Model"),
    as: "radio",
    options: [
      ["default", english("The model of this installation"), english("If its operator has configured one.")],
      ["own", english("An own model"), english("Any service or server with chat completions in the form of OpenAI's.")],
      ["off", english("Off"), english("No suggestions. Nothing is sent.")],
    ],
  },
  url: {
    label: english("URL of the own model"),
    required: false,
    read: orNull(text),
    hint: english(
      "Such as https://api.openai.com/v1 or http://ollama.internal:11434/v1. The operator must allow private addresses.",
    ),
  },
  model: {
    label: english("Name of the own model"),
    required: false,
    read: orNull(text),
    hint: english("Such as gpt-5-mini."),
  },
  key: {
    label: english("API key of the own model"),
    as: "password",
    required: false,
    read: ifFilled(typed),
    hint: english("Stored encrypted and never shown. Empty: stays as it is. Another URL forgets it."),
  },
  tone: {
    label: english("Tone"),
    required: false,
    hint: english("How your brand speaks, such as “warm, short sentences, no exclamation marks”."),
  },
  forbidden_words: {
    label: english("Forbidden words"),
    as: "lines",
    required: false,
    hint: english("Words and phrases, one a line. Drafts with one of them are dropped."),
  },
  required_phrases: {
    label: english("Required phrases"),
    as: "lines",
    required: false,
    hint: english("One a line. Drafts without all of them are dropped."),
  },
  max_lengths: {
    label: english("Maximum lengths"),
    as: "lines",
    required: false,
    read: lengths,
    hint: english("Variable and number of characters, one a line, such as “subject: 60”."),
  },
})

const valuesOf = (setup: SuggestionSetup): Fields => ({
  endpoint: setup.endpoint,
  url: setup.url ?? "",
  model: setup.model ?? "",
  tone: setup.tone,
  forbidden_words: setup.forbidden_words.join("\n"),
  required_phrases: setup.required_phrases.join("\n"),
  max_lengths: Object.entries(setup.max_lengths).map(([name, most]) => `${name}: ${most}`).join("\n"),
})

const show = Effect.fnUntraced(function* (visit: Visit, fields?: Fields, faults: ReadonlyArray<Fault> = []) {
  const setup = yield* (yield* SuggestionSetups).get(visit.org.slug)
  const { daily_limit: limit, has_key, requests_today: today, used } = setup
  return view(
    {
      title: t`Suggestions`,
      lead: t`A language model can suggest variants. It gets texts, rules and results, and never data of a person.`,
    },
    <Note>
      {used === null ? t`No model is asked now.` : (
        <>
          {t`Now ${<b>{used.model}</b>} at ${<b>{used.host}</b>} is asked, ${today} of ${limit} times today.`}
        </>
      )}
      {has_key && t` A key of the own model is stored.`}
    </Note>,
    visit.can("updateSuggestionSetup")
      ? (
        <form.Card
          action={`/console/o/${visit.org.slug}/settings/suggestions`}
          submit={t`Save`}
          values={fields ?? valuesOf(setup)}
          faults={form.placed(faults)}
        />
      )
      : <Note>{t`Your role is ${roleName(visit.role)}. An admin can change the model and the rules.`}</Note>,
  )
})

const save = Effect.fnUntraced(function* ({ org }: Visit, fields: Fields) {
  yield* (yield* SuggestionSetups).update(org.slug, yield* form.decode(fields))
  return { to: `/console/o/${org.slug}/settings/suggestions`, done: "settings-saved" }
})

/** The model that suggests variants, and the rules of the brand. */
export const layer = pages(({ action, page }) => [
  page(path, "getSuggestionSetup", (visit) => show(visit)),
  action(path, "updateSuggestionSetup", save, show),
])
