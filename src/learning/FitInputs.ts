import { Clock, Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { OrganizationPriors } from "../bandit/Model.ts"
import { organizationPriors } from "../bandit/Priors.ts"
import type { TemplateView } from "../templates/TemplateCache.ts"
import type { AttributeStatistics } from "./AttributeStatistics.ts"
import type { FitRequest, HourDelays, StoredFatigue } from "./Engine.ts"
import type { Command } from "./LearnerState.ts"
import { type Priors, type Taught, without } from "./Priors.ts"
import { hourMillis } from "../bandit/Window.ts"
import type { AttributeOutcomesRow } from "../bandit/AttributeOutcomes.ts"
import { readAttributeOutcomes } from "./OutcomesByAttribute.ts"
import { readFatigue } from "./FatigueTallies.ts"
import * as Tallies from "./Tallies.ts"

/** Priors from the other templates of the organization. */
interface Others {
  readonly taught: Taught
  readonly organization: OrganizationPriors
  readonly delays: ReadonlyArray<HourDelays>
}

/** Returns the version of a model, which traces show: `template:4`, or `template:3/14/0` for the model of a window. */
const versionOf = (template: string, { version, window }: Extract<Command, { readonly _tag: "Gather" }>): string =>
  window === undefined
    ? `${template}:${version + 1}`
    : `${template}:${version}/${window.lookbackDays}/${window.offsetDays}`

/** Gathers the inputs of one template's fits, except its own counts. */
export const make = (
  parts: {
    readonly sql: SqlClient.SqlClient
    readonly clock: Clock.Clock
    readonly statistics: AttributeStatistics["Service"]
    readonly priors: Priors["Service"]
    /** The template in the cache of this node. Undefined if absent. */
    readonly view: () => TemplateView | undefined
  },
  org: string,
  template: string,
) => {
  const { statistics, clock, priors, sql, view } = parts
  const beganAt = clock.currentTimeMillisUnsafe()
  let known: Others | undefined

  const readOthers = Effect.gen(function* () {
    const taught = yield* priors.read(org, beganAt)
    if (known?.taught === taught) return known
    const own = yield* Tallies.readDelays(sql, org, template)
    const organization = organizationPriors(taught.contributions, template)
    return known = { taught, organization, delays: without(taught.delays, own) }
  }).pipe(
    // If the database is down, the last known priors are used.
    Effect.catch((error) => known === undefined ? Effect.fail(error) : Effect.succeed(known)),
  )

  let settled: StoredFatigue | undefined
  // Cached for an hour, because decisions are settled once an hour.
  const readSettled = Effect.fnUntraced(function* (now: number) {
    const hour = Math.floor(now / hourMillis)
    if (settled?.hour !== hour) settled = { hour, ...yield* readFatigue(sql, org, template, now) }
    return settled
  })

  let attributed: { readonly hour: number; readonly rows: ReadonlyArray<AttributeOutcomesRow> } | undefined
  const readAttributed = Effect.fnUntraced(function* (now: number) {
    const hour = Math.floor(now / hourMillis)
    if (attributed?.hour !== hour) attributed = { hour, rows: yield* readAttributeOutcomes(sql, org, template, now) }
    return attributed.rows
  })

  return Effect.fnUntraced(function* (command: Extract<Command, { readonly _tag: "Gather" }>) {
    const attributeCounts = command.choosesAttributes ? yield* statistics.read(org, template) : undefined
    const { delays, organization } = yield* readOthers
    const now = clock.currentTimeMillisUnsafe()
    const attributeOutcomes = command.choosesAttributes ? yield* readAttributed(now) : undefined
    const fatigue = yield* readSettled(now)
    const request: FitRequest = {
      version: versionOf(template, command),
      now,
      window: command.window,
      organization,
      organizationDelays: delays,
      active: view()?.variants.filter(({ active }) => active).map(({ id }) => id) ?? [],
      composition: view()?.variants.map(({ components, id }) => [id, Object.entries(components)] as const) ?? [],
      runnerUpFloor: view()?.runnerUpFloor ?? 0,
      attributeCounts,
      ...(attributeOutcomes === undefined ? {} : { attributeOutcomes }),
      ...(fatigue.cells.length === 0 ? {} : { fatigue }),
    }
    return request
  })
}
