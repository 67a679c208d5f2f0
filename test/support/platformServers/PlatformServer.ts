import { Buffer } from "node:buffer"
import { createHmac } from "node:crypto"
import * as http from "node:http"
import * as https from "node:https"
import type { AddressInfo, Socket } from "node:net"
import { certificate, certificateKey } from "./Certificate.ts"
import { makeWatch } from "./Watch.ts"

/** A fault of one request. */
export type Fault =
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: unknown }
  /**
   * `hang`: no response; `refuse`: reset before the request is read; `lose`: accepted, then reset; `drip`: half a
   * response, then silence.
   */
  | { readonly how: "hang" | "refuse" | "lose" | "drip" }
  /** Accepted, and answered with status 200 and a body that the platform would not send. */
  | { readonly how: "malformed"; readonly body?: string }

/** A received request. */
export interface Arrived {
  readonly method: string
  readonly path: string
  readonly headers: http.IncomingHttpHeaders
  readonly text: string
  // deno-lint-ignore no-explicit-any -- what a test reads of a body it also asserts
  readonly json: any
}

/** A message that the platform accepted. */
export interface Arrival {
  /** The tracking id in the message. */
  readonly id: string
  /** Unix milliseconds. */
  readonly at: number
}

export interface Options {
  /** One fault for each send, in order. Undefined for a send without a fault. Tests may add more faults. */
  readonly faults?: Array<Fault | undefined>
  /** Replaces `faults`: returns the fault of the n-th send, counted from 0. */
  readonly fault?: (n: number) => Fault | undefined
  /** Whether to use TLS, with an untrusted certificate. */
  readonly tls?: boolean
  readonly host?: string
}

export interface PlatformServer {
  readonly url: string
  readonly port: number
  readonly requests: ReadonlyArray<Arrived>
  readonly arrivals: ReadonlyArray<Arrival>
  readonly faults: Array<Fault | undefined>
  /** Number of open connections. */
  readonly connections: () => number
  /** Resolves when `holds` returns true. Checked after each request and after each end of a connection. */
  readonly until: (holds: () => boolean) => Promise<void>
  readonly close: () => Promise<void>
}

export interface Reply {
  readonly status: number
  readonly body: unknown
  /** Id of the accepted message. Absent if the request contained no accepted message. */
  readonly id?: string
}

export type Behaviour = (request: Arrived) => Reply & { readonly isSend?: boolean }

/** Starts a server with one behaviour for all requests, and the faults of the options. */
export const start = (behave: Behaviour, options: Options): Promise<PlatformServer> =>
  new Promise((resolve, reject) => {
    const { fault, faults = [], host = "127.0.0.1" } = options
    const requests: Array<Arrived> = []
    const arrivals: Array<Arrival> = []
    const sockets = new Set<Socket>()
    const { changed, until } = makeWatch()
    let sends = 0
    const answer = (response: http.ServerResponse, status: number, body: unknown, headers = {}) => {
      const text = typeof body === "string" ? body : JSON.stringify(body ?? {})
      response.writeHead(status, { "content-type": "application/json", ...headers }).end(text)
    }
    const handle = (request: http.IncomingMessage, response: http.ServerResponse) => {
      const chunks: Array<Buffer> = []
      request.on("data", (chunk: Buffer) => chunks.push(chunk))
      request.on("error", () => {})
      request.on("end", () => {
        const text = Buffer.concat(chunks).toString("utf8")
        let json: unknown
        try {
          json = JSON.parse(text)
        } catch {
          json = undefined
        }
        const arrived: Arrived = {
          method: request.method ?? "",
          path: request.url ?? "",
          headers: request.headers,
          text,
          json,
        }
        requests.push(arrived)
        const reply = behave(arrived)
        const wrong = reply.isSend === false ? undefined : fault === undefined ? faults.shift() : fault(sends++)
        const take = () => void (reply.id !== undefined && arrivals.push({ id: reply.id, at: Date.now() }))
        if (wrong === undefined) {
          take()
          answer(response, reply.status, reply.body)
        } else if ("status" in wrong) {
          answer(response, wrong.status, wrong.body, wrong.headers)
        } else if (wrong.how === "malformed") {
          take()
          answer(response, 200, wrong.body ?? "<html>Welcome to the hotel's network</html>")
        } else if (wrong.how === "lose") {
          take()
          request.socket.destroy()
        } else if (wrong.how === "refuse") {
          request.socket.destroy()
        } else if (wrong.how === "drip") {
          take()
          response.writeHead(200, { "content-type": "application/json", "content-length": "1000" }).write('{"mess')
        }
        changed()
      })
    }
    const server = options.tls === true
      ? https.createServer({ key: certificateKey, cert: certificate }, handle)
      : http.createServer(handle)
    server.on("connection", (socket: Socket) => {
      sockets.add(socket)
      socket.on("error", () => {})
      socket.on("close", () => {
        sockets.delete(socket)
        changed()
      })
    })
    server.on("error", reject)
    server.listen(0, host, () => {
      const { port } = server.address() as AddressInfo
      resolve({
        url: `${options.tls === true ? "https" : "http"}://${host}:${port}`,
        port,
        requests,
        arrivals,
        faults,
        connections: () => sockets.size,
        until,
        close: () =>
          new Promise((done) => {
            for (const socket of sockets) socket.destroy()
            server.close(() => done())
          }),
      })
    })
  })

