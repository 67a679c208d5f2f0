import { Context, Effect, Layer, Scope } from "effect"
import { McpProtocol, McpSchema, McpServer } from "effect/ai"
import { HttpRouter, HttpServerRequest, HttpServerRespondable, HttpServerResponse } from "effect/http"
import { type Grant, KeyAuth } from "../../auth/KeyAuth.ts"
import { version } from "../../domain/Version.ts"
import { Refusals } from "../admission/Refusals.ts"
import { withGrant } from "../admission/KeyRequired.ts"
import { describeApi } from "../operations/OperationsRoutes.ts"
import { isObject } from "../generate/GenerateWire.ts"
import * as Body from "../http/Body.ts"
import { CurrentArrival, RequestArrival } from "../http/RequestArrival.ts"
import { requestOf } from "../http/WebServer.ts"
import { Forbidden, InvalidRequest, MethodNotAllowed, PathNotFound } from "../Problems.ts"
import { AgentSessions, newSession, revisionOf } from "./AgentSessions.ts"
import { agentInstructions, agentTools } from "./AgentTools.ts"
import { type ToolForm, toolForms, type ToolRequest, toolRequest } from "./ToolRequests.ts"

// The Model Context Protocol at /mcp, for agents with an API key. Effect's server speaks the protocol. A tool is an
// operation of the API: its call goes through the router with the key of the agent, so that the access,
// limits and audit of the operation apply.

/** The request of an agent: whose key it has, and the arguments of a call of a tool. */
class AgentRequest extends Context.Service<AgentRequest, {
  readonly grant: Grant
  readonly arrival: RequestArrival
  readonly values: Readonly<Record<string, unknown>>
}>()("parlance/api/agents/AgentRequest") {}

/** Largest response of a tool: 262,144, about 65,000 tokens of a model. Unit: characters. */
const maxResultLength = 256 * 1024

const refusal = (text: string) => new McpSchema.CallToolResult({ isError: true, content: [{ type: "text", text }] })

/** Returns the result of a tool from the response of its operation. */
const resultOf = (status: number, text: string): McpSchema.CallToolResult => {
  if (status >= 400) return refusal(text === "" ? `The service answered ${status}` : text)
  if (text.length > maxResultLength) {
    return refusal(
      `The result has ${text.length} characters; a tool returns at most ${maxResultLength}. ` +
        "Ask for less, such as a smaller `limit` or one variant.",
    )
  }
  return new McpSchema.CallToolResult({ content: [{ type: "text", text: text === "" ? "Done." : text }] })
}

/** Sends the request of a tool through the router, as a request of the agent. */
const dispatched = Effect.fnUntraced(function* (router: HttpRouter.HttpRouter, request: ToolRequest) {
  const { arrival } = yield* AgentRequest
  const { authorization, "x-api-key": key } = arrival.headers
  const made = new Request(new URL(request.target, "http://localhost"), {
    method: request.method,
    headers: {
      ...(authorization === undefined ? {} : { authorization }),
      ...(key === undefined ? {} : { "x-api-key": key }),
      ...(request.body === undefined ? {} : {
        "content-type": "application/json",
        "content-length": String(new TextEncoder().encode(request.body).length),
      }),
    },
    body: request.body ?? null,
  })
  const inner = new RequestArrival(made, arrival.peer, 30_000, arrival.isEnding)
  const response = yield* router.asHttpEffect().pipe(
    Effect.provideService(CurrentArrival, inner),
    Effect.provideService(HttpServerRequest.HttpServerRequest, requestOf(inner)),
    Effect.scoped,
    Effect.orDie,
  )
  const web = HttpServerResponse.toWeb(response)
  return resultOf(web.status, yield* Effect.promise(() => web.text()))
})

/** Registers a tool. Agents see it if their key has a scope of its operation. */
const registered = Effect.fnUntraced(function* (router: HttpRouter.HttpRouter, form: ToolForm) {
  const server = yield* McpServer.McpServer
  yield* server.addTool({
    tool: new McpSchema.Tool({
      name: form.tool.name,
      description: form.description,
      inputSchema: form.input as McpSchema.ToolJson,
      annotations: {
        readOnlyHint: form.isReadOnly,
        destructiveHint: false,
        idempotentHint: true,
        openWorldHint: false,
      },
    }),
    annotations: Context.empty(),
    services: yield* Effect.context<never>(),
    // The arguments come from our own parser, because `JSON.parse` of V8 can misread names.
    handle: () =>
      Effect.gen(function* () {
        const { grant, values } = yield* AgentRequest
        const request = toolRequest(form, grant.org, values)
        return "method" in request ? yield* dispatched(router, request) : refusal(request.join(". "))
      }) as Effect.Effect<McpSchema.CallToolResult>,
  })
})

