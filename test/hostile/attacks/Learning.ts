import { seeded } from "../../support/load.ts"
import { waitUntil } from "../../support/service.ts"
import type { Attack, Target } from "../Attack.ts"

// Learning and erasure: long and many keys, odd text, extreme numbers, and requests to erase.

const random = seeded(14)
const pick = (count: number) => Math.floor(random() * count)

/** Text that does not compress. */
const cjk = (length: number): string =>
  Array.from({ length }, () => String.fromCodePoint(0x4e00 + pick(20_000))).join("")

/** So long may an identifier be. */
const longId = () => cjk(200)

const inParallel = async <A>(items: ReadonlyArray<A>, run: (item: A) => Promise<number>): Promise<Array<number>> => {
  const statuses: Array<number> = []
  const next = items.values()
  await Promise.all(Array.from({ length: 8 }, async () => {
    for (const item of next) statuses.push(await run(item))
  }))
  return statuses
}

const generate = ({ org, send }: Target, body: unknown): Promise<number> =>
  send("POST", `/api/generate/${org}`, typeof body === "string" ? body : JSON.stringify(body))

const events = ({ org, send }: Target, body: unknown): Promise<number> =>
  send("POST", `/api/webhook/events/${org}`, typeof body === "string" ? body : JSON.stringify(body))

/** A template of this attack alone, with the attacker's consent of course. */
const template = async ({ org, service }: Target, id: string, variants: ReadonlyArray<string> = ["a", "b"]) => {
  const made = await service.manage("POST", `/organizations/${org}/templates`, {
    id,
    name: "Learned",
    variants: variants.map((id) => ({ id, vars: { subject: id } })),
  })
  return made.status
}

/** Waits until as many decisions of a template have been learned from. */
const learned = ({ org, service }: Target, id: string, decisions: number) =>
  waitUntil("all decisions are learned from", async () => {
    const { body } = await service.manage(
      "GET",
      `/organizations/${org}/templates/${encodeURIComponent(id)}/results?lookback_days=14&offset_days=0`,
    )
    return body.decisions >= decisions
  }, 60)

let made = 0

/** Generates until the template learns from the attributes, recomputes it, and fails unless all is well. */
const learnFrom = async (target: Target, name: string, count: number, attrs: () => unknown) => {
  const id = `${name}-${++made}`
  const { org, service } = target
  const statuses = [await template(target, id)]
  const requests = () =>
    inParallel(Array.from({ length: count }), () => generate(target, { template_id: id, attrs: attrs() }))
  statuses.push(...await requests())
  await learned(target, id, count)
  // The counts of attributes are written every 5 seconds, and the next model takes them up.
  await waitUntil("the model distinguishes segments", async () => {
    statuses.push(await generate(target, { template_id: id, attrs: attrs() }))
    const results = `/organizations/${org}/templates/${id}/results?lookback_days=14&offset_days=0`
    const { body } = await service.manage("GET", results)
    return body.segments.some(({ segment }: { segment: object }) =>
      Object.keys(segment).some((attribute) => attribute !== "weekend" && attribute !== "daypart")
    )
  }, 60)
  statuses.push(...await requests())
  await learned(target, id, 2 * count)
  const rebuilt = await service.manage("POST", `/organizations/${org}/rebuild`, { template_id: id })
  const { body } = await service.manage("GET", `/organizations/${org}/learning/stopped`)
  if (rebuilt.body.faults.length > 0 || body.stopped.length > 0) statuses.push(500)
  return [...statuses, rebuilt.status]
}

const names = Array.from({ length: 6 }, () => cjk(60))
const values = Array.from({ length: 4 }, () => names.map(() => cjk(60)))
const longest = Array.from({ length: 6 }, () => cjk(100))

const learning: ReadonlyArray<Attack> = [
  {
    name: "six attributes with names and values of 60 CJK characters",
    bytes: 2_300,
    run: (target) =>
      learnFrom(target, "long", 60, () => {
        const chosen = values[pick(values.length)]!
        return Object.fromEntries(names.map((name, i) => [name, chosen[i]]))
      }),
  },
  {
    name: "six attributes of the greatest length that is learned from, 100 characters",
    bytes: 3_800,
    run: (target) =>
      learnFrom(target, "longest", 60, () => Object.fromEntries(longest.map((name) => [name, longest[pick(6)]]))),
  },
  {
    name: "thousands of segments: six attributes of twelve values each",
    bytes: 200,
    run: (target) =>
      learnFrom(
        target,
        "many",
        1_500,
        () => Object.fromEntries(["u", "v", "w", "x", "y", "z"].map((name) => [name, `é${pick(12)}`])),
      ),
  },
  {
    name: "1,000 attributes with names of 200 CJK characters, 20 times",
    bytes: 640_000,
    run: (target) =>
      inParallel(Array.from({ length: 20 }), () =>
        generate(target, {
          template_id: "welcome",
          attrs: Object.fromEntries(Array.from({ length: 1_000 }, () => [cjk(200), 1])),
        })),
  },
  {
    name: "a new attribute name in each of 2,000 requests",
    bytes: 400,
    run: (target) =>
      inParallel(
        Array.from({ length: 2_000 }),
        () => generate(target, { template_id: "welcome", attrs: { [cjk(60)]: cjk(60) } }),
      ),
  },
]

