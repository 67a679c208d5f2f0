import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import {
  changedSettings,
  type TemplateInput,
  type TemplateSettingName,
  templateSettingNames,
  templateSettings,
  withDefaults,
} from "../../src/domain/Template.ts"
import { format, parse } from "../../src/templates/TemplateFile.ts"
import { Result } from "effect"

const textOf = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8")

const unusual: Required<Pick<TemplateInput, TemplateSettingName>> = {
  strict: true,
  locale: { attribute: "language", default: "en" },
  sticky_hours: 24,
  runner_up_floor: 0.05,
  objective: { click: 1, conversion: 5 },
  send_nothing: true,
  holdout: { share: 0.05, content: "even" },
  tracking: { opens: true, clicks: false },
  list_unsubscribe: true,
  link_domains: ["shop.example"],
  ignore_unsubscribes: true,
  conversion_events: ["trial_started"],
  tags: ["spring"],
  owner: "ada@example.com",
}

describe("the settings of templates", () => {
  it("have a column of the table templates with their SQL type", () => {
    const [, columns = ""] = /CREATE TABLE templates \(([^;]*)\);/.exec(textOf("schema/snapshot.sql")) ?? []
    const sqlTypes = {
      boolean: "boolean",
      float8: "double precision",
      jsonb: "jsonb",
      text: "text",
      "text[]": "text\\[\\]",
    }
    for (const name of templateSettingNames) {
      assert.match(columns, new RegExp(`^\\s+${name} ${sqlTypes[templateSettings[name].column]}`, "m"), name)
    }
  })

  it("are explained in the guide", () => {
    const guide = textOf("docs/guide/templates.md")
    for (const name of templateSettingNames) assert.include(guide, `| \`${name}\` |`, name)
  })

  it("have defaults that do not count as changes", () => {
    assert.deepStrictEqual(changedSettings(withDefaults({})), {})
    assert.deepStrictEqual(changedSettings(withDefaults(unusual)), unusual)
  })

  it("are all written to template files", () => {
    const template = { ...unusual, id: "spring", name: "Spring" } as TemplateInput
    for (const as of ["yaml", "json"] as const) {
      assert.deepStrictEqual(Result.getOrThrow(parse(format([template], as), "a file")), [template])
    }
  })
})
