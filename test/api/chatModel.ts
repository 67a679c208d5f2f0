import type { Json } from "./harness.ts"

/** A request to the imitated endpoint. */
export interface ModelRequest {
  readonly path: string
  readonly headers: Headers
  readonly text: string
  readonly json: Json
}

/** Answers with a chat completion of this text. */
export const completion = (content: unknown, more: Record<string, unknown> = {}): Response =>
  Response.json({
    id: "chatcmpl-1",
    object: "chat.completion",
    choices: [{
      index: 0,
      finish_reason: "stop",
      message: { role: "assistant", content: typeof content === "string" ? content : JSON.stringify(content) },
      ...more,
    }],
    usage: { prompt_tokens: 1_000, completion_tokens: 200, total_tokens: 1_200 },
  })

/** Drafts in the form that the prompt asks for. */
export const drafts = (...all: ReadonlyArray<readonly [name: string, vars: Record<string, unknown>]>) => ({
  drafts: all.map(([name, vars]) => ({ name, vars })),
})

/** An HTTP server in the place of a language model. Each request takes the next answer of `answers`. */
export const startChatModel = () => {
  const requests: Array<ModelRequest> = []
  const answers: Array<(request: ModelRequest) => Response | Promise<Response>> = []
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (request) => {
    const text = await request.text()
    const { pathname, search } = new URL(request.url)
    const seen = { path: pathname + search, headers: request.headers, text, json: JSON.parse(text) }
    requests.push(seen)
    const answer = answers.shift()
    return answer === undefined ? new Response("no answer left", { status: 500 }) : await answer(seen)
  })
  return {
    url: `http://127.0.0.1:${server.addr.port}/v1`,
    requests,
    /** Replaces the answers, and forgets the earlier requests. */
    answers: (...next: typeof answers) => {
      requests.length = 0
      answers.splice(0, answers.length, ...next)
    },
    close: () => server.shutdown(),
  }
}
