import { assert, describe, it } from "@effect/vitest"
import { Buffer } from "node:buffer"
import { execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Tar from "../../../src/store/bundled/Tar.ts"

const bytes = (size: number) => Buffer.from(Array.from({ length: size }, (_, at) => at % 251))

const archive = (files: ReadonlyArray<readonly [string, number]>) =>
  Buffer.concat([
    Tar.headerOf({ name: "data", size: 0, type: "folder" }),
    ...files.flatMap(([name, size]) => [
      Tar.headerOf({ name, size, type: "file" }),
      bytes(size),
      Tar.paddingOf(size),
    ]),
    Tar.end,
  ])

async function* inPieces(whole: Buffer, size: number) {
  for (let at = 0; at < whole.length; at += size) yield whole.subarray(at, at + size)
}

const readAll = async (chunks: AsyncIterable<Uint8Array>) => {
  const found: Array<readonly [string, string, string]> = []
  for await (const [{ name, type }, content] of Tar.read(chunks)) {
    const parts: Array<Buffer> = []
    for await (const part of content) parts.push(part)
    found.push([name, type, Buffer.concat(parts).toString("hex")])
  }
  return found
}

const files = [["data/empty", 0], ["data/one", 1], ["data/block", 512], ["data/more", 1300]] as const

describe("Archives of backups", () => {
  it("are read as they were written, in pieces of any size", async () => {
    const expected = [
      ["data", "folder", ""],
      ...files.map(([name, size]) => [name, "file", bytes(size).toString("hex")]),
    ]
    for (const size of [1, 7, 512, 100_000]) {
      assert.deepStrictEqual(await readAll(inPieces(archive(files), size)) as unknown, expected)
    }
  })

  it("are what tar reads", () => {
    const folder = mkdtempSync(join(tmpdir(), "parlance-tar-"))
    try {
      writeFileSync(join(folder, "a.tar"), archive(files))
      execFileSync("tar", ["-x", "-f", "a.tar"], { cwd: folder })
      for (const [name, size] of files) assert.deepStrictEqual(readFileSync(join(folder, name)), bytes(size))
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })

  it("are refused when they are cut off, damaged, or name files elsewhere", async () => {
    const whole = archive(files)
    const fails = async (one: Buffer, reason: RegExp) => {
      const error = await readAll(inPieces(one, 1000)).then(() => undefined, (error) => error)
      assert.match(String(error), reason)
    }
    await fails(whole.subarray(0, 1500), /ends too early/)
    const damaged = Buffer.from(whole)
    damaged[0] = 1
    await fails(damaged, /damaged/)
    for (const name of ["/etc/passwd", "data/../../x"]) await fails(archive([[name, 1]]), /holds the name/)
    assert.throws(() => Tar.headerOf({ name: "x".repeat(100), size: 0, type: "file" }), /too long/)
  })
})
