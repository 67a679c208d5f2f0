import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { ManagementClient } from "./Connection.ts"
import { sendTimesText } from "./SendTimesText.ts"
import { resultsText } from "./ResultsText.ts"
import { seriesText } from "./SeriesText.ts"
import { organization, print } from "./Root.ts"

/** `parlance results TEMPLATE` */
export const resultsCommand = Command.make(
  "results",
  {
    template: Argument.String("template").pipe(Argument.withDescription("The template's id")),
    lookbackDays: Flag.Finite("lookback-days").pipe(
      Flag.withDescription("Only decisions of so many days, 1 to 365"),
      Flag.optional,
    ),
    offsetDays: Flag.Finite("offset-days").pipe(
      Flag.withDescription("Days that the window ends before now, 0 to 365. Default 3 with --lookback-days"),
      Flag.optional,
    ),
    segment: Flag.String("segment").pipe(
      Flag.withDescription("Only decisions with this attribute value, such as plan=pro; repeat for several"),
      Flag.between(0, 20),
    ),
    series: Flag.Boolean("series").pipe(
      Flag.withDescription("How they did over time instead: traffic, rates, who was probably best, and the gain"),
      Flag.withDefault(false),
    ),
    sendTimes: Flag.Boolean("send-times").pipe(
      Flag.withDescription("When the people who get it look at their messages instead, by hour of the week"),
      Flag.withDefault(false),
    ),
    segments: Flag.Boolean("segments").pipe(
      Flag.withDescription("Also a table for every value of every attribute that is learned from"),
      Flag.withDefault(false),
    ),
  },
  Effect.fnUntraced(function* ({ lookbackDays, offsetDays, segment, segments, sendTimes, series, template }) {
    const client = yield* ManagementClient
    const asked = {
      params: { org: yield* organization, template },
      query: {
        ...(Option.isSome(lookbackDays) ? { lookback_days: String(lookbackDays.value) } : {}),
        ...(Option.isSome(offsetDays) ? { offset_days: String(offsetDays.value) } : {}),
        ...(segment.length > 0 ? { segment } : {}),
      },
    }
    if (sendTimes) {
      const found = yield* client.results.templateSendTimes({ params: asked.params })
      return yield* print(found, sendTimesText(found))
    }
    if (series) {
      const found = yield* client.results.templateSeries(asked)
      return yield* print(found, seriesText(found))
    }
    const results = yield* client.results.templateResults(asked)
    yield* print(results, resultsText(results, { segments }))
  }),
).pipe(
  Command.withDescription("How the variants of a template do, and whether one has won"),
  Command.withExamples([
    { command: "parlance results abandoned-cart" },
    { command: "parlance results abandoned-cart --lookback-days 30 --segment plan=pro --segments" },
    { command: "parlance results abandoned-cart --series" },
    { command: "parlance results abandoned-cart --send-times" },
  ]),
)
