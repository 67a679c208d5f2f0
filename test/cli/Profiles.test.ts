import { Option, Result } from "effect"
import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it, onTestFinished } from "vitest"
import { commandName } from "../../src/cli/Commands.ts"
import {
  addProfile,
  profileName,
  readProfiles,
  removeProfile,
  type StoredProfiles,
  writeProfiles,
} from "../../src/cli/Profiles.ts"

const none: StoredProfiles = { current: null, profiles: {} }
const one = { url: "https://one.example", token: "secret-1" }
const two = { url: "https://two.example", token: "secret-2", org: "acme" }

const temporary = () => {
  const folder = mkdtempSync(join(tmpdir(), "parlance-profiles-"))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, "parlance", "profiles.json")
}

describe("profiles", () => {
  it("are stored in a file that only its user can read", () => {
    const file = temporary()
    assert.deepStrictEqual(readProfiles(file), Result.succeed(none))
    const stored = addProfile(addProfile(none, "one", one), "two", two)
    writeProfiles(file, stored)
    chmodSync(file, 0o644)
    writeProfiles(file, stored)
    assert.strictEqual(statSync(file).mode & 0o777, 0o600)
    assert.strictEqual(statSync(join(file, "..")).mode & 0o777, 0o700)
    assert.deepStrictEqual(readdirSync(join(file, "..")), ["profiles.json"])
    assert.deepStrictEqual(readProfiles(file), Result.succeed(stored))
  })

  it("report a damaged file without its content, with a remedy", () => {
    const file = temporary()
    writeProfiles(file, none)
    writeFileSync(file, '{"profiles":"secret-1"}')
    const read = readProfiles(file)
    assert.isTrue(Result.isFailure(read))
    assert.match(Result.isFailure(read) ? read.failure : "", /is damaged\. Delete it and repeat `parlance login URL`/)
    assert.notInclude(JSON.stringify(read), "secret-1")
  })

  it("make the last added profile current, and after its removal the remaining one", () => {
    const both = addProfile(addProfile(none, "one", one), "two", two)
    assert.strictEqual(both.current, "two")
    assert.strictEqual(removeProfile(both, "two").current, "one")
    assert.strictEqual(removeProfile(both, "one").current, "two")
    assert.deepStrictEqual(removeProfile(removeProfile(both, "two"), "one"), none)
    assert.isNull(removeProfile(addProfile(both, "three", one), "three").current)
  })

  it("are selected by the flag, then the variable, then the last login unless the environment names a store", () => {
    const stored = addProfile(none, "one", one)
    const chosen = (flag: string | undefined, variable: string | undefined, namesStore: boolean) =>
      Option.getOrNull(profileName(stored, {
        flag: Option.fromUndefinedOr(flag),
        variable: Option.fromUndefinedOr(variable),
        namesStore,
      }))
    assert.strictEqual(chosen("a", "b", true), "a")
    assert.strictEqual(chosen(undefined, "b", true), "b")
    assert.strictEqual(chosen(undefined, undefined, false), "one")
    assert.isNull(chosen(undefined, undefined, true))
  })
})

describe("the command in the arguments", () => {
  it("is the first argument that is neither a flag nor its value", () => {
    assert.strictEqual(commandName(["template", "list"]), "template")
    assert.strictEqual(commandName(["--org", "event", "--json", "template", "list"]), "template")
    assert.strictEqual(commandName(["--profile=key", "--log-level", "debug", "serve"]), "serve")
    for (const args of [[], ["--help"], ["--completions", "bash"], ["templates"], ["toString"]]) {
      assert.isUndefined(commandName(args), args.join(" "))
    }
  })
})
