import { Effect, Result, Schema } from "effect"
import { readFileSync } from "node:fs"
import { Keys } from "../auth/Keys.ts"
import { OrgSlug, TemplateId } from "../domain/Ids.ts"
import { Organizations } from "../organizations/Organizations.ts"
import * as TemplateFile from "../templates/TemplateFile.ts"
import { TemplateImports } from "../templates/TemplateImports.ts"
import { Templates } from "../templates/Templates.ts"

const file = new URL("./cart-reminder.yaml", import.meta.url)

/** The organization of the demo. */
export const org = Schema.decodeSync(OrgSlug)("demo")

/** Its template. */
export const template = Schema.decodeSync(TemplateId)("cart-reminder")

/** Creates the organization with its template and a key, in an empty store. */
export const open = Effect.fnUntraced(function* (explorationFloor: number) {
  const organizations = yield* Organizations
  yield* organizations.create({ slug: org, name: "Fernweh Outdoor" })
  yield* organizations.update(org, { exploration_floor: explorationFloor })
  const inputs = Result.getOrThrowWith(
    TemplateFile.parse(readFileSync(file, "utf8"), "cart-reminder.yaml"),
    (faults) => new Error(JSON.stringify(faults)),
  )
  yield* (yield* TemplateImports).importAll(org, inputs)
  const { key } = yield* (yield* Keys).create(org, { name: "Demo", scopes: ["generate", "deliver", "events"] })
  const { variants } = yield* (yield* Templates).get(org, template)
  return { key, variants: variants.map(({ id }) => id) }
  // An empty store cannot lack the new organization, and the template file is part of the product.
}, Effect.orDie)
