import { Effect, Schema } from "effect"
import { dayMillis } from "../bandit/Window.ts"
import { Agenda } from "./Agenda.ts"
import { pick, poisson, seeded, type UniformChance } from "./Chance.ts"
import type { NotAnswered, ServiceClient } from "./Client.ts"
import type { FasterClock } from "./FasterClock.ts"
import { Gain } from "./Gain.ts"
import { drawCell, messagesAt, type Rates } from "./Rates.ts"
import { type DemoReaction, react, type ReportedEvent } from "./Reactions.ts"

/** Actions of the audience so far. Counts are of answered requests. */
export interface AudienceActions {
  readonly messages: number
  /** Number of events by name, without repetitions. Events of machines are counted as `machine_open`. */
  readonly events: Readonly<Record<ReportedEvent["event"] | "machine_open", number>>
  /** Number of events that were reported a second time. */
  readonly again: number
  readonly gain: Gain
}

/** The simulated audience of a demo. */
interface DemoAudience {
  /**
   * Simulates the interval from `from` to `to` (Unix milliseconds): requests messages, and reports reactions that are
   * due by then.
   */
  readonly live: (from: number, to: number) => Effect.Effect<void, NotAnswered | Schema.SchemaError>
  readonly done: AudienceActions
}

/** Number of users. Each user keeps the values of its attributes. */
const users = 40_000

/** Maximum number of events in one request. */
const batch = 500

const firstNames = ["Ann", "Ben", "Carla", "David", "Elif", "Finn", "Greta", "Hugo", "Ines", "Jonas", "Kira", "Luca"]

const articles = [
  { title: "Trekking boots Karwendel", price: 189 },
  { title: "Rain jacket Orkney", price: 229 },
  { title: "Tent Fjell 2", price: 399 },
  { title: "Sleeping bag Aurora", price: 259 },
  { title: "Stove Vulcano", price: 79 },
  { title: "Backpack Dovre 45", price: 169 },
  { title: "Wool socks", price: 12.95 },
]

const shopUrl = "https://fernweh-outdoor.example/cart"

const evenly = <A>(chance: UniformChance, items: ReadonlyArray<A>): A =>
  items[pick(chance, items.map(() => 1 / items.length))]!

const cartOf = (chance: UniformChance) => {
  const first = evenly(chance, articles)
  const items = [{ ...first, quantity: 1 }]
  const second = evenly(chance, articles)
  if (second !== first && chance() < 0.5) items.push({ ...second, quantity: 1 + Math.floor(2 * chance()) })
  return {
    url: shopUrl,
    currency: "EUR",
    total: items.reduce((sum, { price, quantity }) => sum + price * quantity, 0).toFixed(2),
    items: items.map(({ price, quantity, title }) => ({ title, quantity, price: price.toFixed(2) })),
  }
}

const decodeAnswer = Schema.decodeUnknownEffect(
  Schema.Struct({ copy: Schema.Struct({ id: Schema.optionalKey(Schema.String) }) }),
)

/**
 * Creates the simulated audience of one template. It knows the true rates, and uses the service only through its API:
 * it requests variants from Generate and reports reactions to the webhook for events.
 */
export const make = (options: {
  readonly client: ServiceClient
  readonly clock: FasterClock
  readonly org: string
  readonly template: string
  /** Ids of the variants, in the order of the rates. */
  readonly variants: ReadonlyArray<string>
  readonly rates: Rates
  readonly seed: number
  /** Number of messages on an average day. */
  readonly perDay: number
  /** Maximum number of concurrent requests. */
  readonly connections: number
}): DemoAudience => {
  const { client, clock, connections, org, perDay, rates, seed, template, variants } = options
  const chance = seeded(seed)
  const agenda = new Agenda<DemoReaction>(clock.currentTimeMillisUnsafe())
  const done = {
    messages: 0,
    again: 0,
    events: { delivered: 0, open: 0, machine_open: 0, click: 0, conversion: 0, bounce: 0, unsubscribe: 0 },
    gain: new Gain(variants.length),
  }
  let requests = 0

  const send = Effect.fnUntraced(function* () {
    const trackingId = `demo-${seed}-${++requests}`
    const user = Math.floor(users * chance())
    // The attributes of a user are derived from its id.
    const own = seeded(seed ^ (user + 1))
    const cell = drawCell(own)
    const answer = yield* Effect.flatMap(
      client.post(`/api/generate/${org}`, {
        template_id: template,
        tracking_id: trackingId,
        user_id: `user-${user}`,
        attrs: cell,
        fields: { first_name: evenly(own, firstNames), cart: cartOf(chance) },
      }),
      decodeAnswer,
    )
    // A visitor of the demo has deactivated every variant, so no messages are sent.
    if (answer.copy.id === undefined) return
    const chosen = variants.indexOf(answer.copy.id)
    const now = clock.currentTimeMillisUnsafe()
    const clickRates = rates.at(cell, now)
    done.messages++
    if (chosen >= 0) done.gain.add(now, clickRates, chosen)
    // A variant created in the meantime gets the average rate of the others, and does not count towards the possible
    // gain.
    const clickRate = clickRates[chosen] ?? clickRates.reduce((sum, rate) => sum + rate, 0) / clickRates.length
    const message = { trackingId, decidedAt: now, clickRate, link: shopUrl }
    for (const reaction of react(chance, message)) agenda.put(reaction.reportAt, reaction)
  })

  const report = Effect.fnUntraced(function* (reactions: ReadonlyArray<DemoReaction>) {
    yield* client.post(`/api/webhook/events/${org}`, { events: reactions.map(({ event }) => event) })
    for (const { again, event: { automated, event } } of reactions) {
      if (again) done.again++
      else done.events[automated ? "machine_open" : event]++
    }
  })

  const live = Effect.fnUntraced(function* (from: number, to: number) {
    const messages = poisson(chance, perDay * messagesAt(to) * (to - from) / dayMillis)
    yield* Effect.forEach(Array.from({ length: messages }), send, { concurrency: connections, discard: true })
    const due = agenda.take(clock.currentTimeMillisUnsafe())
    for (let at = 0; at < due.length; at += batch) yield* report(due.slice(at, at + batch))
  })

  return { live, done }
}
