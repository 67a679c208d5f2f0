import { Clock, Context, Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { hourMillis } from "../bandit/Window.ts"
import { RenderingCounts } from "../decide/RenderingCounts.ts"
import { RequestNotices } from "../decide/RequestNotices.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import { SourceRhythms } from "../journal/inbox/SourceRhythms.ts"
import { refusedByReport } from "../journal/events/RefusalReports.ts"
import { recordset } from "../store/Recordset.ts"
import { asJob } from "../telemetry/LoopWork.ts"
import { Connections } from "../delivery/Connections.ts"
import { endedDeliveries } from "../delivery/EndedDeliveries.ts"
import type { NewNotification } from "../accounts/notifications/Kinds.ts"
import { notify } from "../accounts/notifications/Notify.ts"
import { organizationRows } from "../organizations/OrganizationRows.ts"
import {
  type AlertCondition,
  type AlertFacts,
  conditionsOf,
  type EndedDeliveries,
  isSenderRefused,
  keyOf,
  silenceRule,
  subjectOf,
} from "./Conditions.ts"
import { DisabledSources } from "./DisabledSources.ts"

/** Interval of writing counts, and interval of checking conditions. */
const flushEvery = "10 seconds"
const looksEvery = "1 minute"

/** Maximum number of organizations checked together. */
const organizationsAtOnce = 100

/** Notifies editors and admins, who can act on conditions. */
const to = { role: "editor" } as const

/** The facts of an organization. */
interface Facts extends AlertFacts {
  readonly org: OrgSlug
}

/** Returns the notification of a condition that begins. */
const notificationOf = (org: string, condition: AlertCondition, at: string): NewNotification =>
  condition.type === "deliveries.failing"
    ? {
      kind: "deliveries.failing",
      to,
      data: {
        org,
        failed: condition.failed,
        ended: condition.ended,
        threshold: condition.threshold,
        noticed_at: at,
      },
    }
    : condition.type === "source.silent"
    ? {
      kind: "source.silent",
      to,
      data: {
        org,
        source: condition.source,
        platform: condition.platform,
        last_received_hour: condition.lastHour.toISOString(),
        longest_pause_hours: condition.longestPauseHours,
        noticed_at: at,
      },
    }
    : {
      kind: "variant.failing",
      to,
      data: {
        org,
        template_id: condition.templateId,
        copy_id: condition.copyId,
        requests: condition.requests,
        failed: condition.failed,
        variable: condition.variable,
        noticed_at: at,
      },
    }

/** Adds the messages that a report refused to the ended deliveries of an organization. */
const deliveriesOf = (
  { ended, failed }: Pick<EndedDeliveries, "ended" | "failed">,
  refused: number,
  threshold: number,
): EndedDeliveries => ({
  failed: failed + refused,
  // Reports may arrive after the hours in which their messages were sent.
  ended: Math.max(ended, failed + refused),
  refused,
  threshold,
})

/** Conditions of organizations that need attention. */
export class Alerts extends Context.Service<Alerts, {
  /** Returns the conditions that are true now. Fails with `SqlError` if the database does not respond. */
  readonly current: (org: OrgSlug) => Effect.Effect<ReadonlyArray<AlertCondition>, SqlError>
  /**
   * Notifies members and webhook endpoints of all organizations of conditions that have begun since the last check by
   * any node, and deletes alerts that have ended. Pauses the connection of an organization whose failing deliveries
   * were mostly refused because of the sender. Fails with `SqlError` if the database does not respond.
   */
  readonly lookAtAll: Effect.Effect<void, SqlError>
}>()("parlance/alerts/Alerts") {
  static readonly layer = Layer.effect(
    Alerts,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      const renderings = yield* RenderingCounts
      const rhythms = yield* SourceRhythms
      const isDisabled = yield* DisabledSources
      const connections = yield* Connections

      /** Reads the facts of existing organizations, in five statements for all of them. */
      const factsOf = Effect.fnUntraced(function* (orgs: ReadonlyArray<string>) {
        const settings = yield* sql<{ slug: OrgSlug; deliveryFailureThreshold: number }>`
          SELECT o.slug, o.delivery_failure_threshold FROM ${
          sql.literal(organizationRows("delivery_failure_threshold"))
        } WHERE o.slug = ANY(${orgs}::text[]) ORDER BY o.slug`
        const open = Map.groupBy(
          yield* sql<{ orgSlug: string; type: AlertCondition["type"]; subject: string }>`
            SELECT a.org_slug, a.type, a.subject FROM alerts a WHERE a.org_slug = ANY(${orgs}::text[])`,
          ({ orgSlug }) => orgSlug,
        )
        const recent = yield* renderings.recent(orgs)
        const ended = yield* endedDeliveries(sql, orgs)
        const refused = yield* refusedByReport(sql, orgs)
        const now = clock.currentTimeMillisUnsafe()
        const rhythmsOf = yield* rhythms.ofQuiet(orgs, new Date(now - silenceRule.leastHours * hourMillis))
        return settings.map(({ deliveryFailureThreshold: threshold, slug }): Facts => ({
          org: slug,
          renderings: recent.get(slug) ?? [],
          rhythms: (rhythmsOf.get(slug) ?? []).filter(({ source }) => !isDisabled(slug, source)),
          deliveries: deliveriesOf(ended.get(slug) ?? { failed: 0, ended: 0 }, refused.get(slug) ?? 0, threshold),
          open: new Set((open.get(slug) ?? []).map(({ subject, type }) => keyOf(type, subject))),
          now,
        }))
      })

      const current = Effect.fn("Alerts.current")(function* (org: OrgSlug) {
        return (yield* factsOf([org])).flatMap(conditionsOf)
      })

      /** Pauses the connection that sends for an organization if mail servers refuse its sender. */
      const brake = Effect.fnUntraced(function* (org: OrgSlug, deliveries: EndedDeliveries) {
        const active = connections.active(org)
        if (active === undefined || !isSenderRefused(deliveries)) return
        const reason =
          `Mail servers report that they refused ${deliveries.refused} messages in this and the previous ` +
          "hour because of the sender or the content. Read the reports among the received webhooks, remove the cause, " +
          "and resume the connection"
        yield* connections.refuse(org, active, reason)
      })

      /** Closes alerts whose conditions have ended, and announces conditions that have begun. */
      const update = Effect.fn("Alerts.update")(function* (org: OrgSlug, conditions: ReadonlyArray<AlertCondition>) {
        const rows = conditions.map((condition) => ({ type: condition.type as string, subject: subjectOf(condition) }))
        const begun = yield* sql.withTransaction(Effect.gen(function* () {
          yield* sql`
            DELETE FROM alerts a WHERE a.org_slug = ${org} AND NOT EXISTS (
              SELECT 1 FROM ${recordset(rows, { type: "text", subject: "text" })}
              WHERE r.type = a.type AND r.subject = a.subject)`
          if (rows.length === 0) return []
          // If several nodes find the alert at once, only the node that inserts the row announces it.
          const inserted = yield* sql<{ type: AlertCondition["type"]; subject: string }>`
            INSERT INTO alerts (org_slug, type, subject, opened_at)
            SELECT ${org}, r.type, r.subject, now() FROM ${recordset(rows, { type: "text", subject: "text" })}
            ORDER BY r.type, r.subject
            ON CONFLICT (org_slug, type, subject) DO NOTHING RETURNING type, subject`
          const keys = new Set(inserted.map(({ subject, type }) => keyOf(type, subject)))
          const at = new Date(clock.currentTimeMillisUnsafe()).toISOString()
          const begun = conditions.filter((one) => keys.has(keyOf(one.type, subjectOf(one))))
          yield* notify(sql, begun.map((one) => notificationOf(org, one, at)))
          return begun
        }))
        for (const one of begun) if (one.type === "deliveries.failing") yield* brake(org, one)
      })

      const lookAtSome = Effect.fn("Alerts.look")(function* (orgs: ReadonlyArray<OrgSlug>) {
        for (const facts of yield* factsOf(orgs)) {
          const conditions = conditionsOf(facts)
          const isAsBefore = conditions.length === facts.open.size &&
            conditions.every((one) => facts.open.has(keyOf(one.type, subjectOf(one))))
          if (!isAsBefore) yield* update(facts.org, conditions)
        }
      })

      const lookAtAll = Effect.gen(function* () {
        yield* rhythms.note
        yield* rhythms.prune
        yield* renderings.prune
        const live = yield* sql<{ slug: OrgSlug }>`
          SELECT o.slug FROM ${sql.literal(organizationRows("sandbox_of"))} WHERE o.sandbox_of IS NULL ORDER BY o.slug`
        const slugs = live.map(({ slug }) => slug)
        for (let from = 0; from < slugs.length; from += organizationsAtOnce) {
          yield* lookAtSome(slugs.slice(from, from + organizationsAtOnce))
        }
      })

      return Alerts.of({ current, lookAtAll })
    }),
  )

  /** Writes counts and checks conditions, on every node. */
  static readonly layerRunning = Layer.effectDiscard(Effect.gen(function* () {
    const alerts = yield* Alerts
    const renderings = yield* RenderingCounts
    const failed = (what: string) => <A, E, R>(effect: Effect.Effect<A, E, R>) =>
      Effect.catchCause(effect, (cause) => Effect.logDebug(what, cause))
    yield* renderings.flush.pipe(
      asJob("rendering counts"),
      failed("Counts of renderings could not be written and will be written later"),
      Effect.repeat(Schedule.spaced(flushEvery)),
      Effect.forkScoped,
    )
    yield* (yield* RequestNotices).flush.pipe(
      asJob("request notices"),
      failed("Notices of requests could not be written and will be written later"),
      Effect.repeat(Schedule.spaced(flushEvery)),
      Effect.forkScoped,
    )
    yield* alerts.lookAtAll.pipe(
      asJob("alerts"),
      failed("Alerts could not be checked. The next check is in a minute"),
      Effect.repeat(Schedule.spaced(looksEvery)),
      Effect.forkScoped,
    )
  }))
}
