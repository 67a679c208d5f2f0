import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { Buffer } from "node:buffer"
import { textOfUtf8 } from "../../src/text/Utf8.ts"

/** The result of a decoder that refuses faults. */
const strictly = (bytes: Uint8Array): string | undefined => {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

describe("textOfUtf8", () => {
  it("equals a strict decoder for any bytes at any position of a buffer", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 12 }), fc.nat(3), (bytes, from) => {
        const part = Buffer.concat([Buffer.alloc(from, 0xff), bytes, Buffer.alloc(2, 0xff)]).subarray(
          from,
          from + bytes.length,
        )
        assert.strictEqual(textOfUtf8(part), strictly(bytes))
      }),
      { numRuns: 5_000 },
    )
  })

  it("equals a strict decoder for truncated text and for text with a changed byte", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.nat(), fc.nat(255), (text, place, byte) => {
        const bytes = new TextEncoder().encode(`\ufeff${text}é€😀`)
        const at = place % bytes.length
        assert.strictEqual(textOfUtf8(bytes.subarray(0, at)), strictly(bytes.subarray(0, at)))
        bytes[at] = byte
        assert.strictEqual(textOfUtf8(bytes), strictly(bytes))
      }),
      { numRuns: 5_000 },
    )
  })

  it("accepts empty text, removes a byte order mark, and rejects surrogates", () => {
    assert.strictEqual(textOfUtf8(new Uint8Array()), "")
    assert.strictEqual(textOfUtf8(Uint8Array.of(0xef, 0xbb, 0xbf, 0x61)), "a")
    assert.isUndefined(textOfUtf8(Uint8Array.of(0xed, 0xa0, 0x80)))
  })
})
