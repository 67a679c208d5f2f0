import { assert, it } from "@effect/vitest"
import { type Answer, suiteOnService } from "./harness.ts"

suiteOnService("Texts that are not numbers", (bench) => {
  const warningsOf = (answer: Answer) => {
    assert.strictEqual(answer.status, 200, answer.text)
    return answer.headers.get("parlance-warnings")
  }
  const priced = (id: string, more = {}) => ({
    id,
    variants: [{ id: "v", vars: { s: "Hi", price: "Now {{ price | plus: 1 }}\nor {{ rate | times: 2 }}" } }],
    ...more,
  })
  const fields = { price: "€ 12;50", rate: "1,234" }
  const both =
    '"price", line 1, column 5: plus: "\\u20ac 12,50" is not a number: use a number, or a text such as 1234.50; ' +
    '"price", line 2, column 4: times: "1,234" may mean 1.234 or 1234: use a number'

  it("stay as they are with a warning in POST, GET and batches", async () => {
    const org = await bench.organization("unusable-numbers")
    await org.template(priced("t"))
    const posted = await org.post({ template_id: "t", fields })
    assert.strictEqual(warningsOf(posted), both)
    assert.strictEqual(posted.json.copy.vars.price, "Now € 12;50\nor 1,234")
    assert.strictEqual(
      warningsOf(await org.get({ template_id: "t", "fields[price]": fields.price, "fields[rate]": fields.rate })),
      both,
    )
    const batch = await org.batch({ requests: [{ template_id: "t" }], fields: { price: "1.234,50", rate: "free" } })
    assert.strictEqual(batch.json.t.copy.vars.price, "Now 1235.5\nor free")
    assert.match(warningsOf(batch)!, /times: "free" is not a number/)
  })

  it("cause no warning if they have one meaning, and keep all digits of whole numbers", async () => {
    const org = await bench.organization("usable-numbers")
    await org.template(priced("t"))
    const answer = await org.post({ template_id: "t", fields: { price: " 1 234,50 ", rate: "12345678901234567890" } })
    assert.strictEqual(warningsOf(answer), null)
    assert.strictEqual(answer.json.copy.vars.price, "Now 1235.5\nor 24691357802469135780")
  })

  it("are warnings of a preview", async () => {
    const org = await bench.organization("previewed-numbers")
    await org.template(priced("t"))
    const body = { copy_id: "v", fields: { price: "12", rate: "1,234" } }
    const { body: shown } = await bench.service.manage("POST", `/organizations/${org.slug}/templates/t/preview`, body)
    assert.strictEqual(shown.vars.price, "Now 13\nor 1,234")
    const message = 'times: "1,234" may mean 1.234 or 1234: use a number'
    assert.deepStrictEqual(shown.warnings, [{ variable: "price", line: 2, column: 4, message }])
  })

  it("prevent rendering in strict mode", async () => {
    const org = await bench.organization("strict-numbers")
    await org.template(priced("t", { strict: true }))
    const answer = await org.post({ template_id: "t", fields: { price: "12 EUR", rate: 2 } })
    assert.strictEqual(answer.status, 422)
    assert.include(answer.text, 'plus: \\"12 EUR\\" is not a number')
  })
})
