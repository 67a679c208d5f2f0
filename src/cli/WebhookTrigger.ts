import { Clock, Effect, Option, Redacted, Schedule } from "effect"
import { Command, Flag } from "effect/cli"
import { randomBytes } from "node:crypto"
import type { TimelineResource } from "../api/timelines/TimelinesApi.ts"
import { alternatives } from "../text/alternatives.ts"
import { countedEvents, type EventName } from "../domain/EventKinds.ts"
import { listOfSources, type Platform, platforms, type SourceId, sourceIdOf } from "../domain/Source.ts"
import { CommandFailed, ManagementClient, ServiceFetch } from "./Connection.ts"
import { argument, text } from "./Flags.ts"
import { reportedEvents, sampleBodies, signedBody, signedHeaders } from "../intake/samples/PlatformSamples.ts"
import { faultText } from "./Report.ts"
import { organization, print } from "./Root.ts"
import type { SampleMessage } from "../intake/samples/SampleSender.ts"
import { askSecret, secretVariable } from "./Secrets.ts"
import { table } from "./Table.ts"
import * as Json from "../json/Json.ts"

/** The command asks this often, and this many times, whether the service has read the bodies. */
const patience = { interval: "250 millis", times: 80 } as const

/** How to sign for a platform whose secret is a public key. */
const keyPair =
  "Enter a public key of your own as a new secret of the source, and give its private key here: PKCS #8 in Base64"

type StoredEvent = TimelineResource["loose"][number]

/** Reads the secret of the source: from `WEBHOOK_SECRET`, typed in a terminal, or from standard input. */
const secretOfSource = Effect.gen(function* () {
  const given = yield* secretVariable("WEBHOOK_SECRET")
  return Option.isSome(given) ? given.value : yield* askSecret({
    question: "Secret of the source, or for custom events an API key with the scope events",
    empty: "Enter the secret",
    missing:
      "The service never shows the secret of a source. Set WEBHOOK_SECRET, or write the secret to standard input.",
  })
})

/**
 * Sends a request. Fails with `CommandFailed`, whose message begins with `what`, if the service refuses it or does not
 * respond.
 */
const post = Effect.fnUntraced(function* (
  what: string,
  path: string,
  body: string,
  headers: Readonly<Record<string, string>>,
) {
  const send = yield* ServiceFetch
  const { status, text } = yield* Effect.tryPromise({
    try: async () => {
      const response = await send(path, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body,
      })
      return { status: response.status, text: await response.text() }
    },
    catch: (cause) =>
      new CommandFailed({ message: `${what}: ${cause instanceof Error ? cause.message : String(cause)}` }),
  })
  const json: unknown = yield* Effect.try({ try: () => Json.parse(text), catch: () => undefined }).pipe(
    Effect.orElseSucceed(() => undefined),
  )
  if (status === 200) return json
  return yield* new CommandFailed({
    message: `${what}: the service answered ${status}. ${faultText(json) ?? text.slice(0, 200)}`,
  })
})

const source = Effect.fnUntraced(function* (name: string) {
  const client = yield* ManagementClient
  const sourceId = sourceIdOf(name)
  if (sourceId === undefined) {
    return yield* new CommandFailed({ message: `There is no source ${name}. Sources are ${listOfSources}.` })
  }
  const { webhooks } = yield* client.listSources({ params: { org: yield* organization } })
  const found = webhooks.find(({ segment }) => segment === sourceId)
  if (found === undefined || (!found.set_up && sourceId !== "events") || !found.enabled) {
    return yield* new CommandFailed({
      message: `${name} is not set up, or is disabled. Set it up with \`parlance webhook set ${name} --secret-stdin\`.`,
    })
  }
  return { sourceId, settings: found.settings }
})

/** The tracking id of the reported decision: the value of `--tracking-id`, or of a new decision for `--template`. */
const trackingIdOf = Effect.fnUntraced(function* (
  given: Option.Option<string>,
  template: Option.Option<string>,
  user: string,
) {
  if (Option.isSome(given) === Option.isSome(template)) {
    return yield* new CommandFailed({
      message: "Name a decision with --tracking-id, or make one with --template. Use one of the two.",
    })
  }
  if (Option.isSome(given)) return given.value
  const key = yield* secretVariable("PARLANCE_KEY")
  if (Option.isNone(key)) {
    return yield* new CommandFailed({
      message: "--template needs an API key with the scope generate in PARLANCE_KEY.",
    })
  }
  const body = JSON.stringify({ template_id: Option.getOrThrow(template), user_id: user })
  const headers = { "x-api-key": Redacted.value(key.value) }
  const answer = yield* post("Generate", `/api/generate/${encodeURIComponent(yield* organization)}`, body, headers)
  const { message, tracking_id } = answer as { readonly message?: string; readonly tracking_id: string }
  return message === undefined ? tracking_id : yield* new CommandFailed({
    message: `Generate: ${message}. Choose a template with an active variant.`,
  })
})

const storyOf = Effect.fnUntraced(function* (trackingId: string) {
  const client = yield* ManagementClient
  return yield* client.findStory({
    params: { org: yield* organization },
    query: { tracking_id: trackingId },
  })
})

const keyOf = ({ event, event_id, occurred_at, received_at, source }: StoredEvent) =>
  JSON.stringify([source, event, event_id, occurred_at, received_at])

