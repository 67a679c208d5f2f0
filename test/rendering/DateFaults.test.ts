import { assert, describe, it } from "@effect/vitest"
import { dateFault, timeZoneFault } from "../../src/rendering/DateFaults.ts"
import { savingFaults } from "../../src/rendering/SavingFaults.ts"
import { textOf } from "./variants.ts"

const formatFault = (format: string | number | undefined) => dateFault([format, undefined])

describe("dateFault", () => {
  it.each([
    ["yyyy-MM-dd", "%Y-%m-%d"],
    ["dd.MM.yyyy HH:mm", "%d.%m.%Y %H:%M"],
    ["dd/mm/yyyy", "%d/%m/%Y"],
    ["MMMM D, YYYY", "%B %-d, %Y"],
    ["MMM Do YYYY", "%b %-d%q %Y"],
    ["EEEE, d MMMM yyyy", "%A, %-d %B %Y"],
    ["yyyy-MM-dd'T'HH:mm:ssXXX", "%Y-%m-%dT%H:%M:%S%:z"],
    ["D MMMM [at] h:mm A", "%-d %B at %-I:%M %p"],
    ["d.m.Y", "%d.%m.%Y"],
    ["F j, Y", "%B %-d, %Y"],
    ["Y-m-d H:i", "%Y-%m-%d %H:%M"],
  ])("names the strftime format for %j", (format, expected) => {
    const fault = formatFault(format)!
    assert.include(fault, `the format ${JSON.stringify(format)} has no directive`)
    assert.include(fault, `write ${JSON.stringify(expected)}`)
  })

  it("refuses formats without a directive, and an empty one", () => {
    for (const format of ["abbreviated_date", "long", "today", 5]) {
      assert.include(formatFault(format), 'write one such as "%-d %B %Y"')
    }
    for (const format of ["", " "]) assert.include(formatFault(format), "the format is empty")
    assert.include(formatFault("%d".repeat(200)), "longer than 256 characters")
  })

  it("refuses directives that do not exist", () => {
    assert.include(formatFault("%d.%f"), 'there is no directive "%f" in a format of dates: write %6N')
    assert.include(formatFault("%Q"), "write %s%L")
    assert.include(formatFault("%K"), 'no directive "%K"')
    assert.include(formatFault("100 % %d"), "write %% for a percent sign")
    assert.include(formatFault("%d. MMMM"), 'the format has "MMMM", which readers see as it is: write "%B"')
  })

  it("accepts every directive, and arguments that are known only later", () => {
    const all = "%-d %^a %010Y %3N %:z %::z %V %G %g %v %+ %C %u %w %j %U %W %s %L %N %P %p %h %n %t %% %x %X %c %D %F"
    for (const format of [all, "%T %R %r %e %k %l %I %Ey %Oe %q%%", "KW %V", undefined]) {
      assert.isUndefined(formatFault(format))
    }
    assert.isUndefined(dateFault([]))
  })

  it("refuses zones that do not exist", () => {
    assert.include(dateFault(["%F", "Berlinn"]), 'there is no time zone "Berlinn": write an IANA name')
    assert.include(dateFault(["%F", 5000]), "there is no time zone 5000 minutes west of UTC")
    assert.isUndefined(dateFault(["%F", -330]))
    assert.isUndefined(dateFault([undefined, "W. Europe Standard Time"]))
  })
})

describe("timeZoneFault", () => {
  it("refuses zones that do not exist", () => {
    for (const zone of ["Mars/Base", "", "+25:00", 5]) assert.include(timeZoneFault([zone]), "there is no time zone")
    for (const zone of ["Eastern Time (US & Canada)", "europe/berlin", "GMT+2", "UTC-5", "Z", undefined]) {
      assert.isUndefined(timeZoneFault([zone]))
    }
  })
})

describe("a source with a date", () => {
  const faultOf = (source: string) => savingFaults({ v: source }, {})[0]

  it("cannot be saved with a literal format or zone that does not exist, and still renders", () => {
    const refused: ReadonlyArray<readonly [source: string, column: number, words: string, rendered: string]> = [
      ["{{ v | date: 'yyyy-MM-dd' }}", 8, 'date: the format "yyyy-MM-dd" has no directive', "yyyy-MM-dd"],
      ["{% assign d = v | date: '%K' %}{{ d }}", 19, 'date: there is no directive "%K"', "%K"],
      ["{{ v | time_zone: 'Mars/Base' | date: '%R' }}", 8, 'time_zone: there is no time zone "Mars/Base"', "08:00"],
      ["{{ v | date: '%R', 'Mars/Base' }}", 8, 'date: there is no time zone "Mars/Base"', "08:00"],
    ]
    for (const [source, column, words, rendered] of refused) {
      const fault = faultOf(source)
      assert.include(fault?.message, words)
      assert.strictEqual(fault?.column, column, source)
      assert.strictEqual(textOf(source, { v: "2026-03-14T08:00:00Z" }), rendered)
    }
  })

  it("can be saved with formats and zones of fields", () => {
    for (
      const source of [
        "{{ v | date: format, zone }}",
        "{{ v | time_zone: user.zone | date: '%-d %B' }}",
        "{{ v | date }}",
      ]
    ) {
      assert.isUndefined(faultOf(source), source)
    }
  })
})
