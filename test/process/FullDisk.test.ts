import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFileSync, spawnSync } from "node:child_process"
import { chmodSync, mkdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import { endLeftover } from "../../src/store/bundled/ServerProcess.ts"
import { makeOrganization, run, scopedProcess, waitUntil } from "../support/service.ts"
import { embeddedEnvironment, temporaryFolder } from "../support/stores.ts"
import { decisionsIn, makeTemplate, scopedLoad, targetAt, terminate } from "./support.ts"

/** Mounts a file system of `size` on a folder. */
const mount = (folder: string, size: string) =>
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${size}`, "none", folder], { stdio: "pipe" })

const unmount = (folder: string) => execFileSync("umount", ["--lazy", folder], { stdio: "pipe" })

/** Whether this process may mount file systems; prints the reason when the suite is skipped. */
const canMount = (): boolean => {
  const folder = join("/tmp", `parlance-mount-${process.pid}`)
  mkdirSync(folder)
  try {
    mount(folder, "1m")
    unmount(folder)
    return true
  } catch (error) {
    const reason = error instanceof Error ? error.message.trim().split("\n").at(-1) : String(error)
    console.warn(`FullDisk: skipped, no file system can be mounted here (${reason})`)
    return false
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** A folder on a file system of its own. */
const scopedDisk = (size: string) =>
  Effect.gen(function* () {
    const folder = join(yield* temporaryFolder, "disk")
    mkdirSync(folder)
    yield* Effect.acquireRelease(
      Effect.sync(() => mount(folder, size)),
      () => Effect.sync(() => unmount(folder)),
    )
    chmodSync(folder, 0o711)
    return folder
  })

/** Fills the file system of `folder`, and returns how to make space again. */
const fill = (folder: string) => {
  const file = join(folder, "filler")
  // Ends with an error when there is no space left.
  const { stderr } = spawnSync("dd", ["if=/dev/zero", `of=${file}`, "bs=4096"], { encoding: "utf8" })
  assert.include(stderr, "No space left on device")
  return () => rmSync(file)
}

describe.runIf(process.platform === "linux" && canMount())("A full disk", () => {
  it.live(
    "loses nothing acknowledged, answers 503 beyond its memory, and recovers once there is space",
    () =>
      Effect.scoped(Effect.gen(function* () {
        const disk = yield* scopedDisk("160m")
        const { DATA_DIR: seed } = yield* embeddedEnvironment
        const dataDir = join(disk, "data")
        execFileSync("cp", ["-a", seed!, dataDir])
        yield* Effect.addFinalizer(() => endLeftover({ data: join(dataDir, "postgres", "data") }))
        const env = { DATA_DIR: dataDir, LOG_LEVEL: "Error", DECISION_BUFFER_SIZE: "500" }
        const load = yield* scopedLoad("full", 8)
        const of = (status: number, durable = true) =>
          load.calls.filter((call) => call.status === status && (status !== 200 || call.durable === durable))
        const service = yield* scopedProcess(env)
        yield* Effect.promise(async () => {
          const key = await makeOrganization(service, "acme")
          await makeTemplate(service, "acme", "offer")
          load.aim(targetAt(service, key))
          await load.until(() => of(200).length >= 50)
          const makeSpace = fill(disk)
          await load.until(() => of(200, false).length > 0)
          await load.until(() => of(503).length > 0)
          // Fits into the pages that are there, or not.
          const { status } = await service.manage("POST", "/organizations", { slug: "late", name: "late" })
          assert.include([201, 503], status)
          makeSpace()
          const before = of(200).length
          await load.until(() => of(200).length >= before + 50)
          await waitUntil("the service is ready", async () => (await service.request("/readyz")).ok)
          if (status === 201) assert.strictEqual((await service.manage("GET", "/organizations/late")).status, 200)
          await makeOrganization(service, "later")
          await load.stop()
          assert.strictEqual((await terminate(service)).code, 0)
        })
        const found = yield* decisionsIn(env)
        const answered = load.calls.filter(({ status }) => status === 200)
        const lost = answered.filter(({ copyId, trackingId }) => found.get(trackingId)?.copyId !== copyId)
        console.info(
          `full disk: ${of(200).length} decisions stored, ${of(200, false).length} answered from memory, ` +
            `${of(503).length} refused, ${lost.length} lost`,
        )
        assert.deepStrictEqual(lost, [])
        assert.deepStrictEqual([...new Set(load.calls.map(({ status }) => status))].sort(), [200, 503])
        assert.isTrue(of(503).every(({ retryAfter }) => retryAfter !== undefined))
      })),
    240_000,
  )

  it.live("reports the full disk in one line at the first start", () =>
    Effect.scoped(Effect.gen(function* () {
      const disk = yield* scopedDisk("20m")
      const { ended, output } = run(["serve"], { DATA_DIR: join(disk, "data"), PORT: "0", LOG_LEVEL: "Error" })
      assert.deepStrictEqual(yield* Effect.promise(() => ended), { code: 1, signal: null })
      assert.match(output(), /the disk is full. Free some space, or set DATA_DIR to a folder on another disk/)
      assert.notMatch(output(), /^\s+at .+:\d+|node_modules/m)
      assert.lengthOf(output().trim().split("\n"), 1)
    })))
})
