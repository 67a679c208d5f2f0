import { Clock, Context, Effect, Layer, Random } from "effect"
import { hourMillis } from "../bandit/Window.ts"
import { VariantNotFound } from "../domain/Errors.ts"
import { isSandbox, liveOf } from "../domain/Sandbox.ts"
import { Settings } from "../settings/Settings.ts"
import { type OrganizationView, TemplateCache, type TemplateView } from "../templates/TemplateCache.ts"
import { AdviceLog } from "./AdviceLog.ts"
import { addTouches, emptyHistogram, personal, usualIndividuality } from "./Attention.ts"
import { candidatesOf, choose, type SendWindow, sendWindow } from "./Choice.ts"
import * as Clocks from "./Clocks.ts"
import { type About, engagementsOf, expectedOf, Groups, isKnown, type Level } from "./Groups.ts"
import type { PersonHistory } from "./Histories.ts"
import { People } from "./People.ts"
import { permissionOf } from "./Slots.ts"
import { digest } from "./Touch.ts"

/** The narrowest level with data. */
type Basis = "user" | "variant" | "template" | "organization" | "default"

/** A request for a recommended send time. */
export interface SendTimeRequest {
  readonly org: string
  /** Selects the template if several have a variant with this id. Default: the estimate combines all of them. */
  readonly templateId: string | undefined
  readonly copyId: string
  readonly userId: string | undefined
  readonly email: string | undefined
  readonly trace: boolean
  /** Time of the request. Unit: Unix milliseconds. Default: now. */
  readonly now?: number
  /** Earliest time, at which the horizon begins. Unit: Unix milliseconds. Default: `now`. */
  readonly notBefore?: number
  /** The horizon ends at this time at the latest. Unit: Unix milliseconds. Default: not limited. */
  readonly before?: number
}

/** The data behind a recommendation. */
interface AdviceTrace {
  readonly basis: Basis
  readonly explored: boolean
  /** Whether the result is after the horizon, which has no allowed time, or none but at night. */
  readonly after_horizon: boolean
  readonly time_zone: string
  readonly time_zone_of: "user" | "organization"
  readonly tau_hours: number | null
  /** Levels, narrowest first. `weight`: the share of the level's own data. */
  readonly levels: ReadonlyArray<
    { readonly level: string; readonly touches: number; readonly engagements: number; readonly weight: number }
  >
  /** Expected engagements of a message sent in each allowed hour, by the start of the hour. */
  readonly curve: ReadonlyArray<{ readonly from: string; readonly local_hour: number; readonly value: number }>
}

/** A recommended send time. */
export interface Advice {
  /** The recommended time, a whole second, never before the request. Unit: Unix milliseconds. */
  readonly at: number
  readonly basis: Basis
  /** Whether the time was drawn from all allowed times at random. */
  readonly explored: boolean
  readonly trace: AdviceTrace | undefined
}

/** Templates by the ids of their variants, created on first use. */
const indexes = new WeakMap<ReadonlyMap<string, TemplateView>, Map<string, ReadonlyArray<TemplateView>>>()

const templatesWith = (templates: ReadonlyMap<string, TemplateView>, copyId: string): ReadonlyArray<TemplateView> => {
  let index = indexes.get(templates)
  if (index === undefined) {
    index = new Map()
    for (const template of templates.values()) {
      for (const { id } of template.variants) index.set(id, [...(index.get(id) ?? []), template])
    }
    indexes.set(templates, index)
  }
  return index.get(copyId) ?? []
}

/** The `About` of each variant by template, cached because its identity is a cache key. */
const abouts = new WeakMap<TemplateView, ReadonlyMap<string, About>>()

const aboutOf = (template: TemplateView, copy: string): About => {
  let known = abouts.get(template)
  if (known === undefined) {
    const variants = template.variants.map(({ id }) => id)
    abouts.set(template, known = new Map(variants.map((id) => [id, { template: template.id, variants, copy: id }])))
  }
  return known.get(copy)!
}

/** The last window by the organization's settings and time zone. */
const windows = new WeakMap<OrganizationView, Map<string, { readonly from: number; readonly window: SendWindow }>>()

const windowOf = (
  settings: OrganizationView,
  clocks: Clocks.Clocks,
  start: number,
  before: number | undefined,
): SendWindow => {
  let byZone = windows.get(settings)
  if (byZone === undefined) windows.set(settings, byZone = new Map())
  // Results are whole seconds, so all requests within one second share a window.
  const from = Math.ceil(start / 1000) * 1000
  const until = from + settings.delayHorizonHours * hourMillis - (from === start ? 0 : 1000)
  if (before !== undefined && before < until) {
    return sendWindow(from, before, clocks, permissionOf(settings), { isFinal: true })
  }
  const known = byZone.get(clocks.zone)
  if (known?.from === from) return known.window
  const window = sendWindow(from, until, clocks, permissionOf(settings))
  byZone.set(clocks.zone, { from, window })
  return window
}

const nobody: PersonHistory = { zone: undefined, codes: new Float64Array(0) }

/**
 * Seed of exploration and of the second within the hour. It is constant for equal requests within an hour, so that a
 * retry gets an equal result.
 */
