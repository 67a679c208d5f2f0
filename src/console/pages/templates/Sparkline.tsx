import { t } from "../../../languages/Language.ts"
import { counted } from "../../Format.ts"

const step = 8
const height = 28

/** Sends day by day as small bars; who cannot see them reads them. `days`: oldest first, the last one is today. */
export const Sparkline = ({ days }: { readonly days: ReadonlyArray<number> }) => {
  const most = Math.max(1, ...days)
  const total = days.reduce((sum, count) => sum + count, 0)
  return (
    <span class="sparkline">
      <svg viewBox={`0 0 ${days.length * step} ${height}`} aria-hidden="true">
        {days.map((count, index) => {
          const bar = count === 0 ? 1.5 : Math.max(3, height * count / most)
          return (
            <rect
              class={count === 0 ? "none" : "some"}
              x={index * step + 1}
              y={(height - bar).toFixed(1)}
              width={step - 2}
              height={bar.toFixed(1)}
              rx="1"
            />
          )
        })}
      </svg>
      <span class="sub">
        {total === 0 ? t`no sends` : counted(total, "send")}
        <span class="visually-hidden">{t`in ${days.length} days, by day, oldest first: ${days.join(", ")}`}</span>
      </span>
    </span>
  )
}
