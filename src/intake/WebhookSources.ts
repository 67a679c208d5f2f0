import { Clock, Context, Effect, Layer, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { templateRows } from "../templates/TemplateRows.ts"
import { organizationRows } from "../organizations/OrganizationRows.ts"
import { type NoSecretKey, SecretBox, type SecretFileFaulty } from "../store/SecretBox.ts"
import type { SealedColumn } from "../store/SecretKeys.ts"
import { hourMillis } from "../bandit/Window.ts"
import { anyName } from "../domain/ConversionEvents.ts"
import { lockOrganization } from "../organizations/Existing.ts"
import { type Fault, InvalidInput, SourceNotFound } from "../domain/Errors.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import { platforms, type SourceId } from "../domain/Source.ts"
import { comparedSettings, secretIs } from "../domain/Blanked.ts"
import { sha256 } from "../text/Sha256.ts"
import type { RecordFields } from "../domain/Difference.ts"
import { Changes } from "../organizations/Changes.ts"
import { liveOf } from "../domain/Sandbox.ts"
import { tell } from "../store/ChangeTrail.ts"
import type { SignatureVerdict } from "./signatures/Verdict.ts"
import { readsBody, type SignatureSettings, verify } from "./signatures/Verify.ts"
import type { Reading } from "./Sources.ts"
import {
  namedSources,
  optionFaults,
  readingOf,
  type SourceSettings,
  unknownFaults,
  withoutReading,
} from "./SourceSettings.ts"

/** How long a replaced secret is still accepted, so that the platform can be changed without hurry. */
const rotationHours = 24

/** An administrator's input for a source. Absent members stay unchanged. */
export const SourceInput = Schema.Struct({
  /**
   * A new secret. The replaced secret is accepted for another 24 hours. Entering the current secret changes nothing.
   */
  secret: Schema.optionalKey(Schema.String),
  /**
   * Options of the platform; for some sources `conversions`; and for `events` a `mapping`, which replaces the default
   * shape, CloudEvents and `conversions`. Replaces all earlier settings.
   */
  settings: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown)),
  /** False: webhooks of the source are refused. */
  enabled: Schema.optionalKey(Schema.Boolean),
})
export type SourceInput = typeof SourceInput.Type

/** The configuration of a source, without its secrets. */
export interface SourceSetup {
  readonly sourceId: SourceId
  readonly enabled: boolean
  readonly settings: SourceSettings
  /** Secrets that are currently accepted. `acceptedUntil` is null for the current secret. */
  readonly secrets: ReadonlyArray<{ readonly acceptedUntil: Date | null }>
  readonly updatedAt: Date
}

/** A source with decrypted secrets, as requests need it. */
interface Ready {
  readonly enabled: boolean
  readonly settings: Omit<SignatureSettings, "secrets">
  readonly secrets: ReadonlyArray<{ readonly secret: string; readonly until: number }>
}

/** How to read bodies of a source, and a key that is equal for equal settings. */
export interface KeyedReading {
  readonly key: string
  readonly reading: Reading
}

/**
 * Returns how to read bodies of a source, from its settings and the names of conversions that the organization and its
 * templates declare; undefined if all of these are empty. A mapping replaces the names in the settings, but not the
 * declared names.
 */
const keyedReading = (
  source: SourceId,
  settings: SourceSettings,
  declared: ReadonlySet<string>,
): KeyedReading | undefined => {
  const own = readingOf(source, settings).reading
  const all = own.mapping === undefined ? [...own.conversions, ...declared] : [...declared]
  // Platforms have business events with arbitrary names, which are conversions only if they are declared.
  const conversions = new Set(source === "events" ? all : all.filter((name) => name !== anyName))
  if (conversions.size === 0 && own.mapping === undefined) return undefined
  const said = JSON.stringify([source, [...conversions].sort(), settings["mapping"]])
  return {
    key: sha256(said),
    reading: { conversions, mapping: own.mapping },
  }
}

