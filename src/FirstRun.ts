import { Effect, Result, Schema } from "effect"
import { readFileSync } from "node:fs"
import { Keys } from "./auth/Keys.ts"
import { OrgSlug } from "./domain/Ids.ts"
import { Organizations } from "./organizations/Organizations.ts"
import * as TemplateFile from "./templates/TemplateFile.ts"
import { Templates } from "./templates/Templates.ts"

const sample = new URL("../examples/demo.yaml", import.meta.url)
const demo = Schema.decodeSync(OrgSlug)("demo")

/** On a store without organizations: makes `demo` with a sample template and a key. Answers the key, or undefined. */
const makeDemo = Effect.gen(function* () {
  const organizations = yield* Organizations
  if ((yield* organizations.list).length > 0) return undefined
  yield* organizations.create({ slug: demo, name: "Demo" })
  const inputs = Result.getOrThrowWith(
    TemplateFile.parse(readFileSync(sample, "utf8"), "examples/demo.yaml"),
    (faults) => new Error(JSON.stringify(faults)),
  )
  yield* (yield* Templates).importAll(demo, inputs)
  const { key } = yield* (yield* Keys).create(demo, { name: "First run", scopes: ["generate", "deliver", "events"] })
  return key
}).pipe(
  // An empty store cannot lack what was just made in it, and the sample is ours.
  Effect.orDie,
)

/** What the terminal shows after the first start: a call that can be copied. Undefined when the store is not new. */
export const greeting = Effect.fnUntraced(function* (url: string) {
  const key = yield* makeDemo
  if (key === undefined) return undefined
  return `
A demo organization is ready, with the template "welcome". Ask for its words:

curl -s ${url}/api/generate/demo -H 'X-Api-Key: ${key}' -H 'Content-Type: application/json' -d '{"template_id":"welcome","user_id":"ann","fields":{"name":"Ann"},"attrs":{"tier":"gold"}}'

Say what became of it, with the tracking_id of that answer:

curl -s ${url}/api/webhook/events/demo -H 'X-Api-Key: ${key}' -H 'Content-Type: application/json' -d '{"event":"click","tracking_id":"…"}'

The key is shown this once. More: ${url}/docs, and npx -y deno@2.9.6 task parlance --help
`
})
