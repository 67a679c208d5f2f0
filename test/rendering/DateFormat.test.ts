import { assert, describe, it } from "@effect/vitest"
import { unknownDirective, type WallTime, write } from "../../src/rendering/DateFormat.ts"
import reference from "./references/strftime.json" with { type: "json" }

// `references/strftime.json` has, for each format, what Time#strftime of Ruby 3.1 writes at each of the moments.

const moments = reference.moments.map(({ nanos, offset, seconds }): WallTime => {
  const instant = seconds * 1_000 + Math.floor(nanos / 1e6)
  return { instant, wall: new Date(instant + offset * 1_000), nanos: nanos % 1e6, offset, zone: "" }
})

describe("write", () => {
  it("writes every directive with every flag and width as Ruby does", () => {
    for (const [format, ...texts] of reference.texts) {
      assert.deepStrictEqual(moments.map((moment) => write(moment, format!)), texts, format)
    }
  })

  it("writes the ending of the day, the name of the zone and the date of the program date", () => {
    const at = { ...moments[0]!, zone: "Asia/Kolkata" }
    assert.strictEqual(write(at, "%-d%q %Z / %+"), "4th Asia/Kolkata / Wed Mar  4 05:06:07 Asia/Kolkata 2026")
    assert.strictEqual(write(moments[0]!, "%Z"), "+0530")
  })
})

describe("unknownDirective", () => {
  it("finds the first directive that Ruby would print", () => {
    for (const [format] of reference.texts) {
      const isPrinted = /^%(?:[fiJKE]|:d|Ed|Oa|O|10:d)$/.test(format!)
      assert.strictEqual(unknownDirective(format!) !== undefined, isPrinted, format)
    }
    assert.strictEqual(unknownDirective("%d %Q %f"), "%Q")
    assert.strictEqual(unknownDirective("100 %"), "%")
    assert.strictEqual(unknownDirective("%-d. %B %Y, 100 %%"), undefined)
  })
})