/** Whether a value is a text that is not empty. */
export const isText = (value: unknown): value is string => typeof value === "string" && value !== ""

/** Returns the names whose values are missing or are not texts. */
export const lacking = (item: Record<string, unknown> | undefined, ...names: ReadonlyArray<string>) =>
  names.filter((name) => !isText(item?.[name]))

export const brazeKey = "braze-rest-key-5f1c"

/** Braze's `/messages/send` and transactional campaigns: each `external_send_id` is accepted once. */
export const startBraze = (options: Options = {}): Promise<PlatformServer> => {
  const sent = new Set<string>()
  return start(({ headers, json, path }) => {
    if (headers.authorization !== `Bearer ${brazeKey}`) {
      return { status: 401, body: { message: "Invalid API key" } }
    }
    const bad = (message: string) => ({ status: 400, body: { message } })
    const n = sent.size + 1
    if (path === "/messages/send") {
      const email = json?.messages?.email
      const people = [...(json?.external_user_ids ?? []), ...(json?.user_aliases ?? [])]
      if (people.length === 0) return bad("'external_user_ids', 'user_aliases' or 'segment_id' is required")
      for (const alias of json.user_aliases ?? []) {
        if (lacking(alias, "alias_name", "alias_label").length > 0) return bad("user_aliases are not valid")
      }
      const missing = lacking(email, "app_id", "from", "subject", "body")
      if (missing.length > 0) return bad(`missing ${missing.join(", ")}`)
      if (!isText(email.extras?.tracking_id)) return bad("no tracking id")
      sent.add(email.extras.tracking_id + n)
      return { status: 201, body: { message: "success", dispatch_id: `d-${n}` }, id: email.extras.tracking_id }
    }
    if (/^\/transactional\/v1\/campaigns\/[^/]+\/send$/.test(path)) {
      const { external_send_id: id, recipient, trigger_properties: properties } = json ?? {}
      if (!isText(id) || !/^[A-Za-z0-9\-_+/=]+$/.test(id)) return bad("external_send_id is not valid")
      if (recipient?.external_user_id === undefined && recipient?.user_alias === undefined) return bad("no recipient")
      if (properties?.tracking_id !== id) return bad("no tracking id")
      const body = { dispatch_id: `td-${id}`, status: "sent", metadata: { external_send_id: id } }
      if (sent.has(id)) return { status: 201, body }
      sent.add(id)
      return { status: 201, body, id }
    }
    return { status: 404, body: { message: "Not found" } }
  }, options)
}

export const iterableKey = "iterable-key-77aa"

export const startIterable = (options: Options = {}): Promise<PlatformServer> =>
  start(({ headers, json, method, path }) => {
    if (headers["api-key"] !== iterableKey) {
      return { status: 401, body: { code: "BadApiKey", msg: "Invalid API key", params: {} }, isSend: method === "POST" }
    }
    if (method === "GET" && path === "/api/lists") return { status: 200, body: { lists: [] }, isSend: false }
    if (path !== "/api/email/target") return { status: 404, body: { code: "NotFound", msg: "no such path" } }
    const isValid = Number.isInteger(json?.campaignId) && isText(json?.recipientEmail) &&
      isText(json?.dataFields?.tracking_id)
    return isValid
      ? { status: 200, body: { code: "Success", msg: "", params: null }, id: json.dataFields.tracking_id }
      : { status: 400, body: { code: "BadParams", msg: "campaignId, recipientEmail", params: {} } }
  }, options)

