import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Groups } from "../../../src/sendtime/Groups.ts"
import { Settling } from "../../../src/sendtime/Settling.ts"
import { WebhookQuota } from "../../../src/intake/WebhookQuota.ts"
import { sandboxOf } from "../../../src/domain/Sandbox.ts"
import { Rebuild } from "../../../src/projections/Rebuild.ts"
import { decide, org, settle } from "../../intake/support.ts"
import { allLeft, rowsOf, type SandboxBench, suiteOnSandbox, type Tested } from "./support.ts"

const day = 86_400_000

/** All figures of an organization. */
const answersOf = async ({ manage, slug }: Tested) => {
  const paths = [
    "/templates/t/results",
    "/templates/t/results?lookback_days=7&offset_days=0",
    "/templates/t/series?days=30",
    "/templates/t/send-times",
    "/templates/t/decisions",
    "/template-index",
    "/deliveries",
    "/delivery-summary",
    "/events",
    "/webhooks/events/inbox?all=true",
    "/webhooks/events/events",
    "/suppressions",
    "/stories?user_id=u1",
    "/usage",
  ]
  const answers: Array<readonly [string, unknown]> = []
  for (const path of paths) {
    const { json, status, text } = await manage("GET", path)
    assert.strictEqual(status, 200, `${slug} ${path}: ${text}`)
    answers.push([path, json])
  }
  return answers
}

/** Omits times, and estimates, which depend on the current age of decisions. */
const timeless = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, function (this: { readonly from?: unknown }, name, one) {
    const moves =
      ["generated_at", "from", "to", "until", "resets_at", "policy_version", "fitted_at", "sent_per_second"].includes(
        name,
      ) ||
      // The start of the window, if the first decision was before.
      (name === "first_decision" && one === this.from) ||
      (typeof one === "number" && !Number.isInteger(one))
    return moves ? undefined : one
  }))

/** Rows without the outcomes that the present model expects of people by fatigue. */
const withoutExpectation = (
  { fatigue_tallies: rows = [], ...others }: Readonly<Record<string, ReadonlyArray<string>>>,
) => ({
  ...others,
  fatigue_tallies: rows.map((row) => ({ ...JSON.parse(row), expected: undefined })),
})

/** Traffic with a key: decisions, advice and messages for eight users, and the events about them. */
const traffic = async (bench: SandboxBench, { live, slug, test }: Tested, kind: "live" | "test", prefix: string) => {
  const key = kind === "live" ? live : test
  const users = Array.from({ length: 8 }, (_, i) => `u${i}`)
  for (const user of users) {
    const body = { template_id: "t", user_id: user, tracking_id: `${prefix}-${user}`, fields: { name: user } }
    const answer = await key.post("generate", { ...body, attrs: { plan: `${kind}${user}` } })
    assert.strictEqual(answer.status, 200, answer.text)
    const again = await key.post("generate", body)
    assert.strictEqual(again.json.copy.id, answer.json.copy.id)
    const delay = await key.get(`delay?delay_id=${answer.json.copy.id}&user_id=${user}`)
    assert.strictEqual(delay.status, 200, delay.text)
  }
  const batch = await key.post("batch-generate", {
    requests: [{ template_id: "t", copy_id: "a", tracking_id: `${prefix}-forced` }],
    user_id: "u1",
    lookback_days: 3,
    offset_days: 0,
    use_cache: false,
  })
  assert.strictEqual(batch.json.t.copy.id, "a", batch.text)
  for (const user of users.slice(0, 3)) {
    const message = {
      template_id: "t",
      email: `${user}@example.com`,
      fields: { name: user },
      optimize_send_time: false,
    }
    assert.strictEqual((await key.post("deliver", message)).status, 200)
  }
  await allLeft(bench, kind === "live" ? slug : sandboxOf(slug))
  const events = await key.post("webhook/events", [
    ...users.flatMap((user, i) => [
      { event: "open", event_id: `${prefix}o${i}`, tracking_id: `${prefix}-${user}` },
      ...(i % 2 === 0 ? [{ event: "click", event_id: `${prefix}c${i}`, tracking_id: `${prefix}-${user}` }] : []),
    ]),
    { event: "conversion", event_id: `${prefix}v`, tracking_id: `${prefix}-u2`, value: 10, currency: "EUR" },
    { event: "unsubscribe", event_id: `${prefix}n`, user_id: "u7" },
    { event: "bounce", event_id: `${prefix}b`, user_id: "u6", email: `${prefix}@example.com` },
    { event: "open", event_id: `${prefix}z`, user_id: "u5", template_id: "t", time_zone: "Asia/Tokyo" },
  ])
  assert.strictEqual(events.status, 200, events.text)
}

