import type { MemberFault } from "../domain/Event.ts"
import type { EventName } from "../domain/EventKinds.ts"
import { readAmount } from "./Amount.ts"
import { readCurrency } from "../text/Currency.ts"
import { type EventLevel, given, memberFault } from "./Given.ts"

/** The value of a conversion or refund, and the resulting event: a conversion with a negative value is a refund. */
export interface Money {
  readonly event: EventName
  readonly value?: number
  readonly currency?: string
  readonly faults: ReadonlyArray<MemberFault>
}

const withoutValue = "The event counts without a value"

/** Returns the fault of a refund that is rejected because it has no valid value. */
const refused = ({ member, reason }: MemberFault): MemberFault => ({
  member,
  reason: reason.slice(0, -`. ${withoutValue}`.length),
})

/** Returns the currency of an amount: its own, or the stated one. Returns a fault if they contradict each other. */
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
 * Reads the value of a conversion or refund from the first of `keys` with a valid value. A value with an invalid
 * currency is left out, because it would count in the organization's currency. A refund without a valid value does not
 * become a conversion. Other events have no value.
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
