import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import fc from "fast-check"
import { partsOf } from "../../src/cli/SuppressionCommand.ts"
import type { SuppressionEntry } from "../../src/suppressions/Suppression.ts"
import { SuppressionReason } from "../../src/domain/SuppressionReason.ts"
import { csvHeader, csvLine, maxRows, readCsv, spreadsheetLine } from "../../src/suppressions/SuppressionCsv.ts"
import { csvRows } from "../../src/text/CsvRows.ts"

const now = Date.parse("2026-06-01T00:00:00Z")

const readAll = (text: string) => Effect.runPromise(readCsv(text, now))

const faultsOf = async (text: string) => {
  const read = await readAll(text)
  return Result.isFailure(read) ? read.failure.map(({ detail, pointer }) => `${pointer} ${detail}`) : []
}

describe("the suppression list as CSV", () => {
  it("reads addresses without a header, and columns by their names in any order", async () => {
    const plain = Result.getOrThrow(await readAll("ann@example.com\r\nbob@example.com,ignored\n\n  \ncy@example.com"))
    assert.deepStrictEqual(plain.rows.map(({ address, reason }) => `${address} ${reason}`), [
      "ann@example.com manual",
      "bob@example.com manual",
      "cy@example.com manual",
    ])
    const named = Result.getOrThrow(
      await readAll('Source,Reason,Other,EMAIL\n"a, ""b""",spam,,ann@example.com\nx,bounce\n,,,\n'),
    )
    assert.deepStrictEqual(named.rows.map(({ address, reason, source }) => [address, reason, source]), [
      ["ann@example.com", "complaint", 'a, "b"'],
    ])
    assert.strictEqual(named.skipped, 1)
  })

  it("reads the files of Excel and Numbers", async () => {
    const files = [
      "\ufeffE-Mail;Reason;;\r\nann@example.com;spam;;\r\n;;;\r\n;;;\r\n",
      "sep=;\r\nE-Mail Address;Reason\r\nann@example.com;spam\r\n",
      '"sep=\t"\nEmail\tReason\nann@example.com\tspam\n',
      "email,reason\rann@example.com,spam\r",
      "Table 1\n\nemail;reason\nann@example.com;spam\n",
      "Opt-outs 2026;\r\n;\r\nMail;Reason\r\nann@example.com;spam",
      '"email";"note, with ; and ""quotes""";reason\n"ann@example.com";"a;b\r\nc";spam\n',
    ]
    for (const file of files) {
      const { rows, skipped } = Result.getOrThrow(await readAll(file))
      assert.deepStrictEqual(
        rows.map(({ address, reason }) => [address, reason]),
        [["ann@example.com", "complaint"]],
        file,
      )
      assert.strictEqual(skipped, 0)
    }
  })

  it("reads the columns and reasons of other platforms", async () => {
    const files: ReadonlyArray<readonly [file: string, reason: string, at: number | undefined]> = [
      [
        "EmailAddress,SuppressionReason,Origin,CreatedAt\nann@example.com,HardBounce,Recipient,2026-05-04T00:00:00-05:00",
        "hard_bounce",
        Date.parse("2026-05-04T05:00Z"),
      ],
      ["EmailAddress,Reason,LastUpdateTime\nann@example.com,BOUNCE,2026-05-04T00:00:00.5Z", "hard_bounce", undefined],
      ["E-Mail-Adresse;Grund;Datum\nann@example.com;Spam Complaint;29.04.2026", "complaint", Date.parse("2026-04-29")],
      ['address,created_at\nann@example.com,"Fri, 21 Oct 2011 11:02:55 GMT"', "manual", 1_319_194_975_000],
      [
        "Recipient,Reason,Date\nann@example.com,opt-out,2026-05-04 10:00",
        "unsubscribe",
        Date.parse("2026-05-04T10:00Z"),
      ],
    ]
    for (const [file, reason, at] of files) {
      const { rows } = Result.getOrThrow(await readAll(file))
      assert.deepStrictEqual(rows.map((row) => [row.address, row.reason]), [["ann@example.com", reason]], file)
      if (at !== undefined) assert.strictEqual(rows[0]!.at, at, file)
    }
  })

  it("refuses days that do not exist and days whose month is unknown", async () => {
    for (const day of ["2026-02-30", "2026-13-01", "03/04/2026", "45000.5"]) {
      assert.match((await faultsOf(`email,date\nann@example.com,${day}\n`)).join(), /^\/line\/2 time .* ISO 8601/)
    }
  })

  it("replaces a future date by the current time", async () => {
    const { rows } = Result.getOrThrow(
      await readAll("address,date\na@example.com,2999-01-01\nb@example.com,2026-05-04"),
    )
    assert.deepStrictEqual(rows.map(({ at }) => at), [now, Date.parse("2026-05-04")])
  })

  it("reports every fault with its line, also after values with line breaks", async () => {
    assert.deepStrictEqual(
      (await faultsOf('address,source,date\n"a@example.com","x\ny",\nbad,,\nb@example.com,,soon\n')).map((text) =>
        text.slice(0, 7)
      ),
      ["/line/4", "/line/5"],
    )
    assert.match((await faultsOf('address\n"a@example.com'))[0]!, /^\/line\/2 .*quotation mark/)
    assert.match((await faultsOf("name,reason\nAnn,spam"))[0]!, /^\/line\/1 .*header/)
    const many = Array.from({ length: maxRows + 1 }, (_, i) => `p${i}@example.com`).join("\n")
    assert.match((await faultsOf(many))[0]!, /20,000/)
  })

  it("round-trips its rows", async () => {
    const entry = fc.record({
      id: fc.nat(),
      address: fc.nat().map((n): string | null => `p${n}@example.com`),
      reason: fc.constantFrom(...SuppressionReason.literals),
      source: fc.stringMatching(/^[ -~\n]{1,20}$/).filter((text) => text.trim() === text && text !== ""),
      suppressedAt: fc.date({ min: new Date(0), max: new Date(now), noInvalidDate: true }),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(entry, { minLength: 1 }), async (entries: Array<SuppressionEntry>) => {
        const { rows } = Result.getOrThrow(await readAll(csvHeader + entries.map(csvLine).join("")))
        assert.deepStrictEqual<unknown>(
          rows,
          entries.map(({ address, reason, source, suppressedAt }) => ({
            address,
            reason,
            source,
            at: suppressedAt.getTime(),
          })),
        )
      }),
      { numRuns: 100 },
    )
  })

  it("is safe in spreadsheets, and its addresses round-trip", async () => {
    for (const address of ["=cmd|'/Ccalc'!A1-@x.example", "+news@x.example", "-1@x.example", "o'brien@x.example"]) {
      const entry = { id: 1, address, reason: "manual", source: "=1+1", suppressedAt: new Date(now) } as const
      const written = spreadsheetLine(entry)
      assert.notMatch(written, /(^|,)[=+\-@]/)
      for (const text of [written, csvLine(entry)]) {
        const { rows } = Result.getOrThrow(await readAll(csvHeader + text))
        assert.deepInclude(rows[0], { address })
      }
    }
    assert.include(
      csvLine({ id: 1, address: "+news@x.example", reason: "manual", source: "a", suppressedAt: new Date(now) }),
      "+news",
    )
  })

  it("is divided into parts for one request each, without losing a row", () => {
    const lines = Array.from({ length: 45_000 }, (_, i) => `p${i}@example.com,unsubscribe`)
    const parts = partsOf(`address,reason\n${lines.join("\n")}`)
    assert.isAbove(parts.length, 2)
    const rows = parts.flatMap((part) => {
      const [header, ...rest] = Result.getOrThrow(csvRows(part))
      assert.deepStrictEqual(header!.values, ["address", "reason"])
      assert.isAtMost(rest.length, maxRows)
      assert.isAtMost(part.length, 1024 * 1024)
      return rest.map(({ values }) => values.join(","))
    })
    assert.deepStrictEqual(rows, lines)
    assert.deepStrictEqual(partsOf("a@example.com\n"), ["a@example.com\n"])
  })
})
