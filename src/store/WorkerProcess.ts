import { Duration, Effect, Schema, Semaphore } from "effect"
import { fileURLToPath } from "node:url"
import { deserialize } from "node:v8"
import { frameOf, Frames, type ProcessAnswer } from "./WorkerProtocol.ts"

/** Work that a worker process did not complete. */
export class WorkFailed extends Schema.TaggedError<WorkFailed>()("WorkFailed", {
  /**
   * `deadline`: it took too long and the process was killed. `ended`: the process ended, most likely for lack of memory.
   * `threw`: the program threw an exception. `start`: no process could be started, so the work was not tried.
   */
  reason: Schema.Literals(["deadline", "ended", "threw", "start"]),
  detail: Schema.String,
  /** The last note of the program about this work (see `answerAsProcess`), such as the item at fault. */
  note: Schema.Unknown,
}) {
  override get message() {
    return this.detail
  }
}

export interface WorkerProcessOptions {
  /** The module that the process runs; it calls `answerAsProcess`. */
  readonly program: URL
  /** The purpose of the process, for errors: "checks Liquid". */
  readonly purpose: string
  /** Time limit of a request that has none of its own. Waiting for other requests does not count. */
  readonly deadline: Duration.Input
  /** How long the process is kept without work. Default 1 minute. */
  readonly idle?: Duration.Input
  /** Heap limit of the process. Default 256 MiB. */
  readonly maxHeapMiB?: number
}

export interface WorkerProcess<Request, Answer> {
  /**
   * Runs one request in the process. Requests run one at a time, in the order asked. Values are structured clones.
   * `deadline` replaces the deadline of the process.
   * Fails with `WorkFailed` when the deadline passes, the process ends, or the program throws.
   */
  readonly ask: (request: Request, deadline?: Duration.Input) => Effect.Effect<Answer, WorkFailed>
}

/**
 * Runs untrusted work in a process of its own, which has no permissions and no secrets. The process starts with the first
 * request, is reused while it is warm, and is killed at the deadline. It ends with the scope.
 *
 * A worker thread cannot do this on Deno: `terminate()` leaves a busy one running (denoland/deno#35657; seen on 2.9.6 with
 * `Worker` and `node:worker_threads` alike).
 */
export const workerProcess = <Request, Answer>(options: WorkerProcessOptions) =>
  Effect.gen(function* () {
    const deadline = Duration.fromInputUnsafe(options.deadline)
    const idleMillis = Duration.toMillis(Duration.fromInputUnsafe(options.idle ?? "1 minute"))
    const one = yield* Semaphore.make(1)
    let warm: Child | undefined
    let idle: ReturnType<typeof setTimeout> | undefined

    const end = () => {
      clearTimeout(idle)
      warm?.kill()
      warm = undefined
    }
    yield* Effect.addFinalizer(() => Effect.sync(end))

    const started = Effect.suspend(() => {
      clearTimeout(idle)
      if (warm?.alive) return Effect.succeed(warm)
      return Effect.tap(Child.start(options), (child) => Effect.sync(() => void (warm = child)))
    })

    const rest = Effect.sync(() => {
      idle = setTimeout(end, idleMillis)
      idle.unref?.()
    })

    return {
      ask: (request: Request, own: Duration.Input = deadline) =>
        Effect.flatMap(started, (child) => child.ask<Answer>(request, Duration.fromInputUnsafe(own))).pipe(
          // The process is still busy with a request that has no waiting caller.
          Effect.onInterrupt(() => Effect.sync(end)),
          Effect.ensuring(rest),
          one.withPermits(1),
        ),
    } satisfies WorkerProcess<Request, Answer>
  })

/** How long a process may take to start, even on a busy machine. Unit: milliseconds. */
const startMillis = 30_000

type Received = ProcessAnswer | { readonly type: "exit"; readonly reason: string }

/**
 * A running process. Its deadline uses the machine's clock: it limits processor time, which a test clock does not
 * advance.
 */
class Child {
  alive = true
  #note: unknown
  #complaint = ""
  #receive: (answer: Received) => void = () => {}
  readonly #child: Deno.ChildProcess
  readonly #requests: WritableStreamDefaultWriter<Uint8Array>

