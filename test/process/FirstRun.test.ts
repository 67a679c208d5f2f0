import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { describe } from "vitest"
import { scopedProcess, waitUntil } from "../support/service.ts"
import { temporaryFolder } from "../support/stores.ts"

describe("the first start with a local store", () => {
  it.live("prints a link that creates and signs in the first administrator once", () =>
    Effect.scoped(Effect.gen(function* () {
      const dataDir = join(yield* temporaryFolder, "data")
      const service = yield* scopedProcess({ DATA_DIR: dataDir })
      yield* Effect.promise(async () => {
        const printed = () => /^http\S+\/console\/first-run\?token=\S+$/m.exec(service.output())?.[0]
        await waitUntil("the link is printed", () => printed() !== undefined)
        const link = new URL(printed()!)
        const file = join(dataDir, "first-run.txt")
        const kept = readFileSync(file, "utf8")
        assert.strictEqual(statSync(file).mode & 0o777, 0o600)
        assert.include(kept, `${link}`)
        assert.match(kept, /X-Api-Key: plk_/)
        assert.include(service.output(), kept.trim(), "the file has what was printed")
        assert.notInclude(service.output(), "\u001b", "output that is no terminal has no colors")
        assert.strictEqual(link.origin, service.url)
        assert.include(await (await fetch(link)).text(), "Create the first administrator")
        const create = () =>
          fetch(`${service.url}/console/first-run`, {
            method: "POST",
            redirect: "manual",
            body: new URLSearchParams({
              token: link.searchParams.get("token")!,
              email: "first@example.com",
              name: "First",
              password: "four unrelated words here",
            }),
          })
        const made = await create()
        assert.strictEqual(made.status, 303, await made.text())
        const cookie = made.headers.get("set-cookie")!.split(";")[0]!
        const session = await (await fetch(`${service.url}/console/api/session`, { headers: { cookie } })).json()
        assert.deepInclude(session.account, { email: "first@example.com", administrator: true })
        const page = await fetch(`${service.url}/console/o/demo`, { headers: { cookie } })
        assert.strictEqual(page.status, 200)
        assert.include(await page.text(), "Demo")
        assert.strictEqual((await create()).status, 404, "the link is spent")
        const { body } = await service.manage("GET", "/audit")
        assert.deepInclude(body.entries[0], { action: "first administrator created", actor: "first@example.com" })
      })
    })))
})
