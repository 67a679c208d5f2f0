import { Buffer } from "node:buffer"
import { Contexts, contextsOf, decodeContext, encodeContext } from "../../src/bandit/Contexts.ts"
import { Counts } from "../../src/bandit/Counts.ts"
import { fit, type FitInput } from "../../src/bandit/Fit.ts"
import { priorDelayCurve } from "../../src/bandit/Maturity.ts"
import { eligibleSet, Policy } from "../../src/bandit/Policy.ts"
import { defaultPriors } from "../../src/bandit/Priors.ts"
import { report } from "../../src/bandit/Report.ts"
import { bestArmProbabilities, mixFloor, sample } from "../../src/bandit/Weights.ts"
import { bucketAt, dayMillis } from "../../src/bandit/Window.ts"
import { normalize } from "../../src/intake/CustomEvents.ts"
import type { AttributedEvent } from "../../src/journal/events/AttributedEvent.ts"
import { outcomesOf } from "../../src/journal/events/Outcomes.ts"
import { normalizer } from "../../src/intake/Sources.ts"
import { ContextRecorder } from "../../src/learning/ContextRecorder.ts"
import { seeded } from "../../test/support/load.ts"
import { printColumns } from "./Bench.ts"
import { bodyText } from "./Events.ts"

// Measures the pure functions of bench/learn.ts in this process on one thread.

const now = Date.UTC(2026, 10, 21, 12, 30)

/** Returns the time of a call: the median of five measurements after a warm-up. Unit: microseconds. */
const microsOf = (run: () => void, millis: number): number => {
  const stretch = () => {
    let calls = 0
    const begin = performance.now()
    let elapsed = 0
    for (let batch = 1; elapsed < millis; batch = Math.min(2 * batch, 1024)) {
      for (let i = 0; i < batch; i++) run()
      calls += batch
      elapsed = performance.now() - begin
    }
    return elapsed * 1000 / calls
  }
  stretch()
  return Array.from({ length: 5 }, stretch).sort((a, b) => a - b)[2]!
}

/**
 * Two attributes with 4 values each, `other` and `missing`, and the two built-in attributes: 6 x 6 x 2 x 4 = 288
 * contexts, 19 coefficients.
 */
const scheme = {
  keys: [
    { name: "country", values: ["no", "se", "dk", "fi"] },
    { name: "plan", values: ["free", "basic", "pro", "team"] },
  ],
}
const countries = ["no", "se", "dk", "fi", "other", "missing"]
const plans = ["free", "basic", "pro", "team", "other", "missing"]
const allContexts = countries.flatMap((country) =>
  plans.flatMap((plan) =>
    ["weekday", "weekend"].flatMap((weekend) =>
      ["night", "morning", "afternoon", "evening"].map((daypart) =>
        encodeContext([["country", country], ["plan", plan], ["weekend", weekend], ["daypart", daypart]])
      )
    )
  )
)

/** Returns counts of `variants` variants in `contexts` on the last `days` days, with about one click per 30 sends. */
const countsOf = (variants: number, contexts: ReadonlyArray<string>, days: number): Counts => {
  const random = seeded(7)
  const counts = new Counts()
  const quality = Array.from({ length: variants }, () => Math.exp(0.2 * (random() - 0.5)))
  for (let v = 0; v < variants; v++) {
    for (const context of contexts) {
      for (let d = 1; d <= days; d++) {
        const sends = 5 + Math.floor(40 * random())
        const clicks = Math.floor(sends * 0.033 * quality[v]! + random())
        counts.add(`v${v}`, context, bucketAt(now - d * dayMillis, now).start, sends, clicks)
      }
    }
  }
  return counts
}

const inputOf = (counts: Counts): FitInput => ({
  version: "t:1",
  counts,
  scheme,
  window: { mode: "adaptive", halfLifeDays: 120 },
  curve: priorDelayCurve,
  now,
  organization: defaultPriors,
})

