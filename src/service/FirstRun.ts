import { Effect, Result, Schedule, Schema } from "effect"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Accounts } from "../accounts/Accounts.ts"
import { OneTimeLinks } from "../accounts/OneTimeLinks.ts"
import { Keys } from "../auth/Keys.ts"
import { ChecksBusy } from "../domain/Errors.ts"
import { OrgSlug } from "../domain/Ids.ts"
import { Organizations } from "../organizations/Organizations.ts"
import * as TemplateFile from "../templates/TemplateFile.ts"
import { TemplateImports } from "../templates/TemplateImports.ts"

const sample = new URL("../../examples/demo.yaml", import.meta.url)
const demo = Schema.decodeSync(OrgSlug)("demo")

/**
 * Creates the organization `demo` with a sample template and a key in a store without organizations. Returns the key.
 * Undefined if there are organizations.
 */
const makeDemo = Effect.gen(function* () {
  const organizations = yield* Organizations
  if ((yield* organizations.list).length > 0) return undefined
  yield* organizations.create({ slug: demo, name: "Demo" })
  const inputs = Result.getOrThrowWith(
    TemplateFile.parse(readFileSync(sample, "utf8"), "examples/demo.yaml"),
    (faults) => new Error(JSON.stringify(faults)),
  )
  // On a busy machine, the process that checks Liquid may still be starting.
  yield* (yield* TemplateImports).importAll(demo, inputs).pipe(
    Effect.retry({ while: (error) => error instanceof ChecksBusy, times: 5, schedule: Schedule.spaced("1 second") }),
  )
  const { key } = yield* (yield* Keys).create(demo, { name: "First run", scopes: ["generate", "deliver", "events"] })
  return key
}).pipe(
  // The sample was just created in an empty database, so it exists.
  Effect.orDie,
)

/** Returns a link to create the first administrator. Undefined if an account exists. */
const firstLink = Effect.fnUntraced(function* (url: string) {
  if ((yield* (yield* Accounts).list).length > 0) return undefined
  return `${url}/console/first-run?token=${yield* (yield* OneTimeLinks).create("first_run")}`
})

/** Writes the text of the first start to a file that only the user of the service can read. */
const keep = (file: string, text: string) =>
  Effect.try(() => writeFileSync(file, text, { mode: 0o600 })).pipe(
    Effect.catch(() => Effect.logWarning(`${file} could not be written`)),
  )

/**
 * Returns the text for the terminal at the start on a local database: after the first start an example request, and the
 * sign-up link while no account exists. The text of the first start is also in `first-run.txt` in `dataDir`. Undefined without
 * such a text.
 */
export const greeting = Effect.fnUntraced(function* (url: string, dataDir: string) {
  const file = join(dataDir, "first-run.txt")
  const key = yield* makeDemo
  const link = yield* firstLink(url)
  const console = link === undefined ? "" : `
Work in the console: this link makes the first administrator, once, within one hour (start again for another one).

${link}
`
  if (key === undefined) return console === "" ? undefined : console
  const text = `
A demo organization is ready, with the template "welcome". Request its content:

curl -s ${url}/api/generate/demo -H 'X-Api-Key: ${key}' -H 'Content-Type: application/json' -d '{"template_id":"welcome","user_id":"ann","fields":{"name":"Ann"},"attrs":{"tier":"gold"}}'

Report a click, with the tracking_id of that response:

curl -s ${url}/api/webhook/events/demo -H 'X-Api-Key: ${key}' -H 'Content-Type: application/json' -d '{"event":"click","tracking_id":"…"}'

The key is shown only now, and kept with this text in ${file}. More: ${url}/docs/, and npx -y deno@2.9.6 task parlance --help
${console}`
  yield* keep(file, text)
  return text
})