const drawsOf = (org: string, ask: SendTimeRequest, person: string, now: number): readonly [number, number, number] => {
  const question = `${org}\0${person}\0${ask.copyId}\0${Math.floor(now / hourMillis)}`
  const draw = (n: number) => digest(`${n}\0${question}`) / 2 ** 32
  return [draw(1), draw(2), draw(3)]
}

const basisOf = (person: PersonHistory, levels: ReadonlyArray<readonly [Basis, Level]>): Basis =>
  person.codes.length > 0 ? "user" : levels.find(([, level]) => isKnown(level))?.[0] ?? "default"

/** Recommends send times. During a database outage, uses the data in memory. */
export class SendTime extends Context.Service<SendTime, {
  /**
   * Recommends a time. Fails with `VariantNotFound` if the organization has no such variant. Records the recommendation
   * without blocking, except for a sandbox.
   */
  readonly advise: (ask: SendTimeRequest) => Effect.Effect<Advice, VariantNotFound>
  /** Name of the response member that holds the result. */
  readonly serviceWords: string
}>()("parlance/sendtime/SendTime") {
  static readonly layer = Layer.effect(
    SendTime,
    Effect.gen(function* () {
      const templateCache = yield* TemplateCache
      const people = yield* People
      const groups = yield* Groups
      const log = yield* AdviceLog
      const clock = yield* Clock.Clock
      const { serviceWords } = yield* Settings

      const advise = Effect.fnUntraced(function* (ask: SendTimeRequest) {
        const { copyId, email, userId } = ask
        // A sandbox uses the data of its organization's people.
        const org = liveOf(ask.org)
        const templates = templatesWith(templateCache.templates(org), copyId)
          .filter(({ id }) => ask.templateId === undefined || id === ask.templateId)
        const [first] = templates
        if (first === undefined) return yield* new VariantNotFound({ id: copyId })
        const settings = first.org
        const now = ask.now ?? clock.currentTimeMillisUnsafe()
        const query = { org, user: userId, email }
        const isNamed = userId !== undefined || email !== undefined
        const person = !isNamed ? nobody : people.peek(query) ?? (yield* people.find(query)) ?? nobody
        const timing = yield* groups.of(org, settings.timeZone)
        const clocks = Clocks.of(person.zone ?? settings.timeZone)
        const levels = timing?.levels(templates.map((template) => aboutOf(template, copyId)))
        const isDefault = timing === undefined || (timing.touches === 0 && person.codes.length === 0)
        const histogram = emptyHistogram()
        let attention: Float64Array | undefined
        if (!isDefault) {
          addTouches(histogram, person.codes, clocks, timing.fresh, now)
          const group = timing.inZone(levels!.variant.attention, clocks)
          attention = person.codes.length === 0 ? group : personal(histogram, group, timing.individuality)
        }
        const window = windowOf(settings, clocks, Math.max(now, ask.notBefore ?? now), ask.before)
        const chosen = choose({
          attention,
          tau: timing?.tau ?? 1,
          window,
          draws: isNamed
            ? drawsOf(org, ask, userId ?? email!, now)
            : [yield* Random.next, yield* Random.next, yield* Random.next],
        })
        const named = levels === undefined ? [] : [
          ["variant", levels.variant],
          ["template", levels.template],
          ["organization", levels.organization],
        ] as const
        const basis = isDefault ? "default" : basisOf(person, named)
        if (isNamed && !isSandbox(ask.org)) {
          log.record({
            org,
            person: userId ?? email!,
            copyId,
            givenAt: now,
            advisedAt: chosen.at,
            explored: chosen.explored,
            basis,
          })
        }
        if (!ask.trace) return { at: chosen.at, basis, explored: chosen.explored, trace: undefined }
        const expected = levels === undefined ? 0 : expectedOf(histogram, levels.variant.attention)
        const user = {
          level: "user",
          touches: person.codes.length,
          engagements: engagementsOf(histogram),
          weight: expected / (expected + (timing?.individuality ?? usualIndividuality).shapePrior),
        }
        return {
          at: chosen.at,
          basis,
          explored: chosen.explored,
          trace: {
            basis,
            explored: chosen.explored,
            after_horizon: chosen.late,
            time_zone: clocks.zone,
            time_zone_of: person.zone === undefined ? "organization" : "user",
            tau_hours: isDefault ? null : timing.tau,
            levels: [
              ...(isNamed ? [user] : []),
              ...named.map(([level, { engagements, touches, weight }]) => ({ level, touches, engagements, weight })),
            ],
            curve: curveOf(candidatesOf(window, chosen), clocks),
          } satisfies AdviceTrace,
        }
      })

      return SendTime.of({ advise, serviceWords })
    }),
  )
}

const curveOf = (candidates: ReturnType<typeof candidatesOf>, clocks: Clocks.Clocks): AdviceTrace["curve"] =>
  candidates.map(({ slot, value }) => {
    const from = slot.pieces[0]![0] * 1000
    return {
      from: new Date(from).toISOString().replace(".000Z", "Z"),
      local_hour: ((clocks.localHour(from) % 24) + 24) % 24,
      value,
    }
  })
