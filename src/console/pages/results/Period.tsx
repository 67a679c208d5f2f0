import { t } from "../../../languages/Language.ts"
import type { TemplateResults } from "../../../results/TemplateResults.ts"
import { counted, date } from "../../Format.ts"
import { Time } from "../../components/Time.tsx"

/** How many decisions the results cover, from when on, and the days that rates describe. */
export const Period = ({ about = "", results: { decisions, rate_days, window }, zone }: {
  /** Restricts the decisions, such as ` where plan is pro`. Default: no restriction. */
  readonly about?: string
  readonly results: Pick<TemplateResults, "decisions" | "rate_days" | "window">
  readonly zone: string
}) => {
  const { first_decision: first, from, to } = window
  if (decisions === 0 && first === null) return <>{t`No sends${about} yet.`}</>
  const day = (time: string) => date(new Date(time), zone)
  const isYoung = first !== null && Date.parse(first) > Date.parse(from)
  return (
    <>
      {t`${counted(decisions, "send")}${about}${
        isYoung && window.mode === "adaptive" ? t` since ${day(first)}` : (
          <>
            {t`, ${<Time at={from} zone={zone} />} to ${<Time at={to} zone={zone} />}`}
          </>
        )
      }. Rates describe ${day(rate_days.from)} to ${day(rate_days.to)}.`}
    </>
  )
}
