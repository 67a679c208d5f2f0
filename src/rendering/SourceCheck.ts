import { fileURLToPath } from "node:url"
import { Context, Duration, Effect, Layer, Semaphore } from "effect"
import type { Formats, Vars } from "../domain/Template.ts"
import type { CheckAnswer, CheckRequest } from "./CheckProtocol.ts"
import { LiquidFaults, parseVars, type SourceFault } from "./Renderer.ts"
import { hasLiquid } from "./Source.ts"

export interface SourceCheckOptions {
  /** How long one variant may take. Defaults to 1 second. */
  readonly deadline?: Duration.Input
  /** How long the process is kept without work. Defaults to 1 minute; it holds some 100 MB. */
  readonly idle?: Duration.Input
  /** The module the process runs. Defaults to `check.process.ts`. */
  readonly program?: URL
}

/**
 * Tries what people write before it is saved, away from the service: in a process of its own, which is started at the
 * first use, asked again while it is warm, and killed when it takes longer than the deadline. It is a process and not a
 * worker because a worker on Deno cannot be ended: `terminate()` leaves a busy one running and a core lost
 * (denoland/deno#35657; seen on 2.9.6 with `Worker` and `node:worker_threads` alike).
 */
export class SourceCheck extends Context.Service<SourceCheck, {
  /**
   * Parses all variables of a variant and renders them once, with `fields` or with none (unknown variables are no fault
   * here). Fails with the faults of all variables at once, at most one for each. One variant is checked at a time; the
   * others wait, and waiting does not count.
   */
  readonly check: (
    vars: Vars,
    formats: Formats,
    fields?: Readonly<Record<string, unknown>>,
  ) => Effect.Effect<void, LiquidFaults>
}>()("parlance/rendering/SourceCheck") {
  static readonly layerWith = (options: SourceCheckOptions) =>
    Layer.effect(
      SourceCheck,
      Effect.gen(function* () {
        const deadline = Duration.fromInputUnsafe(options.deadline ?? "1 second")
        const idleMillis = Duration.toMillis(options.idle ?? "1 minute")
        const program = options.program ?? new URL("./check.process.ts", import.meta.url)
        const one = yield* Semaphore.make(1)
        let warm: CheckProcess | undefined
        let idle: ReturnType<typeof setTimeout> | undefined

        const end = () => {
          clearTimeout(idle)
          warm?.end()
          warm = undefined
        }
        yield* Effect.addFinalizer(() => Effect.sync(end))

        const started = Effect.suspend(() => {
          clearTimeout(idle)
          if (warm?.alive) return Effect.succeed(warm)
          return CheckProcess.start(program).pipe(
            Effect.tap((child) => Effect.sync(() => void (warm = child))),
          )
        })

        const rest = Effect.sync(() => {
          idle = setTimeout(end, idleMillis)
          idle.unref?.()
        })

        const ask = (request: CheckRequest) =>
          Effect.gen(function* () {
            const child = yield* started
            const faults = yield* child.ask(request, deadline)
            if (faults.length > 0) return yield* new LiquidFaults({ faults })
          }).pipe(
            // Whoever stopped waiting leaves a process busy with nobody's question.
            Effect.onInterrupt(() => Effect.sync(end)),
            Effect.ensuring(rest),
            one.withPermits(1),
          )

        const check = Effect.fn("SourceCheck.check")(
          (vars: Vars, formats: Formats, fields: Readonly<Record<string, unknown>> = {}) =>
            Object.values(vars).some(hasLiquid)
              ? ask({ vars, formats, fields })
              // Texts without Liquid cost nothing to check.
              : Effect.asVoid(Effect.fromResult(parseVars(vars, formats))),
        )
        return SourceCheck.of({ check })
      }),
    )

  static readonly layer = this.layerWith({})
}

/** How long the process may take to start, on a machine however busy. */
const startMillis = 30_000

