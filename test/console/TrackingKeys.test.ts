import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { startWith } from "../support/servicesOf.ts"
import { password } from "./furnished.ts"
import { signInTo } from "./shop.ts"

describe("the page of tracking keys", () => {
  it.live("shows the keys to administrators of the installation, who replace and remove them", () =>
    Effect.gen(function* () {
      const { run, service } = yield* startWith()
      yield* Effect.promise(async () => {
        const at = "/console/accounts/tracking-keys"
        for (const [name, administrator] of [["root", true], ["member", false]] as const) {
          await service.manage("POST", "/accounts", { email: `${name}@example.com`, name, password, administrator })
        }
        const root = await signInTo(service, "root@example.com")
        const shown = async () => (await root.get(at)).text
        assert.include((await root.get("/console/accounts")).text, `href="${at}"`)
        for (const words of ["first", "signs new links", "Create a new key"]) assert.include(await shown(), words)

        assert.include((await root.post(at, {})).headers.get("location")!, at)
        assert.include(await shown(), "signs 5 minutes after it was created")
        assert.notInclude(await shown(), "Create a new key", "not all nodes know the first one yet")
        await run(
          Effect.flatMap(
            SqlClient.SqlClient,
            (sql) => sql`UPDATE signing_keys s SET created_at = s.created_at - interval '10 minutes'`,
          ),
        )
        assert.include(await shown(), "accepted in earlier messages")

        assert.include((await root.get(`${at}/first/remove`)).text, "Remove the key first?")
        assert.strictEqual((await root.get(`${at}/other/remove`)).status, 404)
        await root.post(`${at}/first/remove`, {})
        assert.notInclude(await shown(), "accepted in earlier messages")
        const { entries } = (await service.manage("GET", "/audit?limit=20")).body
        const actions: ReadonlyArray<string> = entries.map(({ action }: { action: string }) => action)
        assert.includeMembers([...actions], ["tracking key replaced", "tracking key removed"])

        const member = await signInTo(service, "member@example.com")
        assert.strictEqual((await member.get(at)).status, 403)
      })
    }).pipe(Effect.scoped))
})
