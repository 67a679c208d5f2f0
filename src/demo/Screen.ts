import { Effect } from "effect"
import type { Output } from "../runtime/Progress.ts"
import type { AudienceActions } from "./Audience.ts"
import { captured, type Clicks } from "./Gain.ts"

// The display of the running demo: redrawn in place on a terminal, an occasional line otherwise.

/** The displayed members of a variant. */
interface ShownVariant {
  readonly id: string
  /** Share of the decisions of the last day. Undefined before the first decision. */
  readonly share: number | undefined
  readonly trueRate: number
  /** The service's estimate and its interval. Undefined before the first estimate. */
  readonly estimate: { readonly rate: number; readonly interval: readonly [number, number] } | undefined
}

/** The data that the display shows. */
export interface ScreenView {
  readonly url: string
  /** Number of simulated days so far, and in all. */
  readonly day: number
  readonly days: number
  /** The simulated time. Unit: Unix milliseconds. */
  readonly now: number
  readonly done: AudienceActions
  readonly lastDay: Clicks
  readonly variants: ReadonlyArray<ShownVariant>
}

const number = (value: number) => Math.round(value).toLocaleString("en")

const percent = (share: number | undefined, decimals = 0) =>
  share === undefined ? "–" : `${(100 * share).toFixed(decimals)} %`

/** Returns a bar with `share` of `width` cells filled. Shares are limited to 0 and 1. */
const bar = (share: number, width: number): string => {
  const filled = Math.round(Math.min(1, Math.max(0, share)) * width)
  return "█".repeat(filled) + "░".repeat(width - filled)
}

const time = (millis: number) => {
  const date = new Date(millis)
  const day = date.toLocaleDateString("en-GB", { weekday: "short", day: "numeric", month: "short", timeZone: "UTC" })
  return `${day} ${date.toISOString().slice(11, 16)} UTC`
}

const eventsOf = ({ events }: AudienceActions) => Object.values(events).reduce((sum, count) => sum + count, 0)

/** Sorts variants by their true rates, best first. */
const ranked = (variants: ReadonlyArray<ShownVariant>) => [...variants].sort((a, b) => b.trueRate - a.trueRate)

const barWidth = 30

/** Returns the whole display, lines of at most 100 characters. */
const picture = ({ day, days, done, lastDay, now, url, variants }: ScreenView): ReadonlyArray<string> => {
  const { even, oracle, ours } = done.gain.total
  const so = captured(done.gain.total)
  const last = captured(lastDay)
  const name = Math.max(...variants.map(({ id }) => id.length))
  return [
    `Parlance demo, ${url}`,
    "",
    `${bar(day / days, 60)}  day ${day.toFixed(1)} of ${days}, ${time(now)}`,
    "",
    `${number(done.messages)} messages   ${number(eventsOf(done))} events: ${number(done.events.open)} opens, ${
      number(done.events.click)
    } clicks, ${number(done.events.conversion)} orders`,
    "",
    `${"variant".padEnd(name)}  ${"share of the last day".padEnd(barWidth + 6)}  true rate  estimate  95 % interval`,
    ...ranked(variants).map(({ estimate, id, share, trueRate }) =>
      `${id.padEnd(name)}  ${bar(share ?? 0, barWidth)} ${percent(share).padStart(5)}  ${
        percent(trueRate, 1).padStart(9)
      }  ${percent(estimate?.rate, 1).padStart(8)}  ${
        estimate === undefined ? "" : `${percent(estimate.interval[0], 1)} to ${percent(estimate.interval[1], 1)}`
      }`
    ),
    "",
    `Gain captured so far    ${bar(so ?? 0, barWidth)} ${percent(so).padStart(5)}`,
    `         in the last day ${bar(last ?? 0, barWidth)} ${percent(last).padStart(5)}`,
    `Expected clicks: ${number(even)} with a random split, ${number(ours)} as chosen, ${
      number(oracle)
    } knowing every true rate`,
  ]
}

/** Returns the state of the demo in one line. */
const line = ({ day, days, done, lastDay, variants }: ScreenView): string => {
  const shares = ranked(variants).map(({ id, share }) => `${id} ${percent(share)}`).join(", ")
  return `day ${day.toFixed(1).padStart(4)} of ${days}: ${number(done.messages)} messages, ${
    number(eventsOf(done))
  } events, ${number(done.events.click)} clicks; gain captured ${percent(captured(done.gain.total))} so far, ${
    percent(captured(lastDay))
  } in the last day; ${shares}`
}

/** The display. */
interface Screen {
  readonly show: (view: ScreenView) => void
  /** Prints permanent lines above the display. */
  readonly note: (text: string) => void
  /** Ends the display and leaves its last state. */
  readonly end: () => void
  /** Interval of updates. Unit: milliseconds. */
  readonly everyMillis: number
}

/** Creates the display on `output`. Restores the cursor when the scope closes. */
export const make = (output: Output) =>
  Effect.acquireRelease(
    Effect.sync((): Screen => {
      let drawn: ReadonlyArray<string> = []
      let ended = false
      if (output.isTTY !== true) {
        return {
          show: (view) => void (ended || output.write(`${line(view)}\n`)),
          note: (text) => void output.write(`${text}\n`),
          end: () => ended = true,
          everyMillis: 5000,
        }
      }
      output.write("\x1b[?25l")
      const clear = () => drawn.length === 0 ? "" : `\x1b[${drawn.length}A\x1b[J`
      const draw = (before: string, lines: ReadonlyArray<string>) => {
        // A line that wraps would leave a remainder when it is redrawn.
        const width = output.columns ?? 80
        const text = lines.map((one) => `${[...one].slice(0, width - 1).join("")}\n`).join("")
        output.write(before + text)
        drawn = lines
      }
      return {
        show: (view) => void (ended || draw(clear(), picture(view))),
        note: (text) => draw(`${clear()}${text}\n`, drawn),
        end: () => {
          ended = true
          drawn = []
          output.write("\x1b[?25h")
        },
        everyMillis: 200,
      }
    }),
    ({ end }) => Effect.sync(end),
  )
