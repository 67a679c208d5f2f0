import { bodyOf, senders } from "../../../bench/support/webhookLoad.ts"
import type { Attack, Target } from "../Attack.ts"

// Bodies that take long to read or to store, for custom events and for every platform.

const maxBytes = 8 * 1024 * 1024

/** Integer-like strings whose hashes collide in V8's table of strings. */
const colliding = (count: number, step = 8192) => Array.from({ length: count }, (_, n) => String(step * (n + 1)))

/** A list in JSON of as many units as fit into `bytes`. */
const filled = (unit: (n: number) => string, bytes: number): string => {
  const units: Array<string> = []
  let size = 2
  for (let n = 0;; n++) {
    const next = unit(n)
    size += next.length + 1
    if (size > bytes) return `[${units.join(",")}]`
    units.push(next)
  }
}

const eventsPath = ({ org }: Target) => `/api/webhook/events/${org}`

const toEvents = (name: string, make: () => string | Uint8Array): Attack => {
  let body: string | Uint8Array | undefined
  const made = () => body ??= make()
  return {
    name: `webhook events: ${name}`,
    get bytes() {
      return made().length
    },
    run: async (target) => [await target.send("POST", eventsPath(target), made())],
  }
}

/** Sets up a source as an administrator would, for attacks that need one. */
const setUp = async ({ org, service }: Target, segment: string, body: unknown) => {
  const { body: answer, status } = await service.manage("PUT", `/organizations/${org}/webhooks/${segment}`, body)
  if (status !== 200) throw new Error(`No source ${segment}: ${status} ${JSON.stringify(answer)}`)
}

const settingsOf = (segment: string) => segment === "provider_d" ? { settings: { scheme: "token" } } : {}

/** Sends a body to a platform's webhook as the platform would. */
const sendAs = async (target: Target, segment: string, body: string): Promise<number> => {
  const { secret, sign } = senders.find((sender) => sender.segment === segment)!
  await setUp(target, segment, { secret, ...settingsOf(segment) })
  return await target.send("POST", `/api/webhook/${segment}/${target.org}`, body, sign(body, Date.now()))
}

/** A body of each platform with a member of hostile JSON. */
const toPlatforms = (name: string, hostile: () => string): ReadonlyArray<Attack> =>
  senders.map((sender) => {
    let text: string | undefined
    const made = () => text ??= bodyOf(sender, 0, 10, 1_700_000_000_000).replace("{", () => `{"x":${hostile()},`)
    return {
      name: `webhook ${sender.segment}: ${name}`,
      get bytes() {
        return made().length
      },
      run: async (target: Target) => [await sendAs(target, sender.segment, made())],
    }
  })

/** A body for custom events that are read by a mapping; the mapping goes with the attack. */
const mapped = (name: string, mapping: unknown, make: () => string): Attack => {
  const { run, ...attack } = toEvents(name, make)
  return {
    ...attack,
    run: async (target) => {
      await setUp(target, "events", { settings: { mapping } })
      const statuses = await run(target)
      await target.drained()
      await setUp(target, "events", { settings: {} })
      return statuses
    },
  }
}

const click = (members: string) => `{"event":"click","tracking_id":"t"${members}}`
const depth = 100_000
const wide = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p"]

/** The same data as many bodies of the largest size that is read in batches. */
const manyBodies: Attack = {
  name: "webhook events: 40 bodies of 250 kB with colliding strings at once",
  bytes: 250_000,
  run: (target) => {
    const body = `[${click(`,"x":${JSON.stringify(colliding(22_000))}`)}]`
    return Promise.all(Array.from({ length: 40 }, () => target.send("POST", eventsPath(target), body)))
  },
}

/** Waiting events that stay waiting, since they name another template than the one that is then decided. */
const neverMatching: Attack = {
  name: "webhook events: 3,000 events that wait for another template than the one decided",
  bytes: 250_000,
  run: async (target) => {
    const events = Array.from({ length: 3_000 }, (_, n) => click(`,"event_id":"w${n}","template_id":"nothing"`))
    const sent = await target.send("POST", eventsPath(target), `[${events.join()}]`)
    await target.drained()
    const body = JSON.stringify({ template_id: "welcome", tracking_id: "t" })
    return [sent, await target.send("POST", `/api/generate/${target.org}`, body)]
  },
}

