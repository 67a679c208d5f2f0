import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { helpFor } from "../../src/console/Help.ts"
import { readLibrary } from "../../src/api/documents/Library.ts"

describe("the help link of a console page", () => {
  it("leads to the section about the page, or else to the guide for marketers", () => {
    assert.strictEqual(helpFor("/console/o/acme/templates/welcome/results"), "/docs/guide/results")
    assert.strictEqual(helpFor("/console/o/acme/templates/welcome/variants/a"), "/docs/guide/templates#liquid")
    assert.strictEqual(helpFor("/console/o/acme/settings/keys"), "/docs/guide/api#before-you-start")
    for (const path of ["/console", "/console/account", "/console/o/acme", "/console/o/acme/settings"]) {
      assert.strictEqual(helpFor(path), "/docs/guide/marketers")
    }
  })

  it.effect("leads to an existing document and heading", () =>
    Effect.gen(function* () {
      const library = yield* readLibrary
      const pages = [
        "",
        "/templates",
        "/templates/t/results",
        "/templates/t/results/explore",
        "/templates/t/results/share",
        "/templates/t/send-times",
        "/templates/t/variants/a",
        "/people",
        "/deliveries",
        "/suppressions",
        "/sandbox",
        "/sources/events",
        "/connections/-/new",
        "/webhook-endpoints/-/new",
        "/settings/keys",
        "/settings/members",
      ]
      for (const page of pages) {
        const [path = "", heading] = helpFor(`/console/o/acme${page}`).slice("/docs/".length).split("#")
        const document = library.get(path)
        assert.isDefined(document, path)
        if (heading !== undefined) assert.include(document!.headings.map(({ id }) => id), heading)
      }
    }))
})
