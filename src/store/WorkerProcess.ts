import { Context, Duration, Effect, Fiber, Schema, Semaphore } from "effect"
import { fileURLToPath } from "node:url"
import { deserialize } from "node:v8"
import type { Spares } from "../runtime/Spares.ts"
import { watchWork, type WorkLimits } from "./WorkLimits.ts"
import { frameOf, Frames, type ProcessAnswer } from "./WorkerProtocol.ts"

/** Work that a worker process did not complete. */
export class WorkFailed extends Schema.TaggedError<WorkFailed>()("WorkFailed", {
  /**
   * `deadline`: the work exceeded its processor time, and the process was killed. `ended`: the process ended, most
   * likely because it ran out of memory. `threw`: the program threw an exception. `start`: no process could be started,
   * so the work was not attempted. `stalled`: the process hung without using its processor time and was killed. The
   * work did not cause the last two: see `isByMachine`.
   */
  reason: Schema.Literals(["deadline", "ended", "threw", "start", "stalled"]),
  detail: Schema.String,
  /** The last note of the program about this work (see `answerAsProcess`), such as the item being processed. */
  note: Schema.Unknown,
}) {
  override get message() {
    return this.detail
  }
}

/** Whether the machine caused the failure, so that the work may succeed later. */
export const isByMachine = ({ reason }: WorkFailed): boolean => reason === "start" || reason === "stalled"

/** Options of a worker process. */
export interface WorkerProcessOptions {
  /** The module that the process runs. It calls `answerAsProcess`. */
  readonly program: URL
  /** The purpose of the process, for errors: "checks Liquid". */
  readonly purpose: string
  /** Default processor time of a request. On a busy machine, the elapsed time may be longer. */
  readonly deadline: Duration.Input
  /**
   * Elapsed time after which a process without progress is killed. Default: 30 seconds or ten times the deadline,
   * whichever is longer.
   */
  readonly hangLimit?: Duration.Input
  /** Maximum time that a request waits for the process to start. The start continues after it. Default: 2 minutes. */
  readonly patience?: Duration.Input
  /** How long an idle process is kept. Default: 1 minute. */
  readonly idle?: Duration.Input
  /** Heap limit of the process. Default: 256 MiB. */
  readonly maxHeapMiB?: number
}

/** A process that runs requests one at a time. */
export interface WorkerProcess<Request, Answer> {
  /**
   * Runs one request in the process. Requests run one at a time, in order. Values are structured clones. `deadline`
   * replaces the default processor time. Fails with `WorkFailed` if the deadline is exceeded, or if the process does
   * not start, ends, hangs, or throws.
   */
  readonly ask: (request: Request, deadline?: Duration.Input) => Effect.Effect<Answer, WorkFailed>
}

/**
 * Idle processes: when its scope closes, a worker process leaves its child here, and the next worker process of its
 * kind uses it. Default: undefined. Tests provide it, because they start hundreds of services, and each process needs
 * half a second of processor time.
 */
export const SpareProcesses = Context.Reference<Spares<Child> | undefined>("parlance/store/SpareProcesses", {
  defaultValue: () => undefined,
})

/**
 * Runs untrusted work in a separate process without permissions and secrets. The process starts with the first request,
 * is reused for later requests, and is killed at the deadline. If a caller gives up, the start continues, so that a
 * busy machine completes it for the next caller. The process ends with the scope.
 *
 * A worker thread is not sufficient on Deno: `terminate()` does not stop a busy thread (denoland/deno#35657; seen on
 * 2.9.6 with both `Worker` and `node:worker_threads`).
 */
export const workerProcess = <Request, Answer>(options: WorkerProcessOptions) =>
  Effect.gen(function* () {
    const deadline = Duration.fromInputUnsafe(options.deadline)
    const idleMillis = Duration.toMillis(Duration.fromInputUnsafe(options.idle ?? "1 minute"))
    const one = yield* Semaphore.make(1)
    const scope = yield* Effect.scope
    const spares = yield* SpareProcesses
    const kind = `${options.program} ${options.maxHeapMiB}`
    let isFirst = true
    let isBusy = false
    let warm: Child | undefined
    let starting: Fiber.Fiber<Child, WorkFailed> | undefined
    let idle: ReturnType<typeof setTimeout> | undefined

    const end = () => {
      clearTimeout(idle)
      warm?.kill()
      warm = undefined
    }
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        if (isBusy || !warm?.alive || !spares?.keep(kind, warm)) return end()
        clearTimeout(idle)
        warm = undefined
      })
    )

    const start = Child.start(options).pipe(
      Effect.tap((child) => Effect.sync(() => void (warm = child))),
      Effect.ensuring(Effect.sync(() => void (starting = undefined))),
    )
    const startInBackground = Effect.tap(
      Effect.forkIn(start, scope),
      (fiber) => Effect.sync(() => void (starting = fiber)),
    )
    const started = Effect.suspend(() => {
      clearTimeout(idle)
      isBusy = true
      if (isFirst) {
        isFirst = false
        warm = spares?.take(kind)
        warm?.adopt(options)
      }
      if (warm?.alive) return Effect.succeed(warm)
      return Effect.flatMap(starting === undefined ? startInBackground : Effect.succeed(starting), Fiber.join)
    }).pipe(
      Effect.timeoutOrElse({ duration: options.patience ?? startLimits.clock, orElse: () => stillStarting(options) }),
    )

    const rest = Effect.sync(() => {
      isBusy = false
      idle = setTimeout(end, idleMillis)
      idle.unref?.()
    })

    return {
      ask: (request: Request, own: Duration.Input = deadline) =>
        Effect.flatMap(
          started,
          (child) =>
            // After an interruption, the process is still busy with a request that no caller awaits, so it is ended.
            Effect.onInterrupt(child.ask<Answer>(request, Duration.fromInputUnsafe(own)), () => Effect.sync(end)),
        ).pipe(
          Effect.ensuring(rest),
          one.withPermits(1),
        ),
    } satisfies WorkerProcess<Request, Answer>
  })

