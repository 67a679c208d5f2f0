import type { MemberFault } from "../domain/Event.ts"
import type { EventName } from "../domain/EventKinds.ts"
import { readAmount } from "./Amount.ts"
import { readCurrency } from "./Currency.ts"
import { type EventLevel, given, memberFault } from "./Given.ts"

/** The value of a conversion or refund, with the event that it makes: a conversion below 0 is a refund. */
export interface Money {
  readonly event: EventName
  readonly value?: number
  readonly currency?: string
  readonly faults: ReadonlyArray<MemberFault>
}

const withoutValue = "The event counts without a value"

/** The fault of a refund, which is rejected without its value. */
const refused = ({ member, reason }: MemberFault): MemberFault => ({
  member,
  reason: reason.slice(0, -`. ${withoutValue}`.length),
})

/** The currency of an amount: its own, the stated one, or why they do not fit. */
const currencyFor = (
  own: ReadonlyArray<string> | undefined,
  stated: string | undefined,
): { readonly currency: string | undefined } | { readonly wrong: string } => {
  if (own === undefined) return { currency: stated }
  if (stated === undefined) {
    return own.length === 1
      ? { currency: own[0]! }
      : { wrong: `may mean ${own.slice(0, 3).join(", ")} or another currency: send currency, such as ${own[0]!}` }
  }
  return own.includes(stated)
    ? { currency: stated }
    : { wrong: `is in ${own.length === 1 ? own[0]! : "another currency"}, but currency is ${stated}: send one of both` }
}

/**
 * The value of a conversion or refund under the first of `keys` that can be read. A value whose currency cannot be read is
 * left out, since it would count in the currency of the organization. A refund without its value is still no conversion. Other
 * events have no value.
 */
export const moneyIn = (event: EventName, levels: ReadonlyArray<EventLevel>, keys: ReadonlyArray<string>): Money => {
  if (event !== "conversion" && event !== "refund") return { event, faults: [] }
  const currency = given(levels, ["currency"], readCurrency, withoutValue)
  const stated = currency.value?.code
  const { fault, from, value: read } = given(levels, keys, (value) => readAmount(value, stated), withoutValue)
  const isRefund = event === "refund" || (read !== undefined && read.amount < 0)
  const withFaults = (faults: ReadonlyArray<MemberFault>): Money =>
    isRefund ? { event: "refund", faults: faults.map(refused) } : { event, faults }
  if (read === undefined || currency.fault !== undefined) {
    const unread = [fault, currency.fault].filter((one) => one !== undefined)
    return withFaults(read === undefined && fault === undefined ? [] : unread)
  }
  const { member, raw } = from!
  const fitting = currencyFor(read.currencies, stated)
  if ("wrong" in fitting) return withFaults([memberFault(member, raw, fitting.wrong, withoutValue)])
  return {
    event: isRefund ? "refund" : event,
    value: isRefund && read.amount !== 0 ? -Math.abs(read.amount) : read.amount,
    ...(fitting.currency === undefined ? {} : { currency: fitting.currency }),
    faults: currency.value?.isUnknown !== true ? [] : [memberFault(
      currency.from!.member,
      currency.from!.raw,
      "is no ISO 4217 code known here: send one, such as EUR",
      "The value counts only in an organization with this currency",
    )],
  }
}