interface StoredSecret {
  readonly sealed: string
  /** ISO 8601; null for the current secret. */
  readonly until: string | null
}

interface Row {
  readonly source: SourceId
  readonly enabled: boolean
  readonly secrets: ReadonlyArray<StoredSecret>
  readonly settings: SourceSettings
  readonly updatedAt: Date
}

/** The values of a source that the audit log compares. Of secrets, only whether one is set or has changed. */
const fieldsOf = (row: Pick<Row, "enabled" | "secrets">, settings: RecordFields, secret: string): RecordFields => ({
  "/enabled": row.enabled,
  ...settings,
  ...(row.secrets.length === 0 ? {} : { "/secret": secret }),
})

const purposeOf = (org: string, sourceId: string) => `webhook ${org}/${sourceId}`

/** Secrets of webhook sources. */
export const sealedSources: SealedColumn = {
  table: "webhook_sources",
  column: "secrets",
  type: "json",
  key: ["org_slug", "source"],
  purposeOf: ([org, source]) => purposeOf(org!, source!),
}

/** Decrypts and replaces the secrets of sources. */
const makeSecrets = (box: SecretBox["Service"]) => {
  const open = Effect.fnUntraced(function* (org: string, row: Row) {
    const secrets: Array<Ready["secrets"][number]> = []
    for (const { sealed, until } of row.secrets) {
      const secret = yield* box.open(purposeOf(org, row.source), sealed).pipe(
        // Webhooks of this source are refused until the secret is entered again. Other sources are not affected.
        Effect.catch((error) => Effect.as(Effect.logError(error.message), undefined)),
      )
      if (secret !== undefined) {
        secrets.push({ secret: Redacted.value(secret), until: until === null ? Infinity : Date.parse(until) })
      }
    }
    return {
      enabled: row.enabled,
      settings: withoutReading(row.settings) as Ready["settings"],
      secrets,
    }
  })

  /**
   * Returns the secrets after `secret` was entered. The previous secret is accepted for another 24 hours; older secrets
   * are removed.
   */
  const rotated = Effect.fnUntraced(function* (
    purpose: string,
    secrets: ReadonlyArray<StoredSecret>,
    secret: string,
    now: number,
  ) {
    const current = secrets.find(({ until }) => until === null)
    if (current !== undefined) {
      const opened = yield* box.open(purpose, current.sealed).pipe(
        // A secret that cannot be decrypted is useless and is replaced.
        Effect.catch((error) => Effect.as(Effect.logError(error.message), undefined)),
      )
      // Entering the current secret changes nothing, and the previous secret keeps its time.
      if (opened !== undefined && Redacted.value(opened) === secret) return secrets
    }
    const until = new Date(now + rotationHours * hourMillis).toISOString()
    const sealed = yield* box.seal(purpose, Redacted.make(secret))
    return [{ sealed, until: null }, ...current === undefined ? [] : [{ ...current, until }]]
  })
  return { open, rotated }
}

