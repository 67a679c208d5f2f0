import { assert } from "@effect/vitest"
import type { OpenApi } from "effect/http-api"
import { Buffer } from "node:buffer"
import { adminToken, type Service } from "../../support/service.ts"
import type { Json } from "../harness.ts"

/** The example of an operation, as the OpenAPI document shows it. */
export interface Example {
  /** Values of parameters in path, query and headers, by name. */
  readonly parameters?: Readonly<Record<string, string>>
  readonly request?: unknown
  readonly status: number
  readonly response?: unknown
}

/** How a call differs from one of the management API without a body. */
export interface Call {
  readonly body?: unknown
  readonly query?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  /** In place of the admin token. */
  readonly auth?: Readonly<Record<string, string>>
  readonly contentType?: string
  /** The body of the example, where the one sent has an address of the test. */
  readonly shownBody?: unknown
  /** The answer is too long for an example. */
  readonly unshown?: boolean
  /** Not an example: a call that waits for something, or prepares another. */
  readonly unrecorded?: boolean
}

const methods = ["get", "post", "put", "patch", "delete"] as const

/** The paths of the document as patterns. Paths with fewer parameters come first, `/a/events` before `/a/{x}`. */
const routesOf = (document: OpenApi.OpenAPISpec) =>
  Object.entries(document.paths).flatMap(([path, item]) =>
    methods.flatMap((method) => {
      const operation = item[method]
      if (operation === undefined) return []
      const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!)
      const pattern = new RegExp(`^${path.replaceAll(".", "\\.").replace(/\{\w+\}/g, "([^/]+)")}$`)
      return [{ method: method.toUpperCase(), id: operation.operationId, names, pattern }]
    })
  ).sort((a, b) => a.names.length - b.names.length)

/** Values, by the names of their members, that replace secrets and addresses of the test. */
const standIns: Readonly<Record<string, string>> = {
  key: "plk_EXAMPLE",
  csrf_token: "EXAMPLE",
  host: "smtp.acme.example",
  ca: "-----BEGIN CERTIFICATE-----…",
  secret: "EXAMPLESECRET234",
  uri: "otpauth://totp/Parlance:ann@example.com?secret=EXAMPLESECRET234&issuer=Parlance",
}

const masked = (value: Json, name = ""): Json => {
  if (Array.isArray(value)) return value.slice(0, 3).map((item) => masked(item, name))
  if (value !== null && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([member, inner]) => [member, masked(inner, member)]))
  }
  if (typeof value !== "string") return value
  if (value === "127.0.0.1") return "203.0.113.7"
  if (name === "recovery_codes") return "abcd-efgh-jkmn-pqrs"
  if (name === "path" && value.includes("token=")) return value.replace(/token=.*/, "token=EXAMPLE")
  const standIn = standIns[name]
  if (standIn !== undefined && value !== "") return standIn
  return value.length > 600 ? `${value.slice(0, 600)}…` : value
}

/** Makes calls to a service and keeps the first successful one of each operation as its example. */
export const recorder = (service: Service, document: OpenApi.OpenAPISpec) => {
  const routes = routesOf(document)
  const examples = new Map<string, Example>()
  const call = async (method: string, path: string, options: Call = {}): Promise<Json> => {
    const { auth, body, contentType = "application/json", headers = {}, query = {} } = options
    const { shownBody = body, unrecorded = false, unshown = false } = options
    const search = Object.keys(query).length === 0 ? "" : `?${new URLSearchParams(query)}`
    const text = body === undefined
      ? undefined
      : typeof body === "string" || body instanceof Uint8Array
      ? body
      : JSON.stringify(body)
    const response = await service.request(path + search, {
      method,
      redirect: "manual",
      headers: {
        ...(auth ?? { authorization: `Bearer ${adminToken}` }),
        ...(text === undefined ? {} : { "content-type": contentType }),
        ...headers,
      },
      ...(text === undefined ? {} : { body: text as BodyInit }),
    })
    const received = Buffer.from(await response.arrayBuffer()).toString("utf8")
    const type = response.headers.get("content-type") ?? ""
    const isJson = /[/+]json/.test(type)
    const isText = received !== "" && /ndjson|^text\/(csv|plain)/.test(type)
    const answer: Json = isJson ? JSON.parse(received) : received
    assert.isBelow(response.status, 400, `${method} ${path}: ${received}`)
    assert.isNull(response.headers.get("parlance-warnings"), `${method} ${path}`)
    const route = routes.find((route) => route.method === method && route.pattern.test(path))
    assert.isDefined(route, `${method} ${path} is no path of the document`)
    if (!unrecorded && !examples.has(route!.id)) {
      const [, ...inPath] = route!.pattern.exec(path)!
      const ofPath = Object.fromEntries(route!.names.map((name, i) => [name, decodeURIComponent(inPath[i]!)]))
      const parameters = { ...ofPath, ...query, ...headers }
      examples.set(route!.id, {
        ...(Object.keys(parameters).length === 0 ? {} : { parameters }),
        ...(body === undefined ? {} : { request: masked(shownBody) }),
        status: response.status,
        ...(!unshown && (isJson || isText) ? { response: masked(answer) } : {}),
      })
    }
    return answer
  }
  return { call, examples }
}

export type Recorder = ReturnType<typeof recorder>
