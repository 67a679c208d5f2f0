import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { generateQuery } from "../../src/api/generate/GenerateWire.ts"

const decode = (query: string) => generateQuery(new URLSearchParams(`template_id=t&${query}`))

const fieldsOf = (query: string): unknown => {
  const decoded = decode(query)
  return Result.isSuccess(decoded) ? JSON.parse(JSON.stringify(decoded.success.fields)) : decoded.failure
}

const pointersOf = (query: string) => {
  const decoded = decode(query)
  return Result.isFailure(decoded) ? decoded.failure.map(({ detail, pointer }) => [pointer, detail]) : []
}

describe("fields in the query of Generate", () => {
  it("have members at any depth, with brackets, dots and both", () => {
    const ann = { user: { name: "Ann" } }
    const cases: ReadonlyArray<readonly [query: string, fields: unknown]> = [
      ["fields.user.name=Ann", ann],
      ["fields[user][name]=Ann", ann],
      ["fields[user].name=Ann", ann],
      ["fields.user[name]=Ann", ann],
      ["fields[user.name]=Ann", ann],
      ["fields%5Buser%5D%5Bname%5D=Ann", ann],
      ["fields.a.b.c.d=1&fields[a][b][c][e]=2", { a: { b: { c: { d: "1", e: "2" } } } }],
      ["fields.name=Ann", { name: "Ann" }],
      ["fields[order][2026]=x", { order: { 2026: "x" } }],
      ["fields[zip][01067]=x&fields[zip][0]=y", { zip: { "0": "y", "01067": "x" } }],
      ["fields[]=x", [{
        pointer: "fields[]",
        detail: "must name one key, such as fields[key]=value or fields[user][name]=value",
      }]],
    ]
    for (const [query, fields] of cases) assert.deepStrictEqual(fieldsOf(query), fields, query)
  })

  it("have lists with numbers, with empty brackets and by repeated names", () => {
    const items = { items: [{ name: "Hat" }, { name: "Bag", sizes: ["S", "M"] }] }
    const cases: ReadonlyArray<readonly [query: string, fields: unknown]> = [
      ["fields[items][0]=a&fields.items.1=b", { items: ["a", "b"] }],
      ["fields.items.1=b&fields.items.0=a", { items: ["a", "b"] }],
      ["fields[tags][]=a", { tags: ["a"] }],
      ["fields.tags[]=a&fields[tags][]=b&fields.tags=c", { tags: ["a", "b", "c"] }],
      ["fields[tags]=a&fields[tags]=b", { tags: ["a", "b"] }],
      [
        "fields[items][0][name]=Hat&fields.items.1.name=Bag&fields.items[1].sizes[]=S&fields[items][1][sizes][]=M",
        items,
      ],
    ]
    for (const [query, fields] of cases) assert.deepStrictEqual(fieldsOf(query), fields, query)
  })

  it("override equal members of the JSON object and keep its other members", () => {
    const json = encodeURIComponent('{"user":{"name":"Bob","age":3},"list":[1],"x":1}')
    assert.deepStrictEqual(fieldsOf(`fields=${json}&fields.user.name=Ann&fields.list.0=b&fields[x]=2`), {
      user: { name: "Ann", age: 3 },
      list: ["b"],
      x: "2",
    })
    assert.deepStrictEqual(pointersOf(`fields=${json}&fields.x.y=1`).map(([pointer]) => pointer), ["fields.x.y"])
  })

  it("are refused by name if they contradict each other", () => {
    const cases: ReadonlyArray<readonly [query: string, pointer: string, words: string]> = [
      ["fields.user=x&fields.user.name=y", "fields.user.name", "conflicts with fields.user:"],
      ["fields[user][name]=y&fields.user=x", "fields.user", "conflicts with fields[user][name]"],
      ["fields[tags][]=a&fields[tags][0]=b", "fields[tags][0]", "conflicts with fields[tags][]"],
      ["fields[items][0]=a&fields[items][2]=b", "fields[items][0]", "without the element 1"],
      ["fields[items][][name]=a", "fields[items][][name]", "must name one key"],
      ["fields[a=1", "fields[a", "must name one key"],
      ["fields.a..b=1", "fields.a..b", "must name one key"],
      ["fields.a.=1", "fields.a.", "must name one key"],
      ["fields[a]b=1", "fields[a]b", "must name one key"],
      ["fields[a.]=1", "fields[a.]", "must name one key"],
      [`fields${".a".repeat(21)}=1`, `fields${".a".repeat(21)}`, "at most 20 keys"],
      ["fields[a][b%00]=1", "fields[a][b\0]", "control characters"],
    ]
    for (const [query, pointer, words] of cases) {
      const [fault, ...others] = pointersOf(query)
      assert.strictEqual(fault?.[0], pointer, query)
      assert.include(fault?.[1], words)
      assert.deepStrictEqual(others, [])
    }
    assert.deepStrictEqual(
      fieldsOf(`fields${".a".repeat(20)}=1`),
      JSON.parse(`${'{"a":'.repeat(20)}"1"${"}".repeat(20)}`),
    )
  })

  it("treat __proto__ and constructor as ordinary names", () => {
    const decoded = decode("fields[__proto__][polluted]=1&fields.constructor.prototype.polluted=1&fields.a.__proto__=2")
    assert.isTrue(Result.isSuccess(decoded))
    assert.isUndefined(({} as Record<string, unknown>)["polluted"])
    const { fields } = (decoded as Result.Success<{ readonly fields: Record<string, unknown> }, unknown>).success
    assert.strictEqual(
      JSON.stringify(fields),
      '{"__proto__":{"polluted":"1"},"constructor":{"prototype":{"polluted":"1"}},"a":{"__proto__":"2"}}',
    )
  })

  it("leave attributes flat, whose names may have dots", () => {
    const decoded = decode("attrs.user.tier=gold")
    assert.deepStrictEqual(Result.isSuccess(decoded) && [...decoded.success.attrs.keys()], ["user.tier"])
    assert.deepStrictEqual(pointersOf("attrs[user][tier]=gold").map(([pointer]) => pointer), ["attrs[user][tier]"])
  })
})
