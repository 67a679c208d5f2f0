import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { Buffer, isUtf8 } from "node:buffer"
import { encodingFaults } from "../../src/api/http/QueryFaults.ts"
import { bodyEncodingFault, encodingFault } from "../../src/text/Encodings.ts"

/** The bytes of a text in an encoding of one byte for each character. */
const encode = (text: string, label: string): Uint8Array => {
  const bytes = Uint8Array.from({ length: 256 }, (_, byte) => byte)
  const characters = [...new TextDecoder(label).decode(bytes)]
  return Uint8Array.from([...text], (character) => {
    const byte = characters.indexOf(character)
    assert.isAtLeast(byte, 0, character)
    return byte
  })
}

const hex = (text: string): Uint8Array => Buffer.from(text.replaceAll(" ", ""), "hex")

const looksLike = (bytes: Uint8Array) => encodingFault(bytes)?.looksLike

describe("encodingFault", () => {
  it("names Windows-1252 and Mac Roman of texts in Latin letters", () => {
    const texts = [
      "Grüße – 5 €",
      "Café",
      "Müller",
      "don’t miss “Sale” – 50 %",
      "Ça va? Très bien, à bientôt",
      "Año nuevo ¡Felicidades! ¿Qué?",
      "ÜBER 50 % GÜNSTIGER",
      "Blåbær Ørsted Ångström",
      "Prix : 10 € – «promo»",
    ]
    for (const text of texts) {
      assert.strictEqual(looksLike(encode(text, "windows-1252")), "Windows-1252", text)
      assert.strictEqual(looksLike(encode(text, "macintosh")), "Mac Roman", text)
    }
    assert.strictEqual(looksLike(encode("Łódź Kraków Wrocław żółty", "windows-1250")), "Windows-1250")
  })

  it("names encodings of other scripts", () => {
    assert.strictEqual(looksLike(encode("Привет, Анна! Скидка 50 %", "windows-1251")), "Windows-1251")
    assert.strictEqual(looksLike(encode("Привет, Анна! Скидка 50 %", "koi8-r")), "KOI8-R")
    assert.strictEqual(looksLike(hex("82b1 82f1 82c9 82bf 82cd")), "Shift-JIS")
    assert.strictEqual(looksLike(hex("a4b3 a4f3 a4cb a4c1 a4cf")), "EUC-JP")
    assert.strictEqual(looksLike(hex("d0c2 c4ea bfec c0d6")), "GBK")
    assert.strictEqual(looksLike(hex("bec8 b3e7 c7cf bcbc bfe4")), "EUC-KR")
  })

  it("recognizes UTF-16 with and without a byte order mark", () => {
    for (const text of ["subject: Hello", "templates:\n  - id: a", "s: Grüße – 5 €", "s: こんにちは"]) {
      const little = Buffer.from(text, "utf16le")
      const big = Buffer.from(little).swap16()
      assert.strictEqual(looksLike(little), "UTF-16 LE", text)
      assert.strictEqual(looksLike(big), "UTF-16 BE", text)
      assert.strictEqual(looksLike(Buffer.from(`\ufeff${text}`, "utf16le")), "UTF-16 LE")
      assert.strictEqual(looksLike(Buffer.from(`\ufeff${text}`, "utf16le").swap16()), "UTF-16 BE")
    }
    assert.strictEqual(looksLike(hex("fffe0000 41000000")), "UTF-32")
  })

  it("recognizes files that are not text", () => {
    assert.include(looksLike(hex("504b0304 14000600")), "Excel workbook")
    assert.include(looksLike(hex("d0cf11e0 a1b11ae1")), "old Excel")
  })

  it("names the line and the column of the first byte", () => {
    const latin = (text: string) => encodingFault(Buffer.from(text, "latin1"))
    assert.deepInclude(latin("a\nb\r\n  c: é"), { line: 3, column: 6 })
    assert.deepInclude(latin("a\rb é"), { line: 2, column: 3 })
    const mixed = Buffer.concat([Buffer.from("ü😀\n😀: "), Buffer.from("é", "latin1"), Buffer.from("€")])
    assert.deepInclude(encodingFault(mixed), { line: 2, column: 5 })
    assert.deepInclude(encodingFault(Buffer.concat([Buffer.alloc(100_001, "ü\n"), hex("ff")])), { line: 33_334 })
    assert.deepInclude(encodingFault(Buffer.from("Grüße €").subarray(0, -1)), {
      line: 1,
      column: 7,
      looksLike: "UTF-8 whose end is missing",
    })
  })

  it("accepts UTF-8, and finds a fault exactly in other bytes", () => {
    for (const text of ["", "a", "\ufeffGrüße", "a\0b", "😀"]) {
      assert.isUndefined(encodingFault(Buffer.from(text)), text)
    }
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        if (!isUtf8(bytes)) assert.isDefined(encodingFault(bytes))
      }),
      { numRuns: 2_000 },
    )
  })
})

describe("bodyEncodingFault", () => {
  it("says where a body is not UTF-8, what it looks like and what to do", () => {
    assert.strictEqual(
      bodyEncodingFault(Buffer.from('{"name":"Müller"}', "latin1")),
      "The body is not valid UTF-8 at line 1, column 11: it looks like Windows-1252. Send it as UTF-8",
    )
    assert.strictEqual(
      bodyEncodingFault(Uint8Array.of(0xff)),
      "The body is not valid UTF-8 at line 1, column 1. Send it as UTF-8",
    )
    assert.include(bodyEncodingFault(Buffer.from('{"a":1}', "utf16le")), "UTF-16 LE")
  })
})

describe("encodingFaults", () => {
  it("names parameters that are not UTF-8 after unescaping", () => {
    assert.deepStrictEqual(encodingFaults("user_id=M%FCller&template_id=t"), [{
      pointer: "user_id",
      detail: "is not UTF-8 at %FC: it looks like Windows-1252. Escape the bytes of UTF-8, such as %C3%A4 for ä",
    }])
    const pointers = (query: string) => encodingFaults(query).map(({ pointer }) => pointer)
    assert.deepStrictEqual(pointers("fields%5Bcity%5D=K%9Fln&x=1"), ["fields[city]"])
    assert.deepStrictEqual(pointers("fields[gr%FC%DFe]=x&a=%e4"), ["fields[gr%FC%DFe]", "a"])
    assert.deepStrictEqual(pointers("a=%C3%28&b=%80&c=%ED%A0%80&d=%C3"), ["a", "b", "c", "d"])
    assert.include(encodingFaults("a=%u20AC")[0]?.detail, "escape()")
    assert.strictEqual(encodingFaults("a=%E4&".repeat(100)).length, 20)
  })

  it("accepts UTF-8, signs that need no escape, and single percent signs", () => {
    for (const query of ["", "a=M%C3%BCller+x", "a=Müller%C3%A4", "a=50%&b=%zz", "a=%F0%9F%98%80&%E2%82%AC=1"]) {
      assert.deepStrictEqual(encodingFaults(query), [], query)
    }
  })
})
