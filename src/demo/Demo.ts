import { Clock, Effect, Fiber, Layer, Logger, Option, References } from "effect"
import { HttpServer } from "effect/http"
import { layerJobs, layerRoutes, layerServices } from "../service/App.ts"
import { dayMillis } from "../bandit/Window.ts"
import * as Tokens from "../accounts/Tokens.ts"
import * as Server from "../api/http/Server.ts"
import { Learning } from "../learning/Learning.ts"
import { Results } from "../results/Results.ts"
import type { TemplateResults, VariantResults } from "../results/TemplateResults.ts"
import { Settings } from "../settings/Settings.ts"
import * as Audience from "./Audience.ts"
import * as Client from "./Client.ts"
import * as FasterClock from "./FasterClock.ts"
import * as Folder from "./Folder.ts"
import * as Rates from "./Rates.ts"
import * as Screen from "./Screen.ts"
import * as SignInLink from "./SignInLink.ts"
import * as Shop from "./Shop.ts"
import { nextText, type Summary, summaryOf, summaryText } from "./Summary.ts"

/** Options of a demo. */
interface DemoOptions {
  /** Number of simulated days. */
  readonly days: number
  /** Real time of the simulated days. Unit: seconds. */
  readonly seconds: number
  /** Number of messages on an average day. */
  readonly perDay: number
  readonly seed: number
  /** Share of the messages that is split evenly over the variants, 0 to 0.2. */
  readonly explorationFloor: number
  readonly port: number
  /** Folder of the store. Emptied at the start, see `Folder.prepare`. */
  readonly dataDir: string
  /** Whether to end after the summary. */
  readonly once: boolean
  /** Whether to print the summary as JSON, and progress to standard error. */
  readonly json: boolean
}

/** Maximum number of concurrent requests of the audience. */
const connections = 16

/** Length of a step of the audience. Unit: real milliseconds. */
const stepMillis = { fast: 50, present: 1000 }

/** Returns a variant's rate for the screen. Undefined without data. */
const estimateOf = (variant: VariantResults | undefined) =>
  variant === undefined || variant.rate === null || variant.interval === null
    ? undefined
    : { rate: variant.rate, interval: variant.interval }

/** Returns the variants for the screen. `choices` and `trueRates` are in the order of `ids`. */
const shownVariants = (
  ids: ReadonlyArray<string>,
  choices: ReadonlyArray<number>,
  trueRates: ReadonlyArray<number>,
  known: TemplateResults | undefined,
): Screen.ScreenView["variants"] => {
  const total = choices.reduce((sum, count) => sum + count, 0)
  return ids.map((id, i) => ({
    id,
    share: total === 0 ? undefined : choices[i]! / total,
    trueRate: trueRates[i]!,
    estimate: estimateOf(known?.variants.find(({ copy_id }) => copy_id === id)),
  }))
}

/** Interval at which the service's estimates are read. */
const estimatesEvery = "2 seconds"

/** The service on its own store, regardless of the store in the environment. Everything else is unchanged. */
const layerService = ({ dataDir, port }: DemoOptions, token: string) =>
  Server.serve(Layer.mergeAll(layerRoutes, SignInLink.layer(token, Shop.org))).pipe(
    Layer.provideMerge(layerJobs),
    Layer.provideMerge(Server.layerServer),
    Layer.provideMerge(layerServices),
    Layer.provide(Layer.effect(
      Settings,
      Effect.map(Settings, (settings) => ({ ...settings, port, dataDir, database: Option.none() })),
    )),
  )

/** Adds all received data to the model. */
const settle = Effect.gen(function* () {
  const learning = yield* Learning
  // A refresh gives up after two seconds, which are too short on a busy machine.
  for (let tries = 0; tries < 10; tries++) {
    if (yield* learning.refresh(Shop.org, Shop.template)) return
  }
})

/** The clocks and the screen of a demo. `from`: start of the simulated days, in milliseconds. */
interface Stage {
  readonly clock: FasterClock.FasterClock
  readonly from: number
  readonly real: Clock.Clock
  readonly screen: Effect.Success<ReturnType<typeof Screen.make>>
  /** Token of the sign-in link. */
  readonly token: string
}

/** Returns the URL of the running service on this machine. */
const urlOf = Effect.fnUntraced(function* (options: DemoOptions) {
  const { address } = yield* HttpServer.HttpServer
  const { host } = yield* Settings
  const port = address._tag === "UnixPathAddress" ? options.port : address.port
  const reachable = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host
  return `http://${reachable.includes(":") ? `[${reachable}]` : reachable}:${port}`
})