suiteOnSandbox("Live figures of an organization", (bench) => {
  const settled = (slug: string) =>
    bench.run(Effect.gen(function* () {
      yield* settle(slug)
      yield* (yield* Settling).run
      yield* (yield* WebhookQuota).exchange
      // Kept in memory, and otherwise computed on request.
      yield* (yield* Groups).refresh(slug, "UTC")
    }))

  /** Decisions that are old enough to be counted for holdouts and send times, with a holdout. */
  const old = (slug: string, prefix: string) =>
    bench.run(Effect.gen(function* () {
      for (let i = 0; i < 12; i++) {
        yield* decide(slug, `${prefix}-old-${i}`, {
          user: `u${i % 8}`,
          copy: i % 3 === 0 ? "a" : "b",
          mode: i % 4 === 0 ? "control" : "bandit",
          propensity: 0.5,
          weights: JSON.stringify({ a: 0.5, b: 0.5 }),
          holdout: "0.1 even",
          ago: 20 * day + i * 60_000,
        })
      }
    }))

  /** Marks of the settling loops begin where an organization begins: back then, here. */
  const settleFromBefore = (slug: string) =>
    bench.run(Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`
        INSERT INTO send_time_marks (org_slug, settled_until) VALUES (${slug}, now() - interval '25 days')
        ON CONFLICT (org_slug) DO UPDATE SET settled_until = EXCLUDED.settled_until, counted_until = NULL`
    }))

  it("are identical with and without traffic of test keys, in every table and answer, and after a rebuild", async () => {
    const acme = await bench.organization("acme")
    const { slug } = acme
    const sandbox = sandboxOf(slug)
    await old(slug, "live")
    await settleFromBefore(slug)
    await traffic(bench, acme, "live", "live")
    await settled(slug)
    const rebuild = () => bench.run(Effect.flatMap(Rebuild, ({ run }) => run(org(slug), { check: false })))
    await rebuild()
    await settled(slug)
    const before = await bench.run(rowsOf(slug))
    const told = timeless(await answersOf(acme))
    const arrived = bench.receiver.arrivals.length
    assert.strictEqual(arrived, 3)

    await old(sandbox, "live")
    await traffic(bench, acme, "test", "live")
    await traffic(bench, acme, "test", "test")
    await settled(slug)
    assert.deepStrictEqual(await bench.run(rowsOf(slug)), before)
    assert.deepStrictEqual(timeless(await answersOf(acme)), told)
    assert.strictEqual(bench.receiver.arrivals.length, arrived, "no message of a test key reaches a connection")

    const { differences } = await rebuild()
    assert.deepStrictEqual(differences, [])
    await settled(slug)
    // The model is fitted anew.
    const fitted = ["bandit_states", "models", "fold_attempts"]
    const rest = Object.fromEntries(Object.entries(before).filter(([table]) => !fitted.includes(table)))
    assert.deepStrictEqual(withoutExpectation(await bench.run(rowsOf(slug, fitted))), withoutExpectation(rest))
    assert.deepStrictEqual(timeless(await answersOf(acme)), told)

    const kept = await bench.run(rowsOf(sandbox))
    assert.lengthOf(kept["decisions"]!, 12 + 2 * (8 + 1 + 3))
    assert.isAbove(kept["events"]!.length, 30)
    assert.lengthOf(kept["sink_messages"]!, 6)
    const learned = [
      "tally_ledger",
      "tallies",
      "bandit_states",
      "models",
      "holdout_tallies",
      "even_split_tallies",
      "propensity_tallies",
      "timing_tallies",
      "send_times",
      "send_advice",
      "attribute_counts",
      "attribute_outcomes",
      "daily_decisions",
      "delay_tallies",
      "fatigue_tallies",
      "repeat_tallies",
    ]
    for (const table of learned.filter((table) => kept[table] !== undefined)) {
      assert.deepStrictEqual(kept[table], [], table)
    }
  })

  it("are not changed by events about test decisions reported with a live key, which become test events", async () => {
    const org = await bench.organization("reported")
    await org.live.post("generate", { template_id: "t", tracking_id: "both", user_id: "u1" })
    await org.live.post("generate", { template_id: "t", tracking_id: "of-live", user_id: "u1" })
    await settled(org.slug)
    const inboxes = ["inbox", "webhook_usage"]
    const before = await bench.run(rowsOf(org.slug, inboxes))
    await org.test.post("generate", { template_id: "t", tracking_id: "both", user_id: "u1" })
    await org.test.post("generate", { template_id: "t", tracking_id: "of-test", user_id: "u1@example.com" })
    const reported = await org.live.post("webhook/events", [
      { event: "click", event_id: "1", tracking_id: "of-test" },
      { event: "unsubscribe", event_id: "2", tracking_id: "of-test" },
      { event: "delivered", event_id: "3", tracking_id: "of-test", message_id: "m-1" },
    ])
    assert.deepStrictEqual(
      reported.json.items.map(({ status }: { status: string }) => status),
      Array(3).fill("accepted"),
    )
    await settled(org.slug)
    assert.deepStrictEqual(await bench.run(rowsOf(org.slug, inboxes)), before)
    const sandbox = await bench.run(rowsOf(sandboxOf(org.slug)))
    assert.lengthOf(sandbox["events"]!, 3)
    assert.include(sandbox["suppressions"]!.join(), "u1@example.com")
    // A tracking id that both have is the organization's to a live key.
    await org.live.post("webhook/events", [{ event: "click", event_id: "4", tracking_id: "both" }])
    await settled(org.slug)
    assert.lengthOf((await bench.run(rowsOf(org.slug)))["events"]!, 1)
  })
})
