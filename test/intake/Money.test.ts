import { assert, describe, it } from "@effect/vitest"
import { moneyIn } from "../../src/intake/Money.ts"

const of = (item: Record<string, unknown>, event: "conversion" | "refund" | "click" = "conversion") =>
  moneyIn(event, [{ item, at: "" }], ["value", "revenue"])

const faultsOf = (item: Record<string, unknown>) => of(item).faults.map(({ member }) => member)

describe("moneyIn", () => {
  it("reads values in the formats of platforms and shops", () => {
    const sent: ReadonlyArray<readonly [Record<string, unknown>, number, string | undefined]> = [
      // Shopify, WooCommerce and Plausible send texts, GA4, Braze and Segment numbers.
      [{ value: "199.00", currency: "USD" }, 199, "USD"],
      [{ value: "49.9000", currency: "EUR" }, 49.9, "EUR"],
      [{ value: 30.03, currency: "usd" }, 30.03, "USD"],
      [{ value: "1 234,50 €" }, 1234.5, "EUR"],
      [{ value: "£5", currency: "GBP" }, 5, "GBP"],
      [{ value: "1.234", currency: "KWD" }, 1.234, "KWD"],
      [{ value: "n/a", revenue: 7 }, 7, undefined],
    ]
    for (const [item, value, currency] of sent) {
      const read = of(item)
      assert.deepStrictEqual([read.value, read.currency, read.faults], [value, currency, []], JSON.stringify(item))
    }
  })

  it("omits a value whose currency is unknown or contradictory", () => {
    const faulty: ReadonlyArray<readonly [Record<string, unknown>, string]> = [
      [{ value: "49.90 €", currency: "USD" }, "/value"],
      [{ value: "$49.90" }, "/value"],
      [{ value: 5, currency: "$" }, "/currency"],
      [{ value: 5, currency: "XXX" }, "/currency"],
      [{ value: 5, currency: 978 }, "/currency"],
      [{ value: 5, currency: "" }, "/currency"],
      [{ value: "1,234", currency: "EUR" }, "/value"],
    ]
    for (const [item, member] of faulty) {
      assert.deepStrictEqual(faultsOf(item), [member], JSON.stringify(item))
      assert.isUndefined(of(item).value, JSON.stringify(item))
    }
  })

  it("keeps a value with an unknown code, and reports the code", () => {
    const read = of({ value: 5, currency: "PTS" })
    assert.deepStrictEqual([read.value, read.currency, read.faults.length], [5, "PTS", 1])
  })

  it("never turns a refund that cannot be counted into a conversion", () => {
    for (const more of [{ currency: "euros!" }, { currency: "$" }, { value: "-5 USD", currency: "EUR" }]) {
      const read = of({ value: -50, ...more })
      assert.deepStrictEqual([read.event, read.value, read.faults.length], ["refund", undefined, 1])
      assert.notInclude(read.faults[0]!.reason, "counts")
    }
  })

  it("reads a conversion below 0 as a refund, and the amount of a refund as negative", () => {
    for (
      const read of [
        of({ value: -50 }),
        of({ value: 50 }, "refund"),
        of({ value: "(50.00)" }),
        of({ value: -50 }, "refund"),
      ]
    ) {
      assert.deepStrictEqual([read.event, read.value], ["refund", -50])
    }
  })

  it("ignores values of other events, and a currency without a value", () => {
    assert.deepStrictEqual(of({ value: "abc" }, "click"), { event: "click", faults: [] })
    assert.deepStrictEqual(of({ currency: "?" }), { event: "conversion", faults: [] })
  })
})
