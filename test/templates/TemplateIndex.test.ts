import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { OrgSlug } from "../../src/domain/Ids.ts"
import { TemplateIndex } from "../../src/templates/TemplateIndex.ts"
import { startWith } from "../support/servicesOf.ts"

describe("TemplateIndex", () => {
  it.effect(
    "finds a template by its whole id within the organization",
    () =>
      Effect.gen(function* () {
        const { run, service } = yield* startWith()
        const made = async (path: string, body: unknown) =>
          assert.strictEqual((await service.manage("POST", path, body)).status, 201)
        yield* Effect.promise(async () => {
          for (const slug of ["shop", "other"]) {
            await made("/organizations", { slug, name: slug })
            for (const id of ["b", "a-b", "B", "é'\""]) {
              await made(`/organizations/${slug}/templates`, { id, name: `${id} of ${slug}` })
            }
          }
          const names = await run(
            Effect.flatMap(TemplateIndex, (index) => index.names("shop" as OrgSlug, ["é'\"", "b", "a", "b"])),
          )
          assert.deepStrictEqual([...names].sort(), [["b", "b of shop"], ["é'\"", "é'\" of shop"]])
          const none = await run(Effect.flatMap(TemplateIndex, (index) => index.names("shop" as OrgSlug, [])))
          assert.strictEqual(none.size, 0)
        })
      }),
    180_000,
  )
})