interface Row {
  readonly name: string
  readonly micros: number
  readonly base: number
  readonly aim?: string
}

/** Prints measurements. Returns the checks that failed. */
export const measurePure = (quick: boolean): ReadonlyArray<string> => {
  const millis = quick ? 60 : 300
  const wrong: Array<string> = []
  const check = (what: string, holds: boolean) => void (holds || wrong.push(what))
  // Results are summed here, so that the compiler cannot omit the computation.
  let sink = 0

  const decisions: Array<Row> = []
  const attrs = countries.flatMap((country) =>
    plans.map((plan): ReadonlyMap<string, ReadonlyArray<string>> => new Map([["country", [country]], ["plan", [plan]]]))
  )
  const many = 1000
  const random = seeded(1)
  const empty = microsOf(() => {
    for (let i = 0; i < many; i++) sink += (i % 168) + attrs[i % 36]!.size * random()
  }, millis) / many
  decisions.push({ name: "empty loop, same numbers", micros: empty, base: empty })
  for (const variants of [5, 20, 1000]) {
    const model = fit(inputOf(countsOf(variants, allContexts.slice(0, variants > 20 ? 16 : 288), 1)))
    const policy = new Policy(model)
    const eligible = eligibleSet(Array.from({ length: variants }, (_, v) => `v${v}`))
    // A thousand variants in 288 contexts exceed the cache, so they use one part of the day on weekdays: 36 contexts.
    const hourOf = (i: number) => variants > 20 ? 9 : i % 168
    const decide = (i: number) => {
      const choice = policy.choice(policy.contextOf(attrs[i % 36]!, hourOf(i)), eligible)
      return sample(choice.weights, random())
    }
    const seen = new Float64Array(variants)
    for (let i = 0; i < 200_000; i++) {
      const at = decide(36 * i)
      check(`no decision among ${variants}`, at >= 0)
      seen[at]!++
    }
    const { weights } = policy.choice(policy.contextOf(attrs[0]!, hourOf(0)), eligible)
    const mass = weights.reduce((sum, weight) => sum + weight, 0)
    check(`the weights of ${variants} variants add up to ${mass}`, Math.abs(mass - 1) < 1e-9)
    if (variants > 20) {
      const off = Math.max(...weights.map((weight, i) => Math.abs(seen[i]! / 200_000 - weight)))
      check(`decisions among ${variants} are ${off} off their weights`, off < 0.01)
    }
    decisions.push({
      name: `context, cached weights and draw, ${variants} variants`,
      micros: microsOf(() => {
        for (let i = 0; i < many; i++) sink += decide(i)
      }, millis) / many,
      base: empty,
      ...(variants === 5 ? { aim: "5,000,000" } : {}),
    })
    const context = policy.contextOf(attrs[0]!, 9)
    decisions.push({
      name: `cached weights and draw in one context, ${variants} variants`,
      micros: microsOf(() => {
        for (let i = 0; i < many; i++) sink += sample(policy.choice(context, eligible).weights, random())
      }, millis) / many,
      base: empty,
    })
  }
  for (const further of [0, 2, 10, 20]) {
    const recorder = new ContextRecorder()
    const contexts = new Contexts(scheme)
    const asked = attrs.map((one, i): ReadonlyMap<string, ReadonlyArray<string>> =>
      new Map([...one, ...Array.from({ length: further }, (_, j) => [`further${j}`, [`v${(i + j) % 3}`]] as const)])
    )
    const found = asked.map((one) => contexts.contextOf(one, 9))
    decisions.push({
      name: `context to record, ${further} attributes beyond the model's`,
      micros: microsOf(() => {
        for (let i = 0; i < many; i++) {
          const request = { attrs: asked[i % 36]!, userId: "u1" }
          // The rate is so low that each request is recorded completely.
          sink += recorder.record(contexts, found[i % 36]!, request, i * 2000).context.length
        }
      }, millis) / many,
      base: empty,
    })
  }
  printColumns(
    "Decisions, in memory",
    ["", "decisions/s", "ns", "times the empty loop", "aim, decisions/s"],
    decisions.map(({ aim = "", base, micros, name }) => [
      name,
      (1e6 / micros).toLocaleString("en", { maximumFractionDigits: 0 }),
      [micros * 1000, 1],
      [micros / base, 1],
      aim,
    ]),
  )

  const body = JSON.stringify({
    template_id: "welcome",
    user_id: "u1",
    fields: { name: "Ann" },
    attrs: { plan: "pro" },
  })
  const parse = microsOf(() => sink += JSON.parse(body).user_id.length, millis)
  const rows: Array<Row> = [{ name: `JSON.parse of a body of ${body.length} bytes`, micros: parse, base: parse }]
  const add = (name: string, run: () => void, aim?: string) =>
    rows.push({ name, micros: microsOf(run, millis), base: parse, ...(aim === undefined ? {} : { aim }) })

  for (const variants of [5, 20, 1000]) {
    const policyModel = fit(inputOf(countsOf(variants, allContexts.slice(0, 16), 1)))
    const ids = Array.from({ length: variants }, (_, v) => `v${v}`)
    const eligible = eligibleSet(ids)
    const policy = new Policy(policyModel)
    const context = policy.contextOf(attrs[0]!, 9)
    const { means, sds } = policy.choice(context, eligible)
    const tempered = sds.map((sd) => policy.kappa * sd)
    add(`weights from means and deviations, K = ${variants}`, () => {
      sink += mixFloor(bestArmProbabilities(means, tempered), 0.01)[0]!
    })
    // Sets with new names are not in the cache.
    let n = 0
    add(`weights of a context from the model, K = ${variants}`, () => {
      sink += policy.choice(context, { key: `set ${n++}`, ids: eligible.ids }).weights[0]!
    })
  }
  const one = inputOf(countsOf(20, allContexts, 1))
  const fortnight = inputOf(countsOf(20, allContexts, 14))
  const model = fit(fortnight)
  check(`the fit has ${model.variants.length} variants`, model.variants.length === 20)
  check(`the fit has ${model.traffic.length} contexts`, model.traffic.length === 288)
  check("the fit has a number that is none", model.variants.every(({ beta }) => beta.every(Number.isFinite)))
  check(`${contextsOf(scheme).size} coefficients`, new Contexts(scheme).size === 19)
  const start = fit(one)
  add("fit, 20 variants x 288 contexts, one bucket each, warm", () => sink += fit({ ...one, start }).a0, "10 ms")
  add("fit, 20 variants x 288 contexts, one bucket each, cold", () => sink += fit(one).a0)
  add("fit, 20 variants x 288 contexts x 14 days, warm", () => sink += fit({ ...fortnight, start: model }).a0)
  add("fit, 20 variants x 288 contexts x 14 days, cold", () => sink += fit(fortnight).a0)
  for (const [days, name] of [[1, "one bucket each"], [14, "14 days"]] as const) {
    const few = allContexts.slice(0, 64)
    for (
      const recorded of [
        few,
        few.flatMap((context) => Array.from({ length: 8 }, (_, n) => `${context}&zone=z${n}`)),
      ]
    ) {
      const input = inputOf(countsOf(20, recorded, days))
      const start = fit(input)
      check(`the fit has ${start.traffic.length} contexts`, start.traffic.length === 64)
      add(
        `fit, 20 variants x 64 contexts in ${recorded.length} recorded contexts, ${name}, warm`,
        () => sink += fit({ ...input, start }).a0,
      )
    }
  }
  const ids = model.variants.map(({ id }) => id)
  const groups = ["country", "plan", "weekend", "daypart"].flatMap((name) =>
    [...new Set(model.traffic.map(({ cell }) => decodeContext(cell).get(name)!))].map((value) => ({
      name: `${name}=${value}`,
      contexts: model.traffic.filter(({ cell }) => decodeContext(cell).get(name) === value),
    }))
  )
  const request = { model, floor: 0.01, ids, eligible: ids, groups, seed: 1 }
  const answer = report(request)
  const shares = answer.overall.variants.reduce((sum, { share }) => sum + share, 0)
  check(`the shares of a report add up to ${shares}`, Math.abs(shares - 1) < 1e-9)
  add("report, 20 variants x 288 contexts", () => sink += report({ ...request, groups: [] }).overall.variants.length)
  add(
    `report, 20 variants x 288 contexts, ${groups.length} groups`,
    () => sink += report(request).overall.variants.length,
  )
  const duration = (micros: number): string =>
    micros < 1000 ? `${micros.toFixed(2)} µs` : `${(micros / 1000).toFixed(2)} ms`
  printColumns(
    "Weights, fits and reports",
    ["", "time", "times the JSON.parse", "aim"],
    rows.map(({ aim = "", base, micros, name }) => [name, duration(micros), [micros / base, 1], aim]),
  )

  const events: Array<Row> = []
  const base = now - 3_600_000
  const text = bodyText(0, 20, 1000, base)
  const withoutIds = text.replaceAll(/,"event_id":"[^"]*"/g, "")
  const perItem = (name: string, micros: number, base: number) => events.push({ name, micros: micros / 20, base })
  for (const [kind, bodyOfKind] of [["with event ids", text], ["without, known by content", withoutIds]] as const) {
    const json: unknown = JSON.parse(bodyOfKind)
    const parsing = microsOf(() => sink += (JSON.parse(bodyOfKind) as Array<unknown>).length, millis)
    const found = normalize(json, { receivedAt: now, webhookId: undefined }).events
    check(
      `${found.length} of 20 events ${kind}`,
      found.length === 20 && new Set(found.map(({ key }) => key)).size === 20,
    )
    perItem(`JSON.parse of an item, ${kind}`, parsing, parsing / 20)
    perItem(
      `normalize an item, ${kind}`,
      microsOf(() => sink += normalize(json, { receivedAt: now, webhookId: undefined }).events.length, millis),
      parsing / 20,
    )
    const bytes = Buffer.from(bodyOfKind)
    const source = normalizer("events")
    perItem(
      `bytes to events, per item, ${kind}`,
      microsOf(() => {
        const normalized = source(bytes, {}, now)
        sink += "events" in normalized ? normalized.events.length : 0
      }, millis),
      parsing / 20,
    )
  }
  const story = (length: number): ReadonlyArray<AttributedEvent> =>
    Array.from({ length }, (_, i) => ({
      key: `id:${i}`,
      event: (["sent", "delivered", "open", "click"] as const)[Math.min(i, 2 + i % 2)]!,
      occurredAt: base + 60_000 * i,
      automated: false,
      link: `https://example.test/${i % 3}`,
    }))
  const itemBase = events[0]!.micros
  for (const length of [4, 20]) {
    const list = story(length)
    const { automated, learned } = outcomesOf(base, list)
    check(
      `outcomes ${JSON.stringify(learned)}`,
      learned.sent === 1 && learned.delivered === 1 && learned.open === 1 && learned.click === 1 &&
        Object.keys(automated).length === 0,
    )
    events.push({
      name: `outcomesOf a decision with ${length} events`,
      micros: microsOf(() => sink += outcomesOf(base, list).learned.sent!, millis),
      base: itemBase,
    })
  }
  printColumns(
    "Events, in memory (bodies of 20)",
    ["", "µs", "times the JSON.parse of an item"],
    events.map(({ base, micros, name }) => [name, [micros, 2], [micros / base, 2]]),
  )
  check("nothing was computed", Number.isFinite(sink))
  return wrong
}
