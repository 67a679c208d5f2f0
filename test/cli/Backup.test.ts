import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawnSync } from "node:child_process"
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { open } from "node:fs/promises"
import { join } from "node:path"
import { decisionsIn, makeTemplate, scopedLoad, targetAt } from "../process/support.ts"
import { runCommand } from "../support/cli.ts"
import { makeOrganization, run, scopedProcess } from "../support/service.ts"
import { embeddedEnvironment, temporaryEnvironment, temporaryFolder } from "../support/stores.ts"

const command = (env: Record<string, string>, ...args: ReadonlyArray<string>) =>
  Effect.promise(() => runCommand(args, env))

describe("parlance backup", () => {
  it.live(
    "writes a backup under load, from which restore recovers every earlier answered decision",
    () =>
      Effect.scoped(Effect.gen(function* () {
        const env = yield* embeddedEnvironment
        const folder = yield* temporaryFolder
        const file = join(folder, "parlance.backup")
        const service = yield* scopedProcess(env)
        const load = yield* scopedLoad("backup", 4)
        const answered = () => load.calls.filter(({ durable, status }) => status === 200 && durable)
        yield* Effect.promise(async () => {
          const key = await makeOrganization(service, "acme")
          await makeTemplate(service, "acme", "offer")
          load.aim(targetAt(service, key))
          await load.until(() => answered().length > 300)
        })
        const made = yield* command(env, "backup", file, "--verify")
        assert.strictEqual(made.code, 0, made.output)
        assert.include(made.output, "restored into a new folder and is complete")
        assert.deepStrictEqual(readdirSync(folder).filter((name) => name.startsWith(".parlance-verify")), [])
        const showsAt = Date.parse(/It shows the moment (\S+):/.exec(made.output)![1]!)
        const before = answered().filter(({ answeredAt = Infinity }) => answeredAt < showsAt)
        assert.isAbove(before.length, 300)
        const metrics = yield* Effect.promise(() => service.request("/metrics").then((response) => response.text()))
        const age = Number(/^parlance_backup_age_seconds (\S+)$/m.exec(metrics)?.[1])
        assert.isAtLeast(age, 0)
        assert.isBelow(age, (Date.now() - showsAt) / 1000 + 1)
        assert.strictEqual(statSync(file).mode & 0o777, 0o600)
        yield* Effect.promise(load.stop)

        const anew = { DATA_DIR: join(folder, "anew") }
        const restored = yield* command(anew, "restore", file)
        assert.strictEqual(restored.code, 0, restored.output)
        assert.strictEqual(
          readFileSync(join(anew.DATA_DIR, "admin-token"), "utf8"),
          readFileSync(join(env["DATA_DIR"]!, "admin-token"), "utf8"),
        )
        const found = yield* decisionsIn(anew)
        assert.deepStrictEqual(before.filter(({ copyId, trackingId }) => found.get(trackingId)?.copyId !== copyId), [])
        const rebuilt = yield* command(anew, "rebuild", "--org", "acme", "--check")
        assert.strictEqual(rebuilt.code, 0, rebuilt.output)

        const again = yield* command(anew, "restore", file)
        assert.strictEqual(again.code, 1)
        assert.include(again.output, "holds a database")

        // A restore that is killed half way leaves no empty database behind.
        const killed = { DATA_DIR: join(folder, "killed") }
        const pipe = join(folder, "pipe")
        spawnSync("mkfifo", [pipe])
        const restore = run(["restore", pipe], killed)
        const writer = yield* Effect.promise(() => open(pipe, "w"))
        const bytes = readFileSync(file)
        yield* Effect.promise(() => writer.write(bytes.subarray(0, -(1 << 20))))
        restore.child.kill("SIGKILL")
        yield* Effect.promise(() => restore.ended)
        yield* Effect.promise(() => writer.close())
        const refused = yield* command(killed, "rebuild", "--org", "acme", "--check")
        assert.strictEqual(refused.code, 1, refused.output)
        assert.match(refused.output, /a restore into this folder did not end. Run `parlance restore` again/)
        const repeated = yield* command(killed, "restore", file)
        assert.strictEqual(repeated.code, 0, repeated.output)
        const checked = yield* command(killed, "rebuild", "--org", "acme", "--check")
        assert.strictEqual(checked.code, 0, checked.output)

        const other = { DATA_DIR: join(folder, "other") }
        writeFileSync(file, readFileSync(file).subarray(0, -100_000))
        const cut = yield* command(other, "restore", file)
        assert.strictEqual(cut.code, 1)
        assert.match(cut.output, /was not restored: .*damaged or incomplete.*Restore another copy of it/)
        assert.isFalse(existsSync(join(other.DATA_DIR, "admin-token")))
        assert.isFalse(existsSync(join(other.DATA_DIR, "postgres", "data")))
      })),
    300_000,
  )

  it.live("names the alternative with DATABASE_URL", () =>
    Effect.scoped(Effect.gen(function* () {
      const { code, output } = yield* command(yield* temporaryEnvironment, "backup", "/nowhere")
      assert.strictEqual(code, 1)
      assert.include(output, "pg_dump")
    })))
})
