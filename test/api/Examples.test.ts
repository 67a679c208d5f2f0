import { assert } from "@effect/vitest"
import type { Effect } from "effect"
import { readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { describe, it } from "vitest"
import { describeApi } from "../../src/api/operations/OperationsRoutes.ts"
import { aroundTests } from "../support/aroundTests.ts"
import { mailWorld } from "../support/mailWorld.ts"
import { type Example, recorder } from "./examples/Recorder.ts"
import { walkLists } from "./examples/lists.ts"
import { story } from "./examples/story.ts"

// The examples of the OpenAPI document are calls that the service answered. `UPDATE_EXAMPLES=1` writes examples that
// are missing or have other members than before.

const file = fileURLToPath(new URL("../../src/api/openapi/examples.json", import.meta.url))

/** The members of an example to a depth of two, by which stored and new examples are compared. */
const membersOf = ({ request, response, ...rest }: Example) => {
  const names = (value: unknown) =>
    value !== null && typeof value === "object" && !Array.isArray(value) ? Object.keys(value).sort() : typeof value
  return { ...rest, parameters: names(rest.parameters), request: names(request), response: names(response) }
}

describe("Examples of the API", () => {
  let world: Effect.Success<typeof mailWorld>
  aroundTests(mailWorld, (started) => world = started)

  it("are calls that the service answers, one for each operation", async () => {
    const document = describeApi()
    const { call, examples } = recorder(world.service, document)
    await story({ call, world })
    const stored: Record<string, Example> = JSON.parse(readFileSync(file, "utf8"))
    if (process.env["UPDATE_EXAMPLES"] !== undefined) {
      const updated = [...examples].map(([id, example]) => {
        const before = stored[id]
        const isSame = before !== undefined &&
          JSON.stringify(membersOf(before)) === JSON.stringify(membersOf(example))
        return [id, isSame ? before : example] as const
      }).sort(([a], [b]) => a < b ? -1 : 1)
      writeFileSync(file, `${JSON.stringify(Object.fromEntries(updated), null, 2)}\n`)
      return
    }
    const ids = Object.values(document.paths).flatMap((item) =>
      Object.values(item as Record<string, { operationId: string }>).map(({ operationId }) => operationId)
    )
    assert.deepStrictEqual([...examples.keys()].sort(), ids.sort())
    for (const [id, example] of examples) assert.deepStrictEqual(membersOf(stored[id]!), membersOf(example), id)
    await walkLists(world.service, document, examples)
  })
})