/** The webhook sources of organizations: how to verify their signatures and how to read their bodies. */
export class WebhookSources extends Context.Service<WebhookSources, {
  /**
   * Creates or updates a source. Fails with `InvalidInput`, listing every fault, if the result would not be valid; with
   * `NoSecretKey` without a key to encrypt the secret; and with `SecretFileFaulty` if the key file is damaged.
   */
  readonly put: (
    org: OrgSlug,
    sourceId: SourceId,
    input: SourceInput,
  ) => Effect.Effect<SourceSetup, InvalidInput | NoSecretKey | SecretFileFaulty>
  readonly list: (org: OrgSlug) => Effect.Effect<ReadonlyArray<SourceSetup>>
  /** Removes a source. Fails with `SourceNotFound` if the organization has no such source. */
  readonly remove: (org: OrgSlug, sourceId: SourceId) => Effect.Effect<void, SourceNotFound>
  /**
   * Verifies that a request comes from the source. `certificates` are used in addition to the ones of the settings.
   * Undefined if the source is not configured or disabled.
   */
  readonly verify: (
    org: string,
    sourceId: SourceId,
    headers: Readonly<Record<string, string>>,
    body: Uint8Array,
    certificates?: Readonly<Record<string, string>>,
  ) => SignatureVerdict | undefined
  /** Whether `verify` reads the body. Undefined if the source is not configured or disabled. */
  readonly readsBody: (org: string, sourceId: SourceId) => boolean | undefined
  /** Whether the source is disabled. */
  readonly isDisabled: (org: string, sourceId: SourceId) => boolean
  /** Returns how to read bodies of a source for an organization or its sandbox; undefined for the default settings. */
  readonly reading: (org: string, sourceId: SourceId) => KeyedReading | undefined
}>()("parlance/intake/WebhookSources") {
  static readonly layer = Layer.effect(
    WebhookSources,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      const box = yield* SecretBox
      const changes = yield* Changes
      const ready = new Map<string, ReadonlyMap<SourceId, Ready>>()
      const readings = new Map<string, ReadonlyMap<SourceId, KeyedReading>>()

      const { open, rotated } = makeSecrets(box)

      const rows = (org: OrgSlug) =>
        sql<Row>`
          SELECT w.source, w.enabled, w.secrets, w.settings, w.updated_at FROM webhook_sources w
          WHERE w.org_slug = ${org} ORDER BY w.source`

      const declaredNames = Effect.fnUntraced(function* (org: OrgSlug) {
        const found = yield* sql<{ name: string }>`
          SELECT unnest(o.conversion_events) AS name FROM ${
          sql.literal(organizationRows("conversion_events"))
        } WHERE o.slug = ${org}
          UNION
          SELECT unnest(t.conversion_events) FROM ${sql.literal(templateRows)}
          WHERE t.org_slug = ${org} AND t.conversion_events <> '{}'`
        return new Set(found.map(({ name }) => name.toLowerCase()))
      })

      yield* changes.subscribe(Effect.fnUntraced(function* (org) {
        const opened = new Map<SourceId, Ready>()
        const settings = new Map<SourceId, SourceSettings>(namedSources.map((source) => [source, {}]))
        for (const row of yield* rows(org)) {
          opened.set(row.source, yield* open(org, row))
          settings.set(row.source, row.settings)
        }
        const declared = yield* declaredNames(org)
        ready.set(org, opened)
        readings.set(
          org,
          new Map([...settings].flatMap(([source, settings]) => {
            const reading = keyedReading(source, settings, declared)
            return reading === undefined ? [] : [[source, reading]]
          })),
        )
      }))

      const fromRow = (row: Row): SourceSetup => ({
        sourceId: row.source,
        enabled: row.enabled,
        settings: row.settings,
        secrets: row.secrets
          .filter(({ until }) => until === null || Date.parse(until) > clock.currentTimeMillisUnsafe())
          .map(({ until }) => ({ acceptedUntil: until === null ? null : new Date(until) })),
        updatedAt: row.updatedAt,
      })

      /** Returns every fault of the source that this input would create. */
      const faultsOf = (sourceId: SourceId, before: Row | undefined, input: SourceInput): ReadonlyArray<Fault> => {
        const settings = input.settings ?? before?.settings ?? {}
        const { faults } = readingOf(sourceId, settings)
        // Unknown settings that an earlier release stored do not block a change of other settings.
        const unknown = input.settings === undefined ? [] : unknownFaults(sourceId, input.settings)
        // `events` needs no secret, because senders may also use an API key.
        const needsSecret = before === undefined && sourceId !== "events"
        const secrets = input.secret === undefined ? needsSecret ? [] : undefined : [input.secret]
        return [...unknown, ...faults, ...optionFaults(sourceId, settings, secrets)]
      }

      const put = Effect.fn("WebhookSources.put")(function* (org: OrgSlug, sourceId: SourceId, input: SourceInput) {
        const now = new Date(clock.currentTimeMillisUnsafe())
        const row = yield* sql.withTransaction(Effect.gen(function* () {
          // Serializes concurrent changes.
          yield* lockOrganization(sql, org)
          const [before] = yield* sql<Row>`
            SELECT w.source, w.enabled, w.secrets, w.settings, w.updated_at FROM webhook_sources w
            WHERE w.org_slug = ${org} AND w.source = ${sourceId}`
          const faults = faultsOf(sourceId, before, input)
          if (faults.length > 0) return yield* new InvalidInput({ faults })
          const kept = before?.secrets ?? []
          const secrets = input.secret === undefined
            ? kept
            : yield* rotated(purposeOf(org, sourceId), kept, input.secret, now.getTime())
          const settings = JSON.stringify(input.settings ?? before?.settings ?? {})
          const [after] = yield* sql<Row>`
            INSERT INTO webhook_sources AS w (org_slug, source, enabled, secrets, settings, created_at, updated_at)
            VALUES (${org}, ${sourceId}, ${input.enabled ?? before?.enabled ?? true},
              ${JSON.stringify(secrets)}::text::json, ${settings}::text::json, ${now}, ${now})
            ON CONFLICT (org_slug, source) DO UPDATE SET enabled = EXCLUDED.enabled, secrets = EXCLUDED.secrets,
              settings = EXCLUDED.settings, updated_at = EXCLUDED.updated_at
            RETURNING w.source, w.enabled, w.secrets, w.settings, w.updated_at`
          const [was, is] = comparedSettings(before?.settings ?? {}, after!.settings)
          const secret = secrets === kept || kept.length === 0 ? secretIs.set : secretIs.replaced
          yield* tell(
            "source",
            sourceId,
            before === undefined ? undefined : fieldsOf(before, was, secretIs.set),
            fieldsOf(after!, is, secret),
          )
          yield* changes.bump(org)
          return after!
        })).pipe(Effect.catchTag("SqlError", Effect.die))
        yield* changes.refresh
        return fromRow(row)
      })

      const list = Effect.fn("WebhookSources.list")((org: OrgSlug) =>
        Effect.map(Effect.orDie(rows(org)), (all) => all.map(fromRow))
      )

      const remove = Effect.fn("WebhookSources.remove")(function* (org: OrgSlug, sourceId: SourceId) {
        const gone = yield* sql.withTransaction(Effect.gen(function* () {
          const deleted = yield* sql<Row>`
            DELETE FROM webhook_sources w WHERE w.org_slug = ${org} AND w.source = ${sourceId}
            RETURNING w.source, w.enabled, w.secrets, w.settings, w.updated_at`
          yield* changes.bump(org)
          return deleted
        })).pipe(Effect.orDie)
        for (const row of gone) {
          const [was] = comparedSettings(row.settings, {})
          yield* tell("source", sourceId, fieldsOf(row, was, secretIs.set), undefined)
        }
        if (gone.length === 0) return yield* new SourceNotFound({ id: sourceId })
        yield* changes.refresh
      })

      const enabled = (org: string, sourceId: SourceId): Ready | undefined => {
        const source = ready.get(org)?.get(sourceId)
        return source?.enabled === true ? source : undefined
      }

      return WebhookSources.of({
        put,
        list,
        remove,
        readsBody: (org, sourceId) => {
          const source = enabled(org, sourceId)
          return source && readsBody(platforms[sourceId], source.settings)
        },
        verify: (org, sourceId, headers, body, certificates) => {
          const source = enabled(org, sourceId)
          if (source === undefined) return undefined
          const now = clock.currentTimeMillisUnsafe()
          const secrets = source.secrets.filter(({ until }) => until > now).map(({ secret }) => secret)
          const settings = certificates === undefined
            ? { ...source.settings, secrets }
            : { ...source.settings, secrets, certificates: { ...source.settings.certificates, ...certificates } }
          return verify(platforms[sourceId], settings, headers, body, now)
        },
        isDisabled: (org, sourceId) => ready.get(org)?.get(sourceId)?.enabled === false,
        reading: (org, sourceId) => readings.get(liveOf(org))?.get(sourceId),
      })
    }),
  )
}
