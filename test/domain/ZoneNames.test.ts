import { assert, describe, it } from "@effect/vitest"
import names from "../../src/domain/zoneNames.json" with { type: "json" }
import { ianaZone, isIanaZone, zoneNamed } from "../../src/domain/ZoneNames.ts"

describe("zoneNamed", () => {
  it.each([
    ["Europe/Berlin", "Europe/Berlin"],
    ["europe/BERLIN", "Europe/Berlin"],
    ["Asia/Kolkata", "Asia/Kolkata"],
    ["America/New York", "America/New_York"],
    ["us_slash_eastern", "us/eastern"],
    ["Eastern Time (US & Canada)", "America/New_York"],
    ["(GMT-05:00) Eastern Time (US & Canada)", "America/New_York"],
    ["eastern time (us & canada)", "America/New_York"],
    ["Berlin", "Europe/Berlin"],
    ["W. Europe Standard Time", "Europe/Berlin"],
    ["Central European Standard Time", "Europe/Warsaw"],
    [" UTC ", "UTC"],
    ["z", "UTC"],
    ["+02:00", 7_200],
    ["+02", 7_200],
    ["-0530", -19_800],
    ["UTC-5", -18_000],
    ["UTC\u22125", -18_000],
    ["GMT+2", 7_200],
    ["GMT+05:45", 20_700],
  ])("knows %j", (text, zone) => assert.strictEqual(zoneNamed(text), zone))

  it.each([
    "",
    "Mars/Base",
    "Berlinn",
    "+25:00",
    "+02:60",
    "5",
    "02:00",
    "105",
    "v2",
    "UTC 05",
    "BST",
    "AST",
    "../etc/passwd",
    "__proto__",
    "x".repeat(100),
  ])(
    "does not know %j",
    (text) => assert.isUndefined(zoneNamed(text)),
  )

  it("knows every zone of the runtime", () => {
    for (const zone of Intl.supportedValuesOf("timeZone")) assert.strictEqual(zoneNamed(zone.toLowerCase()), zone)
  })
})

describe("ianaZone", () => {
  it("knows the IANA name of every zone of Rails and Windows", () => {
    assert.isAtLeast(Object.keys(names).length, 280)
    for (const [name, zone] of Object.entries(names)) {
      assert.isTrue(isIanaZone(zone), zone)
      assert.strictEqual(ianaZone(name.toUpperCase()), zone)
    }
  })

  it("knows no offsets, because they have no daylight-saving time", () => {
    for (const offset of ["+02:00", "UTC-5", "GMT+2"]) assert.isUndefined(ianaZone(offset))
  })
})
