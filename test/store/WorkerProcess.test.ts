import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import process from "node:process"
import { Spares } from "../../src/runtime/Spares.ts"
import { SpareProcesses, workerProcess, type WorkerProcessOptions } from "../../src/store/WorkerProcess.ts"
import { judgeWork, processorMillisIn } from "../../src/store/WorkLimits.ts"

describe("processor time of another process", () => {
  const limits = { processor: 1_000, clock: 30_000 }

  it.each([
    ["starts", { processor: 0, clock: 0 }, 1_000],
    ["gets half of a processor", { processor: 500, clock: 1_000 }, 500],
    ["gets a hundredth of a processor", { processor: 100, clock: 10_000 }, 900],
    ["is almost at its limit", { processor: 990, clock: 10_000 }, 20],
    ["hangs almost too long", { processor: 0, clock: 29_900 }, 100],
    ["uses too much of the processor", { processor: 1_000, clock: 1_100 }, "overrun"],
    ["uses several processors", { processor: 1_900, clock: 1_000 }, "overrun"],
    ["hangs", { processor: 20, clock: 30_000 }, "stalled"],
    ["uses an unknown time", { processor: undefined, clock: 1_000 }, 3_000],
    ["uses an unknown time for too long", { processor: undefined, clock: 4_000 }, "overrun"],
  ])("is judged by its processor time if it %s", (_, spent, verdict) => {
    assert.strictEqual(judgeWork(spent, limits), verdict)
  })

  it.each([
    ["(deno)", 70],
    ["(a b) c)", 70],
    ["()", 70],
  ])("has its processor time in /proc after the name %s", (name, millis) => {
    const stat = `4711 ${name} S 1 4711 4711 0 -1 4194304 35 0 0 0 5 2 9 9 20 0 1 0 68043 2461696 115`
    assert.strictEqual(processorMillisIn(stat), millis)
  })

  it("is undefined for a text in another format", () => {
    assert.isUndefined(processorMillisIn(""))
    assert.isUndefined(processorMillisIn("4711 (deno) S 1"))
  })
})

const program = new URL("./answering.process.ts", import.meta.url)
const processWith = (options: Partial<WorkerProcessOptions>) =>
  workerProcess<{ readonly use?: number; readonly wait?: number }, number>({
    program,
    purpose: "answers",
    deadline: "100 millis",
    ...options,
  })

describe("a worker process", () => {
  it.live("is not killed while it waits for the processor", () =>
    Effect.scoped(Effect.gen(function* () {
      const { ask } = yield* processWith({})
      const first = yield* ask({})
      assert.strictEqual(yield* ask({ wait: 700 }), first)
      assert.strictEqual(yield* ask({ use: 20, wait: 300 }), first)
    })))

  it.live("is killed once it has used the processor longer than its deadline", () =>
    Effect.scoped(Effect.gen(function* () {
      const { ask } = yield* processWith({})
      const first = yield* ask({})
      const { detail, reason } = yield* Effect.flip(ask({ use: 3_600_000 }))
      assert.strictEqual(reason, "deadline")
      assert.strictEqual(detail, "takes longer than 100ms")
      assert.notStrictEqual(yield* ask({}), first)
    })))

  it.live("is reported as not started if the operating system refuses to start it", () =>
    Effect.scoped(Effect.gen(function* () {
      // Longer than an argument of a program may be.
      const { ask } = yield* processWith({ program: new URL(`./${"x".repeat(200_000)}.ts`, import.meta.url) })
      const failure = yield* Effect.flip(ask({}))
      assert.strictEqual(failure.reason, "start")
      assert.match(failure.detail, /^The process that answers did not start: .*too long/i)
      assert.strictEqual((yield* Effect.flip(ask({}))).reason, "start", "each request tries again")
    })))

  it.live("is replaced if it hangs, without blaming its work", () =>
    Effect.scoped(Effect.gen(function* () {
      const { ask } = yield* processWith({ hangLimit: "400 millis" })
      const first = yield* ask({})
      process.kill(first, "SIGSTOP")
      const { detail, reason } = yield* Effect.flip(ask({}))
      assert.strictEqual(reason, "stalled")
      assert.match(detail, /^The process that answers did not answer within 0\.4 seconds$/)
      assert.notStrictEqual(yield* ask({}), first)
    })))

  it.live("continues to start when a caller times out, and answers the next one", () =>
    Effect.scoped(Effect.gen(function* () {
      const { ask } = yield* processWith({ patience: "1 millis" })
      const { message, reason } = yield* Effect.flip(ask({}))
      assert.strictEqual(reason, "start")
      assert.match(message, /^The process that answers did not start: it is not ready after 1ms$/)
      const answer = yield* Effect.retry(ask({}), { while: (failed) => failed.reason === "start" })
      assert.isAbove(answer, 0)
      assert.strictEqual(yield* ask({}), answer)
    })))

  it.live("continues to start when a caller is interrupted", () =>
    Effect.scoped(Effect.gen(function* () {
      const { ask } = yield* processWith({})
      const waiting = yield* Effect.forkChild(ask({}), { startImmediately: true })
      yield* Fiber.interrupt(waiting)
      assert.isAbove(yield* ask({}), 0)
    })))
})

describe("spare processes", () => {
  /** The process that answers `request` in a scope of its own. */
  const answer = (request: { readonly wait?: number }, options: Partial<WorkerProcessOptions> = {}) =>
    Effect.scoped(Effect.flatMap(processWith(options), ({ ask }) => ask(request)))

  it.live("answer the next worker process with their program and heap limit", () =>
    Effect.gen(function* () {
      const first = yield* answer({})
      assert.strictEqual(yield* answer({}), first)
      assert.notStrictEqual(yield* answer({}, { maxHeapMiB: 100 }), first)
      const { detail } = yield* Effect.flip(answer({ wait: 5_000 }, { hangLimit: "200 millis", purpose: "waits" }))
      assert.match(detail, /^The process that waits did not answer within 0\.2 seconds$/)
      assert.notStrictEqual(yield* answer({}), first)
    }).pipe(Effect.provideService(SpareProcesses, new Spares(1))))

  it.live("are not reused while they still work after their scope closed", () =>
    Effect.gen(function* () {
      const first = yield* answer({})
      yield* Effect.scoped(Effect.gen(function* () {
        const { ask } = yield* processWith({})
        yield* Effect.forkChild(ask({ wait: 60_000 }), { startImmediately: true })
      }))
      assert.notStrictEqual(yield* answer({}), first)
    }).pipe(Effect.provideService(SpareProcesses, new Spares(1))))

  it.live("are disabled by default", () =>
    Effect.gen(function* () {
      assert.notStrictEqual(yield* answer({}), yield* answer({}))
    }))
})
