import { Context, Duration, Effect, Layer } from "effect"
import { ChecksBusy } from "../domain/Errors.ts"
import * as Turns from "../store/Turns.ts"
import { isByMachine, workerProcess, WorkFailed } from "../store/WorkerProcess.ts"
import type { CheckKind, CheckRequest, Checks } from "./Checks.ts"

/** Maximum processor time of a check by its kind. */
const usualDeadlines: { readonly [Kind in CheckKind]: Duration.Input } = {
  sources: "1 second",
  render: "1 second",
  mapping: "2 seconds",
  body: "2 seconds",
  import: "5 seconds",
  file: "5 seconds",
  convert: "2 seconds",
  copy: "2 seconds",
  strings: "2 seconds",
  format: "5 seconds",
}

/** Maximum numbers of waiting checks, of one organization and of all. A waiting check holds up to 2 MB. */
const maxWaitingOfOne = 16
const maxWaiting = 64

/** Maximum time that a check waits for other checks, of any organization. */
const maxWait: Duration.Input = "15 seconds"

/** Maximum time that a check waits for the process to start. The start continues afterwards. */
const startPatience: Duration.Input = "30 seconds"

/** Heap limit of the process. Including the 100 MB of the idle process, one check adds less than 256 MiB of memory. */
const maxHeapMiB = 128

/** Options of the checking process. */
export interface CheckingOptions {
  /** Maximum processor time of every check. Default: by kind, 1 to 5 seconds. */
  readonly deadline?: Duration.Input
  /** Maximum time that a check waits for the process to start. Default: 30 seconds. */
  readonly patience?: Duration.Input
  /** Time for which the process is kept without work. It uses about 100 MB. Default: 1 minute. */
  readonly idle?: Duration.Input
  /** The module that the process runs. Default: `check.process.ts`. */
  readonly program?: URL
}

/**
 * A check that was stopped. `deadline` and `ended` (most likely for lack of memory) are faults of the checked input.
 */
export type CheckStopped = WorkFailed & { readonly reason: "deadline" | "ended" }

/** Returns the fault of an input whose check was stopped, such as `takes longer than 1s to check`. */
export const stoppedFault = ({ detail, reason }: CheckStopped): string =>
  reason === "deadline" ? `${detail} to check` : "ends the process that checks it, most likely for lack of memory"

/**
 * Parses, renders and evaluates user input (Liquid, template files, mappings, sample fields) in one worker process with
 * a deadline, so that it cannot block other requests.
 */
export class Checking extends Context.Service<Checking, {
  /**
   * Runs one check. Checks run one at a time, and organizations with waiting checks take turns. Fails with `WorkFailed`
   * if the deadline passes or the process runs out of memory. Fails with `ChecksBusy` if 16 checks of the organization
   * or 64 in all are already waiting, after 15 seconds of waiting, or if the process does not start or hangs. A process
   * that throws is a defect. Default of `deadline`: by kind.
   */
  readonly run: <Kind extends CheckKind>(
    org: string,
    kind: Kind,
    request: Checks[Kind]["request"],
    deadline?: Duration.Input,
  ) => Effect.Effect<Checks[Kind]["answer"], CheckStopped | ChecksBusy>
}>()("parlance/checking/Checking") {
  static readonly layerWith = (options: CheckingOptions) =>
    Layer.effect(
      Checking,
      Effect.gen(function* () {
        const process = yield* workerProcess<CheckRequest, unknown>({
          program: options.program ?? new URL("../checker/check.process.ts", import.meta.url),
          purpose: "checks Liquid",
          deadline: options.deadline ?? usualDeadlines.sources,
          patience: options.patience ?? startPatience,
          maxHeapMiB,
          ...(options.idle === undefined ? {} : { idle: options.idle }),
        })
        const inTurn = yield* Turns.make({ maxWaiting, maxWaitingOfOne, maxWait, busy: () => new ChecksBusy({}) })

        const run = Effect.fn("Checking.run")(function* <Kind extends CheckKind>(
          org: string,
          kind: Kind,
          request: Checks[Kind]["request"],
          usual: Duration.Input = usualDeadlines[kind],
        ) {
          const deadline = options.deadline ?? usual
          const work = process.ask({ kind, ...request } as CheckRequest, deadline)
          return yield* inTurn(org, work).pipe(
            Effect.catchTag("WorkFailed", (failure): Effect.Effect<never, CheckStopped | ChecksBusy> =>
              isByMachine(failure)
                ? Effect.andThen(
                  Effect.logWarning("A check was not carried out", failure.detail),
                  new ChecksBusy({ reason: failure.detail }),
                )
                : failure.reason === "threw"
                ? Effect.die(failure)
                : Effect.fail(failure as CheckStopped)),
          ) as Effect.Effect<Checks[Kind]["answer"], CheckStopped | ChecksBusy>
        })
        return Checking.of({ run })
      }),
    )

  static readonly layer = this.layerWith({})
}
