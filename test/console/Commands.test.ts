import { assert, describe, it } from "@effect/vitest"
import { commandsFor, findCommands } from "../../src/console/Commands.ts"

const base = "/console/o/acme"
const labelsOf = (commands: ReadonlyArray<{ readonly label: string }>) => commands.map(({ label }) => label)

describe("the commands of the command bar", () => {
  it("are limited to the commands that the visitor's role allows", () => {
    const viewer = labelsOf(commandsFor(base, "viewer", (endpoint) => endpoint === "listDeliveries"))
    assert.includeMembers(viewer, ["Templates", "Failed messages", "Your account"])
    assert.notIncludeMembers(viewer, ["Audit log", "Create a template", "Create New API Key"])
    const admin = commandsFor(base, "admin", () => true)
    assert.includeMembers(labelsOf(admin), ["Audit log", "Create a template", "Create New API Key"])
    assert.strictEqual(new Set(labelsOf(admin)).size, admin.length, "no two read alike")
    assert.isTrue(admin.every(({ href }) => href.startsWith(base) || href === "/console/account"))
  })

  it("match words in any order and case", () => {
    const all = commandsFor(base, "admin", () => true)
    assert.deepStrictEqual(labelsOf(findCommands(all, " KEY new ")), ["Create New API Key"])
    assert.deepStrictEqual(findCommands(all, "nothing of the kind"), [])
    assert.deepStrictEqual(findCommands(all, "  "), [])
  })
})
