import { Console, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { CommandFailed, ManagementClient } from "./Connection.ts"
import { sendTimesText } from "./SendTimesText.ts"
import { resultsText } from "./ResultsText.ts"
import { segmentsText } from "./SegmentsText.ts"
import { seriesText } from "./SeriesText.ts"
import { organization, print } from "./Root.ts"

/** `parlance results TEMPLATE` */
export const resultsCommand = Command.make(
  "results",
  {
    template: Argument.String("template").pipe(Argument.withDescription("The template's id")),
    lookbackDays: Flag.Finite("lookback-days").pipe(
      Flag.withDescription("Length of the window, 1 to 365 days. Default: adaptive"),
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
      Flag.withDescription("Show traffic, rates, the probability of being best and the gain over time instead"),
      Flag.withDefault(false),
    ),
    sendTimes: Flag.Boolean("send-times").pipe(
      Flag.withDescription("Show engagement by hour of the week instead"),
      Flag.withDefault(false),
    ),
    csv: Flag.Boolean("csv").pipe(
      Flag.withDescription("Print the table of variants as CSV instead"),
      Flag.withDefault(false),
    ),
    compare: Flag.Boolean("compare").pipe(
      Flag.withDescription("Compare two variants in each segment instead"),
      Flag.withDefault(false),
    ),
    variant: Flag.String("variant").pipe(
      Flag.withDescription("With --compare: a variant. Default: the leader"),
      Flag.optional,
    ),
    against: Flag.String("against").pipe(
      Flag.withDescription("With --compare: the other variant. Default: the runner-up"),
      Flag.optional,
    ),
    by: Flag.String("by").pipe(
      Flag.withDescription("With --compare: the attribute of the segments; repeat for two. Default: the first two"),
      Flag.between(0, 2),
    ),
    segments: Flag.Boolean("segments").pipe(
      Flag.withDescription("Also print a table for each attribute value"),
      Flag.withDefault(false),
    ),
  },
  Effect.fnUntraced(function* (flags) {
    const {
      against,
      by,
      compare,
      csv,
      variant,
      lookbackDays,
      offsetDays,
      segment,
      segments,
      sendTimes,
      series,
      template,
    } = flags
    const client = yield* ManagementClient
    if (!compare && (Option.isSome(variant) || Option.isSome(against) || by.length > 0)) {
      return yield* new CommandFailed({ message: "--variant, --against and --by need --compare" })
    }
    const asked = {
      params: { org: yield* organization, template },
      query: {
        ...(Option.isSome(lookbackDays) ? { lookback_days: String(lookbackDays.value) } : {}),
        ...(Option.isSome(offsetDays) ? { offset_days: String(offsetDays.value) } : {}),
        ...(segment.length > 0 ? { segment } : {}),
      },
    }
    if (compare) {
      const found = yield* client.results.compareSegments({
        params: asked.params,
        query: {
          ...(Option.isSome(variant) ? { variant: variant.value } : {}),
          ...(Option.isSome(against) ? { against: against.value } : {}),
          ...(by[0] === undefined ? {} : { attribute: by[0] }),
          ...(by[1] === undefined ? {} : { second_attribute: by[1] }),
        },
      })
      return yield* print(found, segmentsText(found))
    }
    if (sendTimes) {
      const found = yield* client.results.templateSendTimes({ params: asked.params })
      return yield* print(found, sendTimesText(found))
    }
    if (series) {
      const found = yield* client.results.templateSeries(asked)
      return yield* print(found, seriesText(found))
    }
    if (csv) return yield* Console.log((yield* client.results.exportResults(asked)).trimEnd())
    const results = yield* client.results.templateResults(asked)
    yield* print(results, resultsText(results, { segments }))
  }),
).pipe(
  Command.withDescription("Show the results of the variants of a template and the winner, if there is one"),
  Command.withExamples([
    { command: "parlance results abandoned-cart" },
    { command: "parlance results abandoned-cart --lookback-days 30 --segment plan=pro --segments" },
    { command: "parlance results abandoned-cart --series" },
    { command: "parlance results abandoned-cart --send-times" },
    { command: "parlance results abandoned-cart --compare --by plan --by device" },
    { command: "parlance results abandoned-cart --csv > results.csv" },
  ]),
)
