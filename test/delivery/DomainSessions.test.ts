import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import type { SendResult } from "../../src/delivery/Connection.ts"
import { deferred, ofRecipient, refused, retry, slowDown } from "../../src/delivery/connections/Answers.ts"
import { DomainSessions, type Flight, type Waiting } from "../../src/delivery/DomainSessions.ts"

const limits = { share: 0.5, perSecond: undefined }
const accepted: SendResult = { _tag: "accepted", messageId: undefined, links: [] }
const greylisted = deferred("451")

let made = 0
const message = (domain: string, change: Partial<Waiting> = {}): Waiting => {
  const n = made++
  return { id: String(n).padStart(9, "0"), domain, isTransactional: false, dueAt: n, ...change }
}
const messages = (count: number, domain: string) => Array.from({ length: count }, () => message(domain))

/** Starts all that may leave now. */
const startAll = (sessions: DomainSessions<Waiting>, atMost: number, now: number): Array<Flight> => {
  const flights: Array<Flight> = []
  for (let next = sessions.pick(now); next !== undefined && flights.length < atMost; next = sessions.pick(now)) {
    flights.push(sessions.start(next, now))
  }
  return flights
}
const domainsOf = (flights: ReadonlyArray<Flight>) => flights.map(({ domain }) => domain)

/** Sessions in which these domains have answered at once. */
const sessionsKnowing = (count: number, domains: ReadonlyArray<string>, given = limits) => {
  const sessions = new DomainSessions<Waiting>(count, given)
  for (const domain of domains) {
    sessions.add([message(domain)], {}, 0)
    sessions.end(sessions.start(sessions.pick(0)!, 0), accepted, 10)
  }
  return sessions
}

/** A domain whose breaker is open at time 20. */
const sessionsWithOpen = (domain: string, known: ReadonlyArray<string> = []) => {
  const sessions = sessionsKnowing(5, [domain, ...known])
  for (let i = 0; i < 5; i++) {
    sessions.add([message(domain)], {}, 10)
    sessions.end(sessions.start(sessions.pick(10)!, 10), greylisted, 20)
  }
  return sessions
}

