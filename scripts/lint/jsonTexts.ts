/**
 * Files of `src/` that may parse JSON with `JSON.parse`, with the reason. `JSON.parse` of V8 15 confuses member names
 * with escapes (nodejs/node#63785), so that one caller's names can change the names of another caller. Other files use
 * `json/Json.ts`. The library `openid-client` calls `JSON.parse` itself, but reads only fixed names without escapes
 * (see `accounts/OpenId.ts`).
 */
const allowed: ReadonlyMap<string, string> = new Map([
  ["json/JsonParser.ts", "Copies the text of one string, which has no member names"],
])

/** Code that runs in browsers or in the programs of callers, where the rule does not apply. */
const elsewhere = /[/\\](?:src[/\\]console[/\\](?:assets|browser|editor)|clients)[/\\]/

/** Functions and schemas of Effect that call `JSON.parse`. */
const parsers: ReadonlySet<string> = new Set([
  "JsonFromUrlParamsField",
  "UnknownFromJsonString",
  "fromJsonString",
  "parseJson",
  "schemaBodyFormJson",
  "schemaBodyJson",
  "schemaJson",
])

/** The modules of Effect that export these parsers. Functions of this project may have equal names. */
const effectModules = /^(?:Http\w*|Multipart|Schema\w*)$/

/** Modules of Effect whose decoders all call `JSON.parse`. */
const parsingModules: ReadonlySet<string> = new Set(["JsonArray", "Ndjson"])

const messages = /^(?=[a-z])\w*(?:[Aa]nswer|[Ii]ncoming|[Mm]essage|[Rr]eply|[Rr]eq|[Rr]equest|[Rr]es|[Rr]esponse)$/

const hint = 'Use `parse` of "json/Json.ts" on the text'

/** Returns the name of a member, also in brackets. Undefined for a computed name. */
const nameOf = ({ property }: Deno.lint.MemberExpression): string | undefined =>
  property.type === "Identifier" ? property.name : property.type === "Literal" ? String(property.value) : undefined

const plugin: Deno.lint.Plugin = {
  name: "parlance-json",
  rules: {
    "json-texts": {
      create: (context) => {
        const [, path] = /[/\\]src[/\\](.*)$/.exec(context.filename) ?? []
        if (path === undefined || elsewhere.test(context.filename)) return {}
        if (allowed.has(path.replaceAll("\\", "/"))) return {}
        const refuse = (node: Deno.lint.Node, what: string) =>
          context.report({ node, message: `${what} parses JSON with JSON.parse`, hint })
        return {
          Identifier: (node) => {
            if (node.name !== "JSON") return
            const { parent } = node
            if (parent.type === "MemberExpression" && parent.property === node && !parent.computed) return
            if (parent.type === "Property" && parent.key === node && !parent.computed) return
            const member = parent.type === "MemberExpression" && parent.object === node ? nameOf(parent) : undefined
            if (member !== "stringify" && member !== "rawJSON") refuse(node, "This use of JSON")
          },
          MemberExpression: (node) => {
            const { object } = node
            const name = nameOf(node)
            const of = object.type === "Identifier" ? object.name : ""
            if (name !== undefined && parsers.has(name) && effectModules.test(of)) refuse(node, `${of}.${name}`)
            else if (parsingModules.has(of)) refuse(node, of)
            else if (name === "json" && messages.test(of)) refuse(node, `${of}.json`)
          },
          ImportSpecifier: (node) => {
            const { imported } = node
            const name = imported.type === "Identifier" ? imported.name : ""
            const { parent } = node
            const from = parent.type === "ImportDeclaration" ? String(parent.source.value) : ""
            if (/^effect(?:\/|$)/.test(from) && (parsers.has(name) || parsingModules.has(name))) refuse(node, name)
          },
          CallExpression: ({ arguments: given, callee }) => {
            if (callee.type !== "MemberExpression" || given.length > 0 || nameOf(callee) !== "json") return
            const { object } = callee
            if (object.type !== "Identifier" || !messages.test(object.name)) refuse(callee, "The method json")
          },
        }
      },
    },
  },
}

export default plugin
