import { assert, describe, it } from "@effect/vitest"
import { Buffer } from "node:buffer"
import { doubleEncoding } from "../../src/text/DoubleEncoding.ts"

/** Encodes a text as a program does that reads UTF-8 as Windows-1252. */
const twice = (text: string) => new TextDecoder("windows-1252").decode(Buffer.from(text))

describe("doubleEncoding", () => {
  it("finds text that was encoded twice, with its place and the text that was meant", () => {
    assert.deepStrictEqual(doubleEncoding(`a\n  s: Gr${twice("ü")}n`), {
      line: 2,
      column: 8,
      written: "Ã¼",
      meant: "ü",
    })
    for (const text of ["ß", "€", "–", "“", "’", "é", "°", "😀", "こ", "ж"]) {
      assert.strictEqual(doubleEncoding(`x ${twice(text)} y`)?.meant, text, text)
    }
  })

  it("accepts words of all languages", () => {
    for (
      const text of ["", "Grüße – 5 €", "«Être»", "ÀÉÎ", "Añejo ¡Sí!", "naïve “Café”", "ÆØÅ", "Привет", "こんにちは"]
    ) {
      assert.isUndefined(doubleEncoding(text), text)
    }
  })
})