describe("DomainSessions", () => {
  it("assigns a domain half of the sessions while other domains wait, and otherwise all of them", () => {
    const sessions = sessionsKnowing(5, ["gmail.com", "a.example"])
    sessions.add(messages(10, "gmail.com"), {}, 20)
    const alone = startAll(sessions, 5, 20)
    assert.deepStrictEqual(domainsOf(alone), Array(5).fill("gmail.com"))
    for (const flight of alone) sessions.end(flight, accepted, 30)
    sessions.add([...messages(2, "a.example")], {}, 30)
    assert.deepStrictEqual(domainsOf(startAll(sessions, 5, 30)), [
      "gmail.com",
      "gmail.com",
      "a.example",
      "a.example",
      "gmail.com",
    ])
  })

  it("assigns a domain that has not answered yet one session", () => {
    const sessions = new DomainSessions<Waiting>(5, limits)
    sessions.add([...messages(5, "new.example"), ...messages(1, "other.example")], {}, 0)
    const flights = startAll(sessions, 5, 0)
    assert.deepStrictEqual(domainsOf(flights), ["new.example", "other.example"])
    sessions.end(flights[0]!, accepted, 10)
    assert.strictEqual(startAll(sessions, 5, 10).length, 4)
  })

  it("sends transactional messages before bulk messages, and each kind in the order in which it is due", () => {
    const sessions = sessionsKnowing(5, ["a.example"])
    const early = message("a.example")
    const late = message("a.example")
    const urgent = message("a.example", { isTransactional: true })
    sessions.add([late], {}, 20)
    sessions.add([urgent, early], {}, 20)
    const order: Array<Waiting> = []
    for (let next = sessions.pick(20); next !== undefined; next = sessions.pick(20)) {
      order.push(next)
      sessions.end(sessions.start(next, 20), accepted, 21)
    }
    assert.deepStrictEqual(order, [urgent, early, late])
  })

  it("keeps the messages of a domain with an open breaker in the queue, and claims the others", () => {
    const sessions = sessionsWithOpen("grey.example")
    const grey = messages(5, "grey.example")
    const good = message("good.example")
    assert.deepStrictEqual(sessions.add([...grey, good], {}, 30), grey)
    assert.strictEqual(sessions.pick(30), good)
    assert.deepStrictEqual(sessions.heldDomains, ["grey.example"])
    startAll(sessions, 1, 30)
    assert.deepStrictEqual(sessions.wants(30, 50), { without: ["grey.example"] })
  })

  it("starts a claim at the first message of the last claim until a domain's breaker closes", () => {
    const sessions = sessionsWithOpen("grey.example", ["good.example"])
    sessions.add(messages(3, "grey.example"), {}, 30)
    const claimAt = (now: number) => {
      const choice = sessions.wants(now, 2)!
      const good = message("good.example", { dueAt: 50_000 + now })
      sessions.add([good], choice, now)
      sessions.end(sessions.start(good, now), accepted, now)
      return choice
    }
    const without = ["grey.example"]
    assert.deepStrictEqual([30, 31, 32].map(claimAt), [
      { without },
      { without, dueFrom: 49_030 },
      { without, dueFrom: 49_031 },
    ])
    const probe = message("grey.example")
    sessions.add([probe], { only: "grey.example" }, 1_100)
    const flight = sessions.start(probe, 1_100)
    assert.deepStrictEqual(claimAt(1_200), { without, dueFrom: 49_032 })
    sessions.drain()
    assert.deepStrictEqual(claimAt(1_300), { without }, "messages that went back may be due earlier")
    assert.deepStrictEqual(claimAt(1_400), { without, dueFrom: 50_300 })
    sessions.end(flight, accepted, 1_500)
    assert.deepStrictEqual(claimAt(1_600), { without: [] })
  })

  it("probes an open domain when its pause is over, although others wait, and one message at a time otherwise", () => {
    const sessions = sessionsWithOpen("grey.example", ["good.example"])
    sessions.add(messages(2, "grey.example"), {}, 30)
    sessions.add(messages(20, "good.example"), {}, 30)
    assert.notProperty(sessions.wants(900, 10) ?? {}, "only")
    assert.deepStrictEqual(sessions.wants(1_100, 10), { only: "grey.example" })
    const probe = message("grey.example", { dueAt: -1 })
    assert.deepStrictEqual(sessions.add([probe], { only: "grey.example" }, 1_100), [])
    assert.strictEqual(sessions.pick(1_100), probe)
    const flight = sessions.start(probe, 1_100)
    assert.notProperty(sessions.wants(1_200, 10) ?? {}, "only", "the probe is under way")
    sessions.end(flight, accepted, 1_210)
    assert.deepStrictEqual(sessions.heldDomains, [], "it is well again")
  })

  it("uses all sessions for a domain with an open breaker while no other message waits", () => {
    const sessions = sessionsWithOpen("grey.example")
    sessions.add(messages(2, "grey.example"), {}, 30)
    assert.deepStrictEqual(
      sessions.wants(30, 50, true),
      { only: "grey.example" },
      "no search has shown that it is alone",
    )
    sessions.add([], { without: ["grey.example"] }, 35)
    assert.deepStrictEqual(sessions.wants(60, 50, true), { only: "grey.example", atMost: 50 })
    assert.deepStrictEqual(sessions.add(messages(8, "grey.example"), { only: "grey.example", atMost: 50 }, 60), [])
    const flights = startAll(sessions, 5, 60)
    assert.strictEqual(flights.length, 5)
    assert.deepStrictEqual(sessions.review(70).back, [])
    for (const flight of flights) sessions.end(flight, greylisted, 80)
    assert.strictEqual(startAll(sessions, 5, 80).length, 3)
    assert.deepStrictEqual(sessions.wants(100, 50, true), { only: "grey.example", atMost: 50 })
  })

  it("keeps messages of an open domain in the queue again as soon as another message waits", () => {
    const sessions = sessionsWithOpen("grey.example", ["good.example"])
    sessions.add(messages(1, "grey.example"), {}, 30)
    sessions.add([], sessions.wants(30, 50)!, 30)
    const many = messages(20, "grey.example")
    assert.deepStrictEqual(sessions.wants(40, 50), { only: "grey.example", atMost: 50 }, "nothing else was found")
    sessions.add(many, { only: "grey.example", atMost: 50 }, 40)
    startAll(sessions, 2, 40)
    const look = sessions.wants(1_050, 50)!
    assert.deepStrictEqual(look, { without: ["grey.example"] }, "looks for others every second")
    const good = message("good.example", { dueAt: 1_000_000 })
    sessions.add([good], look, 1_050)
    assert.strictEqual(sessions.pick(1_050), good)
    assert.deepStrictEqual(sessions.review(1_050).back, many.slice(2))
    startAll(sessions, 1, 1_050)
    assert.isUndefined(sessions.wants(1_070, 50)?.only, "two are under way")
  })

  it("returns the messages of a domain when its breaker opens, and still prefers other domains", () => {
    const sessions = sessionsKnowing(5, ["grey.example", "good.example"])
    const grey = messages(50, "grey.example")
    sessions.add(grey, {}, 20)
    for (const flight of startAll(sessions, 5, 20)) sessions.end(flight, greylisted, 30)
    assert.deepStrictEqual(sessions.review(30).back, grey.slice(5))
    const search = sessions.wants(40, 50)!
    assert.deepStrictEqual(search, { without: ["grey.example"] })
    const good = messages(3, "good.example")
    sessions.add(good, search, 40)
    const look = sessions.wants(1_100, 50)!
    if (look.only === undefined) sessions.add([], { without: ["grey.example", "good.example"] }, 1_100)
    startAll(sessions, 3, 1_110)
    assert.notProperty(sessions.wants(1_150, 50, true) ?? {}, "atMost", "a search without good.example shows nothing")
  })

  it("divides the sessions between domains with open breakers while no other message waits", () => {
    const sessions = sessionsWithOpen("grey.example", ["late.example"])
    for (let i = 0; i < 5; i++) {
      sessions.add([message("late.example")], {}, 20)
      sessions.end(sessions.start(sessions.pick(20)!, 20), greylisted, 30)
    }
    sessions.add([...messages(1, "grey.example"), ...messages(1, "late.example")], {}, 40)
    sessions.add([], { without: ["grey.example", "late.example"] }, 40)
    assert.deepStrictEqual(sessions.wants(40, 50, true), { only: "grey.example", atMost: 2 })
    sessions.add(messages(2, "grey.example"), { only: "grey.example", atMost: 2 }, 40)
    startAll(sessions, 2, 40)
    assert.deepStrictEqual(sessions.wants(60, 50, true), { only: "late.example", atMost: 2 })
  })

  it("claims one message at a time for an open domain that answers slowly or asked for a pause", () => {
    const slow = sessionsWithOpen("grey.example")
    slow.add(messages(1, "grey.example"), { only: "grey.example" }, 30)
    slow.end(slow.start(slow.pick(30)!, 30), greylisted, 3_000)
    slow.add(messages(1, "grey.example"), {}, 3_000)
    slow.drain()
    assert.deepStrictEqual(slow.wants(3_100, 50, true), { only: "grey.example" })
    const busy = sessionsKnowing(5, ["busy.example"])
    busy.add(messages(2, "busy.example"), {}, 20)
    busy.end(busy.start(busy.pick(20)!, 20), ofRecipient(slowDown("450")), 30)
    busy.review(30)
    assert.deepStrictEqual(busy.wants(5_040, 50, true), { only: "busy.example" })
  })

  it("sends nothing to a domain that asked for a pause, until it is over", () => {
    const sessions = sessionsKnowing(5, ["busy.example"])
    sessions.add(messages(3, "busy.example"), {}, 20)
    sessions.end(sessions.start(sessions.pick(20)!, 20), ofRecipient(slowDown("450")), 30)
    assert.strictEqual(sessions.review(30).back.length, 2)
    assert.isUndefined(sessions.wants(4_000, 50, true))
    assert.deepStrictEqual(sessions.wants(5_040, 50), { only: "busy.example" })
  })

  it("limits slow domains to half of the sessions, and cancels their youngest attempts beyond that", () => {
    const sessions = sessionsKnowing(5, ["good.example"])
    for (let n = 0; n < 5; n++) {
      const tarpit = message(`tar${n}.example`)
      sessions.add([tarpit], {}, 20 + n)
      sessions.start(tarpit, 20 + n)
    }
    sessions.add(messages(1, "good.example"), {}, 30)
    const gaveUp = (now: number) => domainsOf(sessions.review(now).givenUp)
    assert.deepStrictEqual([gaveUp(500), sessions.isCrowded()], [[], false])
    assert.deepStrictEqual([gaveUp(1_200), sessions.isCrowded()], [
      ["tar2.example", "tar3.example", "tar4.example"],
      true,
    ])
  })

  it("asks no attempt to give up while no other message waits", () => {
    const sessions = new DomainSessions<Waiting>(2, limits)
    for (const tarpit of [message("tar0.example"), message("tar1.example")]) {
      sessions.add([tarpit], {}, 0)
      sessions.start(tarpit, 0)
    }
    assert.deepStrictEqual(sessions.review(10_000).givenUp, [])
  })

  it("does not treat a domain as slow if all domains answer equally slowly", () => {
    const sessions = new DomainSessions<Waiting>(5, limits)
    let now = 0
    for (let n = 0; n < 20; n++) {
      sessions.add([message(`d${n}.example`)], {}, now)
      const flight = sessions.start(sessions.pick(now)!, now)
      now += 3_000
      sessions.end(flight, accepted, now)
    }
    sessions.add(messages(5, "d7.example"), {}, now)
    assert.strictEqual(startAll(sessions, 5, now).length, 5)
  })

  it("limits a domain to its own rate", () => {
    const sessions = sessionsKnowing(5, ["paced.example"], { share: 1, perSecond: 10 } as never)
    sessions.add(messages(30, "paced.example"), {}, 1_000)
    const departures: Array<number> = []
    for (let now = 1_000; departures.length < 30; now += 1) {
      const next = sessions.pick(now)
      if (next === undefined) {
        assert.isAbove(sessions.nextAt(now), now)
        continue
      }
      departures.push(now)
      sessions.end(sessions.start(next, now), accepted, now)
    }
    for (const [i, at] of departures.entries()) {
      assert.isAtMost(departures.filter((other) => other >= at && other < at + 1_000).length, 11, `from the ${i}th`)
    }
  })

  it("closes a breaker after a refusal, and ignores failures of the connection", () => {
    const sessions = sessionsWithOpen("a.example")
    sessions.add([message("a.example")], { only: "a.example" }, 30)
    sessions.end(sessions.start(sessions.pick(30)!, 30), refused("550"), 40)
    assert.deepStrictEqual(sessions.heldDomains, [])
    for (let i = 0; i < 20; i++) {
      sessions.add([message("a.example")], {}, 50)
      sessions.end(sessions.start(sessions.pick(50)!, 50), retry("connection lost"), 60)
    }
    assert.deepStrictEqual(sessions.review(70).back, [])
    assert.deepStrictEqual(sessions.heldDomains, [])
  })

  it("sends held domains last, uses at most the granted sessions, and loses no message", () => {
    const names = ["good.example", "big.example", "grey.example", "tar0.example", "tar1.example", "tar2.example"]
    const action = fc.record({
      passed: fc.integer({ min: 0, max: 2_000 }),
      add: fc.array(fc.constantFrom(...names), { maxLength: 5 }),
      end: fc.integer({ min: 0, max: 4 }),
      result: fc.constantFrom<SendResult>(accepted, greylisted, ofRecipient(slowDown("450"))),
    })
    fc.assert(fc.property(fc.integer({ min: 1, max: 8 }), fc.array(action, { maxLength: 60 }), (count, actions) => {
      const sessions = new DomainSessions<Waiting>(count, limits)
      const flights: Array<Flight> = []
      const queue: Array<Waiting> = []
      let now = 0
      let ended = 0
      let all = 0
      for (const { add, end, passed, result } of actions) {
        now += passed
        all += add.length
        queue.push(...add.map((name) => message(name)))
        queue.push(...sessions.review(now).back)
        for (const isIdle of [false, true]) {
          const choice = sessions.wants(now, 3, isIdle)
          if (choice === undefined) continue
          const isChosen = ({ domain, isTransactional }: Waiting) =>
            (choice.only === undefined || domain === choice.only) && !(choice.without ?? []).includes(domain) &&
            (choice.isTransactional !== true || isTransactional)
          const claimed = queue.filter(isChosen).slice(0, choice.atMost ?? (choice.only === undefined ? 3 : 1))
          for (const one of claimed) queue.splice(queue.indexOf(one), 1)
          queue.push(...sessions.add(claimed, choice, now))
        }
        const held = sessions.heldDomains
        const started = startAll(sessions, count - flights.length, now)
        flights.push(...started)
        assert.isAtMost(flights.length, count)
        const isRepeated = (name: string, i: number) => domainsOf(started).indexOf(name) < i
        const several = domainsOf(started).findIndex((name, i) => held.includes(name) && isRepeated(name, i))
        if (several >= 0) assert.isTrue(domainsOf(started).slice(several).every((name) => held.includes(name)))
        for (const flight of flights.splice(0, end)) {
          sessions.end(flight, result, now)
          ended++
        }
        assert.strictEqual(ended + flights.length + queue.length + sessions.waitingCount, all)
      }
    }))
  })
})
