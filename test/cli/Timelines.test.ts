import { assert } from "@effect/vitest"
import { describe, it } from "vitest"
import { deliveryEnvironment, furnish } from "../console/furnished.ts"
import { aroundTests } from "../support/aroundTests.ts"
import { runCommand } from "../support/cli.ts"
import { adminToken, type Service, startInProcess } from "../support/service.ts"
import { temporaryEnvironment } from "../support/stores.ts"

describe("timelines on the command line", () => {
  let service: Service
  aroundTests(startInProcess(temporaryEnvironment, deliveryEnvironment), async (started) => {
    service = started
    await furnish(service, "told")
  })

  const parlance = async (code: number, ...args: ReadonlyArray<string>) => {
    const own = { PARLANCE_URL: service.url, ADMIN_TOKEN: adminToken }
    const ended = await runCommand([...args, "--org", "told"], own)
    assert.strictEqual(ended.code, code, ended.output)
    assert.notInclude(ended.output, "    at ")
    return ended.output
  }

  it("show the history of a tracking id and of a person, and the latest bodies of a source", async () => {
    const message = await parlance(0, "event", "story", "order-1001")
    for (
      const word of ["welcome /", "chosen with 50.0 %", "delivered", "automated", "repeated", "counted", "User u-1"]
    ) {
      assert.include(message, word)
    }
    const person = await parlance(0, "person", "show", "--email", "ann@example.com")
    assert.include(person, "tracking id order-1001")
    assert.include(person, 'plan: "pro"')
    const json = JSON.parse(await parlance(0, "person", "show", "--user", "u-1", "--json"))
    assert.strictEqual(json.decisions[0].tracking_id, "order-1001")
    assert.include(await parlance(0, "webhook", "events", "events"), "order-unknown")
    assert.include(await parlance(0, "event", "story", "nothing"), "Nothing found")
  }, 300_000)

  it("require exactly one of user and email", async () => {
    assert.include(await parlance(1, "person", "show"), "either --user or --email")
    assert.include(await parlance(1, "person", "show", "--user", "a", "--email", "b"), "either --user or --email")
  }, 300_000)
})
