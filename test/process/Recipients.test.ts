import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { describe } from "vitest"
import { temporaryEnvironment } from "../support/stores.ts"
import { sendToGreylisted, sendToTarpits, sendUrgently, storm } from "./recipientScenarios.ts"

/** Messages of the storm; the trial sends 20,000. */
const messages = Number(process.env.RECIPIENT_MESSAGES ?? 240)
const perKill = Number(process.env.RECIPIENTS_PER_KILL ?? 120)
/** Good recipients of campaigns that have bad ones in front of them. */
const good = 300
/**
 * How many services the storms run on. One alone repeats much of what two show, so that only the trial has it as well.
 */
const nodesOfStorms = (process.env.RECIPIENT_NODES ?? "2").split(",").map(Number)
const ceiling = 100

/** Runs a scenario on a store of its own. */
const onStore = <A>(run: (store: Readonly<Record<string, string>>) => Promise<A>) =>
  Effect.scoped(Effect.flatMap(temporaryEnvironment, (store) => Effect.promise(() => run(store))))

describe("campaigns with misbehaving recipients", () => {
  it.live(
    "reach the good recipients although greylisted ones come first",
    () =>
      Effect.map(onStore((store) => sendToGreylisted(store, 100, good)), (campaign) => {
        console.info(`greylisted recipients: ${JSON.stringify(campaign)}`)
        assert.isAtMost(campaign.fullestAttempts, ceiling)
        assert.isBelow(campaign.badAttempts, 100, "they yield to the others")
      }),
    300_000,
  )

  it.live(
    "reach the good recipients although tarpits come first",
    () =>
      Effect.map(onStore((store) => sendToTarpits(store, 10, good)), (campaign) => {
        console.info(`tarpits: ${JSON.stringify(campaign)}`)
        assert.isAtMost(campaign.fullest, ceiling)
      }),
    300_000,
  )

  it.live(
    "are overtaken by transactional messages",
    () =>
      Effect.map(onStore((store) => sendUrgently(store, 1_000, 20, 10)), (waits) => {
        console.info(`transactional messages behind a campaign: ${JSON.stringify(waits)}`)
        assert.strictEqual(waits.messages, 20)
        assert.isAtMost(waits.fullest, ceiling)
      }),
    300_000,
  )

  for (const nodes of nodesOfStorms) {
    it.live(
      `lose nothing through kills, and repeat only messages unrecorded at a kill (${nodes} nodes)`,
      () =>
        Effect.map(onStore((store) => storm(store, { messages, nodes, perKill })), (stormed) => {
          console.info(`storm of recipients, ${nodes} nodes: ${JSON.stringify(stormed)}`)
          assert.isAbove(stormed.kills, 0)
          assert.isAtMost(stormed.fullest, ceiling)
          assert.isAtMost(stormed.fullestAttempts, ceiling)
          // The lane lets this many be sent and not yet recorded.
          assert.isAtMost(stormed.repeated, stormed.kills * (ceiling + 20))
        }),
      480_000 + messages * 120,
    )
  }
})
