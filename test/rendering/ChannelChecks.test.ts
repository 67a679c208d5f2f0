import { assert, describe, it } from "@effect/vitest"
import { channelChecks, charactersOf, pushLimits } from "../../src/rendering/ChannelChecks.ts"
import { smsLength } from "../../src/rendering/SmsLength.ts"

describe("smsLength", () => {
  it("returns the encoding, units and messages of documented texts", () => {
    const cases: ReadonlyArray<readonly [text: string, encoding: string, units: number, segments: number]> = [
      ["", "GSM-7", 0, 0],
      // Dotdigital, "SMS message segmentation": 160, 306, 459 and 612 characters; in UTF-16 70, 134, 201 and 268.
      ["a".repeat(160), "GSM-7", 160, 1],
      ["a".repeat(161), "GSM-7", 161, 2],
      ["a".repeat(306), "GSM-7", 306, 2],
      ["a".repeat(307), "GSM-7", 307, 3],
      ["a".repeat(459), "GSM-7", 459, 3],
      ["a".repeat(612), "GSM-7", 612, 4],
      ["ж".repeat(70), "UCS-2", 70, 1],
      ["ж".repeat(71), "UCS-2", 71, 2],
      ["ж".repeat(134), "UCS-2", 134, 2],
      ["ж".repeat(135), "UCS-2", 135, 3],
      ["ж".repeat(201), "UCS-2", 201, 3],
      ["ж".repeat(268), "UCS-2", 268, 4],
      // Fortytwo and GMS: | ^ € { } [ ] ~ \ and form feed take two characters each.
      ["|^€{}[]~\\\f", "GSM-7", 20, 1],
      ["€".repeat(80), "GSM-7", 160, 1],
      // 76 of them fill 152 of 153 septets, so the 77th begins the second message.
      ["€".repeat(81), "GSM-7", 162, 2],
      ["€".repeat(153), "GSM-7", 306, 3],
      [`${"a".repeat(152)}€${"a".repeat(152)}`, "GSM-7", 306, 3],
      // 3GPP TS 23.038: the letters of the default alphabet.
      ["Grüße, señor! Ça coûte 5 £".replace("û", "ù"), "GSM-7", 26, 1],
      ["ΔΦΓΛΩΠΨΣΘΞ ÆæØøÅå ¤¡¿§\r\n", "GSM-7", 24, 1],
      // Without a place in it: ç, a backtick, a tab, Greek alpha, a no-break space, and typographic quotation marks.
      ["ça", "UCS-2", 2, 1],
      ["`", "UCS-2", 1, 1],
      ["a\tb", "UCS-2", 3, 1],
      ["Α", "UCS-2", 1, 1],
      ["5\u00a0€", "UCS-2", 3, 1],
      [`It’s ${"a".repeat(66)}`, "UCS-2", 71, 2],
      // An emoji is a surrogate pair: two units, never divided. 33 of them fill 66 of 67 units.
      ["😀".repeat(35), "UCS-2", 70, 1],
      ["😀".repeat(36), "UCS-2", 72, 2],
      ["😀".repeat(67), "UCS-2", 134, 3],
    ]
    for (const [text, encoding, units, segments] of cases) {
      const { foreign: _, ...found } = smsLength(text)
      assert.deepStrictEqual(found, { encoding, units, segments }, JSON.stringify(text.slice(0, 20)))
    }
  })

  it("names the characters that GSM-7 lacks once each", () => {
    assert.deepStrictEqual(smsLength("“a” ’ “").foreign, ["“", "”", "’"])
  })
})

describe("channelChecks", () => {
  const of = (vars: Record<string, string>) => channelChecks(vars)[0]

  it("find texts of SMS and push by the names of variables", () => {
    const names = ["sms", "SMS_text", "sms-body", "smsMessage", "push", "push_title", "pushBody", "push-message"]
    const others = ["subject", "body", "smsurl", "push_image", "title", "sms_link"]
    const found = channelChecks(Object.fromEntries([...names, ...others].map((name) => [name, "Hi"])))
    assert.deepStrictEqual(found.map(({ variable }) => variable), names)
  })

  it("name the characters that shorten an SMS, and what it costs", () => {
    assert.deepInclude(of({ sms: "Hi" }), { status: "ok", length: 2, segments: 1 })
    assert.strictEqual(of({ sms: "Hi" })?.detail, "2 septets in GSM-7: 1 message.")
    const typographic = of({ sms: `It’s ${"a".repeat(66)}` })
    assert.deepInclude(typographic, { status: "warn", segments: 2 })
    assert.include(typographic?.detail, "GSM-7 has no ’ (U+2019, write ')")
    assert.include(of({ sms: "a\u00a0b" })?.detail, "no (U+00A0, write a space)")
    assert.include(of({ sms: "абвгд" })?.detail, "and 2 others")
    assert.strictEqual(of({ sms: "a".repeat(1_600) })?.status, "warn")
    assert.deepInclude(of({ sms: "a".repeat(1_601) }), { status: "wrong", segments: 11 })
  })

  it("compare texts of push with the limits of each platform", () => {
    // "Message content restrictions" of Alibaba Cloud's Mobile Push. A Chinese character counts twice on iOS and vivo.
    const limits: ReadonlyArray<readonly [platform: string, variable: string, text: string]> = [
      ["iOS", "push_title", "a".repeat(40)],
      ["iOS", "push_title", "推".repeat(20)],
      ["iOS", "push_body", "a".repeat(110)],
      ["iOS", "push_body", "推".repeat(55)],
      ["Android", "push_title", "a".repeat(65)],
      ["Android", "push_body", "a".repeat(240)],
      ["Huawei", "push_title", "推".repeat(40)],
      ["Huawei", "push_body", "a".repeat(1_024)],
      ["Xiaomi", "push_title", "a".repeat(50)],
      ["Xiaomi", "push_body", "推".repeat(128)],
      ["OPPO", "push_title", "a".repeat(32)],
      ["OPPO", "push_body", "a".repeat(200)],
      ["vivo", "push_title", "推".repeat(20)],
      ["vivo", "push_body", "推".repeat(50)],
    ]
    assert.sameMembers([...new Set(limits.map(([platform]) => platform))], pushLimits.map(({ platform }) => platform))
    for (const [platform, variable, text] of limits) {
      assert.notInclude(of({ [variable]: text })?.detail, platform, `${platform} takes the ${variable}`)
      assert.include(of({ [variable]: `${text}a` })?.detail, platform, `${platform} takes no longer ${variable}`)
    }
    assert.strictEqual(of({ push_title: "a".repeat(33) })?.status, "ok", "OPPO alone is no reason for a warning")
    assert.strictEqual(of({ push_title: "a".repeat(41) })?.status, "warn")
    assert.strictEqual(of({ push_body: "推".repeat(1_366) })?.status, "wrong", "4,098 bytes")
  })

  it("count an emoji of several code points once", () => {
    assert.strictEqual(charactersOf("👩‍👩‍👧 hi"), 4)
    assert.strictEqual(charactersOf("推送", true), 4)
  })
})
