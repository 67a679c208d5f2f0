import { Effect } from "effect"
import { Flag } from "effect/cli"
import { SuggestInput, type Suggestion } from "../domain/Suggestion.ts"
import { type SuggestionSetup, SuggestionSetupPatch } from "../suggestions/SuggestionSetups.ts"
import { call, commandGroup } from "./ApiCommand.ts"
import { argument, choice, list, optionalWhole, parsed, template, text, texts, toggle } from "./Flags.ts"
import { readText } from "./Inputs.ts"

const suggestion = argument("suggestion", "The suggestion's id")

const draftText = ({ base, id, model, name, suggested_at, written }: Suggestion): string =>
  [
    `${id}  ${name}  (${model}, ${suggested_at}; everything else as in ${base})`,
    ...Object.entries(written).map(([variable, source]) => `  ${variable}: ${source}`),
  ].join("\n")

const draftsText = (drafts: ReadonlyArray<Suggestion>): string =>
  drafts.length === 0 ? "No suggestions" : drafts.map(draftText).join("\n\n")

/** `parlance template suggest` */
export const suggest = call("suggestVariants", "Ask a model for drafts of variants. Nothing of them is served", {
  template,
  count: optionalWhole("count", "Number of drafts, 1 to 5. Default: 3"),
  base: text("base", "Id of the variant whose other parts the drafts take over. Default: the leader"),
  variables: texts("variable", "Variable to write, such as subject; may be repeated. Default: all short ones"),
  instructions: text("instructions", "What the drafts shall try. Write no names or addresses of people"),
})
  .checks(SuggestInput)
  .examples("parlance template suggest welcome --instructions 'shorter, with a question'")
  .text(({ cost, drafts, dropped, host, input_tokens: input, model, output_tokens: output }) =>
    [
      draftsText(drafts),
      ...dropped.map(({ name, reasons }) => `Dropped ${name}: ${reasons.join("; ")}`),
      `${model} at ${host}: ${
        input === null || output === null ? "no tokens reported" : `${input} input tokens, ${output} output tokens`
      }${cost === null ? "" : `, ${cost.amount} ${cost.currency}`}`,
    ].join("\n")
  )

/** `parlance template suggestions …` */
export const suggestions = commandGroup("suggestions", "Suggested drafts that wait for a decision", {
  list: call("listSuggestions", "List the suggestions of a template, newest first", { template })
    .result(({ suggestions }) => suggestions)
    .text(draftsText),
  preview: call("previewSuggestions", "Show what a request for suggestions would send, without sending it", {
    template,
    instructions: text("instructions", "What the drafts shall try"),
  }).checks(SuggestInput).text(({ messages }) => messages.map(({ content }) => content).join("\n\n")),
  keep: call("keepSuggestion", "Make a suggestion an inactive variant", { template, suggestion })
    .change(({ id }) => `Created variant ${id}. It is inactive: parlance variant update TEMPLATE ${id} --active`),
  discard: call("discardSuggestion", "Delete a suggestion", { template, suggestion })
    .result((_, { suggestion }) => ({ id: suggestion, deleted: true }))
    .text(({ id }) => `Deleted ${id}`),
})

const setupText = (setup: SuggestionSetup): string =>
  [
    setup.used === null ? "No model is configured" : `Asks ${setup.used.model} at ${setup.used.host}`,
    `Requests today: ${setup.requests_today} of ${setup.daily_limit}`,
    `Endpoint: ${setup.endpoint}${setup.url === null ? "" : `, ${setup.url} with ${setup.has_key ? "a" : "no"} key`}`,
    `Tone: ${setup.tone}`,
    `Forbidden words: ${setup.forbidden_words.join(", ")}`,
    `Required phrases: ${setup.required_phrases.join(", ")}`,
    `Maximum lengths: ${Object.entries(setup.max_lengths).map(([name, most]) => `${name}=${most}`).join(", ")}`,
  ].join("\n")

/** Reads lengths such as `subject=60,preheader=90`. The service refuses a text of another form. */
const lengthsOf = (lengths: string): unknown =>
  Object.fromEntries(
    lengths.split(",").filter((part) => part.trim() !== "").map((part) => {
      const [name = "", most = ""] = part.split("=").map((side) => side.trim())
      return [name, most === "" ? most : Number(most)]
    }),
  )

const orNone = (value: string) => value === "none" ? null : value

/** `parlance org suggestions …` */
export const setupCommand = commandGroup(
  "suggestions",
  "The model that suggests variants, and the rules of the brand",
  {
    show: call("getSuggestionSetup", "Show the model and the rules").text(setupText),
    set: call("updateSuggestionSetup", "Change the model or the rules", {
      endpoint: choice("endpoint", ["default", "own", "off"], "The model of the installation, an own one, or none"),
      url: parsed(
        "url",
        "Chat completions endpoint of the own model, such as https://api.openai.com/v1; or none",
        orNone,
      ),
      model: parsed("model", "Name of the own model; or none", orNone),
      key: toggle("key-stdin", "Read the API key of the own model from standard input; none removes it").pipe(
        Flag.map((read) => read ? Effect.map(readText("-"), (key) => orNone(key.trim())) : Effect.undefined),
      ),
      tone: text("tone", "How the brand speaks"),
      forbidden_words: list(
        "forbidden-word",
        'Word that no draft contains; may be repeated, replaces those set, "" for none',
      ),
      required_phrases: list(
        "required-phrase",
        'Phrase of every draft; may be repeated, replaces those set, "" for none',
      ),
      max_lengths: parsed("max-lengths", "Maximum lengths by variable, such as subject=60,preheader=90", lengthsOf),
    }).checks(SuggestionSetupPatch).text(setupText),
  },
)
