import { Effect, Schedule, Schema } from "effect"
import { Buffer } from "node:buffer"
import { Agent, request } from "node:http"
import * as Json from "../json/Json.ts"

/** The service refused a request, even after retries. */
export class NotAnswered extends Schema.TaggedError<NotAnswered>()("NotAnswered", {
  path: Schema.String,
  reason: Schema.String,
  /** Whether a retry may succeed. */
  passing: Schema.Boolean,
}) {
  override get message() {
    return `The service did not answer ${this.path}: ${this.reason}`
  }
}

/** Calls the service over HTTP, with JSON. */
export interface ServiceClient {
  /** Returns the decoded body of a 200. Temporary failures (no connection, a 503) are retried for ten seconds. */
  readonly post: (path: string, body: unknown) => Effect.Effect<unknown, NotAnswered>
}

const again = { schedule: Schedule.spaced("500 millis"), times: 20, while: ({ passing }: NotAnswered) => passing }

/** Creates a client with `key` on at most `connections` connections, which close with the scope. */
export const make = Effect.fnUntraced(function* (url: string, key: string, connections: number) {
  const agent = yield* Effect.acquireRelease(
    Effect.sync(() => new Agent({ keepAlive: true, maxSockets: connections })),
    (agent) => Effect.sync(() => agent.destroy()),
  )
  const once = (path: string, text: string): Effect.Effect<unknown, NotAnswered> =>
    Effect.callback((resume) => {
      const fail = (reason: string, passing: boolean) => resume(Effect.fail(new NotAnswered({ path, reason, passing })))
      const headers = {
        "x-api-key": key,
        "content-type": "application/json",
        "content-length": String(Buffer.byteLength(text)),
      }
      const call = request(`${url}${path}`, { method: "POST", agent, headers }, (response) => {
        let answer = ""
        response.setEncoding("utf8")
        response.on("data", (chunk: string) => answer += chunk)
        response.on("error", (error) => fail(error.message, true))
        response.on("end", () => {
          const status = response.statusCode ?? 0
          if (status !== 200) return fail(`${status} ${answer.slice(0, 500)}`, status === 503)
          resume(Effect.succeed(Json.parse(answer)))
        })
      })
      call.on("error", (error) => fail(error.message, true))
      call.end(text)
      return Effect.sync(() => call.destroy())
    })
  return {
    post: (path, body) => Effect.retry(Effect.suspend(() => once(path, JSON.stringify(body))), again),
  } satisfies ServiceClient
})
