import { Context, DateTime, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { AlreadyExists, OrganizationNotFound } from "../domain/Errors.ts"
import type { OrganizationHoldout } from "../domain/Holdout.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import type {
  AllowedDays,
  Organization,
  OrganizationInput,
  OrganizationPatch,
  QuietHours,
  TemplateApproval,
} from "../domain/Organization.ts"
import type { OrganizationTracking, UnsubscribePage } from "../domain/Tracking.ts"
import type { RecordFields } from "../domain/Difference.ts"
import { Changes } from "./Changes.ts"
import { followSettings } from "./Sandboxes.ts"
import { tell } from "../store/ChangeTrail.ts"

interface Row {
  readonly slug: OrgSlug
  readonly name: string
  readonly timeZone: string
  readonly explorationFloor: number
  readonly holdout: OrganizationHoldout
  readonly conversionEvents: ReadonlyArray<string>
  readonly tracking: OrganizationTracking
  readonly unsubscribePage: UnsubscribePage | null
  readonly delayHorizonHours: number
  readonly quietHours: QuietHours | null
  readonly allowedDays: AllowedDays | null
  readonly retentionDays: number
  readonly inboxRetentionDays: number
  readonly requireSecondFactor: boolean
  readonly suppression: boolean
  readonly softBounceLimit: number | null
  readonly groupOptOuts: ReadonlyArray<string>
  readonly currency: string | null
  readonly templateApproval: TemplateApproval
  readonly deliveryFailureThreshold: number
  readonly createdAt: Date
  readonly updatedAt: Date
}

const fromRow = (row: Row): Organization => ({
  slug: row.slug,
  name: row.name,
  time_zone: row.timeZone,
  exploration_floor: row.explorationFloor,
  holdout: row.holdout,
  conversion_events: row.conversionEvents,
  tracking: { ...row.tracking, url: row.tracking.url ?? null },
  unsubscribe_page: row.unsubscribePage,
  delay_horizon_hours: row.delayHorizonHours,
  quiet_hours: row.quietHours,
  allowed_days: row.allowedDays,
  retention_days: row.retentionDays,
  inbox_retention_days: row.inboxRetentionDays,
  require_second_factor: row.requireSecondFactor,
  suppression: row.suppression,
  soft_bounce_limit: row.softBounceLimit,
  group_opt_outs: row.groupOptOuts,
  currency: row.currency,
  template_approval: row.templateApproval,
  delivery_failure_threshold: row.deliveryFailureThreshold,
  created_at: row.createdAt.toISOString(),
  updated_at: row.updatedAt.toISOString(),
})

/** Returns the settings as fields of the audit log. */
const fieldsOf = ({ created_at: _, slug: _1, updated_at: _2, ...settings }: Organization): RecordFields =>
  Object.fromEntries(Object.entries(settings).map(([name, value]) => [`/${name}`, value]))