export const customerIoKey = "customerio-app-key-9b2e"

export const startCustomerIo = (options: Options = {}): Promise<PlatformServer> =>
  start(({ headers, json, method, path }) => {
    if (headers.authorization !== `Bearer ${customerIoKey}`) {
      return { status: 401, body: { meta: { error: "unauthorized" } }, isSend: method === "POST" }
    }
    if (method === "GET" && path === "/v1/transactional") return { status: 200, body: { messages: [] }, isSend: false }
    if (path !== "/v1/send/email") return { status: 404, body: { meta: { error: "not found" } } }
    const missing = lacking(json, "to", "from", "subject", "body")
    if (!isText(json?.identifiers?.email)) missing.push("identifiers")
    const id = json?.headers?.["X-Tracking-Id"]
    return missing.length > 0 || !isText(id)
      ? { status: 400, body: { meta: { error: `missing ${missing.join(", ")}` } } }
      : { status: 200, body: { delivery_id: `RPq-${id}`, queued_at: 1_778_486_400 }, id }
  }, options)

export const sfmcClient = { id: "sfmc-client-id-01", secret: "sfmc-client-secret-c0de" }

/** Marketing Cloud, with its token and REST endpoints in one server. `expire` invalidates all issued tokens. */
export const startSfmc = async (options: Options = {}): Promise<PlatformServer & { readonly expire: () => void }> => {
  const keys = new Set<string>()
  let tokens = 0
  let valid: string | undefined
  const server = await start(({ headers, json, path }) => {
    if (path === "/v2/token") {
      if (json?.client_id !== sfmcClient.id || json?.client_secret !== sfmcClient.secret) {
        return { status: 401, body: { error: "invalid_client", error_description: "Invalid client ID" }, isSend: false }
      }
      if (json.grant_type !== "client_credentials") {
        return { status: 400, body: { error: "unsupported_grant_type" }, isSend: false }
      }
      valid ??= `token-${++tokens}`
      return { status: 200, body: { access_token: valid, token_type: "Bearer", expires_in: 1_079 }, isSend: false }
    }
    if (valid === undefined || headers.authorization !== `Bearer ${valid}`) {
      return { status: 401, body: { message: "Not Authorized", errorcode: 0, documentation: "" }, isSend: false }
    }
    const key = /^\/messaging\/v1\/email\/messages\/([^/]+)$/.exec(path)?.[1]
    if (key === undefined) return { status: 404, body: { message: "Not Found", errorcode: 40_400 } }
    if (!isText(json?.definitionKey) || lacking(json?.recipient, "contactKey", "to").length > 0) {
      return { status: 400, body: { message: "definitionKey, recipient", errorcode: 10_006 } }
    }
    if (keys.has(key)) {
      return {
        status: 400,
        body: { message: "The messageKey is already in use and must be unique", errorcode: 10_001 },
      }
    }
    keys.add(key)
    return { status: 202, body: { requestId: `r-${key}`, errorcode: 0, responses: [{ messageKey: key }] }, id: key }
  }, options)
  return { ...server, expire: () => void (valid = undefined) }
}

export const webhookSecret = `whsec_${Buffer.from("0123456789abcdef0123456789abcdef").toString("base64")}`

/** A receiver of signed webhooks that accepts each id once. */
export const startWebhook = (options: Options = {}): Promise<PlatformServer> => {
  const taken = new Set<string>()
  return start(({ headers, json, text }) => {
    const id = String(headers["webhook-id"])
    const signature = createHmac("sha256", Buffer.from(webhookSecret.slice(6), "base64"))
      .update(`${id}.${headers["webhook-timestamp"]}.${text}`).digest("base64")
    if (headers["webhook-signature"] !== `v1,${signature}`) return { status: 401, body: { error: "signature" } }
    if (json?.type === "connection.test") return { status: 204, body: "", isSend: false }
    if (json?.type !== "message.send" || headers["idempotency-key"] !== id) {
      return { status: 400, body: { error: "shape" } }
    }
    const body = { message_id: `wm-${id}` }
    if (taken.has(id)) return { status: 200, body }
    taken.add(id)
    return { status: 202, body, id: json.data.tracking_id }
  }, options)
}