/** Starts the protocol server. Needs 0.1 s of processor time, for the OpenAPI document. */
const protocolServer = (router: HttpRouter.HttpRouter) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const forms = toolForms(describeApi(), agentTools)
      const byName = new Map(forms.map((form) => [form.tool.name, form]))
      const allowed = McpServer.visibility(({ target }) =>
        Effect.map(AgentRequest, ({ grant: { scopes } }) =>
          [...byName.get(target)?.scopes ?? []].some((scope) =>
            (scopes as ReadonlySet<string>).has(scope)
          ))
      )
      const registrations = Layer.effectDiscard(
        Effect.forEach(forms, (form) => registered(router, form), { discard: true }),
      ).pipe(Layer.provide(allowed.layer))
      const protocol = McpServer.layerHttp({
        name: "parlance",
        version,
        instructions: agentInstructions,
        path,
        // The first is the answer to a client of an unknown revision.
        protocols: [McpProtocol.v2025_11_25, McpProtocol.v2025_06_18, McpProtocol.v2026_07_28],
        allowSessionTermination: true,
        allowSubscriptions: false,
        registrations,
      })
      return HttpRouter.toWebHandler(protocol, { disableLogger: true })
    }),
    ({ dispose }) => Effect.promise(dispose),
  )

const path = "/mcp"

const methods = ["POST", "DELETE"] as const

/** Header with the id of a session. */
const sessionHeader = "mcp-session-id"

/** Header with the revision of the protocol. */
const revisionHeader = "mcp-protocol-version"

/** The arguments of a call of a tool in a message of JSON-RPC. Empty for other messages. */
const valuesOf = (message: unknown): Readonly<Record<string, unknown>> => {
  const params = isObject(message) ? message["params"] : undefined
  const values = isObject(params) ? params["arguments"] : undefined
  return isObject(values) ? values : {}
}

const invalid = (detail: string) => new InvalidRequest({ detail, errors: [{ pointer: "", detail }] })

const isBatch = "The body is a list. Send each message in a request of its own"

const withoutSession = "DELETE ends a session. Name it in the header Mcp-Session-Id"

const unknownSession =
  "The session does not exist, has ended, or belongs to another key. Send `initialize` without the " +
  "header Mcp-Session-Id to begin another one"

const fromPage = "A page of a browser cannot use /mcp. Connect an agent outside of the browser, with the API key in " +
  "its configuration"

const bytesOf = (message: object) => new TextEncoder().encode(JSON.stringify({ jsonrpc: "2.0", ...message }))

/** The message that begins a session of another node on this node. */
const continuing = (protocolVersion: string) =>
  bytesOf({
    id: 0,
    method: "initialize",
    params: { protocolVersion, capabilities: {}, clientInfo: { name: "continued session", version } },
  })

const initialized = bytesOf({ method: "notifications/initialized" })

type ProtocolServer = Effect.Success<ReturnType<typeof protocolServer>>

