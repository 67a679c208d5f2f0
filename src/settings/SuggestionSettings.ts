import { Config, Duration, Option } from "effect"
import { atLeast, checked, duration, isHttpUrl, secret } from "./SettingReaders.ts"

/** Price of the model that the installation offers. Unit: `currency` per million tokens. */
export interface TokenPrice {
  readonly input: number
  readonly output: number
  /** ISO 4217. */
  readonly currency: string
}

/** Parses a price such as `0.15/0.60 USD`. Undefined for any other text. */
export const parseTokenPrice = (text: string): TokenPrice | undefined => {
  const [, input, output, currency] = /^(\d+(?:\.\d+)?)\/(\d+(?:\.\d+)?) ([A-Z]{3})$/.exec(text.trim()) ?? []
  return currency === undefined ? undefined : { input: Number(input), output: Number(output), currency }
}

/** Settings of suggested variants. Without `SUGGESTIONS_URL`, only organizations with an own endpoint get suggestions. */
export const suggestionSettings = {
  /**
   * `SUGGESTIONS_URL`: chat completions endpoint of all organizations without an own one, such as
   * `https://api.openai.com/v1`. Default: no endpoint.
   */
  suggestionsUrl: checked(
    "SUGGESTIONS_URL",
    (text) => isHttpUrl(text.split("?", 1)[0]!),
    "must be an http or https URL such as https://api.openai.com/v1 or http://127.0.0.1:11434/v1",
  ),
  /** `SUGGESTIONS_KEY`: API key for `SUGGESTIONS_URL`. Default: requests carry no key. */
  suggestionsKey: secret("SUGGESTIONS_KEY"),
  /** `SUGGESTIONS_MODEL`: name of the model at `SUGGESTIONS_URL`, such as `gpt-5-mini`. Required with the URL. */
  suggestionsModel: Config.String("SUGGESTIONS_MODEL").pipe(Config.withDefault("")),
  /** `SUGGESTIONS_PRICE`: price of a million input and output tokens, such as `0.15/0.60 USD`. Default: no costs are shown. */
  suggestionsPrice: checked(
    "SUGGESTIONS_PRICE",
    (text) => parseTokenPrice(text) !== undefined,
    "must be the prices of a million input and output tokens with an ISO 4217 code, such as 0.15/0.60 USD",
  ).pipe(Config.map((text) => Option.fromUndefinedOr(parseTokenPrice(text)))),
  /** `SUGGESTIONS_TIMEOUT`: timeout of one request to an endpoint, at most 10 minutes. Default 60 seconds. */
  suggestionsTimeout: duration("SUGGESTIONS_TIMEOUT").pipe(
    Config.map((time) => Duration.min(time, Duration.minutes(10))),
    Config.withDefault(Duration.seconds(60)),
  ),
  /** `SUGGESTIONS_DAILY_LIMIT`: number of times that one organization may ask for suggestions in a day (UTC). Default 50. */
  suggestionsDailyLimit: atLeast(1, "SUGGESTIONS_DAILY_LIMIT").pipe(Config.withDefault(50)),
}

type Values = { readonly [name in keyof typeof suggestionSettings]: Config.Success<(typeof suggestionSettings)[name]> }

/** Returns the faults of these settings together. */
export const suggestionFaults = (
  { suggestionsKey = Option.none(), suggestionsModel = "", suggestionsUrl = "" }: Partial<Values>,
): ReadonlyArray<string> => {
  if (suggestionsUrl !== "") {
    return suggestionsModel === ""
      ? ["SUGGESTIONS_MODEL: is not set. Set it to the name of a model at SUGGESTIONS_URL"]
      : []
  }
  const lonely = { SUGGESTIONS_KEY: Option.isSome(suggestionsKey), SUGGESTIONS_MODEL: suggestionsModel !== "" }
  return Object.entries(lonely).flatMap(([name, isSet]) =>
    isSet ? [`${name}: has no effect without SUGGESTIONS_URL. Set that too, or unset ${name}`] : []
  )
}
