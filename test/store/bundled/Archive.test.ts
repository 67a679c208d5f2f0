import { assert, describe, it } from "@effect/vitest"
import { Buffer } from "node:buffer"
import { execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Readable } from "node:stream"
import { gunzipSync, gzipSync } from "node:zlib"
import * as Archive from "../../../src/store/bundled/Archive.ts"

const bytes = (size: number) => Buffer.from(Array.from({ length: size }, (_, at) => at % 251))

const fileOf = (name: string, size: number): Archive.Entry => ({
  name,
  content: { size, chunks: Readable.from([bytes(size)]) },
})

async function* entries(files: ReadonlyArray<readonly [string, number]>) {
  yield { name: "data" }
  for (const [name, size] of files) yield fileOf(name, size)
}

const inFolder = async (run: (folder: string) => Promise<void>) => {
  const folder = mkdtempSync(join(tmpdir(), "parlance-archive-"))
  try {
    await run(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const readAll = async (file: string) => {
  const found: Array<readonly [string, string | undefined]> = []
  for await (const { content, name } of Archive.read(file)) {
    const parts: Array<Uint8Array> = []
    for await (const part of content?.chunks ?? []) parts.push(part)
    found.push([name, content && Buffer.concat(parts).toString("hex")])
  }
  return found
}

const long = `data/${"base/".repeat(30)}file`
const files = [["data/empty", 0], ["data/one", 1], ["data/block", 512], ["data/more", 1_300_000], [long, 3]] as const

describe("archives of backups", () => {
  it("round-trip their entries", () =>
    inFolder(async (folder) => {
      const file = join(folder, "a.tar.gz")
      await Archive.write(entries(files), file)
      assert.deepStrictEqual(await readAll(file), [
        ["data", undefined],
        ...files.map(([name, size]) => [name, bytes(size).toString("hex")] as const),
      ])
    }))

  it("are readable by tar", () =>
    inFolder(async (folder) => {
      await Archive.write(entries(files), join(folder, "a.tar.gz"))
      execFileSync("tar", ["-x", "-f", "a.tar.gz"], { cwd: folder })
      for (const [name, size] of files) assert.deepStrictEqual(readFileSync(join(folder, name)), bytes(size))
    }))

  it("may be written by tar", () =>
    inFolder(async (folder) => {
      writeFileSync(join(folder, "one"), bytes(700))
      execFileSync("tar", ["-c", "-z", "--format=ustar", "-f", "a.tar.gz", "one"], { cwd: folder })
      assert.deepStrictEqual(await readAll(join(folder, "a.tar.gz")), [["one", bytes(700).toString("hex")]])
    }))

  it("are rejected if they are truncated, damaged, or contain links or outside names", () =>
    inFolder(async (folder) => {
      const file = join(folder, "a.tar.gz")
      await Archive.write(entries(files.slice(0, 3)), file)
      const whole = gunzipSync(readFileSync(file))
      const fails = async (content: Uint8Array, reason: RegExp) => {
        writeFileSync(file, content)
        assert.match(String(await readAll(file).then(() => "was read", (error) => error)), reason)
      }
      await fails(gzipSync(whole.subarray(0, 1500)), /truncated/)
      await fails(gzipSync(whole.subarray(0, whole.length - 1024)), /truncated/)
      const damaged = Buffer.from(whole)
      damaged[0] = 1
      await fails(gzipSync(damaged), /checksum/)
      await fails(bytes(3000), /header/)
      for (const name of ["/etc/passwd", "data/../../x"]) {
        await Archive.write(entries([[name, 1]]), file)
        await fails(readFileSync(file), /holds the name/)
      }
      execFileSync("ln", ["-s", "/etc", "data"], { cwd: folder })
      execFileSync("tar", ["-c", "-z", "-f", "a.tar.gz", "data"], { cwd: folder })
      await fails(readFileSync(file), /neither a file nor a folder/)
    }))

  it("are not completed if an entry cannot be read", () =>
    inFolder(async (folder) => {
      async function* broken() {
        yield fileOf("data/one", 1)
        throw new Error("the disk is broken")
      }
      const failed = await Archive.write(broken(), join(folder, "a.tar.gz")).then(() => "was written", String)
      assert.match(failed, /the disk is broken/)
      const short = { name: "data/short", content: { size: 9, chunks: Readable.from([bytes(8)]) } }
      const cut = await Archive.write(Readable.from([short]), join(folder, "b.tar.gz")).then(
        () => "was written",
        String,
      )
      assert.match(cut, /Size mismatch/)
    }))
})
