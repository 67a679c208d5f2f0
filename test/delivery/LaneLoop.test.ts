import { assert, describe, it } from "@effect/vitest"
import { Cause, Duration } from "effect"
import { CopyId, OrgSlug, TemplateId } from "../../src/domain/Ids.ts"
import { accepted, broken, retry } from "../../src/delivery/connections/Answers.ts"
import type { ActiveConnection } from "../../src/delivery/Connections.ts"
import { next } from "../../src/delivery/LaneLoop.ts"
import { type LaneCommand, type LaneInput, type LaneState, start } from "../../src/delivery/LaneState.ts"
import type { Claimed } from "../../src/delivery/Outbox.ts"

const active: ActiveConnection = {
  name: "relay",
  platform: "smtp",
  paused: false,
  version: "1",
} as ActiveConnection

const settings = {
  rate: 100,
  retries: {
    attempts: Infinity,
    firstPause: Duration.seconds(5),
    horizon: Duration.hours(24),
    recipientHorizon: Duration.hours(72),
  },
  shutdownMillis: 10_000,
}

const message = (id: string, domain = "good.example"): Claimed => ({
  id,
  org: OrgSlug.make("o"),
  templateId: TemplateId.make("t"),
  copyId: CopyId.make("c"),
  email: `a@${domain}`,
  vars: {},
  formats: {},
  attempt: 1,
  queuedAt: 0,
  firstAttemptAt: 0,
  domain,
  dueAt: 0,
  isTransactional: false,
  isSuspect: false,
  retryingMillis: 0,
})

/** A lane whose commands are kept, to be answered by the test. */
class Driven {
  state: LaneState = start(settings, { brake: null, quietMillis: 0 }, 0, 0)
  now = 0
  active: ActiveConnection | undefined = active
  /** Whether the store renews the lease at once. */
  isHeld = true

  /** Messages that the platform grants at once. */
  granted: number | undefined

  put(input: LaneInput, now = this.now): ReadonlyArray<LaneCommand> {
    this.now = now
    const [state, commands] = next(this.state, input, { millis: now, active: this.active, granted: this.granted })
    this.state = state
    if (commands.some((one) => one._tag === "renew") && this.isHeld) this.put({ _tag: "renewed", isHeld: true })
    return commands
  }

  /** Opens the connection, with five sessions. Returns the first claim. */
  opened(): ReadonlyArray<LaneCommand> {
    this.put({ _tag: "woken" })
    return this.put({ _tag: "opened", concurrency: 5, domains: { share: 0.5, perSecond: undefined } })
  }

  /** Sends a claimed message as far as the platform. */
  attempted(id: string, domain?: string): number {
    const flight = this.put({ _tag: "claimed", messages: [message(id, domain)] }).find((one) => one._tag === "check")
    assert.isDefined(flight)
    const number = (flight as Extract<LaneCommand, { _tag: "check" }>).flight
    assert.deepStrictEqual(tagsOf(this.put({ _tag: "checked", flight: number, found: undefined })).slice(0, 1), [
      "attempt",
    ])
    return number
  }
}

const tagsOf = (commands: ReadonlyArray<LaneCommand>) => commands.map(({ _tag }) => _tag)
const ok = accepted(undefined)
const storeAway = Cause.die("away")