/** Simulates the audience against the running service, and shows its progress and the summary. */
const show = Effect.fnUntraced(function* (options: DemoOptions, { clock, from, real, screen, token }: Stage) {
  const { dataDir, days, json, once, perDay, seed } = options
  const url = yield* urlOf(options)
  const { key, variants } = yield* Shop.open(options.explorationFloor)
  const rates = Rates.draw(seed, variants.length)
  const client = yield* Client.make(url, key, connections)
  const audience = Audience.make({
    client,
    clock,
    org: Shop.org,
    template: Shop.template,
    variants,
    rates,
    seed,
    perDay,
    connections,
  })
  const { done } = audience

  const results = yield* Results
  const ask = results.results(Shop.org, Shop.template, {})
  let known: TemplateResults | undefined
  const view = (): Screen.ScreenView => {
    const now = clock.currentTimeMillisUnsafe()
    const { choices, clicks } = done.gain.lastDay(now)
    return {
      url,
      day: (now - from) / dayMillis,
      days,
      now,
      done,
      lastDay: clicks,
      variants: shownVariants(variants, choices, rates.average, known),
    }
  }
  const estimating = yield* Effect.sleep(estimatesEvery).pipe(
    Effect.andThen(ask),
    Effect.tap((answer) => Effect.sync(() => known = answer)),
    Effect.forever,
    Effect.forkScoped,
  )
  const showing = yield* Effect.sync(() => screen.show(view())).pipe(
    Effect.andThen(Effect.sleep(screen.everyMillis)),
    Effect.forever,
    Effect.forkScoped,
  )

  const begun = real.currentTimeMillisUnsafe()
  let at = from
  /**
   * Advances time by a step and simulates the audience in it. Time stops at the end of the next step until the
   * audience is done.
   */
  const step = Effect.gen(function* () {
    const speed = clock.speed()
    const millis = (speed === 1 ? stepMillis.present : stepMillis.fast) * speed
    clock.release(at + 2 * millis)
    const wait = at + millis - clock.currentTimeMillisUnsafe()
    if (wait > 0) yield* Effect.sleep(wait / speed)
    const now = clock.currentTimeMillisUnsafe()
    yield* audience.live(at, now)
    at = now
  })

  yield* Effect.whileLoop({ while: () => clock.speed() !== 1, body: () => step, step: () => {} })
  clock.release(Infinity)
  yield* Fiber.interrupt(estimating)
  yield* Fiber.interrupt(showing)
  yield* settle
  known = yield* ask
  const last = view()
  screen.show(last)
  screen.end()
  const summary = summaryOf({
    seed,
    days,
    seconds: (real.currentTimeMillisUnsafe() - begun) / 1000,
    done,
    lastDay: last.lastDay,
    trueRates: Object.fromEntries(variants.map((id, i) => [id, rates.average[i]!])),
    results: known,
  })
  yield* Effect.sync(() => print(summary, json))
  if (once) return
  if (!json) {
    const signIn = SignInLink.linkOf(url, token)
    yield* Effect.sync(() =>
      console.log(nextText({ url, signIn, dataDir, org: Shop.org, template: Shop.template, key }))
    )
  }
  yield* Effect.forever(step)
})

/** Runs the demo. Ends after the summary with `once`, otherwise when it is interrupted. */
export const run = Effect.fnUntraced(function* (options: DemoOptions) {
  const { dataDir, days, json, seconds } = options
  const screen = yield* Screen.make(json ? process.stderr : process.stdout)
  const logs = Logger.layer([
    Logger.make((entry) => screen.note(Logger.formatLogFmt.log(entry))),
  ]).pipe(Layer.merge(Layer.succeed(References.MinimumLogLevel, "Warn")))
  yield* Folder.prepare(dataDir)

  const real = yield* Clock.Clock
  const from = real.currentTimeMillisUnsafe() - days * dayMillis
  const clock = FasterClock.make({ from, speed: FasterClock.speedFor(days * dayMillis, seconds * 1000), real })

  const token = Tokens.make()
  const simulated = Effect.gen(function* () {
    const context = yield* Layer.build(layerService(options, token))
    return yield* Effect.provideContext(show(options, { clock, from, real, screen, token }), context)
  })

  yield* simulated.pipe(Effect.provideService(Clock.Clock, clock), Effect.provide(logs))
}, Effect.scoped)

const print = (summary: Summary, json: boolean) =>
  console.log(json ? JSON.stringify(summary, null, 2) : summaryText(summary))
