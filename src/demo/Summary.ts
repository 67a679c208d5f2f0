import { resultsText } from "../cli/ResultsText.ts"
import type { TemplateResults } from "../results/TemplateResults.ts"
import type { AudienceActions } from "./Audience.ts"
import { captured, type Clicks } from "./Gain.ts"

/** The result of a demo, in the form of `--json`. */
export interface Summary {
  readonly seed: number
  /** Simulated days, and real seconds. */
  readonly days: number
  readonly seconds: number
  readonly messages: number
  /** Number of reported events by name, without repetitions, and the number reported a second time. */
  readonly events: AudienceActions["events"]
  readonly reported_again: number
  /** Expected clicks of these messages by the true rates: with a random split, as chosen, and with all rates known. */
  readonly expected_clicks: Clicks
  /** Position between a random split (0) and the oracle (1). Null without a possible gain. */
  readonly gain_captured: number | null
  readonly gain_captured_last_day: number | null
  readonly true_rates: Readonly<Record<string, number>>
  /** The service's results of the template. */
  readonly results: TemplateResults
}

/** Computes the summary of a demo. */
export const summaryOf = (options: {
  readonly seed: number
  readonly days: number
  readonly seconds: number
  readonly done: AudienceActions
  readonly lastDay: Clicks
  readonly trueRates: Readonly<Record<string, number>>
  readonly results: TemplateResults
}): Summary => {
  const { days, done, lastDay, results, seconds, seed, trueRates } = options
  return {
    seed,
    days,
    seconds,
    messages: done.messages,
    events: done.events,
    reported_again: done.again,
    expected_clicks: done.gain.total,
    gain_captured: captured(done.gain.total) ?? null,
    gain_captured_last_day: captured(lastDay) ?? null,
    true_rates: trueRates,
    results,
  }
}

const number = (value: number) => Math.round(value).toLocaleString("en")
const percent = (share: number | null) => share === null ? "nothing" : `${Math.round(100 * share)} %`

/** Returns the summary in readable form. */
export const summaryText = (summary: Summary): string => {
  const { days, events, expected_clicks: clicks, messages, reported_again, results, seconds } = summary
  const total = Object.values(events).reduce((sum, count) => sum + count, 0)
  return `
${days} days in ${Math.round(seconds)} seconds: ${number(messages)} messages, ${number(total)} events, ${
    number(reported_again)
  } of them reported twice.

Expected clicks of these messages, by the true rates:
  random split              ${number(clicks.even).padStart(7)}
  chosen by Parlance        ${number(clicks.ours).padStart(7)}
  knowing every true rate   ${number(clicks.oracle).padStart(7)}
Parlance captured ${percent(summary.gain_captured)} of the possible gain, ${
    percent(summary.gain_captured_last_day)
  } on the last day.

The results of the service, which does not know the true rates (parlance results ${results.template_id}):

${resultsText(results, { segments: false })}

True rates: ${
    Object.entries(summary.true_rates).sort(([, a], [, b]) => b - a).map(([id, rate]) =>
      `${id} ${(100 * rate).toFixed(1)} %`
    ).join(", ")
  }. Which one is best differs by segment.`
}

/** Returns the next steps, while the service keeps running. */
export const nextText = (options: {
  readonly url: string
  /** Link that signs in to the console. */
  readonly signIn: string
  readonly dataDir: string
  readonly org: string
  readonly template: string
  readonly key: string
}): string => {
  const { dataDir, key, org, signIn, template, url } = options
  const cart = {
    url: "https://fernweh-outdoor.example/cart",
    total: "189.00",
    items: [{ title: "Trekking boots Karwendel", quantity: 1, price: "189.00" }],
  }
  const body = {
    template_id: template,
    user_id: "you",
    attrs: { tier: "gold", country: "de", device: "mobile" },
    fields: { first_name: "Ann", cart },
  }
  return `
The service keeps running, and its audience continues in real time. Open its console, signed in:

${signIn}

Request content:

curl -s ${url}/api/generate/${org} -H 'X-Api-Key: ${key}' -H 'Content-Type: application/json' -d '${
    JSON.stringify(body)
  }'

Show its results from another terminal:

DATA_DIR='${dataDir}' npx -y deno@2.9.6 task parlance results ${template} --segments

The documentation is at ${url}/docs/. Press Ctrl-C to end the demo. The next demo starts from scratch.`
}
