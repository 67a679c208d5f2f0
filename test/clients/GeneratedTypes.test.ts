import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFile } from "node:child_process"
import { symlinkSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { promisify } from "node:util"
import openapiTypescript, { astToString } from "openapi-typescript"
import { adminToken } from "../support/service.ts"
import { temporaryFolder } from "../support/stores.ts"
import { org, serviceForClients } from "./serviceForClients.ts"

const run = promisify(execFile)

/** What an engineer would write with the generated types: the story of the README. */
const story = `
import createClient from "openapi-fetch"
import type { components, paths } from "./api.ts"

const [url = "", org = "", apiKey = "", adminToken = ""] = Deno.args
const path = { org }
const management = createClient<paths>({ baseUrl: url, headers: { authorization: \`Bearer \${adminToken}\` } })
const api = createClient<paths>({ baseUrl: url, headers: { "x-api-key": apiKey } })

const template: components["schemas"]["TemplateInput"] = {
  id: "cart",
  name: "Cart reminder",
  objective: "click",
  variants: [{
    id: "plain",
    vars: { subject: "Hello {{ name }}" },
    targeting: [{ attribute: "tier", op: "not_in", values: ["none"] }],
  }],
}
const created = await management.POST("/console/api/organizations/{org}/templates", { params: { path }, body: template })
const id: string = created.data?.id ?? ""

const generated = await api.POST("/api/generate/{org}", {
  params: { path },
  body: { template_id: id, user_id: "u1", fields: { name: "Ann", cart: [{ price: 12.5 }] }, attrs: { tier: "gold" } },
})
const message: components["schemas"]["GenerateResponse"] | undefined = generated.data

const events = await api.POST("/api/webhook/events/{org}", {
  params: { path },
  body: [{ event: "click", tracking_id: message?.tracking_id ?? "" }],
})

const refused = await api.POST("/api/generate/{org}", { params: { path }, body: { template_id: "missing" } })

const { data: results } = await management.GET("/console/api/organizations/{org}/templates/{template}/results", {
  params: { path: { org, template: id } },
})

console.log(JSON.stringify({
  subject: message?.copy.vars?.["subject"],
  verdicts: events.data?.items.map(({ status }) => status),
  unknown: refused.error?.type,
  objective: results?.objective,
}))
`

describe("A client generated from the OpenAPI document", () => {
  it.live("compiles and runs the story of the README", () =>
    Effect.scoped(Effect.gen(function* () {
      const { apiKey, service } = yield* serviceForClients
      const folder = yield* temporaryFolder
      yield* Effect.promise(async () => {
        const document = await (await service.request("/openapi.json")).text()
        const types = astToString(await openapiTypescript(JSON.parse(document)))
        writeFileSync(join(folder, "api.ts"), types)
        writeFileSync(
          join(folder, "deno.json"),
          JSON.stringify({ nodeModulesDir: "manual", compilerOptions: { strict: true } }),
        )
        writeFileSync(join(folder, "package.json"), "{}")
        symlinkSync(resolve("node_modules"), join(folder, "node_modules"))
        writeFileSync(join(folder, "story.ts"), story)
        const { stdout } = await run(
          Deno.execPath(),
          ["run", "--check", "-A", "--no-prompt", "story.ts", service.url, org, apiKey, adminToken],
          { cwd: folder },
        )
        assert.deepStrictEqual(JSON.parse(stdout), {
          subject: "Hello Ann",
          verdicts: ["accepted"],
          unknown: "/problems/template-not-found",
          objective: "click",
        })
      })
    })), 60_000)
})