/** Passes requests to the protocol server, in sessions that every node can continue. */
const protocolSessions = (server: Effect.Effect<ProtocolServer>) => {
  const sessions = new AgentSessions()

  /** Passes a request to the protocol server. `body` is empty for a request without one. */
  const served = Effect.fnUntraced(function* (
    agent: AgentRequest["Service"],
    method: string,
    body: Uint8Array,
    inner: string | undefined,
    headers: Readonly<Record<string, string | undefined>> = {},
  ) {
    const { [sessionHeader]: _, ...others } = headers
    const request = new Request(new URL(path, "http://localhost"), {
      method,
      headers: {
        ...others as Record<string, string>,
        ...(inner === undefined ? {} : { [sessionHeader]: inner }),
        "content-type": "application/json",
        // Clients that read one form only are served, too: no tool sends several messages.
        accept: "application/json, text/event-stream",
      },
      body: body.length === 0 ? null : body as Uint8Array<ArrayBuffer>,
      signal: agent.arrival.request.signal,
    })
    const { handler } = yield* server
    const context = yield* Effect.context<never>()
    return yield* Effect.promise(() => handler(request, Context.add(context, AgentRequest, agent)))
  })

  const add = Effect.fnUntraced(function* (agent: AgentRequest["Service"], session: string, inner: string) {
    const leaving = sessions.add(agent.grant.keyId, session, inner)
    if (leaving !== undefined) yield* served(agent, "DELETE", Body.none.bytes, leaving)
  })

  return {
    served,
    /** Returns the id of a session that the protocol server began, for the agent. */
    begun: Effect.fnUntraced(function* (agent: AgentRequest["Service"], inner: string, revision: string | null) {
      const session = newSession(agent.grant.keyId, revision ?? "")
      yield* add(agent, session, inner)
      return session
    }),
    /** Returns the protocol server's id of a session, which begins here if it is of another node. Undefined without one. */
    find: Effect.fnUntraced(function* (agent: AgentRequest["Service"], session: string) {
      const { keyId } = agent.grant
      const found = sessions.find(keyId, session)
      const revision = revisionOf(keyId, session)
      if (found !== undefined || revision === undefined || sessions.hasEnded(session)) return found
      const answer = yield* served(agent, "POST", continuing(revision), undefined)
      const inner = answer.headers.get(sessionHeader)
      if (inner === null) return undefined
      yield* served(agent, "POST", initialized, inner)
      yield* add(agent, session, inner)
      return sessions.find(keyId, session)
    }),
    end: ({ grant: { keyId } }: AgentRequest["Service"], session: string) => sessions.end(keyId, session),
  }
}

/** Serves /mcp. The protocol server starts with the first request. */
export const layer = HttpRouter.use(Effect.fnUntraced(function* (router) {
  const keys = yield* KeyAuth
  const scope = yield* Effect.scope
  const refusals = yield* Refusals
  const server = yield* Effect.cached(Effect.provideService(protocolServer(router), Scope.Scope, scope))
  const sessions = protocolSessions(server)

  const handled = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest, grant: Grant) {
    if (request.headers["origin"] !== undefined) return yield* new Forbidden({ detail: fromPage })
    const arrival = yield* Effect.contextWith((context: Context.Context<never>) =>
      Effect.succeed(Context.getUnsafe(context, CurrentArrival))
    )
    const session = arrival.headers[sessionHeader]
    const inner = session === undefined ? undefined : yield* sessions.find({ grant, arrival, values: {} }, session)
    if (session !== undefined && inner === undefined) return yield* new PathNotFound({ detail: unknownSession })
    if (session === undefined && request.method === "DELETE") return yield* invalid(withoutSession)
    const { bytes, json } = request.method === "POST" ? yield* Body.rawJson(request, Body.maxBodyBytes) : Body.none
    if (Array.isArray(json)) return yield* invalid(isBatch)
    const agent = { grant, arrival, values: valuesOf(json) }
    const response = yield* sessions.served(agent, request.method, bytes, inner, arrival.headers)
    if (request.method === "DELETE" && session !== undefined) sessions.end(agent, session)
    const named = response.headers.get(sessionHeader)
    const answer = HttpServerResponse.fromWeb(response)
    if (named === null) return answer
    const id = session !== undefined && named === inner
      ? session
      : yield* sessions.begun(agent, named, response.headers.get(revisionHeader))
    return HttpServerResponse.setHeader(answer, sessionHeader, id)
  })

  for (const method of methods) {
    yield* router.add(method, path, (request) =>
      withGrant(keys, request, "", (grant) => handled(request, grant)).pipe(
        Effect.provideService(Refusals, refusals),
      ))
  }
  for (const method of ["GET", "PUT", "PATCH", "OPTIONS"] as const) {
    yield* router.add(
      method,
      path,
      Effect.map(
        HttpServerRespondable.toResponse(new MethodNotAllowed({ detail: `${path} supports ${methods.join(", ")}` })),
        HttpServerResponse.setHeader("allow", methods.join(", ")),
      ),
    )
  }
}))
