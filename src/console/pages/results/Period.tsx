import { t } from "../../../languages/Language.ts"
import type { TemplateResults } from "../../../results/TemplateResults.ts"
import { counted, date } from "../../Format.ts"
import { Time } from "../../components/Time.tsx"

/** How many decisions the results cover, from when on, and the days that rates describe. */
export const Period = ({ results: { decisions, rate_days, window }, segment, zone }: {
  /** The segment of the decisions in words, such as `plan is pro`. Default: all decisions. */
  readonly segment?: string | undefined
  readonly results: Pick<TemplateResults, "decisions" | "rate_days" | "window">
  readonly zone: string
}) => {
  const { first_decision: first, from, to } = window
  if (decisions === 0 && first === null) {
    return <>{segment === undefined ? t`No sends yet.` : t`No sends where ${segment} yet.`}</>
  }
  const day = (time: string) => date(new Date(time), zone)
  const sends = counted(decisions, "send")
  const about = segment === undefined ? sends : t`${sends} where ${segment}`
  const isYoung = first !== null && Date.parse(first) > Date.parse(from)
  return (
    <>
      {isYoung && window.mode === "adaptive"
        ? t`${about} since ${day(first)}.`
        : t`${about}, ${<Time at={from} zone={zone} />} to ${<Time at={to} zone={zone} />}.`}{" "}
      {t`Rates describe ${day(rate_days.from)} to ${day(rate_days.to)}.`}
    </>
  )
}