export const attacks: ReadonlyArray<Attack> = [
  toEvents("524,000 colliding strings", () => `[${click(`,"x":${JSON.stringify(colliding(524_000))}`)}]`),
  toEvents(
    "colliding names of members",
    () => `[${click(`,"x":{${colliding(300_000, 2 ** 18).map((name) => `"${name}":1`).join()}}`)}]`,
  ),
  toEvents("colliding tracking ids of 10,000 events", () => {
    const ids = colliding(10_000)
    return `[${ids.map((id) => `{"event":"click","tracking_id":"${id}","event_id":"${id}"}`).join()}]`
  }),
  toEvents("colliding users and links of 10,000 conversions", () => {
    const ids = colliding(10_000)
    return `[${ids.map((id) => `{"event":"conversion","user_id":"${id}","link":"${id}","event_id":"${id}"}`).join()}]`
  }),
  toEvents(`arrays ${depth} deep`, () => `[${click(`,"x":${"[".repeat(depth)}${"]".repeat(depth)}`)}]`),
  toEvents("arrays four million deep", () => "[".repeat(maxBytes / 2) + "]".repeat(maxBytes / 2)),
  toEvents(`objects ${depth} deep`, () => `[${click(`,"x":${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`)}]`),
  toEvents("one name of 8 MiB", () => `[${click(`,"${"n".repeat(maxBytes - 100)}":1`)}]`),
  toEvents("one text of 8 MiB", () => `[${click(`,"link":"${"l".repeat(maxBytes - 100)}"`)}]`),
  toEvents("8 MiB of escape sequences", () => `[${click(`,"x":"${"\\u0041".repeat(1_390_000)}"`)}]`),
  toEvents("10,000 tiny events", () => `[${Array.from({ length: 10_000 }, (_, n) => click(`,"id":${n}`)).join()}]`),
  toEvents("10,000 events of the same decision", () => {
    const events = Array.from({ length: 10_000 }, (_, n) => click(`,"id":"s${n}","link":"https://example.com/${n}"`))
    return `[${events.join()}]`
  }),
  toEvents(
    "2.7 million empty arrays",
    () => `{"event":"click","tracking_id":"t","x":${filled(() => "[]", 8_000_000)}}`,
  ),
  toEvents(
    "long numbers",
    () => `{"event":"click","tracking_id":"t","occurred_at":${"9".repeat(4_000_000)},"x":${"1".repeat(4_000_000)}e999}`,
  ),
  toEvents(
    "millions of small floating-point numbers",
    () => `{"event":"click","tracking_id":"t","x":${filled((n) => `${n % 10}.${n % 97}e-30${n % 10}`, 8_000_000)}}`,
  ),
  toEvents("invalid UTF-8", () => new Uint8Array(maxBytes - 1).fill(0xff)),
  toEvents("no JSON from the last byte on", () => `${filled(() => '{"event":"open"}', 8_000_000).slice(0, -1)}}`),
  toEvents("millions of items", () => filled(() => "1", maxBytes - 1)),
  toEvents(
    "half a million names in one event",
    () => `[${click(`,"x":{${Array.from({ length: 500_000 }, (_, n) => `"n${n}":1`).join()}}`)}]`,
  ),
  ...toPlatforms("524,000 colliding strings", () => JSON.stringify(colliding(524_000))),
  ...toPlatforms("arrays a million deep", () => "[".repeat(1_000_000) + "]".repeat(1_000_000)),
  {
    name: "webhook provider_d: 16,000 reports of 40 traits about one user",
    bytes: maxBytes,
    run: async (target) => {
      const traits = JSON.stringify(Object.fromEntries(colliding(40).map((name) => [name, name])))
      const call = (n: number) => `{"type":"identify","userId":"u","messageId":"i${n}","traits":${traits}}`
      const body = `{"batch":${filled(call, maxBytes - 100)}}`
      return [await sendAs(target, "provider_d", body)]
    },
  },
  {
    name: "webhook provider_d: traits of 8 MiB about one user",
    bytes: maxBytes,
    run: async (target) => {
      const list = JSON.stringify(colliding(900, 2 ** 20))
      const traits = Array.from({ length: 700 }, (_, n) => `"t${n}":${list}`).join()
      const body = `{"type":"identify","userId":"big","messageId":"big","traits":{${traits}}}`
      const sent = await sendAs(target, "provider_d", body)
      await target.drained()
      const asked = JSON.stringify({ template_id: "welcome", user_id: "big" })
      return [sent, await target.send("POST", `/api/generate/${target.org}`, asked)]
    },
  },
  mapped(
    "a mapping that looks at a thousand elements for each of 10,000 items",
    {
      items: "$.items[*]",
      event: { from: wide.map((name) => `$.l[*].${name}`) },
      tracking_id: { from: wide.map((name) => `$body.l[*].${name}`) },
      user: { from: wide.map((name) => ({ path: "$body.l[*].q", json: `$.${name}` })) },
    },
    () => {
      const list = `[${Array.from({ length: 1_000 }, () => '{"z":1}').join()}]`
      const items = `[${Array.from({ length: 900 }, () => `{"l":${list}}`).join()}]`
      return `{"l":${list},"items":${items}}`
    },
  ),
  mapped(
    "a mapping that parses texts inside texts",
    {
      items: "$.items[*]",
      event: { from: wide.map((name) => ({ path: "$.text", json: `$[*].${name}` })) },
      tracking_id: { from: wide.map((name) => ({ path: "$.text", json: `$[*].${name}`, query: "tracking_id" })) },
    },
    () => {
      const text = JSON.stringify(JSON.stringify(colliding(9_000)))
      return `{"items":[${Array.from({ length: 70 }, () => `{"text":${text}}`).join()}]}`
    },
  ),
  manyBodies,
  neverMatching,
]
