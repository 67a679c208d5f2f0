import { assert, describe, it } from "@effect/vitest"
import { savingFaults } from "../../src/rendering/SavingFaults.ts"
import { textOf } from "./variants.ts"

/** The message of the fault that prevents saving. */
const faultOf = (source: string): string | undefined => savingFaults({ v: source }, {})[0]?.message

describe("literals that can never work", () => {
  const notNumber = "is not a number: use a number, or a text such as 1234.50"

  it("are refused as numbers", () => {
    for (
      const [source, fault] of [
        ["{{ 5 | times: 'abc' }}", `times: "abc" ${notNumber}`],
        ["{{ '€ 12' | plus: 1 }}", `plus: "€ 12" ${notNumber}`],
        ["{{ n | plus: '1,234' }}", 'plus: "1,234" may mean 1.234 or 1234: use a number'],
        ["{{ n | at_least: '' }}", `at_least: "" ${notNumber}`],
        ["{{ n | round: 'two' }}", `round: "two" ${notNumber}`],
        ["{{ 'abc' | abs }}", `abs: "abc" ${notNumber}`],
        ["{{ s | truncate: 'ten' }}", `truncate: "ten" ${notNumber}`],
        ["{{ s | truncatewords: 'ten' }}", `truncatewords: "ten" ${notNumber}`],
        ["{{ s | slice: 'a' }}", `slice: "a" ${notNumber}`],
        ["{{ s | slice: 0, 'b' }}", `slice: "b" ${notNumber}`],
        ["{{ s | json: 'x' }}", `json: "x" ${notNumber}`],
        ["{{ '12 EUR' | money }}", `money: "12 EUR" ${notNumber}`],
        ["{{ 'many' | pluralize: 'item', 'items' }}", `pluralize: "many" ${notNumber}`],
        ["{{ '12px' | number_with_delimiter }}", `number_with_delimiter: "12px" ${notNumber}`],
        ["{% assign a = n | minus: '-' %}", `minus: "-" ${notNumber}`],
        ["{{ n | divided_by: 'x' }}", `divided_by: "x" ${notNumber}`],
        ["{{ n | divided_by: 0 }}", "divided_by: the divisor is 0: write another number"],
        ["{{ n | divided_by: '0.00' }}", "divided_by: the divisor is 0: write another number"],
        ["{{ n | modulo: 0.0 }}", "modulo: the divisor is 0: write another number"],
      ] as const
    ) assert.include(faultOf(source), fault, source)
  })

  it("are refused as currencies and locales", () => {
    const locale = 'is not a locale: write a language, such as "en", or a language and a country, such as "en-US"'
    for (
      const [source, fault] of [
        ["{{ n | money: '€' }}", 'money: "€" is not a currency code: write "EUR"'],
        ["{{ n | money: 'Euro' }}", 'money: "Euro" is not a currency code: write "EUR"'],
        [
          "{{ n | money: '$' }}",
          'money: "$" is not a currency code: write an ISO 4217 code, such as "USD", "ARS", "AUD"',
        ],
        ["{{ n | money: 'XYZ' }}", 'money: "XYZ" is not a currency code: write an ISO 4217 code, such as "EUR"'],
        ["{{ n | money: 2 }}", 'money: 2 is not a currency code: write an ISO 4217 code, such as "EUR"'],
        ["{{ n | money_with_currency: 'eu' }}", 'money_with_currency: "eu" is not a currency code'],
        ["{{ n | money: 'EUR', 'german' }}", `money: "german" ${locale}`],
        ["{{ n | money: 'EUR', 1 }}", 'money: 1 is not a locale: write one such as "en-US"'],
        ["{{ n | money: 'EUR', 'AR' }}", 'money: "AR" may mean a language or a country: write "ar" or "es-AR"'],
      ] as const
    ) assert.include(faultOf(source), fault, source)
  })

  it("are no faults if they can work, or are known only when the source is rendered", () => {
    for (
      const source of [
        "{{ n | times: '1,5' | plus: ' 1 234,50 ' | round: 2 }}",
        "{{ '12.50' | plus: 1 }}",
        "{{ n | divided_by: m }}",
        "{{ n | divided_by: 0.1 }}",
        "{{ n | money }}{{ n | money: 'eur' }}{{ n | money: 'EUR', 'de_DE' }}{{ n | money: code, place }}",
        "{{ n | money: '', '' }}",
        "{{ s | slice: -2, 2 }}{{ s | truncate: '10' }}",
        "{% for i in l limit: 2 offset: n %}{% endfor %}",
        "{% for i in l offset: continue %}{% endfor %}",
      ]
    ) assert.strictEqual(faultOf(source), undefined, source)
  })

  it("do not prevent the rendering of a source that was saved earlier", () => {
    assert.strictEqual(textOf("{{ n | times: 'abc' }}|{{ n | money: '€' }}|{{ n | divided_by: 0 }}", { n: 5 }), "|5|")
  })
})
