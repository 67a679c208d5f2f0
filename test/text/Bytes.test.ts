import { assert, describe, it } from "@effect/vitest"
import { formatBytes, parseBytes } from "../../src/text/Bytes.ts"

describe("a number of bytes", () => {
  it("is parsed with decimal, binary and no unit", () => {
    assert.deepStrictEqual(["10 GiB", "500MB", "1.5 KiB", "1048576", " 1 B "].map(parseBytes), [
      10 * 1024 ** 3,
      500_000_000,
      1536,
      1_048_576,
      1,
    ])
  })

  it("is undefined for any other text", () => {
    for (const text of ["", "0", "-1", "10 G", "ten", "1e9", "0.5 B", "9000 PiB", "GiB"]) {
      assert.isUndefined(parseBytes(text), text)
    }
  })

  it("is written in the largest unit it fills", () => {
    assert.deepStrictEqual([0, 1023, 1024, 1536, 10 * 1024 ** 3, 123.4 * 1024 ** 2].map(formatBytes), [
      "0 bytes",
      "1023 bytes",
      "1 KiB",
      "1.5 KiB",
      "10 GiB",
      "123 MiB",
    ])
  })
})
