import { assert, describe, it } from "@effect/vitest"
import { lint } from "../support/lint.ts"

/** Ways to parse JSON with `JSON.parse`, by the name of their file. */
const refused: Readonly<Record<string, string>> = {
  called: 'export const a = JSON.parse("1")',
  bracketed: 'export const a = JSON["parse"]("1")',
  computed: 'export const a = (name: string) => JSON[name as "parse"](name)',
  passed: 'export const a = ["1"].map(JSON.parse)',
  taken: "export const { parse } = JSON",
  renamed: 'const json = JSON\nexport const a = () => json.parse("1")',
  response: "export const a = (response: Response) => response.json()",
  fetched: 'export const a = async () => (await fetch("x")).json()',
  effect: "export const a = (response: HttpClientResponse) => response.json",
  request: "export const a = (httpRequest: HttpServerRequest) => httpRequest.json",
  schema: "export const a = Schema.fromJsonString(Schema.String)",
  unknown: "export const a = Schema.UnknownFromJsonString",
  body: "export const a = HttpServerRequest.schemaBodyJson(Schema.String)",
  getter: "export const a = SchemaGetter.parseJson()",
  lines: "export const a = Ndjson.decode()",
  imported: 'import { fromJsonString } from "effect/Schema"\nexport const a = fromJsonString',
}

/** Code that resembles them. */
const accepted: Readonly<Record<string, string>> = {
  written: 'export const a = JSON.stringify({ JSON: 1 }) + JSON.rawJSON("1")',
  own: 'import * as Json from "./json/Json.ts"\nexport const a = Json.parse("1")',
  parsed: "export const a = (parsed: { json: unknown }) => parsed.json",
  decoded: "export const a = (request: object) => Body.json(request)",
  answered: "export const a = HttpServerResponse.json({})",
  named: "export const a = (bytes: Uint8Array) => parseJson(bytes)",
}

const filesOf = (codes: Readonly<Record<string, string>>, folder = "src") =>
  Object.fromEntries(Object.entries(codes).map(([name, code]) => [`${folder}/${name}.ts`, `${code}\n`]))

describe("the lint rule for JSON.parse", () => {
  it("rejects each way to call JSON.parse in src/", () => {
    const found = lint("jsonTexts.ts", filesOf(refused))
    const files = new Set([...found.matchAll(/src[/\\](\w+)\.ts:/g)].map(([, name]) => name))
    assert.deepStrictEqual([...files].sort(), Object.keys(refused).sort(), found)
  })

  it("accepts the project's parser, JSON.stringify, browser scripts, clients, tests and the named exceptions", () => {
    const found = lint("jsonTexts.ts", {
      ...filesOf(accepted),
      ...filesOf(refused, "test"),
      ...filesOf(refused, "src/console/assets"),
      ...filesOf(refused, "clients/typescript/src"),
      "src/json/JsonParser.ts": refused["called"]!,
    })
    assert.strictEqual(found, "")
  })
})
