import type { PublicOperation } from "./PublicDocument.ts"
import type { Case, Input } from "./Suite.ts"

// Samples of the operations in curl, JavaScript and Python, which are also the suite's calls in these languages.

const isName = (text: string): boolean => /^[A-Za-z_]\w*$/.test(text)

/** Writes a value in JavaScript. */
const js = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(js).join(", ")}]`
  if (typeof value !== "object" || value === null) return JSON.stringify(value)
  const members = Object.entries(value).map(([name, one]) =>
    `${isName(name) ? name : JSON.stringify(name)}: ${js(one)}`
  )
  return members.length === 0 ? "{}" : `{ ${members.join(", ")} }`
}

/** Writes a value in Python. */
const python = (value: unknown): string => {
  if (value === null) return "None"
  if (typeof value === "boolean") return value ? "True" : "False"
  if (Array.isArray(value)) return `[${value.map(python).join(", ")}]`
  if (typeof value !== "object") return JSON.stringify(value)
  return `{${Object.entries(value).map(([name, one]) => `${JSON.stringify(name)}: ${python(one)}`).join(", ")}}`
}

type Members = Readonly<Record<string, unknown>>

/** Joins arguments, without the absent ones. */
const list = (...args: ReadonlyArray<string | undefined>): string => args.filter((one) => one !== undefined).join(", ")

const named = (members: Members | undefined, ...without: ReadonlyArray<string>): string | undefined => {
  const entries = Object.entries(members ?? {}).filter(([name]) => !without.includes(name))
  return entries.length === 0 ? undefined : entries.map(([name, value]) => `${name}=${python(value)}`).join(", ")
}

const objectOf = (members: Members | undefined): string | undefined => members === undefined ? undefined : js(members)

const bodyOf = ({ body }: Input): Members => body as Members

/** A number of the API in a query, such as `limit`, as a number. */
const typed = (query: Readonly<Record<string, string>> | undefined): Members | undefined =>
  query && Object.fromEntries(
    Object.entries(query).map((
      [name, text],
    ) => [name, name === "limit" || name.endsWith("_days") ? Number(text) : text]),
  )

const key = ({ headers }: Input): string => headers?.["idempotency-key"] ?? ""

interface Writers {
  readonly javascript: (input: Input) => string
  readonly python: (input: Input) => string
}

/** Writes a call whose arguments are the parts of its path, its body, and its query. */
const plain = (jsName: string, pythonName = jsName): Writers => ({
  javascript: ({ body, path, query }) =>
    `await parlance.${jsName}(${
      list(...Object.values(path ?? {}).map(js), body === undefined ? undefined : js(body), objectOf(typed(query)))
    })`,
  python: ({ body, path, query }) =>
    `parlance.${pythonName}(${
      list(...Object.values(path ?? {}).map(python), body === undefined ? undefined : python(body), named(typed(query)))
    })`,
})

/** Writes a loop over all rows, which it adds to `rows`. */
const rows = (jsName: string, pythonName = jsName): Writers => ({
  javascript: (input) =>
    `for await (const row of ${plain(jsName).javascript(input).replace("await ", "")}) console.log(row)`,
  python: (input) => `for row in ${plain(jsName, pythonName).python(input)}:\n    print(row)`,
})

/** How the clients call each operation. */
const writers: Readonly<Record<PublicOperation, Writers>> = {
  generate: {
    javascript: ({ body }) => `await parlance.generate(${js(body)})`,
    python: (input) => {
      const { template_id } = bodyOf(input)
      return `parlance.generate(${list(python(template_id), named(bodyOf(input), "template_id"))})`
    },
  },
  generateByQuery: {
    javascript: ({ query }) =>
      `await (await fetch(\`\${process.env.PARLANCE_URL}/api/generate/acme?\${new URLSearchParams(${
        js(query)
      })}\`, { headers: { "X-Api-Key": process.env.PARLANCE_KEY } })).json()`,
    python: ({ query }) =>
      `httpx.get(f"{os.environ['PARLANCE_URL']}/api/generate/acme", params=${
        python(query)
      }, headers={"X-Api-Key": os.environ["PARLANCE_KEY"]}).json()`,
  },
  batchGenerate: {
    javascript: ({ body }) => `await parlance.generateBatch(${js(body)})`,
    python: (input) =>
      `parlance.generate_batch(${list(python(bodyOf(input)["requests"]), named(bodyOf(input), "requests"))})`,
  },
  delay: {
    javascript: ({ query }) => `await parlance.delay(${js(query)})`,
    python: ({ query }) => `parlance.delay(${list(python(query!["delay_id"]), named(query, "delay_id"))})`,
  },
  deliver: {
    javascript: (input) => `await parlance.deliver(${js(input.body)}, { idempotencyKey: ${js(key(input))} })`,
    python: (input) => {
      const { email, template_id } = bodyOf(input)
      const others = named(bodyOf(input), "template_id", "email")
      return `parlance.deliver(${
        list(python(template_id), python(email), others, `idempotency_key=${python(key(input))}`)
      })`
    },
  },
  listOwnDeliveries: rows("deliveries", "all_deliveries"),
  getOwnDelivery: plain("delivery"),
  cancelOwnDelivery: plain("cancelDelivery", "cancel_delivery"),
  cancelOwnDeliveries: {
    javascript: (input) => `await parlance.cancelDeliveries(${js(input.body)}, { idempotencyKey: ${js(key(input))} })`,
    python: (input) => `parlance.cancel_deliveries(${python(input.body)}, idempotency_key=${python(key(input))})`,
  },
  receiveEvents: plain("sendEvents", "send_events"),
  listTemplates: rows("templates.list"),
  getTemplate: plain("templates.get"),
  createTemplate: plain("templates.create"),
  updateTemplate: plain("templates.update"),
  createVariant: plain("variants.create"),
  updateVariant: plain("variants.update"),
  templateResults: plain("templates.results"),
  listKeys: {
    javascript: () => "for (const row of await parlance.keys.list()) console.log(row)",
    python: () => "for row in parlance.keys.list():\n    print(row)",
  },
  createKey: plain("keys.create"),
  revokeKey: plain("keys.revoke"),
  exportDecisions: rows("exports.decisions"),
  exportEvents: rows("exports.events"),
  exportDeliveries: rows("exports.deliveries"),
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

/** Writes the request of a case for curl, with the address and the key in variables. */
const curl = ({ exchanges }: Case): string => {
  const { body, headers, method, path, query } = exchanges[0]!.request
  const search = query === undefined ? "" : `?${new URLSearchParams(query)}`
  const parts = [
    `curl -s${
      method === "GET" || (method === "POST" && body !== undefined) ? "" : ` -X ${method}`
    } "$PARLANCE_URL${path}${search}"`,
    `-H "X-Api-Key: $PARLANCE_KEY"`,
    ...Object.entries(headers).flatMap(([name, value]) =>
      name === "x-api-key" ? [] : [`-H ${quoted(`${name}: ${value}`)}`]
    ),
    ...(body === undefined ? [] : ["-H 'Content-Type: application/json'", `-d ${quoted(JSON.stringify(body))}`]),
  ]
  return parts.join(" \\\n  ")
}

/** Returns the call of a case in JavaScript and in Python, by a client named `parlance`. */
export const callOf = ({ input, operation }: Case): { readonly javascript: string; readonly python: string } => {
  const { javascript, python } = writers[operation as PublicOperation]
  return { javascript: javascript(input), python: python(input) }
}

/** A sample as OpenAPI shows it. */
interface Sample {
  readonly lang: "Shell" | "JavaScript" | "Python"
  readonly label: "curl" | "JavaScript" | "Python"
  readonly source: string
}

/** Returns the samples of a case. */
export const samplesOf = (one: Case): ReadonlyArray<Sample> => {
  const { javascript, python } = callOf(one)
  return [
    { lang: "Shell", label: "curl", source: curl(one) },
    { lang: "JavaScript", label: "JavaScript", source: javascript },
    { lang: "Python", label: "Python", source: python },
  ]
}