/**
 * Text that is rare: combining marks, right-to-left, joiners, unassigned and private code points, letters that grow.
 */
const weird = [
  "e\u0301\u0301\u0301",
  "\u202eabc\u202c",
  "👩‍👩‍👧‍👦",
  "\u{e000}\u{10ffff}\u{2fffe}",
  "İSTANBUL ẞ ŉ",
  "\ufeff\u200b\u2060",
  "%00%2f%C0%80",
  "__proto__",
  "constructor",
  "a&b=c&d",
  "ﷺ".repeat(60),
]

const malformed = [
  '"\\u0000"',
  '"\\ud800"',
  '"\\udc00x"',
  '"a\\u0000b"',
  '["\\udfff"]',
  '{"\\u0000":1}',
  '{"\\ud800":"x"}',
]

const text: ReadonlyArray<Attack> = [
  {
    name: "attributes of rare Unicode, and names of the prototype",
    bytes: 400,
    run: (target) =>
      learnFrom(
        target,
        "weird",
        120,
        () => Object.fromEntries(weird.map((name, i) => [name, weird[(i + pick(3)) % weird.length]])),
      ),
  },
  {
    name: "NUL and lone surrogates in every member of Generate, Delay and events",
    bytes: 120,
    run: (target) =>
      inParallel(
        malformed.flatMap((value) =>
          ["template_id", "user_id", "tracking_id", "fields", "attrs"].map((member) => ({ member, value }))
        ),
        async ({ member, value }) => {
          const other = member === "template_id" ? "" : '"template_id":"welcome",'
          await events(
            target,
            `[{"event":"click",${member === "tracking_id" ? "" : '"tracking_id":"t",'}"${member}":${value}}]`,
          )
          const nested = member === "attrs" || member === "fields" ? `{"x":${value}}` : value
          return generate(target, `{${other}"${member}":${nested}}`)
        },
      ),
  },
]

const idOf = (template: string) => `/templates/${encodeURIComponent(template)}`

const keys: ReadonlyArray<Attack> = [
  {
    name: "identifiers of 200 CJK characters everywhere",
    bytes: 5_000,
    run: async (target) => {
      const { org, send, service } = target
      const [id, copies] = [longId(), [longId(), longId()]]
      const statuses = [await template(target, id, copies)]
      statuses.push(
        ...await inParallel(Array.from({ length: 60 }), async () => {
          const tracking_id = longId()
          const user_id = longId()
          const status = await generate(target, {
            template_id: id,
            user_id,
            tracking_id,
            attrs: { [cjk(100)]: cjk(100) },
          })
          const reported = ["click", "conversion"].map((event) => ({
            event,
            tracking_id,
            user_id,
            template_id: id,
            event_id: longId(),
            message_id: longId(),
          }))
          const accepted = await events(target, reported)
          const query = new URLSearchParams({ delay_id: copies[0]!, user_id })
          const delayed = await send("GET", `/api/delay/${org}?${query}`)
          return Math.max(status, accepted, delayed)
        }),
      )
      await target.drained()
      await learned(target, id, 60)
      for (const path of [idOf(id), `${idOf(id)}/results`, `${idOf(id)}/decisions`, "/learning/stopped"]) {
        statuses.push((await service.manage("GET", `/organizations/${org}${path}`)).status)
      }
      statuses.push((await service.manage("POST", `/organizations/${org}/rebuild`, {})).status)
      return statuses
    },
  },
  {
    name: "extreme epsilon, lookback and offset in 60 batches",
    bytes: 300,
    run: async (target) => {
      const numbers = [
        "0",
        "1",
        "-1",
        "1e308",
        "-1e308",
        "1e999",
        "5e-324",
        "0.1",
        "365",
        "366",
        "1e-300",
        "null",
        '"1"',
        "[]",
      ]
      const members = ["epsilon", "lookback_days", "offset_days"]
      const bodies = numbers.flatMap((number) =>
        members.map((member) => `{"requests":[{"template_id":"welcome"}],"use_cache":false,"${member}":${number}}`)
      )
      return await inParallel(bodies, (body) => target.send("POST", `/api/batch-generate/${target.org}`, body))
    },
  },
  {
    name: "objectives with extreme weights",
    bytes: 100,
    run: async (target) => {
      const id = `weights-${++made}`
      const { org, service } = target
      const statuses = [await template(target, id)]
      for (const weight of [1e308, 5e-324, 1e-300, -1e308, 0]) {
        const objective = { click: weight, open: weight, conversion: weight, negative: weight }
        statuses.push((await service.manage("PATCH", `/organizations/${org}${idOf(id)}`, { objective })).status)
        const tracking = Array.from({ length: 20 }, (_, i) => `${id}-${weight}-${i}`)
        statuses.push(
          ...await inParallel(tracking, (tracking_id) => generate(target, { template_id: id, tracking_id })),
        )
        statuses.push(await events(target, tracking.map((tracking_id) => ({ event: "click", tracking_id }))))
      }
      await target.drained()
      await learned(target, id, 100)
      statuses.push((await service.manage("GET", `/organizations/${org}${idOf(id)}/results`)).status)
      return statuses
    },
  },
]