/** The customers of this installation. A broken store is a defect in all methods. */
export class Organizations extends Context.Service<Organizations, {
  /** Creates an organization. Fails with `AlreadyExists` if the slug is taken. */
  readonly create: (input: OrganizationInput) => Effect.Effect<Organization, AlreadyExists>
  /** Returns all organizations except sandboxes, sorted by slug. */
  readonly list: Effect.Effect<ReadonlyArray<Organization>>
  /** Reads an organization. Fails with `OrganizationNotFound` for an unknown organization. */
  readonly get: (slug: OrgSlug) => Effect.Effect<Organization, OrganizationNotFound>
  /** Updates an organization. Fails with `OrganizationNotFound` for an unknown organization. */
  readonly update: (slug: OrgSlug, patch: OrganizationPatch) => Effect.Effect<Organization, OrganizationNotFound>
}>()("parlance/organizations/Organizations") {
  static readonly layer = Layer.effect(
    Organizations,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const changes = yield* Changes

      const create = Effect.fn("Organizations.create")(function* (input: OrganizationInput) {
        const now = yield* DateTime.nowAsDate
        const rows = yield* sql<Row>`
          INSERT INTO organizations AS o (slug, name, time_zone, created_at, updated_at)
          VALUES (${input.slug}, ${input.name}, ${input.time_zone ?? "UTC"}, ${now}, ${now})
          ON CONFLICT DO NOTHING RETURNING o.*`.pipe(Effect.orDie)
        if (rows[0] === undefined) return yield* new AlreadyExists({ what: "organization", id: input.slug })
        const made = fromRow(rows[0])
        yield* tell("organization", made.slug, undefined, fieldsOf(made))
        yield* changes.refresh
        return made
      })

      const list = sql<Row>`SELECT o.* FROM organizations o WHERE o.sandbox_of IS NULL ORDER BY o.slug`.pipe(
        Effect.map((rows) => rows.map(fromRow)),
        Effect.orDie,
        Effect.withSpan("Organizations.list"),
      )

      const get = Effect.fn("Organizations.get")(function* (slug: OrgSlug) {
        const [row] = yield* sql<Row>`SELECT o.* FROM organizations o WHERE o.slug = ${slug}`.pipe(Effect.orDie)
        return row === undefined ? yield* new OrganizationNotFound({ id: slug }) : fromRow(row)
      })

      const update = Effect.fn("Organizations.update")(function* (slug: OrgSlug, patch: OrganizationPatch) {
        const now = yield* DateTime.nowAsDate
        // Absent: unchanged. Null: no limit.
        const limit = (name: "quiet_hours" | "allowed_days" | "unsubscribe_page") =>
          patch[name] === undefined
            ? sql.literal(`o.${name}`)
            : sql`${patch[name] === null ? null : JSON.stringify(patch[name])}::text::json`
        const { after, before } = yield* sql.withTransaction(Effect.gen(function* () {
          const [before] = yield* sql<Row>`SELECT o.* FROM organizations o WHERE o.slug = ${slug} FOR UPDATE`
          const [after] = yield* sql<Row>`
          UPDATE organizations o SET
            name = coalesce(${patch.name ?? null}::text, o.name),
            time_zone = coalesce(${patch.time_zone ?? null}::text, o.time_zone),
            exploration_floor = coalesce(${patch.exploration_floor ?? null}::float8, o.exploration_floor),
            holdout = coalesce(${
            patch.holdout === undefined ? null : JSON.stringify(patch.holdout)
          }::text::jsonb, o.holdout),
            conversion_events = coalesce(${
            patch.conversion_events ? [...patch.conversion_events] : null
          }::text[], o.conversion_events),
            tracking = coalesce(${
            patch.tracking === undefined ? null : JSON.stringify(patch.tracking)
          }::text::jsonb, o.tracking),
            unsubscribe_page = ${limit("unsubscribe_page")}::jsonb,
            delay_horizon_hours = coalesce(${patch.delay_horizon_hours ?? null}::float8, o.delay_horizon_hours),
            quiet_hours = ${limit("quiet_hours")},
            allowed_days = ${limit("allowed_days")},
            retention_days = coalesce(${patch.retention_days ?? null}::int, o.retention_days),
            inbox_retention_days = coalesce(${patch.inbox_retention_days ?? null}::int, o.inbox_retention_days),
            require_second_factor = coalesce(${patch.require_second_factor ?? null}::boolean, o.require_second_factor),
            suppression = coalesce(${patch.suppression ?? null}::boolean, o.suppression),
            soft_bounce_limit = ${
            patch.soft_bounce_limit === undefined
              ? sql.literal("o.soft_bounce_limit")
              : sql`${patch.soft_bounce_limit}::int`
          },
            group_opt_outs = coalesce(${
            patch.group_opt_outs ? [...patch.group_opt_outs] : null
          }::text[], o.group_opt_outs),
            currency = ${patch.currency === undefined ? sql.literal("o.currency") : sql`${patch.currency}::text`},
            template_approval = coalesce(${patch.template_approval ?? null}::text, o.template_approval),
            delivery_failure_threshold = coalesce(${
            patch.delivery_failure_threshold ?? null
          }::float8, o.delivery_failure_threshold),
            revision = o.revision + 1,
            updated_at = ${now}
          WHERE o.slug = ${slug} AND o.sandbox_of IS NULL RETURNING o.*`
          yield* followSettings(sql, slug)
          return { before, after }
        })).pipe(Effect.orDie)
        if (before === undefined || after === undefined) return yield* new OrganizationNotFound({ id: slug })
        yield* tell("organization", slug, fieldsOf(fromRow(before)), fieldsOf(fromRow(after)))
        yield* changes.refresh
        return fromRow(after)
      })

      return Organizations.of({ create, list, get, update })
    }),
  )
}
