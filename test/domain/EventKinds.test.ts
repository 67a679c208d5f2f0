import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { countedEvents, eventKinds, EventName, isSuppressing } from "../../src/domain/EventKinds.ts"

const textOf = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8")

describe("the kinds of events", () => {
  it("have distinct names, so that a reported name means one event", () => {
    const names = EventName.literals.flatMap((event) => eventKinds[event].names)
    assert.deepStrictEqual(names.filter((name, i) => names.indexOf(name) !== i), [])
    for (const event of EventName.literals) assert.include(eventKinds[event].names, event)
  })

  it("have a column in the table tallies if they are counted", () => {
    const [, columns = ""] = /CREATE TABLE tallies \(([^;]*)\);/.exec(textOf("schema/snapshot.sql")) ?? []
    for (const event of countedEvents) assert.match(columns, new RegExp(`^\\s+${event} `, "m"), event)
  })

  it("suppress an address only if they are negative", () => {
    for (const event of EventName.literals.filter(isSuppressing)) {
      assert.strictEqual(eventKinds[event].category, "negative", event)
    }
  })

  it("are listed in the documents of custom events", () => {
    for (const path of ["docs/guide/api.md", "docs/integrations/custom-events.md"]) {
      const text = textOf(path)
      for (const event of EventName.literals) assert.include(text, `\`${event}\``, `${path}: ${event}`)
    }
  })
})
