import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { isNarrowed, listQueryIn, type ListShape, nextQuery, pageOf, queryOf } from "../../src/domain/List.ts"

interface Row {
  readonly id: string
  readonly name: string
  readonly used: number | null
}

const shape: ListShape<Row> = {
  idOf: ({ id }) => id,
  textsOf: ({ id, name }) => [id, name],
  filters: {
    use: {
      label: "Use",
      options: [["ever", "used"], ["never", "never used"]],
      matches: ({ used }, use) => (used !== null) === (use === "ever"),
    },
  },
  sorts: {
    name: { label: "Name", descending: false, valueOf: ({ name }) => name },
    used: { label: "Used", descending: true, valueOf: ({ used }) => used },
  },
  sort: "name",
}

const asked = (query: string) => listQueryIn(shape, new URLSearchParams(query))
const row = (id: string, name: string, used: number | null = null): Row => ({ id, name, used })
const idsOf = (rows: ReadonlyArray<Row>) => rows.map(({ id }) => id)

/** The ids of all pages, by following the links. */
const walk = (rows: ReadonlyArray<Row>, query: string, size: number): ReadonlyArray<string> => {
  const seen: Array<string> = []
  for (let next: string | undefined = query, pages = 0; next !== undefined; pages++) {
    assert.isAtMost(pages, rows.length, "the links come to an end")
    const ask = asked(next)
    const page = pageOf(shape, rows, ask, size)
    assert.strictEqual(page.before, seen.length)
    seen.push(...idsOf(page.rows))
    next = nextQuery(shape, ask, page)
  }
  return seen
}

describe("a page of a list", () => {
  it("sorts texts in natural order, and rows without a value last in both directions", () => {
    const rows = [row("a", "Message 10", 3), row("b", "Message 9"), row("c", "message 11", 7)]
    assert.deepStrictEqual(idsOf(pageOf(shape, rows, asked(""), 9).rows), ["b", "a", "c"])
    assert.deepStrictEqual(idsOf(pageOf(shape, rows, asked("order=desc"), 9).rows), ["c", "a", "b"])
    assert.deepStrictEqual(idsOf(pageOf(shape, rows, asked("sort=used"), 9).rows), ["c", "a", "b"])
    assert.deepStrictEqual(idsOf(pageOf(shape, rows, asked("sort=used&order=asc"), 9).rows), ["a", "c", "b"])
  })

  it("searches in all texts, filters, and counts", () => {
    const rows = [row("shop-1", "Berlin", 1), row("b", "SHOP"), row("c", "Other", 2)]
    const page = pageOf(shape, rows, asked("q=+Shop&use=ever"), 9)
    assert.deepInclude(page, { all: 3, found: 1, before: 0, hasMore: false })
    assert.deepStrictEqual(idsOf(page.rows), ["shop-1"])
  })

  it("ignores unknown filters, sorts and directions", () => {
    const ask = asked("use=sometimes&sort=password&order=up&q=++")
    assert.deepStrictEqual(ask, { search: "", filters: {}, sort: "name", descending: false, cursor: undefined })
    assert.isFalse(isNarrowed(ask))
    assert.strictEqual(queryOf(shape, ask), "")
  })

  it("keeps the search, filters and sort in its links", () => {
    const ask = asked("q=a%26b&use=never&sort=used&order=asc&cursor=x&after=1")
    assert.strictEqual(queryOf(shape, ask), "?q=a%26b&use=never&sort=used&order=asc")
    assert.strictEqual(queryOf(shape, ask, { sort: "name", descending: false }), "?q=a%26b&use=never")
  })

  it("shows every row once over all pages, in the order of a single page", () => {
    const rows = fc.uniqueArray(
      fc.record({
        id: fc.stringMatching(/^[a-z]{1,3}$/),
        name: fc.constantFrom("", "A", "a", "B 2", "B 10", "é", "שלום", "🎂"),
        used: fc.option(fc.integer({ min: -3, max: 3 })),
      }),
      { selector: ({ id }) => id, maxLength: 40 },
    )
    const query = fc.constantFrom("", "order=desc", "sort=used", "sort=used&order=asc", "use=never", "q=b")
    fc.assert(
      fc.property(rows, query, fc.integer({ min: 1, max: 7 }), (rows, query, size) => {
        assert.deepStrictEqual(walk(rows, query, size), idsOf(pageOf(shape, rows, asked(query), rows.length + 1).rows))
      }),
    )
  })

  it("continues at the same place if the last row of a page was deleted", () => {
    const rows = [row("a", "1"), row("b", "2"), row("c", "3"), row("d", "4")]
    const first = pageOf(shape, rows, asked(""), 2)
    const next = asked(nextQuery(shape, asked(""), first)!)
    assert.deepStrictEqual(idsOf(pageOf(shape, rows.filter(({ id }) => id !== "b"), next, 2).rows), ["c", "d"])
    const renamed = rows.map((one) => one.id === "b" ? row("b", "9") : one)
    assert.deepStrictEqual(idsOf(pageOf(shape, renamed, next, 2).rows), ["c", "d"])
  })
})