const token = "attacker-token-0123456789-0123456789"

/** Sets the attacker's Segment up, with a token instead of a signature. */
const withSegment = async ({ org, send, service }: Target, body: string): Promise<ReadonlyArray<number>> => {
  const source = { secret: token, settings: { scheme: "token" } }
  const { status } = await service.manage("PUT", `/organizations/${org}/webhooks/provider_d`, source)
  return [status, await send("POST", `/api/webhook/provider_d/${org}`, body, { authorization: `Bearer ${token}` })]
}

const erased = async ({ org, service }: Target, person: { user_id?: string; email?: string }): Promise<number> => {
  const answer = await service.manage("POST", `/organizations/${org}/erasures`, person)
  await waitUntil("the person is erased", async () => {
    const { body } = await service.manage("GET", `/organizations/${org}/erasures/${answer.body.id}`)
    if (body.state === "failed") throw new Error(body.reason)
    return body.state === "done"
  }, 120)
  return answer.status
}

const erasedByPlatform = ({ service }: Target) =>
  waitUntil("platforms' requests to erase are done", async () => {
    const metrics = await (await service.request("/metrics")).text()
    return /^parlance_erasures_pending 0$/m.test(metrics) && /^parlance_erasures_failed 0$/m.test(metrics)
  }, 120)

/** Bodies that are slow to search where a pattern looks through a run again and again. */
const slow = ["\\\\", "%25", "@example.com", "=".repeat(300) + "@example.com ", "\\u0040", '\\"']

const erasures: ReadonlyArray<Attack> = [
  {
    name: "20,000 requests to erase people in one body",
    bytes: 5_000_000,
    run: async (target) => {
      const batch = Array.from({ length: 20_000 }, (_, n) => ({
        type: "delete",
        userId: `person-${n}-${"x".repeat(120)}`,
        messageId: `delete-${++made}-${n}`,
      }))
      const statuses = await withSegment(target, JSON.stringify({ batch }))
      await target.drained()
      await erasedByPlatform(target)
      return statuses
    },
  },
  {
    name: "an erasure while bodies of 4 MB made to be slow to search are in the inbox",
    bytes: 4_000_000,
    run: async (target) => {
      const statuses: Array<number> = []
      for (const unit of slow) {
        statuses.push(
          await events(target, `[{"event":"odd","x":"${unit.repeat(Math.floor(4_000_000 / unit.length))}"}]`),
        )
      }
      await target.drained()
      statuses.push(await erased(target, { email: "ann@example.com", user_id: "user-17" }))
      return statuses
    },
  },
  {
    name: "an erasure of somebody with 2,000 decisions and events in many spellings",
    bytes: 400_000,
    run: async (target) => {
      const spelled = () =>
        Array.from("ann@example.com", (letter) => pick(2) === 0 ? letter : letter.toUpperCase()).join("")
      const tracking = Array.from({ length: 2_000 }, () => `spelled-${++made}`)
      const statuses = await inParallel(
        tracking,
        (tracking_id) => generate(target, { template_id: "welcome", tracking_id, user_id: spelled() }),
      )
      statuses.push(
        await events(target, tracking.map((tracking_id) => ({ event: "click", tracking_id, user_id: spelled() }))),
      )
      await target.drained()
      statuses.push(await erased(target, { email: "ANN@example.com" }))
      const { body } = await target.service.manage(
        "GET",
        `/organizations/${target.org}/stories?email=ann%40example.com`,
      )
      return [...statuses, body.decisions.length === 0 ? 200 : 500]
    },
  },
]

export const attacks: ReadonlyArray<Attack> = [...learning, ...text, ...keys, ...erasures]
