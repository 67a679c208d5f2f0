import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { runCommand } from "../support/cli.ts"
import { scopedProcess } from "../support/service.ts"
import { embeddedEnvironment, type Environment, temporaryEnvironment } from "../support/stores.ts"

const parlance = (env: Environment, status: number, ...args: ReadonlyArray<string>) =>
  Effect.promise(async () => {
    const { code, output } = await runCommand(args, env)
    assert.strictEqual(code, status, output)
    return output
  })

describe("parlance account", () => {
  it.live(
    "creates, invites, resets, lists and removes accounts, without a service that runs",
    () =>
      Effect.scoped(Effect.gen(function* () {
        const env = {
          ...(yield* temporaryEnvironment),
          PUBLIC_URL: "https://words.example",
          SECRET_KEY: "5".repeat(64),
        }
        yield* parlance(env, 0, "org", "create", "acme", "--name", "Acme")
        const created = yield* parlance(env, 0, "account", "create", "Ann@example.com", "--administrator")
        assert.match(created, /https:\/\/words\.example\/console\/password\?token=[\w-]{43}/)
        const invited = yield* parlance(env, 0, "account", "invite", "bob@example.com", "--role", "editor")
        assert.match(invited, /https:\/\/words\.example\/console\/invitation\?token=[\w-]{43}/)
        const mapped = yield* parlance(env, 0, "--org", "acme", "group-role", "set", "/crm/editors", "editor")
        assert.include(mapped, "Members of /crm/editors are editor")
        assert.include(yield* parlance(env, 0, "--org", "acme", "group-role", "list"), "/crm/editors")
        assert.include(yield* parlance(env, 0, "--org", "acme", "group-role", "remove", "/crm/editors"), "no role")
        assert.include(yield* parlance(env, 1, "--org", "acme", "group-role", "remove", "/crm/editors"), "has no role")
        const again = yield* parlance(env, 1, "account", "create", "ann@example.com")
        assert.include(again, "already an account")
        const reset = yield* parlance(env, 0, "account", "reset", "ann@example.com")
        assert.match(reset, /console\/password\?token=/)
        const listed = JSON.parse(yield* parlance(env, 0, "account", "list", "--json"))
        assert.deepInclude(listed[0], { email: "ann@example.com", administrator: true, has_password: false })
        assert.deepInclude(listed[0], { second_factor: false })
        assert.include(yield* parlance(env, 1, "account", "reset-second-factor", "ann@example.com"), "--yes")
        const none = yield* parlance(env, 1, "account", "reset-second-factor", "ann@example.com", "--yes")
        assert.include(none, "no second factor")
        const required = yield* parlance(env, 0, "org", "update", "acme", "--require-second-factor", "true", "--json")
        assert.isTrue(JSON.parse(required).require_second_factor)
        assert.include(yield* parlance(env, 1, "account", "remove", "ann@example.com"), "--yes")
        yield* parlance(env, 0, "account", "remove", "ann@example.com", "--yes")
        assert.include(yield* parlance(env, 1, "account", "remove", "ann@example.com", "--yes"), "no account")
      })),
  )

  it.live(
    "prints links to the service that runs on the data directory, on whatever port that is",
    () =>
      Effect.scoped(Effect.gen(function* () {
        const env = yield* embeddedEnvironment
        const { url } = yield* scopedProcess(env)
        assert.include(yield* parlance(env, 0, "account", "create", "ann@example.com"), `${url}/console/password?`)
        const known = { ...env, PUBLIC_URL: "https://words.example" }
        assert.include(
          yield* parlance(known, 0, "account", "reset", "ann@example.com"),
          "https://words.example/console/",
        )
      })),
    400_000,
  )
})
