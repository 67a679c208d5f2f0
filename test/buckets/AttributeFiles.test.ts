import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { gzipSync } from "node:zlib"
import { fileLimits, readFile } from "../../src/buckets/AttributeReading.ts"
import { slicesOf } from "../../src/buckets/AttributeFiles.ts"
import type { OrgSlug } from "../../src/domain/Ids.ts"

const modifiedAt = Date.parse("2026-11-28T10:00:00Z")

const read = (content: string | Uint8Array, size = content.length) =>
  Effect.runPromise(
    readFile("acme" as OrgSlug, { modifiedAt, size }, Uint8Array.from(Buffer.from(content)), modifiedAt + 60_000),
  )

const callsOf = ({ bodies }: Awaited<ReturnType<typeof read>>) =>
  bodies.flatMap(({ body }) => JSON.parse(new TextDecoder().decode(body)) as ReadonlyArray<Record<string, unknown>>)

describe("files with attributes", () => {
  it("are CSV, with the columns of a warehouse", async () => {
    const file = await read(
      '\ufeffUSER_ID,EMAIL,tier,"city, home"\r\nann,Ann@shop.example,gold,"Oslo\r\nNorth"\r\nben,,,Bergen\r\n\r\n',
    )
    assert.deepStrictEqual([file.people, file.faulty, file.faults], [2, 0, []])
    assert.deepStrictEqual(callsOf(file), [
      {
        type: "identify",
        userId: "ann",
        context: { traits: { email: "Ann@shop.example" } },
        traits: { tier: "gold", "city, home": "Oslo\r\nNorth" },
        timestamp: "2026-11-28T10:00:00.000Z",
      },
      {
        type: "identify",
        userId: "ben",
        traits: { tier: null, "city, home": "Bergen" },
        timestamp: "2026-11-28T10:00:00.000Z",
      },
    ])
  })

  it("have null and empty columns as warehouses and spreadsheets write them, and spaces around values", async () => {
    const file = await read(
      'user_id, email , tier,,\nann, \\N, gold ,,\nben,b@x.example,\\N,,\n\\N,,gold,,\n"c d",,"a, b",,\n',
    )
    assert.deepStrictEqual(file.faults, ["Line 4 has no user_id"])
    assert.deepStrictEqual(
      callsOf(file).map((
        { context, traits, userId },
      ) => [userId, (context as { traits?: { email?: string } } | undefined)?.traits?.email, traits]),
      [
        ["ann", undefined, { tier: "gold" }],
        ["ben", "b@x.example", { tier: null }],
        ["c d", undefined, { tier: "a, b" }],
      ],
    )
    assert.deepStrictEqual((await read("user_id,tier,\nann,gold,x\n")).people, 0)
  })

  it("keep an attribute whose new number is too large", async () => {
    const file = await read('{"user_id":"ann","score":1e400}\n{"user_id":"ben","scores":[1,-1e400]}\n')
    assert.deepStrictEqual(file.faults, [
      'Line 1 "score" has a number that is too large',
      'Line 2 "scores" has a number that is too large',
    ])
  })

  it("may have semicolons or tabs, and be compressed", async () => {
    for (const separator of [";", "\t"]) {
      const text = ["user_id", "tier"].join(separator) + "\n" + ["ann", "a,b,c"].join(separator)
      assert.deepStrictEqual(callsOf(await read(gzipSync(text))).map(({ traits }) => traits), [{ tier: "a,b,c" }])
    }
  })

  it("are lines of JSON, in which absent attributes stay", async () => {
    const file = await read(
      '{"user_id":"ann","age":41,"tags":["a","b"],"gone":null}\n\n{"user_id":7,"vip":true}\n{"user_id":"eve","home":{"city":"Oslo"}}\n' +
        '{"age":3}\nnot json\n{"user_id":"undefined","age":3}\n{"user_id":"fay"}\n',
    )
    assert.deepStrictEqual(callsOf(file).map(({ traits, userId }) => [userId, traits]), [
      ["ann", { age: 41, tags: ["a", "b"], gone: null }],
      ["7", { vip: true }],
    ])
    assert.strictEqual(file.people, 2)
    assert.strictEqual(file.faulty, 5)
    assert.deepStrictEqual(
      file.faults.map((fault) => fault.slice(0, 40)),
      [
        'Line 4 "home" must be a text, a number, t',
        "Line 5 has no user_id",
        "Line 6 is not valid JSON",
        file.faults[3]!.slice(0, 40),
        "Line 8 has no attributes",
      ].map((fault) => fault.slice(0, 40)),
    )
    assert.match(file.faults[3]!, /^Line 7 .*undefined/)
  })

  it("are refused as a whole with the reason", async () => {
    const columns = Array.from({ length: 300 }, (_, at) => `c${at}`)
    const bomb = gzipSync(Buffer.alloc(fileLimits.read + 1, "a"))
    for (
      const [content, reason] of [
        ["", /The file is empty/],
        ["email,tier\na@b.example,gold\n", /no column user_id/],
        ["user_id,tier,tier\nann,a,b\n", /column "tier" twice/],
        ["user_id|tier\nann|gold\n", /no column user_id\. Commas, semicolons or tabs separate columns/],
        ['[{"user_id":"ann","tier":"gold"}]', /is a list of JSON\. Write each object in a line of its own/],
        ["PAR1\u0015\u0004", /is Parquet\. Write CSV or NDJSON/],
        [`user_id,${columns.join()}\n`, /301 columns; at most 200/],
        [Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0xff, 0xfe), /not text in UTF-8/],
        [Uint8Array.of(0x1f, 0x8b, 1, 2, 3), /not valid gzip/],
        [bomb, /more than 64 MiB without compression/],
      ] as const
    ) {
      const file = await read(content)
      assert.deepStrictEqual([file.people, file.bodies.length], [0, 0])
      assert.match(file.faults.join(), reason)
    }
    assert.match((await read("user_id,a\n", fileLimits.stored + 1)).faults.join(), /more than 32 MiB/)
  })

  it("name the lines that were not taken, and keep the first faults of many", async () => {
    const rows = Array.from({ length: 100 }, (_, at) => at % 2 === 0 ? `u${at},gold` : `u${at},gold,more`)
    const file = await read(`user_id,tier\n${rows.join("\n")}`)
    assert.deepStrictEqual([file.people, file.faulty, file.faults.length], [50, 50, 20])
    assert.strictEqual(file.faults[0], "Line 3 has 3 values, and the header 2 columns")
  })

  it("are cut only between rows, with the numbers of their lines", async () => {
    const row = `ann,"a ""quoted"" text\nin two lines ${"x".repeat(500)}"\n`
    const text = `user_id,note\n${row.repeat(2_000)}bob,fine,more\n`
    const slices = [...slicesOf(text, true)]
    assert.isAbove(slices.length, 4)
    assert.strictEqual(slices.map((slice) => slice.text).join(""), text)
    const file = await read(text)
    assert.deepStrictEqual([file.people, file.faulty], [2_000, 1])
    assert.strictEqual(file.faults[0], "Line 4002 has 3 values, and the header 2 columns")
    assert.deepStrictEqual([...slicesOf("a\n".repeat(3), false)], [{ text: "a\na\na\n", line: 1 }])
  })
})