/** Limits of a start, even on a busy machine. On an idle machine it needs half a second of processor time. */
const startLimits: WorkLimits = { processor: 30_000, clock: 120_000 }

/** Returns the limits of a request with this deadline. Only a process that hangs exceeds the limit of elapsed time. */
const limitsOf = ({ hangLimit }: WorkerProcessOptions, deadline: Duration.Duration): WorkLimits => {
  const processor = Duration.toMillis(deadline)
  const clock = hangLimit === undefined
    ? Math.max(10 * processor, 30_000)
    : Duration.toMillis(Duration.fromInputUnsafe(hangLimit))
  return { processor, clock }
}

const notStarted = ({ purpose }: WorkerProcessOptions, reason: string) =>
  new WorkFailed({ reason: "start", detail: `The process that ${purpose} did not start: ${reason}`, note: undefined })

const stillStarting = (options: WorkerProcessOptions) => {
  const patience = Duration.format(Duration.fromInputUnsafe(options.patience ?? startLimits.clock))
  return Effect.fail(notStarted(options, `it is not ready after ${patience}`))
}

type Received = ProcessAnswer | { readonly type: "exit"; readonly reason: string }

/** A running process. Its limits use the machine's clock and processor time, which a test clock does not control. */
class Child {
  alive = true
  #options: WorkerProcessOptions
  #note: unknown
  #complaint = ""
  #receive: (answer: Received) => void = () => {}
  readonly #child: Deno.ChildProcess
  readonly #requests: WritableStreamDefaultWriter<Uint8Array>

  /**
   * Starts a process. Fails with `WorkFailed` (`start`) if the process ends or exceeds a limit before it reports ready.
   */
  static start(options: WorkerProcessOptions): Effect.Effect<Child, WorkFailed> {
    return Effect.callback<Child, WorkFailed>((resume) => {
      const child = Child.#spawn(options)
      if (child instanceof WorkFailed) return resume(Effect.fail(child))
      const fail = (reason: string) => {
        child.kill()
        resume(Effect.fail(notStarted(options, reason)))
      }
      const stop = watchWork(
        child.#child.pid,
        startLimits,
        (verdict) =>
          fail(
            verdict === "overrun"
              ? `it was not ready after ${startLimits.processor / 1000} seconds of processor time`
              : `it was not ready after ${startLimits.clock / 1000} seconds`,
          ),
      )
      child.#receive = (answer) => {
        stop()
        if (answer.type === "exit") fail(answer.reason)
        else resume(Effect.succeed(child))
      }
      return Effect.sync(() => {
        stop()
        child.kill()
      })
    })
  }

  /** Spawns the process. A machine without free memory, processes or file descriptors refuses it. */
  static #spawn(options: WorkerProcessOptions): Child | WorkFailed {
    try {
      return new Child(options)
    } catch (cause) {
      return notStarted(options, cause instanceof Error ? cause.message : String(cause))
    }
  }

  private constructor(options: WorkerProcessOptions) {
    this.#options = options
    const { maxHeapMiB = 256, program } = options
    // `spawn` of `node:child_process` is not used: on Deno it adds `-A`, all permissions, if it runs Deno itself.
    this.#child = new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "--no-prompt",
        "--frozen",
        "--cached-only",
        "--quiet",
        // V8 reserves the space for new objects three times: 48 MiB by default.
        `--v8-flags=--max-old-space-size=${maxHeapMiB},--max-semi-space-size=4,--no-allocation-site-pretenuring`,
        fileURLToPath(program),
      ],
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
      // Passes only the variables that Deno and the C library need, because the service's environment contains secrets.
      clearEnv: true,
      env: Object.fromEntries(
        ["PATH", "HOME", "DENO_DIR", "XDG_CACHE_HOME", "TMPDIR", "DENO_NO_UPDATE_CHECK", "MALLOC_MMAP_THRESHOLD_"]
          .flatMap((name) => {
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

  /** Continues with the options of another worker process of its kind. */
  adopt(options: WorkerProcessOptions): void {
    this.#options = options
  }

  ask<Answer>(request: unknown, deadline: Duration.Duration): Effect.Effect<Answer, WorkFailed> {
    return Effect.callback<Answer, WorkFailed>((resume) => {
      this.#note = undefined
      const fail = (reason: WorkFailed["reason"], detail: string) => {
        stop()
        resume(Effect.fail(new WorkFailed({ reason, detail, note: this.#note })))
      }
      const limits = limitsOf(this.#options, deadline)
      const stop = watchWork(this.#child.pid, limits, (verdict) => {
        this.kill()
        if (verdict === "overrun") return fail("deadline", `takes longer than ${Duration.format(deadline)}`)
        fail(
          "stalled",
          `The process that ${this.#options.purpose} did not answer within ${limits.clock / 1000} seconds`,
        )
      })
      this.#receive = (answer) => {
        switch (answer.type) {
          case "note":
            this.#note = answer.value
            return
          case "answer":
            stop()
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
        // Values with too deep nesting cannot be cloned.
        return fail("threw", cause instanceof Error ? cause.message : String(cause))
      }
      // A write to a process that has just ended fails; the process's status reports its end.
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
      // The process has just ended by itself.
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
