import type { Environment } from "../support/stores.ts"
import { fullestSecond } from "./deliverSink.ts"
import {
  domains,
  fillQueue,
  fullestAttempts,
  openRecipientLoad,
  people,
  quantile,
  type RecipientLoad,
  timesOf,
} from "./recipientLoad.ts"

// Campaigns to recipients of whom some behave badly, sorted by domain.

const pause = (millis: number) => new Promise((resolve) => setTimeout(resolve, millis))

/** How fast the good recipients were reached. */
export interface Campaign {
  readonly messages: number
  /** Good recipients reached per second, from the first departure that was possible. */
  readonly perSecond: number
  /** Until the first of them was reached. Unit: milliseconds. */
  readonly firstMillis: number
  /** Most messages accepted in a sliding second, and most attempts. */
  readonly fullest: number
  readonly fullestAttempts: number
  readonly badAttempts: number
}

const withLoad = async <A>(
  store: Environment,
  options: Parameters<typeof openRecipientLoad>[1],
  run: (load: RecipientLoad) => Promise<A>,
): Promise<A> => {
  const load = await openRecipientLoad(store, options)
  try {
    return await run(load)
  } finally {
    await load.stop()
  }
}

/** Sends a campaign with `bad` recipients in front of the good ones, until all good ones are reached. */
export const sendCampaign = (
  store: Environment,
  bad: ReadonlyArray<string>,
  good: number,
  options: Parameters<typeof openRecipientLoad>[1] = {},
): Promise<Campaign> =>
  withLoad(store, options, async (load) => {
    const isGood = (email: string) => email.endsWith("@good.example")
    const emails = people(good, "good.example")
    await fillQueue(store, [...bad, ...emails])
    const start = performance.timeOrigin + performance.now()
    await load.hold(false)
    await load.untilReached(emails)
    const times = timesOf(load.sink, isGood)
    const attempts = await load.attempts()
    return {
      messages: good,
      perSecond: good * 1000 / (times.at(-1)! - start),
      firstMillis: times[0]! - start,
      fullest: fullestSecond(timesOf(load.sink)),
      fullestAttempts: fullestAttempts(attempts),
      badAttempts: attempts.filter(({ email }) => !isGood(email)).length,
    }
  })

export const sendToGreylisted = (store: Environment, greylisted: number, good: number) =>
  sendCampaign(store, people(greylisted, "grey.example"), good, { recipients: { greyMillis: 3_600_000 } })

export const sendToTarpits = (store: Environment, tarpits: number, good: number) =>
  sendCampaign(store, domains(tarpits, "tar"), good, { recipients: { tarMillis: 20_000 } })

/** First attempts of a campaign to one domain that greylists every recipient. */
export interface FirstAttempts {
  readonly messages: number
  readonly seconds: number
  readonly perSecond: number
  /** Most attempts in a sliding second. */
  readonly fullest: number
}

/**
 * Sends a campaign to a domain that greylists all recipients and takes 50 ms for a reply, until each was tried once.
 */
export const sendToGreylistingOnly = (store: Environment, messages: number): Promise<FirstAttempts> =>
  withLoad(store, { recipients: { greyMillis: 3_600_000, greyReplyMillis: 50 } }, async (load) => {
    await fillQueue(store, people(messages, "grey.example"))
    const start = performance.timeOrigin + performance.now()
    await load.hold(false)
    const tried = new Map<string, number>()
    let attempts = await load.attempts()
    for (let seen = 0; tried.size < messages;) {
      await pause(500)
      attempts = await load.attempts()
      if (performance.timeOrigin + performance.now() - start > 60_000 + messages * 1_000) {
        throw new Error(`${tried.size} of ${messages} recipients were tried`)
      }
      for (; seen < attempts.length; seen++) {
        const { at, email } = attempts[seen]!
        if (!tried.has(email)) tried.set(email, at)
      }
    }
    const seconds = (Math.max(...tried.values()) - start) / 1000
    return { messages, seconds, perSecond: messages / seconds, fullest: fullestAttempts(attempts) }
  })

