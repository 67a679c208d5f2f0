import type { TemplateSendTimes } from "../results/TemplateSendTimes.ts"
import { percent, timingText } from "./ResultsText.ts"
import { table } from "./Table.ts"

// When people look at a template as a terminal shows it. Pure.

const dayNames = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"] as const

const placeOf = (best: TemplateSendTimes["best"]) =>
  best === null ? "–" : `${dayNames[best.day - 1]} ${best.hour}:00 (${percent(best.engaged)})`

const bestText = (best: TemplateSendTimes["best"]) =>
  best === null || best.certain
    ? `Best: ${placeOf(best)}.`
    : `The hours do not differ by more than chance so far. Highest: ${placeOf(best)}.`

const nothing: { readonly [basis in TemplateSendTimes["basis"]]?: string } = {
  learning: "The people of the organization are being counted: ask again in a few seconds.",
  default: "Nothing is known yet of when people look at their messages.",
}

/** A row for each hour of the day, with hours in which sending is not allowed in brackets; then the variants. */
export const sendTimesText = (found: TemplateSendTimes): string => {
  const { basis, best, hours, levels, template_id, time_zone, variants } = found
  const none = nothing[basis]
  const lines = none === undefined ? [] : [`${template_id}: ${none}`]
  if (hours.length > 0) {
    const known = levels[basis === "template" ? 0 : 1]!
    const cell = ({ allowed, engaged }: (typeof hours)[number]) =>
      allowed === 0 ? `(${percent(engaged)})` : percent(engaged)
    lines.push(
      `${template_id}: share of messages expected to be engaged with, by the hour they are sent in, ${time_zone} or the recipient's zone.`,
      "",
      table(
        ["hour", ...dayNames],
        Array.from({ length: 24 }, (_, hour) => [
          `${hour}:00`,
          ...dayNames.map((_, day) => cell(hours[day * 24 + hour]!)),
        ]),
      ),
      "",
      `In brackets: quiet hours and days on which may not be sent. ${bestText(best)}`,
      `Learned from ${known.touches} messages with ${known.engagements} engagements${
        basis === "template" ? "" : " of the whole organization; of the template nothing is known yet"
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
