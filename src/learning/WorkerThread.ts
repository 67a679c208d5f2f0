import "../runtime/leakGuard.ts"
import { Context, Effect } from "effect"
import type { Spares } from "../runtime/Spares.ts"

// A thread for computations that would otherwise block the event loop of requests.

interface Asked {
  readonly id: number
  readonly request: unknown
}

type Answer = { readonly id: number; readonly value: unknown } | { readonly id: number; readonly reason: string }

/**
 * Idle threads: a worker leaves its thread here when its scope closes, and the next worker uses it. Default: undefined,
 * so that threads end with their worker. See `SpareProcesses`.
 */
export const SpareThreads = Context.Reference<Spares<Worker> | undefined>("parlance/learning/SpareThreads", {
  defaultValue: () => undefined,
})

/**
 * Returns a worker that starts with the first request, and again after it stopped. It ends with the scope. Requests
 * fail with the reason as text. Values are cloned, and requests are answered in order.
 */
export const workerThread = <Request>(file: URL) =>
  Effect.gen(function* () {
    const spares = yield* SpareThreads
    const waiting = new Map<number, (answer: Answer) => void>()
    let worker: Worker | undefined
    let nextId = 0

    const start = (): Worker => {
      const made = spares?.take(file.href) ?? new Worker(file, { type: "module" })
      made.onmessage = ({ data }: MessageEvent<Answer>) => {
        const answer = waiting.get(data.id)
        waiting.delete(data.id)
        answer?.(data)
      }
      made.onerror = (event) => {
        event.preventDefault()
        if (worker === made) worker = undefined
        for (const [id, answer] of waiting) answer({ id, reason: `The worker stopped: ${event.message}` })
        waiting.clear()
      }
      return made
    }

    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        if (worker !== undefined && (waiting.size > 0 || !spares?.keep(file.href, worker))) worker.terminate()
      })
    )

    return {
      ask: <A>(request: Request): Effect.Effect<A, string> =>
        Effect.callback((resume) => {
          const id = nextId++
          waiting.set(
            id,
            (answer) => resume("reason" in answer ? Effect.fail(answer.reason) : Effect.succeed(answer.value as A)),
          )
          worker ??= start()
          worker.postMessage({ id, request } satisfies Asked)
          // An interrupted request keeps its entry, because the worker is busy with it until it responds.
          return Effect.sync(() => waiting.set(id, () => {}))
        }),
      /** Starts the worker before the first request, so that it loads its modules in the meantime. Returns at once. */
      start: Effect.sync(() => {
        worker ??= start()
      }),
      isStarted: () => worker !== undefined,
    }
  })

/** Runs the main loop of a worker. Call it once, in the worker. */
export const answerAsWorker = <Request>(run: (request: Request) => unknown): void => {
  const scope = self as unknown as {
    onmessage: (event: MessageEvent<Asked>) => void
    postMessage: (answer: Answer) => void
  }
  scope.onmessage = ({ data: { id, request } }) => {
    let answer: Answer
    try {
      answer = { id, value: run(request as Request) }
    } catch (cause) {
      answer = { id, reason: cause instanceof Error ? cause.message : String(cause) }
    }
    scope.postMessage(answer)
  }
}