/**
 * How long transactional messages waited behind a campaign, from the answer of Deliver until they arrived.
 * Milliseconds.
 */
export interface Waits {
  readonly messages: number
  readonly p50: number
  readonly p99: number
  readonly longest: number
  readonly fullest: number
}

/** Has `urgent` transactional messages accepted, `perSecond` of them, while a campaign of `bulk` messages leaves. */
export const sendUrgently = (store: Environment, bulk: number, urgent: number, perSecond: number): Promise<Waits> =>
  withLoad(store, {}, async (load) => {
    await fillQueue(store, people(bulk, "bulk.example"))
    await load.hold(false)
    await load.untilArrived(100)
    const acceptedAt = new Map<string, number>()
    const emails = people(urgent, "urgent.example")
    const asked: Array<Promise<void>> = []
    for (const email of emails) {
      asked.push(
        load.deliver([email], { priority: "transactional" }).then((accepted) => {
          for (const [to, at] of accepted) acceptedAt.set(to, at)
        }),
      )
      await pause(1000 / perSecond)
    }
    await Promise.all(asked)
    await load.untilReached(emails)
    const waits = load.sink.arrivals.flatMap(([, email, at]) => {
      const accepted = acceptedAt.get(email)
      return accepted === undefined ? [] : [at - accepted]
    })
    return {
      messages: waits.length,
      p50: quantile(waits, 0.5),
      p99: quantile(waits, 0.99),
      longest: Math.max(...waits),
      fullest: fullestSecond(timesOf(load.sink)),
    }
  })

/** A campaign of which 5 % are greylisted, 1 % tarpits and 1 % refused, sorted by domain. */
const mixed = (messages: number) => {
  const part = (share: number) => Math.max(2, Math.round(share * messages))
  const refused = part(0.01)
  const reached = [
    ...people(part(0.05), "grey.example"),
    ...people(messages - part(0.05) - 2 * part(0.01), "good.example"),
    ...domains(part(0.01), "tar"),
  ]
  return { reached, refused: people(refused, "unknown.example") }
}

/** Figures of a storm. */
export interface Stormed {
  readonly messages: number
  readonly seconds: number
  readonly kills: number
  /** Messages that arrived again. */
  readonly repeated: number
  readonly fullest: number
  readonly fullestAttempts: number
  readonly states: Readonly<Record<string, number>>
}

/** Sends a mixed campaign by several services on one store, of which one is killed after every `perKill` messages. */
export const storm = (
  store: Environment,
  { messages, nodes, perKill }: { readonly messages: number; readonly nodes: number; readonly perKill: number },
): Promise<Stormed> =>
  withLoad(store, { nodes, recipients: { greyMillis: 3_000, tarMillis: 3_000 } }, async (load) => {
    const { reached, refused } = mixed(messages)
    await fillQueue(
      store,
      [...reached, ...refused].sort((a, b) => {
        const [left, right] = [a, b].map((email) => email.slice(email.indexOf("@")))
        return left! < right! ? -1 : left! > right! ? 1 : 0
      }),
    )
    const start = performance.now()
    await load.hold(false)
    let kills = 0
    for (let target = perKill; target < 0.9 * reached.length; target += perKill) {
      await load.untilArrived(target)
      await load.replace(kills++ % nodes)
    }
    await load.untilReached(reached)
    const seconds = (performance.now() - start) / 1000
    let states: Record<string, number> = {}
    for (let sent = 0; sent < reached.length;) {
      await pause(200)
      states = (await load.service().manage("GET", "/organizations/acme/delivery-summary")).body
      sent = states["sent"]!
    }
    const arrivals = load.sink.arrivals.length
    return {
      messages,
      seconds,
      kills,
      repeated: arrivals - new Set(load.sink.arrivals.map(([, email]) => email)).size,
      fullest: fullestSecond(timesOf(load.sink)),
      fullestAttempts: fullestAttempts(await load.attempts()),
      states,
    }
  })
