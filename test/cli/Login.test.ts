import { Effect } from "effect"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it, onTestFinished, vi } from "vitest"
import * as Lock from "../../src/store/bundled/Lock.ts"
import * as LocalService from "../../src/store/LocalService.ts"
import { runCommand, spawnCommand } from "../support/cli.ts"
import type { Environment } from "../support/settings.ts"
import { temporaryFolder } from "../support/stores.ts"

const token = "t".repeat(40)

/** A service with two organizations that accepts one token, and the paths that it was asked for. */
const serveOrganizations = async () => {
  const paths: Array<string> = []
  const server = createServer((request, response) => {
    paths.push(request.url!)
    const isKnown = request.headers.authorization === `Bearer ${token}`
    const problem = { type: "/problems/unauthorized", title: "x", status: 401, detail: "The admin token is not valid" }
    const content = request.url!.endsWith("/keys")
      ? { keys: [] }
      : { organizations: [{ slug: "acme" }, { slug: "beta" }] }
    response.writeHead(isKnown ? 200 : 401, {
      "content-type": isKnown ? "application/json" : "application/problem+json",
    })
    response.end(JSON.stringify(isKnown ? content : problem))
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  onTestFinished(() => void server.close().closeAllConnections())
  return { paths, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

/** Runs commands with the profiles of `folder`. */
const commandsIn =
  (folder: string, environment: Environment = {}) => async (args: ReadonlyArray<string>, input = "") => {
    vi.stubEnv("XDG_CONFIG_HOME", folder)
    onTestFinished(() => void vi.unstubAllEnvs())
    return await runCommand(args, environment, input)
  }

describe("parlance login", () => {
  it("stores a service for later commands until logout, and never prints the token", async () => {
    const { paths, url } = await serveOrganizations()
    const folder = mkdtempSync(join(tmpdir(), "parlance-login-"))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const run = commandsIn(folder)
    const file = join(folder, "parlance", "profiles.json")

    const asProcess = await spawnCommand(["login", url], { XDG_CONFIG_HOME: folder }, "wrong")
    assert.include(asProcess.output, "The admin token is not valid")
    assert.include((await run(["login", "nowhere"], token)).output, "nowhere is not the URL of a service")
    const stored = await run(["--profile", "staging", "--org", "beta", "login", `${url}/`], `${token}\n`)
    assert.strictEqual(stored.code, 0, stored.output)
    assert.include(stored.output, "acme, beta")
    assert.notInclude(stored.output, token)
    assert.strictEqual(statSync(file).mode & 0o777, 0o600)

    const keys = await run(["key", "list"])
    assert.strictEqual(keys.code, 0, keys.output)
    assert.strictEqual(paths.at(-1), "/console/api/organizations/beta/keys")
    assert.include((await run(["--profile", "other", "key", "list"])).output, "There are: staging.")
    const listed = await run(["profile", "list"])
    assert.include(listed.output, url)
    assert.notInclude(listed.output, token)

    assert.include((await run(["logout"])).output, "Removed profile staging")
    assert.notInclude(readFileSync(file, "utf8"), token)
  }, 120_000)
})

describe("a service on the embedded store of this machine", () => {
  it("carries out commands without PARLANCE_URL, with the token in DATA_DIR", () =>
    Effect.gen(function* () {
      const { paths, url } = yield* Effect.promise(serveOrganizations)
      const other = yield* Effect.promise(serveOrganizations)
      const folder = yield* temporaryFolder
      yield* Effect.sync(() => {
        mkdirSync(join(folder, "postgres"))
        writeFileSync(join(folder, "admin-token"), token)
      })
      assert.isTrue((yield* Lock.open(join(folder, "postgres"))).take())
      const run = (args: ReadonlyArray<string>, environment: Environment = {}) =>
        Effect.promise(() => commandsIn(folder, { DATA_DIR: folder, ...environment })(args))

      yield* Effect.gen(function* () {
        yield* LocalService.announce(folder, url)
        assert.strictEqual(statSync(join(folder, "address")).mode & 0o777, 0o600)
        const listed = yield* run(["--org", "acme", "key", "list"])
        assert.strictEqual(listed.code, 0, listed.output)
        assert.deepStrictEqual(paths, ["/console/api/organizations/acme/keys"])

        yield* run(["--org", "acme", "key", "list"], { PARLANCE_URL: other.url, ADMIN_TOKEN: token })
        assert.deepStrictEqual(other.paths, ["/console/api/organizations/acme/keys"])
        assert.lengthOf(paths, 1)

        writeFileSync(join(folder, "admin-token"), "wrong")
        assert.include((yield* run(["org", "list"])).output, `read it from ${join(folder, "admin-token")}`)
      }).pipe(Effect.scoped)
      assert.isFalse(existsSync(join(folder, "address")))
    }).pipe(Effect.scoped, Effect.runPromise))
})

describe("a refused token", () => {
  it("is reported with the variable or profile that it came from", async () => {
    const { url } = await serveOrganizations()
    const folder = mkdtempSync(join(tmpdir(), "parlance-refused-"))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const outputWith = async (environment: Readonly<Record<string, string>>) =>
      (await commandsIn(folder, { PARLANCE_URL: url, ADMIN_TOKEN: "", PARLANCE_KEY: "", ...environment })([
        "org",
        "list",
      ]))
        .output
    assert.include(await outputWith({ PARLANCE_KEY: "wrong" }), "is not valid. The command read it from PARLANCE_KEY")
    const both = await outputWith({ PARLANCE_KEY: token, ADMIN_TOKEN: "wrong" })
    assert.include(both, "is not valid. The command read it from ADMIN_TOKEN", "the admin token comes first")
    await commandsIn(folder)(["--profile", "staging", "login", url], token)
    const file = join(folder, "parlance", "profiles.json")
    writeFileSync(file, readFileSync(file, "utf8").replace(token, "stale"))
    assert.include((await commandsIn(folder)(["org", "list"])).output, "read it from the profile staging")
  }, 120_000)
})