  /** Fails with `WorkFailed` (`start`) when the process does not report ready in time. */
  static start(options: WorkerProcessOptions): Effect.Effect<Child, WorkFailed> {
    return Effect.callback<Child, WorkFailed>((resume) => {
      const child = new Child(options)
      const fail = (reason: string) => {
        child.kill()
        const detail = `The process that ${options.purpose} did not start: ${reason}`
        resume(Effect.fail(new WorkFailed({ reason: "start", detail, note: undefined })))
      }
      const timer = setTimeout(() => fail(`it was not ready after ${startMillis / 1000} seconds`), startMillis)
      child.#receive = (answer) => {
        clearTimeout(timer)
        if (answer.type === "exit") fail(answer.reason)
        else resume(Effect.succeed(child))
      }
      return Effect.sync(() => {
        clearTimeout(timer)
        child.kill()
      })
    })
  }

  private constructor({ maxHeapMiB = 256, program }: WorkerProcessOptions) {
    // Not `spawn` of `node:child_process`: on Deno it adds `-A`, all permissions, when it runs Deno itself.
    this.#child = new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "--no-prompt",
        "--frozen",
        "--cached-only",
        "--quiet",
        // The space for new objects is added three times: 48 MiB unless limited.
        `--v8-flags=--max-old-space-size=${maxHeapMiB},--max-semi-space-size=4,--no-allocation-site-pretenuring`,
        fileURLToPath(program),
      ],
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
      // Only the variables that Deno needs to find its cache: the service's environment holds secrets.
      clearEnv: true,
      env: Object.fromEntries(
        ["PATH", "HOME", "DENO_DIR", "XDG_CACHE_HOME", "TMPDIR", "DENO_NO_UPDATE_CHECK"].flatMap((name) => {
          const value = Deno.env.get(name)
          return value === undefined ? [] : [[name, value]]
        }),
      ),
    }).spawn()
    this.#requests = this.#child.stdin.getWriter()
    Promise.allSettled([this.#child.status, this.#readAnswers(), this.#readComplaints()]).then(([status]) => {
      this.alive = false
      const code = status.status === "fulfilled" ? status.value.signal ?? status.value.code : status.reason
      this.#receive({ type: "exit", reason: this.#complaint.trim() || `exit ${code}` })
    })
  }

  ask<Answer>(request: unknown, deadline: Duration.Duration): Effect.Effect<Answer, WorkFailed> {
    return Effect.callback<Answer, WorkFailed>((resume) => {
      this.#note = undefined
      const fail = (reason: WorkFailed["reason"], detail: string) => {
        clearTimeout(timer)
        resume(Effect.fail(new WorkFailed({ reason, detail, note: this.#note })))
      }
      const timer = setTimeout(() => {
        this.kill()
        fail("deadline", `takes longer than ${Duration.format(deadline)}`)
      }, Duration.toMillis(deadline))
      this.#receive = (answer) => {
        switch (answer.type) {
          case "note":
            this.#note = answer.value
            return
          case "answer":
            clearTimeout(timer)
            return resume(Effect.succeed(answer.value as Answer))
          case "threw":
            return fail("threw", answer.message)
          case "exit":
            return fail("ended", "ends the process that works on it, most likely for lack of memory")
        }
      }
      let frame: ReadonlyArray<Uint8Array>
      try {
        frame = frameOf(request)
      } catch (cause) {
        // Values that are nested too deep cannot be cloned.
        return fail("threw", cause instanceof Error ? cause.message : String(cause))
      }
      // A write to a process that has just ended fails; its status reports that.
      for (const part of frame) this.#requests.write(part).catch(() => {})
    })
  }

  kill(): void {
    this.#receive = () => {}
    if (!this.alive) return
    this.alive = false
    try {
      this.#child.kill("SIGKILL")
    } catch {
      // The process ended by itself a moment ago.
    }
  }

  async #readAnswers(): Promise<void> {
    const frames = new Frames()
    for await (const chunk of this.#child.stdout) {
      for (const frame of frames.add(chunk)) this.#receive(deserialize(frame) as ProcessAnswer)
    }
  }

  async #readComplaints(): Promise<void> {
    for await (const chunk of this.#child.stderr.pipeThrough(new TextDecoderStream())) {
      this.#complaint = `${this.#complaint}${chunk}`.slice(-2_000)
    }
  }
}
