import { english } from "../languages/Language.ts"

/** A reason for which a click counts as a machine's. */
interface Reason {
  /** Completes "3 clicks …" for people. */
  readonly words: string
  /** Describes the rule in the API reference and in timelines. */
  readonly rule: string
}

/** The reasons for which clicks are set aside. If several apply to a click, the first counts. */
const reasons = {
  reported: {
    words: english("reported by the source, or by a program"),
    rule: english("Its source says that a machine did it, or its user agent is a program's"),
  },
  early: {
    words: english("around the delivery"),
    rule: english(
      "A click from a minute before the delivery to 10 seconds after it is a link scanner's, " +
        "as is a click on another link within 10 seconds of one. Without a delivery, the sending counts",
    ),
  },
  unsubscribe: {
    words: english("next to the unsubscribe page"),
    rule: english("A click within 2 seconds of a request for the unsubscribe page is a link scanner's"),
  },
  burst: {
    words: english("on two links at once"),
    rule: english("Clicks on two links within 2 seconds are a link scanner's"),
  },
  series: {
    words: english("in a series of links"),
    rule: english("Clicks on many links, at equal intervals or without an open before, are a link scanner's"),
  },
} as const satisfies { readonly [reason: string]: Reason }

export type ClickReason = keyof typeof reasons

export const clickReasons = Object.keys(reasons) as ReadonlyArray<ClickReason>

/** The reasons by name. */
export const clickReason: { readonly [reason in ClickReason]: Reason } = reasons

/** Returns the name of the count of clicks that were set aside for a reason: a column of the table `tallies`. */
export const setAsideName = <const Reason extends ClickReason>(reason: Reason) => `set_aside_${reason}` as const

type SetAsideName = ReturnType<typeof setAsideName<ClickReason>>

/** The names of these counts. */
export const setAsideNames: ReadonlyArray<SetAsideName> = clickReasons.map((reason) => setAsideName(reason))