/** Waits until the service has stored `expected` new events of a source. Returns the new events. */
const awaitEvents = (
  trackingId: string,
  sourceId: SourceId,
  { before, expected }: { readonly before: ReadonlySet<string>; readonly expected: number },
) =>
  Effect.map(storyOf(trackingId), ({ decisions, loose }) =>
    [...decisions.flatMap(({ events }) => events), ...loose]
      .filter((event) => event.source === sourceId && !before.has(keyOf(event)))).pipe(
      Effect.repeat({
        schedule: Schedule.spaced(patience.interval),
        times: patience.times,
        until: (events) => events.length >= expected,
      }),
    )

const recordedText = (
  event: EventName,
  { decision, events, path }: {
    readonly decision: TimelineResource["decisions"][number]
    readonly events: ReadonlyArray<StoredEvent>
    readonly path: string
  },
) => {
  const about = `${decision.template_id} / ${decision.copy_id}, tracking id ${decision.tracking_id}`
  return events.some((one) => one.event === event)
    ? [
      `Sent to ${path}. Recorded for ${about}:`,
      "",
      table(
        ["occurred", "event", "effect", "why"],
        events.map((one) => [one.occurred_at, one.event, one.effect, one.reason]),
      ),
    ].join("\n")
    : `Sent to ${path} and stored, but no ${event} is recorded for ${about} yet. \`parlance inbox list\` shows how the ` +
      "bodies were read. A running service must read them."
}

/** The platform's message for a decision and its person. */
const messageOf = (
  trackingId: string,
  { email, user }: { readonly email: string; readonly user: string },
  at: number,
): SampleMessage => ({ trackingId, user, email, messageId: `trial-${randomBytes(6).toString("hex")}`, at })

const notReported = (platform: Platform, event: string) =>
  new CommandFailed({
    message: `${platform} does not report ${event}. It reports ${reportedEvents(platform).join(", ")}.`,
  })

/** `parlance webhook trigger` */
export const webhookTrigger = Command.make(
  "trigger",
  {
    sourceId: argument("source", `One of ${listOfSources}`),
    event: argument("event", alternatives(countedEvents)),
    trackingId: text("tracking-id", "The decision that the event belongs to"),
    template: text("template", "Make a decision of this template first, with the API key in PARLANCE_KEY"),
    user: Flag.String("user").pipe(
      Flag.withDescription("Id of the user if the decision has no user. Default: webhook-trigger"),
      Flag.withDefault("webhook-trigger"),
    ),
    email: Flag.String("email").pipe(
      Flag.withDescription(
        "Address of the person. Bounces, complaints and unsubscribes add it to the suppression list",
      ),
      Flag.withDefault("webhook-trigger@example.com"),
    ),
  },
  Effect.fnUntraced(function* ({ email, event: name, sourceId: sourceName, template, trackingId: given, user }) {
    const { settings, sourceId } = yield* source(sourceName)
    const platform = platforms[sourceId]
    const event = reportedEvents(platform).find((one) => one === name)
    if (event === undefined) return yield* notReported(platform, name)
    const secret = Redacted.value(yield* secretOfSource)
    const trackingId = yield* trackingIdOf(given, template, user)
    const { decisions: [decision], loose } = yield* storyOf(trackingId)
    if (decision === undefined) {
      return yield* new CommandFailed({
        message:
          `There is no decision with the tracking id ${trackingId}. Make one with --template, without a test key.`,
      })
    }
    const before = new Set([...decision.events, ...loose].map(keyOf))
    const at = yield* Clock.currentTimeMillis
    const message = messageOf(trackingId, { email, user: decision.user_id ?? user }, at)
    const bodies = (sampleBodies(platform, event, message) ?? [])
      .map((body) => signedBody(platform, secret, body, at))
    const path = `/api/webhook/${sourceId}/${encodeURIComponent(yield* organization)}`
    for (const body of bodies) {
      const now = yield* Clock.currentTimeMillis
      const headers = yield* Effect.try({
        try: () => signedHeaders(platform, secret, settings, body, now),
        catch: () =>
          new CommandFailed({ message: `The secret is no key with which ${platform} could sign. ${keyPair}` }),
      })
      yield* post(path, path, body, headers)
    }
    const expected = bodies.flatMap((body) => itemsOf(Json.parse(body))).length
    const events = yield* awaitEvents(trackingId, sourceId, { before, expected })
    yield* print(
      { tracking_id: trackingId, source: sourceId, sent: bodies.map((body) => Json.parse(body) as unknown), events },
      recordedText(event, { decision, events, path }),
    )
    if (!events.some((one) => one.event === event)) process.exitCode = 1
  }),
).pipe(
  Command.withDescription(
    "Send an event as its platform sends and signs it, and show the recorded events. Reads the secret of the source from " +
      "WEBHOOK_SECRET, or asks for it",
  ),
  Command.withExamples([
    { command: "parlance webhook trigger braze click --template welcome" },
    { command: "parlance webhook trigger segment conversion --tracking-id order-1001 < secret.txt" },
  ]),
)

/** The items of a body: the members of a list or of `events`, or else the body itself. */
const itemsOf = (body: unknown): ReadonlyArray<unknown> => {
  if (Array.isArray(body)) return body
  const { events } = body as { readonly events?: unknown }
  return Array.isArray(events) ? events : [body]
}
