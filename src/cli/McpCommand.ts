import { Effect, Redacted, Stream } from "effect"
import { Command } from "effect/cli"
import { Buffer } from "node:buffer"
import process from "node:process"
import { createInterface } from "node:readline"
import * as Json from "../json/Json.ts"
import { CommandFailed, ServiceFetch } from "./Connection.ts"
import { causeOfSilence } from "./Report.ts"
import { secretVariable } from "./Secrets.ts"

// An agent that starts this command speaks the Model Context Protocol over standard input and output. The service
// speaks it at /mcp: the command passes the messages on, so the tools exist once.

const path = "/mcp"

type Message = Readonly<Record<string, unknown>>

const isMessage = (value: unknown): value is Message =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The messages in a response: its JSON, or the data of its server-sent events. Other responses have none. */
export const messagesIn = (contentType: string | null, text: string): ReadonlyArray<string> => {
  if (text.trim() === "") return []
  if (contentType?.startsWith("application/json")) return [text.trim()]
  if (!contentType?.startsWith("text/event-stream")) return []
  return text.split(/\r?\n\r?\n/).map((event) =>
    event.split(/\r?\n/).filter((line) => line.startsWith("data:")).map((line) => line.slice(5).trimStart()).join("\n")
  ).filter((data) => data !== "")
}

/** The response to a message that the service refused, or nothing for a message that expects no response. */
export const refusalOf = (message: Message, status: number, text: string): ReadonlyArray<string> => {
  if (message["id"] === undefined) return []
  let problem: unknown
  try {
    problem = Json.parse(text)
  } catch {
    problem = undefined
  }
  // The service answers some faults as a message of the protocol.
  if (isMessage(problem) && problem["jsonrpc"] !== undefined) return [JSON.stringify(problem)]
  const reason = isMessage(problem) && typeof problem["detail"] === "string"
    ? problem["detail"]
    : `The service answered ${status}`
  return [faultOf(message["id"], reason)]
}

const faultOf = (id: unknown, reason: string): string =>
  JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32000, message: reason } })

const unreachable = (error: unknown): string =>
  `The service did not answer: ${
    causeOfSilence(error)
  }. Check that it runs and that this is its address, which comes from ` +
  "PARLANCE_URL or a profile of `parlance login`"

const notJson = JSON.stringify({
  jsonrpc: "2.0",
  id: null,
  error: { code: -32700, message: "A line of standard input is not a JSON object" },
})

/** Member of a message with its revision of the protocol. Messages with it belong to no session. */
const revisionMember = "io.modelcontextprotocol/protocolVersion"

/** Members of messages that the header `Mcp-Name` repeats. */
const namedBy: Readonly<Record<string, string>> = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri",
}

/** A text as the value of a header: itself, or in Base64 if it is not printable ASCII. */
const headerValue = (text: string): string =>
  /^[!-~](?:[ -~]*[!-~])?$/.test(text) && !text.startsWith("=?base64?")
    ? text
    : `=?base64?${Buffer.from(text).toString("base64")}?=`

/**
 * The headers with which revision 2026-07-28 repeats members of a message. Undefined for a message of an earlier revision,
 * which belongs to a session.
 */
const headersOf = ({ method, params }: Message): Readonly<Record<string, string>> | undefined => {
  const members = isMessage(params) ? params : {}
  const meta = isMessage(members["_meta"]) ? members["_meta"] : {}
  const revision = meta[revisionMember]
  if (typeof revision !== "string" || typeof method !== "string") return undefined
  const name = Object.hasOwn(namedBy, method) ? members[namedBy[method]!] : undefined
  return {
    "mcp-protocol-version": headerValue(revision),
    "mcp-method": headerValue(method),
    ...(typeof name === "string" ? { "mcp-name": headerValue(name) } : {}),
  }
}

/** Passes messages to a service. Keeps the session, and begins it again if the service has forgotten it. */
export const relay = (send: (path: string, init: RequestInit) => Promise<Response>, key: string) => {
  let session: string | undefined
  let revision: string | undefined
  let beginning: string | undefined

  const sessionHeaders = () => ({
    ...(session === undefined ? {} : { "mcp-session-id": session }),
    ...(revision === undefined ? {} : { "mcp-protocol-version": revision }),
  })

  const post = async (line: string, headers: Readonly<Record<string, string>> = sessionHeaders()) => {
    const response = await send(path, {
      method: "POST",
      headers: {
        "x-api-key": key,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...headers,
      },
      body: line,
    })
    return { response, text: await response.text() }
  }

  const begin = async (line: string) => {
    session = revision = undefined
    const answer = await post(line)
    session = answer.response.headers.get("mcp-session-id") ?? undefined
    const [first] = messagesIn(answer.response.headers.get("content-type"), answer.text)
    const result = first === undefined ? undefined : Json.parse(first)
    if (isMessage(result) && isMessage(result["result"]) && typeof result["result"]["protocolVersion"] === "string") {
      revision = result["result"]["protocolVersion"]
      beginning = line
    }
    return answer
  }

  const answerOf = async (message: Message, line: string): Promise<ReadonlyArray<string>> => {
    const headers = headersOf(message)
    let answer = message["method"] === "initialize" ? await begin(line) : await post(line, headers)
    if (answer.response.status === 404 && headers === undefined && session !== undefined && beginning !== undefined) {
      await begin(beginning)
      await post(JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" }))
      answer = await post(line)
    }
    const { response, text } = answer
    const messages = messagesIn(response.headers.get("content-type"), text)
    return response.ok && (messages.length > 0 || text === "") ? messages : refusalOf(message, response.status, text)
  }

  // Requests are sent at once. Other messages begin or change the session, so the next message waits for them.
  let before: Promise<unknown> = Promise.resolve()

  return async (line: string): Promise<ReadonlyArray<string>> => {
    let message: unknown
    try {
      message = Json.parse(line)
    } catch {
      return [notJson]
    }
    if (!isMessage(message)) return [notJson]
    const { id, method } = message as { readonly id?: unknown; readonly method?: unknown }
    const answer = before.then(() => answerOf(message, line)).catch((error: unknown) =>
      id === undefined ? [] : [faultOf(id, unreachable(error))]
    )
    if (id === undefined || method === "initialize") before = answer
    return await answer
  }
}

const noKey =
  "An agent needs an API key of its own. Create one with `parlance key create agent --scope templates:read " +
  "--scope results:read`, and set PARLANCE_KEY to it in the agent's configuration. Add `templates:write` for drafts."

/** `parlance mcp` */
export const mcpCommand = Command.make(
  "mcp",
  {},
  Effect.fnUntraced(function* () {
    const key = yield* Effect.flatMap(
      secretVariable("PARLANCE_KEY"),
      Effect.fromOption,
    ).pipe(Effect.catchTag("NoSuchElementError", () => new CommandFailed({ message: noKey })))
    const pass = relay(yield* ServiceFetch, Redacted.value(key))
    yield* Stream.fromAsyncIterable(createInterface({ input: process.stdin }), (error) => error).pipe(
      Stream.filter((line) => line.trim() !== ""),
      Stream.mapEffect((line) => Effect.tryPromise(() => pass(line)), { concurrency: 8 }),
      Stream.runForEach((lines) =>
        Effect.sync(() => lines.forEach((line) => process.stdout.write(`${line.replaceAll("\n", " ")}\n`)))
      ),
    )
  }),
).pipe(Command.withDescription(
  "Serve agents over standard input and output (Model Context Protocol), with the access of PARLANCE_KEY",
))
