import { Console, Effect } from "effect"
import { Argument } from "effect/cli"
import { isHttpClientError } from "effect/http/HttpClientError"
import type { ListedEvent } from "../api/webhooks/WebhooksApi.ts"
import { listOfSources, sourceIdOf } from "../domain/Source.ts"
import { steps } from "./ApiCommand.ts"
import { CommandFailed, ManagementClient } from "./Connection.ts"
import { whole } from "./Flags.ts"
import { messageOf } from "./Report.ts"
import { organization } from "./Root.ts"
import { root } from "./RootCommand.ts"

/** Pause between two rounds of requests. */
const pause = "1 second"

/** Largest number of events in one response. */
const pageSize = 1000

/** Number of latest events that are searched for the first lines of one source. */
const lookBack = 200

/**
 * Number of rounds that read again from the same cursor. Bodies may be read in another order than they arrive, so an
 * event may be stored behind the cursor of the latest round.
 */
const rounds = 10

/** The state between two rounds. */
export interface Followed {
  /** End cursors of the latest rounds, oldest first. The next round begins at the oldest cursor. */
  readonly cursors: ReadonlyArray<string>
  /** Events of the latest round, each as JSON. An event whose JSON has changed is printed again. */
  readonly seen: ReadonlySet<string>
}

/** The new and changed events of a round, and the state for the next round. `end` is null if the round has no event. */
export const follow = (
  { cursors, seen }: Followed,
  events: ReadonlyArray<ListedEvent>,
  end: string | null,
): { readonly fresh: ReadonlyArray<ListedEvent>; readonly next: Followed } => {
  const identified = events.map((event) => [JSON.stringify(event), event] as const)
  const position = end ?? cursors.at(-1)
  return {
    fresh: identified.flatMap(([identity, event]) => seen.has(identity) ? [] : [event]),
    next: {
      cursors: position === undefined ? [] : [...cursors, position].slice(-rounds),
      seen: new Set(identified.map(([identity]) => identity)),
    },
  }
}

/** The line of an event. */
export const lineOf = (event: ListedEvent): string =>
  [
    event.received_at,
    event.source,
    event.automated ? `${event.event} (machine)` : event.event,
    event.tracking_id ?? "–",
    event.template_id === null ? "–" : `${event.template_id} / ${event.copy_id ?? "–"}`,
    event.user ?? "–",
    event.status,
  ].join("  ")

const listPage = Effect.fnUntraced(function* (query: Readonly<Record<string, string>>) {
  const client = yield* ManagementClient
  return yield* client.listEvents({ params: { org: yield* organization }, query })
})

/** Reads all events after a cursor, page by page. */
const readRound = Effect.fnUntraced(function* (after: string | undefined) {
  const events: Array<ListedEvent> = []
  let end: string | null = null
  for (;;) {
    const position: string | undefined = end ?? after
    const page: { readonly events: ReadonlyArray<ListedEvent>; readonly next_cursor: string | null } = yield* listPage({
      limit: String(pageSize),
      ...(position === undefined ? {} : { cursor: position }),
    })
    events.push(...page.events)
    end = page.next_cursor ?? end
    if (page.events.length < pageSize) return { events, end }
  }
})

/** Whether a later request can succeed: the service did not respond, or is overloaded. */
const isPassing = (error: unknown): boolean => isHttpClientError(error)

/** `parlance event tail` */
export const eventTail = steps(
  "Follow events as they are recorded, until Ctrl+C. An event has a second line when its decision is found. With --json, " +
    "one JSON object per line",
  {
    sourceId: Argument.String("source").pipe(
      Argument.withDescription(`Only events of this source: ${listOfSources}. Default: all`),
      Argument.optional,
    ),
    lines: whole("lines", "Events to begin with, 0 to 1,000", 10),
  },
  function* (_, { lines, sourceId }) {
    const { json } = yield* root
    const only = sourceId === undefined ? undefined : sourceIdOf(sourceId)
    if (sourceId !== undefined && only === undefined) {
      return yield* new CommandFailed({ message: `There is no source ${sourceId}. Sources are ${listOfSources}.` })
    }
    if (lines < 0 || lines > pageSize) return yield* new CommandFailed({ message: "--lines must be 0 to 1000." })
    const isShown = (event: ListedEvent) => only === undefined || event.source === only
    const show = (events: ReadonlyArray<ListedEvent>) =>
      Effect.forEach(events, (event) => Console.log(json ? JSON.stringify(event) : lineOf(event)), { discard: true })

    const begin = yield* listPage({ latest: "true", limit: String(Math.max(lookBack, lines)) })
    const shown = begin.events.filter(isShown)
    yield* show(lines === 0 ? [] : shown.slice(-lines))
    let state = follow({ cursors: [], seen: new Set() }, begin.events, begin.next_cursor).next
    const round = Effect.suspend(() => readRound(state.cursors[0])).pipe(
      Effect.flatMap(({ end, events }) => {
        const { fresh, next } = follow(state, events, end)
        state = next
        return show(fresh.filter(isShown))
      }),
      Effect.catchIf(
        isPassing,
        (error) => Effect.flatMap(messageOf(error), (text) => Console.error(`parlance: ${text} Trying again.`)),
      ),
    )
    return yield* Effect.forever(Effect.andThen(Effect.sleep(pause), round))
  },
).examples("parlance event tail braze", "parlance event tail --json | jq .event").silent()
