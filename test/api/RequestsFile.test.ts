import { assert } from "@effect/vitest"
import { Result } from "effect"
import { readFileSync } from "node:fs"
import { describe, it } from "vitest"
import * as TemplateFile from "../../src/templates/TemplateFile.ts"
import { aroundTests } from "../support/aroundTests.ts"
import { adminToken, makeOrganization, type Service, startInProcess } from "../support/service.ts"
import { temporaryEnvironment } from "../support/stores.ts"

const read = (path: string) => readFileSync(new URL(`../../examples/${path}`, import.meta.url), "utf8")

/**
 * The requests of a file in the form of editors: `### title`, a line `METHOD URL`, headers, an empty line, and a body.
 */
const requestsOf = (text: string, values: Readonly<Record<string, string>>) => {
  const filled = text.replace(/\{\{(\w+)\}\}/g, (_, name: string) => {
    assert.property(values, name)
    return values[name]!
  })
  return filled.split(/^### /m).slice(1).map((part) => {
    const [title = "", start = "", ...lines] = part.split("\n")
    const [method = "", url = ""] = start.split(" ")
    const end = lines.indexOf("")
    const headers = lines.slice(0, end).map((line) => line.split(/: (.*)/).slice(0, 2) as [string, string])
    const body = lines.slice(end + 1).join("\n").trim()
    return { title, method, url, headers, body: body === "" ? undefined : body }
  })
}

describe("examples/requests.http", () => {
  let service: Service
  aroundTests(
    startInProcess(temporaryEnvironment, { SECRET_KEY: "5e".repeat(32) }),
    (started) => service = started,
  )

  it("has requests that all succeed after the first start, and that ignore no member", async () => {
    const key = await makeOrganization(service, "demo", ["generate", "deliver", "events"])
    const { body } = await service.manage("POST", "/organizations/demo/templates/import", {
      templates: Result.getOrThrow(TemplateFile.parse(read("demo.yaml"), "demo.yaml")),
    })
    assert.deepStrictEqual(body.created, ["welcome"])
    const requests = requestsOf(read("requests.http"), { base: service.url, org: "demo", key, admin: adminToken })
    assert.isAbove(requests.length, 10)
    for (const { body, headers, method, title, url } of requests) {
      const response = await fetch(url, { method, headers, ...(body === undefined ? {} : { body }) })
      assert.isBelow(response.status, 300, `${title}: ${await response.text()}`)
      assert.isNull(response.headers.get("parlance-warnings"), title)
    }
  })
})
