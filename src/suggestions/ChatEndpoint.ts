import { Redacted, Result, Schema } from "effect"
import { Buffer } from "node:buffer"
import { excerpt, headerOf } from "../delivery/connections/Answers.ts"
import type { OutboundRequest, OutboundResponse } from "../delivery/OutboundHttp.ts"
import * as Json from "../json/Json.ts"

// Requests to chat completions endpoints and their answers. Endpoints agree on the messages, and differ in the path
// (with or without `/v1`), in the header of the key (Azure), in `response_format` (ignored by Anthropic, refused by
// some models) and in the bodies of errors.

/** A model that may be asked. */
export interface ChatEndpoint {
  readonly url: URL
  readonly key: Redacted.Redacted<string> | undefined
  readonly model: string
}

/** Maximum size of an answer. A longer answer is refused. Unit: bytes. */
export const maxAnswerBytes = 1_048_576

/** Returns the URL of chat completions for a base URL such as `https://api.openai.com/v1`. Keeps a complete URL. */
export const chatUrl = (text: string): URL => {
  const url = new URL(text)
  if (!/\/chat\/completions\/?$/.test(url.pathname)) {
    url.pathname = `${url.pathname.replace(/\/+$/, "")}/chat/completions`
  }
  return url
}

/** Whether the endpoint reads its key from the header of Azure. */
const isAzure = ({ hostname, searchParams }: URL): boolean =>
  searchParams.has("api-version") || hostname.endsWith(".azure.com")

/** The roles and texts of a conversation. */
export type Messages = ReadonlyArray<{ readonly role: "system" | "user" | "assistant"; readonly content: string }>

/**
 * Returns a request for one answer. With `schema`, asks for JSON of that schema. Sets no temperature and no limit of
 * tokens, because models refuse different ones.
 */
export const chatRequest = (
  { key, model, url }: ChatEndpoint,
  messages: Messages,
  schema?: object,
): OutboundRequest => ({
  method: "POST",
  url,
  headers: {
    "content-type": "application/json",
    ...(key === undefined
      ? {}
      : isAzure(url)
      ? { "api-key": Redacted.value(key) }
      : { authorization: `Bearer ${Redacted.value(key)}` }),
  },
  body: JSON.stringify({
    model,
    messages,
    ...(schema === undefined
      ? {}
      : { response_format: { type: "json_schema", json_schema: { name: "drafts", strict: true, schema } } }),
  }),
})

/** Tokens that an endpoint reports. */
export interface Tokens {
  readonly input: number
  readonly output: number
}

/** The text of an answer, with its tokens. */
export interface ChatAnswer {
  readonly text: string
  readonly tokens: Tokens | undefined
}

/** Why an answer cannot be used. */
export interface ChatFault {
  readonly detail: string
  /** Whether a request without `response_format` may succeed. */
  readonly isAboutFormat: boolean
  /** The tokens of an answer that cannot be used. */
  readonly tokens?: Tokens | undefined
}

const count = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1e9 }))

const decodeAnswer = Schema.decodeUnknownResult(Schema.Struct({
  choices: Schema.NonEmptyArray(Schema.Struct({
    finish_reason: Schema.optionalKey(Schema.Unknown),
    message: Schema.Struct({
      content: Schema.optionalKey(Schema.NullOr(Schema.String)),
      refusal: Schema.optionalKey(Schema.NullOr(Schema.String)),
      tool_calls: Schema.optionalKey(Schema.Unknown),
    }),
  })),
  usage: Schema.optionalKey(Schema.Unknown),
}))

const decodeUsage = Schema.decodeUnknownResult(Schema.Struct({ prompt_tokens: count, completion_tokens: count }))

const tokensOf = (usage: unknown): Tokens | undefined => {
  const result = decodeUsage(usage)
  if (Result.isFailure(result)) return undefined
  return { input: result.success.prompt_tokens, output: result.success.completion_tokens }
}

const statusFault = (answer: OutboundResponse, host: string, secrets: ReadonlyArray<string>): ChatFault => {
  const { body, status } = answer
  const said = excerpt(body, secrets)
  const quoted = `${host} answered ${status}${said === "" ? "" : `: ${said}`}`
  const wait = headerOf(answer, "retry-after")
  const advice = status >= 300 && status < 400
    ? "Redirects are not followed. Correct the URL of the endpoint"
    : status === 401 || status === 403
    ? "Check the key of the endpoint and what it permits"
    : status === 404
    ? "Check the URL of the endpoint, which usually ends with /v1, and the name of the model"
    : status === 429
    ? `Try again${wait === undefined ? " later" : ` after ${excerpt(wait, secrets)} seconds`}`
    : status >= 500
    ? "Try again later"
    : "Check the name of the model and the settings of the endpoint"
  const isAboutFormat = (status === 400 || status === 422) && /response_format|json_schema/i.test(body)
  return { detail: `${quoted}. ${advice}`, isAboutFormat }
}

/** Parses JSON. Undefined for a text that is none. */
export const parsed = (text: string): unknown => {
  try {
    return Json.parse(text)
  } catch {
    return undefined
  }
}

/** Returns the text of an answer, or why there is none. Messages quote at most 300 characters, without `secrets`. */
export const readAnswer = (
  answer: OutboundResponse,
  host: string,
  secrets: ReadonlyArray<string>,
): Result.Result<ChatAnswer, ChatFault> => {
  const fault = (detail: string, tokens?: Tokens) => Result.fail({ detail, isAboutFormat: false, tokens })
  if (answer.status < 200 || answer.status > 299) return Result.fail(statusFault(answer, host, secrets))
  if (Buffer.byteLength(answer.body) >= maxAnswerBytes) {
    return fault(`The answer of ${host} is larger than ${maxAnswerBytes.toLocaleString("en")} bytes. It was not used`)
  }
  if (answer.body.includes("\ufffd")) return fault(`The answer of ${host} is not valid UTF-8. It was not used`)
  const result = decodeAnswer(parsed(answer.body))
  if (Result.isFailure(result)) {
    return fault(
      `${host} did not answer like a chat completions endpoint: ${excerpt(answer.body, secrets)}. Check the URL`,
    )
  }
  const { choices: [{ finish_reason: ended, message }], usage } = result.success
  const tokens = tokensOf(usage)
  if (message.refusal) return fault(`The model refused: ${excerpt(message.refusal, secrets)}`, tokens)
  if (ended === "length") {
    return fault("The answer reached the length limit of the model. Ask for fewer drafts or fewer variables", tokens)
  }
  if (ended === "content_filter") {
    return fault(`The content filter of ${host} stopped the answer. Change the instructions or the tone`, tokens)
  }
  if (ended === "tool_calls" || ended === "function_call" || !message.content) {
    return fault("The model answered without a text. Choose a model for chat completions", tokens)
  }
  if (secrets.some((secret) => message.content!.includes(secret))) {
    return fault(`The answer of ${host} contains the key of the endpoint. It was not used. Replace the key`, tokens)
  }
  return Result.succeed({ text: message.content, tokens })
}
