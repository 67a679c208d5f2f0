import { Console } from "effect"
import { Flag } from "effect/cli"
import { steps } from "./ApiCommand.ts"
import { CommandFailed } from "./Connection.ts"
import { given, number, orAbsent, template, text, toggle } from "./Flags.ts"
import { sendTimesText } from "./SendTimesText.ts"
import { resultsText } from "./ResultsText.ts"
import { segmentsText } from "./SegmentsText.ts"
import { seriesText } from "./SeriesText.ts"
import { organization, print } from "./Root.ts"

/** `parlance results TEMPLATE` */
export const resultsCommand = steps(
  "Show the results of the variants of a template and the winner, if there is one",
  {
    template,
    lookbackDays: number("lookback-days", "Length of the window, 1 to 365 days. Default: adaptive"),
    offsetDays: number("offset-days", "Days that the window ends before now, 0 to 365. Default 3 with --lookback-days"),
    segment: Flag.String("segment").pipe(
      Flag.withDescription("Only decisions with this attribute value, such as plan=pro; repeat for several"),
      Flag.between(0, 20),
    ),
    series: toggle("series", "Show traffic, rates, the probability of being best and the gain over time instead"),
    sendTimes: toggle("send-times", "Show engagement by hour of the week instead"),
    csv: toggle("csv", "Print the table of variants as CSV instead"),
    compare: toggle("compare", "Compare two variants in each segment instead"),
    variant: text("variant", "With --compare: a variant. Default: the leader"),
    against: text("against", "With --compare: the other variant. Default: the runner-up"),
    by: Flag.String("by").pipe(
      Flag.withDescription("With --compare: the attribute of the segments; repeat for two. Default: the first two"),
      Flag.between(0, 2),
    ),
    segments: toggle("segments", "Also print a table for each attribute value"),
  },
  function* (client, { against, by, segment, template, variant, ...flags }) {
    if (!flags.compare && (variant !== undefined || against !== undefined || by.length > 0)) {
      return yield* new CommandFailed({ message: "--variant, --against and --by need --compare" })
    }
    const params = { org: yield* organization, template }
    if (flags.compare) {
      const [attribute, second_attribute] = by
      const query = given({ variant, against, attribute, second_attribute })
      const found = yield* client.compareSegments({ params, query })
      return yield* print(found, segmentsText(found))
    }
    if (flags.sendTimes) {
      const found = yield* client.templateSendTimes({ params })
      return yield* print(found, sendTimesText(found))
    }
    const query = given({
      lookback_days: flags.lookbackDays?.toString(),
      offset_days: flags.offsetDays?.toString(),
      segment: orAbsent(segment),
    })
    if (flags.series) {
      const found = yield* client.templateSeries({ params, query })
      return yield* print(found, seriesText(found))
    }
    if (flags.csv) return yield* Console.log((yield* client.exportResults({ params, query })).trimEnd())
    const results = yield* client.templateResults({ params, query })
    return yield* print(results, resultsText(results, flags))
  },
).examples(
  "parlance results abandoned-cart",
  "parlance results abandoned-cart --lookback-days 30 --segment plan=pro --segments",
  "parlance results abandoned-cart --series",
  "parlance results abandoned-cart --send-times",
  "parlance results abandoned-cart --compare --by plan --by device",
  "parlance results abandoned-cart --csv > results.csv",
).silent()("results")
