import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { withPlainPath } from "../../src/api/http/PathText.ts"
import { makeOrganization } from "../support/service.ts"
import { startWith } from "../support/servicesOf.ts"

describe("a path with a semicolon or a number sign", () => {
  it("keeps them as characters, and keeps the query unchanged", () => {
    assert.strictEqual(withPlainPath("/a;b/c#d?x=1;y#z"), "/a%3Bb/c%23d?x=1;y#z")
    for (const url of ["/a?x=1;y", "/a%3Bb", "*", ""]) assert.strictEqual(withPlainPath(url), url)
  })

  it.live(
    "does not match the path before them",
    () =>
      Effect.scoped(Effect.gen(function* () {
        const { service } = yield* startWith()
        yield* Effect.promise(async () => {
          const key = await makeOrganization(service, "acme")
          const templates = "/organizations/acme/templates"
          for (const id of ["a", "a;b"]) await service.manage("POST", templates, { id, name: id, variants: [] })
          const generate = (path: string) =>
            service.request(path, {
              method: "POST",
              headers: { "x-api-key": key, "content-type": "application/json" },
              body: JSON.stringify({ template_id: "a" }),
            })
          assert.strictEqual((await generate("/api/generate/acme")).status, 200)
          // As for every organization that is not the key's.
          assert.strictEqual((await generate("/api/generate/acme;x=1")).status, 403)
          assert.strictEqual((await service.request("/healthz;x=1")).status, 404)
          assert.strictEqual((await service.manage("GET", `${templates}/a;b`)).body.id, "a;b")
          assert.strictEqual((await service.manage("GET", `${templates}/a;c`)).status, 404)
        })
      })),
    60_000,
  )
})
