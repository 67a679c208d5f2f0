import type { TemplateSendTimes } from "../results/TemplateSendTimes.ts"
import { percent, timingText } from "./ResultsText.ts"
import { table } from "./Table.ts"

// Formats the hours in which people read the messages of a template, for a terminal. Pure.

const dayNames = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"] as const

const placeOf = (best: TemplateSendTimes["best"]) =>
  best === null ? "–" : `${dayNames[best.day - 1]} ${best.hour}:00 (${percent(best.engaged)})`

const bestText = (best: TemplateSendTimes["best"]) =>
  best === null || best.certain
    ? `Best: ${placeOf(best)}.`
    : `So far the hours differ only by chance. Highest: ${placeOf(best)}.`

const nothing: { readonly [basis in TemplateSendTimes["basis"]]?: string } = {
  learning: "Send times are being calculated. Repeat the command in a few seconds.",
  default: "There is no data yet about when people engage with messages.",
}

/** A row for each hour of the day, in brackets if sending is not allowed in that hour, followed by the variants. */
export const sendTimesText = (found: TemplateSendTimes): string => {
  const { basis, best, hours, levels, template_id, time_zone, variants } = found
  const none = nothing[basis]
  const lines = none === undefined ? [] : [`${template_id}: ${none}`]
  if (hours.length > 0) {
    const known = levels[basis === "template" ? 0 : 1]!
    const cell = ({ allowed, engaged }: (typeof hours)[number]) =>
      allowed === 0 ? `(${percent(engaged)})` : percent(engaged)
    lines.push(
      `${template_id}: expected share of messages with engagement, by hour of sending in the recipient's time zone, or ${time_zone} if unknown.`,
      "",
      table(
        ["hour", ...dayNames],
        Array.from({ length: 24 }, (_, hour) => [
          `${hour}:00`,
          ...dayNames.map((_, day) => cell(hours[day * 24 + hour]!)),
        ]),
      ),
      "",
      `In brackets: quiet hours and days without sending. ${bestText(best)}`,
      `Learned from ${known.touches} messages with ${known.engagements} engagements${
        basis === "template" ? "" : " of the whole organization; there is no data for the template yet"
      }.`,
    )
    if (variants.length > 0) {
      lines.push(
        "",
        table(
          ["variant", "messages", "engagements", "of its own", "best"],
          variants.map(({ best, copy_id, engagements, touches, weight }) => [
            copy_id,
            touches,
            engagements,
            percent(weight),
            placeOf(best),
          ]),
        ),
      )
    }
  }
  return [...lines, ...timingText(found.timing)].join("\n")
}