describe("LaneLoop", () => {
  it("renews its lease and opens the connection first, then claims", () => {
    const lane = new Driven()
    assert.deepStrictEqual(tagsOf(lane.put({ _tag: "woken" })), ["open", "renew"])
    const commands = lane.put({ _tag: "opened", concurrency: 5, domains: undefined })
    assert.deepStrictEqual(commands, [{ _tag: "claim", limit: 50, isBusy: false, choice: { without: [] } }])
  })

  it("is deterministic and does not modify its arguments", () => {
    const lane = new Driven()
    lane.opened()
    const flight = lane.attempted("a")
    const before = lane.state
    const copy = structuredClone({
      ...before,
      rateLimiter: { ...before.rateLimiter },
      brake: { ...before.brake },
      opened: undefined,
    })
    const input: LaneInput = { _tag: "answered", flight, result: ok, jitter: 0.5 }
    const results = [1, 2].map(() => next(before, input, { millis: 20, active }))
    assert.deepStrictEqual(results[0], results[1])
    assert.deepStrictEqual(
      structuredClone({
        ...before,
        rateLimiter: { ...before.rateLimiter },
        brake: { ...before.brake },
        opened: undefined,
      }),
      copy,
    )
  })

  it("sends at most as many messages at a time as the platform grants", () => {
    const lane = new Driven()
    lane.put({ _tag: "woken" })
    lane.put({ _tag: "opened", concurrency: 5, domains: undefined })
    const messages = Array.from({ length: 20 }, (_, n) => message(String(n)))
    lane.put({ _tag: "claimed", messages })
    /** The messages under way once nothing more may leave. */
    const settled = (): ReadonlyArray<number> => {
      for (let step = 0; step < 10; step++) {
        if (lane.state.phase._tag === "claiming") lane.put({ _tag: "claimed", messages: [] })
        lane.put({ _tag: "woken" }, lane.now + 10)
      }
      return [...lane.state.flights.keys()]
    }
    assert.lengthOf(settled(), 5)
    const answer = (granted: number) => {
      const [flight] = settled()
      lane.granted = granted
      lane.put({ _tag: "checked", flight: flight!, found: undefined })
      lane.put({ _tag: "answered", flight: flight!, result: ok, jitter: 0 })
      lane.put({ _tag: "recorded" })
    }
    answer(2)
    assert.lengthOf(settled(), 4)
    answer(2)
    answer(2)
    assert.lengthOf(settled(), 2)
    answer(2)
    assert.lengthOf(settled(), 2)
    lane.granted = 3
    lane.now += 250
    assert.lengthOf(settled(), 3)
  })

  it("records sent messages before it stops, and releases the lease last", () => {
    const lane = new Driven()
    lane.opened()
    const flight = lane.attempted("a")
    lane.put({ _tag: "claimed", messages: [message("b")] })
    assert.deepStrictEqual(lane.put({ _tag: "stop" }), [])
    assert.deepStrictEqual(tagsOf(lane.put({ _tag: "answered", flight, result: ok, jitter: 0 }, 50)), [
      "arrive",
      "record",
    ])
    assert.deepStrictEqual(tagsOf(lane.put({ _tag: "notRecorded", cause: storeAway })), ["warn", "record"])
    assert.deepStrictEqual(lane.put({ _tag: "recorded" }), [{ _tag: "giveBack", ids: ["b"] }])
    assert.deepStrictEqual(tagsOf(lane.put({ _tag: "gaveBack" })), ["release"])
    lane.put({ _tag: "released" })
    assert.strictEqual(lane.state.phase._tag, "ended")
  })

  it("awaits a slow answer while its connection is paused, and continues if it is resumed before the answer", () => {
    const lane = new Driven()
    lane.opened()
    const flight = lane.attempted("a")
    lane.put({ _tag: "claimed", messages: [] })
    lane.active = { ...active, paused: true }
    assert.include(tagsOf(lane.put({ _tag: "woken" }, 1_000)), "leave")
    lane.put({ _tag: "woken" }, 600_000)
    assert.strictEqual(lane.state.phase._tag, "landing")
    lane.active = active
    assert.include(tagsOf(lane.put({ _tag: "woken" }, 600_100)), "claim")
    lane.put({ _tag: "claimed", messages: [] })
    assert.include(tagsOf(lane.put({ _tag: "answered", flight, result: ok, jitter: 0 })), "record")
  })

  it("stops within the shutdown timeout although an answer is missing", () => {
    const lane = new Driven()
    lane.opened()
    lane.attempted("a")
    lane.put({ _tag: "claimed", messages: [] })
    lane.put({ _tag: "stop" }, 1_000)
    assert.strictEqual(lane.state.phase._tag, "landing")
    lane.put({ _tag: "woken" }, 11_000)
    assert.strictEqual(lane.state.phase._tag, "ended")
  })

  it("asks a changed connection to drop messages that have not begun before it opens the new one", () => {
    const lane = new Driven()
    lane.opened()
    const flight = lane.attempted("a")
    lane.put({ _tag: "claimed", messages: [] })
    lane.active = { ...active, version: "2" }
    const commands = tagsOf(lane.put({ _tag: "woken" }, 1_000))
    assert.deepStrictEqual(commands.filter((tag) => tag === "leave" || tag === "open"), ["leave"])
    const result = { _tag: "yielded", reason: "left", keepsPlace: true } as const
    assert.include(tagsOf(lane.put({ _tag: "answered", flight, result, jitter: 0 })), "open")
  })

  it("sends nothing once its lease may have expired", () => {
    const lane = new Driven()
    lane.opened()
    lane.isHeld = false
    const commands = lane.put({ _tag: "claimed", messages: [message("a")] }, 3_500)
    assert.notInclude(tagsOf(commands), "check")
    lane.put({ _tag: "renewed", isHeld: false })
    assert.deepStrictEqual(lane.put({ _tag: "woken" }, 3_600), [{ _tag: "giveBack", ids: ["a"] }])
  })

  it("drops the unrecorded result of a message that is claimed again", () => {
    const lane = new Driven()
    lane.opened()
    const flight = lane.attempted("a")
    lane.put({ _tag: "answered", flight, result: retry("503"), jitter: 0 }, 50)
    assert.strictEqual(lane.state.recording?.settled.length, 1)
    lane.put({ _tag: "woken" }, 300)
    lane.put({ _tag: "claimed", messages: [message("a")] }, 310)
    const again = lane.put({ _tag: "notRecorded", cause: storeAway }, 320).find((one) => one._tag === "record")
    assert.deepStrictEqual(again, { _tag: "record", afterMillis: 250, settled: [], brake: undefined })
  })

  it("counts a second 404 for a message as its own failure if another message was accepted, and keeps the connection open", () => {
    const lane = new Driven()
    lane.opened()
    const gone = broken("404")
    const first = lane.attempted("a")
    lane.put({ _tag: "answered", flight: first, result: gone, jitter: 0 }, 50)
    lane.put({ _tag: "recorded" }, 60)
    lane.put({ _tag: "claimed", messages: [] }, 70)
    for (let now = 1_000; now <= 61_000; now += 1_000) lane.put({ _tag: "woken" }, now)
    const probe = lane.attempted("b", "other.example")
    lane.put({ _tag: "answered", flight: probe, result: ok, jitter: 0 }, 61_010)
    lane.put({ _tag: "recorded" }, 61_020)
    const again = lane.attempted("a")
    const commands = lane.put({ _tag: "answered", flight: again, result: gone, jitter: 0 }, 61_100)
    const record = commands.find((one) => one._tag === "record")
    assert.deepStrictEqual(record?.settled.map((one) => one._tag === "again" && one.burned), [true])
    assert.isUndefined(lane.state.breaker.trouble)
  })
})