/** A running `check.process.ts`. Its clock is the machine's: it stands for processor time, which no test clock moves. */
class CheckProcess {
  alive = true
  #variable = ""
  #complaint = ""
  #receive: (answer: CheckAnswer | { readonly type: "ended"; readonly reason: string }) => void = () => {}
  readonly #child: Deno.ChildProcess
  readonly #questions: WritableStreamDefaultWriter<Uint8Array>

  /** Starts one and waits until it is ready; dies when it cannot be started. */
  static start(program: URL): Effect.Effect<CheckProcess> {
    return Effect.callback<CheckProcess>((resume) => {
      const started = new CheckProcess(program)
      const fail = (reason: string) => {
        started.end()
        resume(Effect.die(new Error(`The process that checks Liquid did not start: ${reason}`)))
      }
      const timer = setTimeout(() => fail("it took too long"), startMillis)
      started.#receive = (answer) => {
        clearTimeout(timer)
        if (answer.type === "ended") fail(answer.reason)
        else resume(Effect.succeed(started))
      }
      return Effect.sync(() => {
        clearTimeout(timer)
        started.end()
      })
    })
  }

  private constructor(program: URL) {
    // Not `spawn` of `node:child_process`: on Deno it adds `-A`, all permissions, where Deno itself is to be run.
    this.#child = new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "--no-prompt",
        "--frozen",
        "--cached-only",
        "--quiet",
        "--v8-flags=--max-old-space-size=256",
        fileURLToPath(program),
      ],
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
      // Only what Deno needs to find its cache: the service's environment holds secrets.
      clearEnv: true,
      env: Object.fromEntries(
        ["PATH", "HOME", "DENO_DIR", "XDG_CACHE_HOME", "TMPDIR", "DENO_NO_UPDATE_CHECK"].flatMap((name) => {
          const value = Deno.env.get(name)
          return value === undefined ? [] : [[name, value]]
        }),
      ),
    }).spawn()
    this.#questions = this.#child.stdin.getWriter()
    const complaints = this.#eachLine(this.#child.stderr, (line) => {
      this.#complaint = `${this.#complaint}${line}\n`.slice(-2_000)
    })
    const answers = this.#eachLine(this.#child.stdout, (line) => this.#receive(JSON.parse(line) as CheckAnswer))
    Promise.allSettled([this.#child.status, answers, complaints]).then(([status]) => {
      this.alive = false
      const code = status.status === "fulfilled" ? status.value.signal ?? status.value.code : status.reason
      this.#receive({ type: "ended", reason: this.#complaint.trim() || `exit ${code}` })
    })
  }

  ask(request: CheckRequest, deadline: Duration.Duration): Effect.Effect<ReadonlyArray<SourceFault>> {
    return Effect.callback<ReadonlyArray<SourceFault>>((resume) => {
      this.#variable = Object.keys(request.vars)[0] ?? ""
      const finish = (faults: ReadonlyArray<SourceFault>) => {
        clearTimeout(timer)
        resume(Effect.succeed(faults))
      }
      const refuse = (message: string) => {
        this.end()
        finish([{ variable: this.#variable, line: 1, column: 1, message }])
      }
      const timer = setTimeout(
        () => refuse(`takes longer than ${Duration.format(deadline)} to check`),
        Duration.toMillis(deadline),
      )
      this.#receive = (answer) => {
        if (answer.type === "begun") this.#variable = answer.variable
        else if (answer.type === "faults") finish(answer.faults)
        else if (answer.type === "ended") refuse("ends the process that checks it, most likely for lack of memory")
      }
      // Writing to a process that has just ended fails; that it ended is told by its streams.
      this.#questions.write(new TextEncoder().encode(`${JSON.stringify(request)}\n`)).catch(() => {})
    })
  }

  end(): void {
    this.#receive = () => {}
    if (!this.alive) return
    this.alive = false
    try {
      this.#child.kill("SIGKILL")
    } catch {
      // It ended by itself a moment ago.
    }
  }

  async #eachLine(stream: ReadableStream<Uint8Array<ArrayBuffer>>, take: (line: string) => void): Promise<void> {
    let rest = ""
    for await (const chunk of stream.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + chunk).split("\n")
      rest = lines.pop()!
      lines.forEach(take)
    }
  }
}
