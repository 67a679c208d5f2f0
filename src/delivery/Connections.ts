import { Clock, Context, Effect, JsonPointer, Layer, Redacted, Schedule, Schema, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { isDeepStrictEqual } from "node:util"
import { type NoSecretKey, SecretBox, type SecretFileFaulty } from "../store/SecretBox.ts"
import { ConnectionNotFound, type Fault, InvalidInput } from "../domain/Errors.ts"
import { notify } from "../accounts/notifications/Notify.ts"
import { lockOrganization } from "../organizations/Existing.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import { comparedSettings, secretIs } from "../domain/Blanked.ts"
import type { RecordFields } from "../domain/Difference.ts"
import { Changes } from "../organizations/Changes.ts"
import { tell } from "../store/ChangeTrail.ts"
import { AddressGuard } from "../settings/AddressGuard.ts"
import { Composer } from "./Composer.ts"
import { isSandbox, liveOf } from "../domain/Sandbox.ts"
import { ensureSandbox } from "../organizations/Sandboxes.ts"
import { SinkMessages } from "./sandbox/SinkMessages.ts"
import type { Connection } from "./Connection.ts"
import { forbiddenServers } from "./ForbiddenServers.ts"
import type { Variables } from "./connections/Entry.ts"
import { type PlatformName, platforms } from "./connections/Platforms.ts"
import { DkimSigning } from "./dkim/DkimSigning.ts"
import { signerOf } from "./dkim/SigningKeys.ts"
import { Settings as SinkSettings } from "./connections/Sink.ts"
import { purposeOf } from "./SealedSecrets.ts"

/**
 * An administrator's change to a connection. Absent members stay unchanged. Secrets are merged by name, other members
 * are replaced whole.
 */
export const ConnectionChange = Schema.Struct({
  /** The messaging platform. It cannot be changed later. */
  platform: Schema.optionalKey(Schema.Literals(Object.keys(platforms) as [PlatformName, ...Array<PlatformName>])),
  settings: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown)),
  /** A text sets a secret, null removes it. */
  secrets: Schema.optionalKey(Schema.Record(Schema.String, Schema.NullOr(Schema.String))),
  /** False: the connection sends nothing and does not count as a connection. Default: true. */
  enabled: Schema.optionalKey(Schema.Boolean),
  /** True: due messages stay queued. Default: false. */
  paused: Schema.optionalKey(Schema.Boolean),
  /**
   * True: deliveries use this connection instead of the earlier default. The first connection becomes the default
   * automatically. While the default connection is disabled, deliveries use the first enabled connection by name.
   */
  default: Schema.optionalKey(Schema.Boolean),
})
export type ConnectionChange = typeof ConnectionChange.Type

/** Why a connection currently sends no messages, according to its lane. */
export interface ConnectionTrouble {
  /**
   * `slow-down`: the platform asked to slow down; `failing`: consecutive attempts failed; `broken`: it accepts no
   * messages from us.
   */
  readonly state: "slow-down" | "failing" | "broken"
  readonly reason: string
  readonly since: string
  /** Time of the next attempt, ISO 8601. */
  readonly until: string
}

/**
 * A connection that was paused because the platform refused too many messages. It continues when a person resumes it.
 */
interface Refusing {
  readonly state: "refusing"
  readonly reason: string
  readonly since: string
  readonly until: null
}

/** A connection's configuration, without its secrets. */
export interface ConnectionSetup {
  readonly name: string
  readonly platform: PlatformName
  readonly settings: Readonly<Record<string, unknown>>
  /** Names of the secrets that are set. */
  readonly secrets: ReadonlyArray<string>
  readonly enabled: boolean
  readonly paused: boolean
  readonly isDefault: boolean
  readonly trouble: ConnectionTrouble | Refusing | null
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** The connection that sends an organization's deliveries. */
export interface ActiveConnection {
  readonly name: string
  readonly platform: PlatformName
  readonly paused: boolean
  /** Whether the connection is paused because the platform refused too many messages. */
  readonly refusing?: boolean
  /**
   * Which variables become parts of an e-mail: empty for the default names. Undefined: the platform accepts variables
   * of any name.
   */
  readonly variables: typeof Variables.Type | undefined
  /** Changes whenever the connection's configuration changes. */
  readonly version: string
}

interface Row extends Omit<ConnectionSetup, "secrets" | "trouble"> {
  readonly secrets: Readonly<Record<string, string>>
  readonly trouble: ConnectionTrouble | null
  readonly refusing: Refusing | null
}

/** Repetitions of the write of a connection's trouble: once per second, for an hour. */
const noteRetries = { times: 3_600, schedule: Schedule.spaced("1 second") }

const fromRow = ({ refusing, secrets, trouble, ...row }: Row): ConnectionSetup => ({
  ...row,
  trouble: refusing ?? trouble,
  secrets: Object.keys(secrets).sort(),
})

const versionOf = ({ name, updatedAt }: Pick<Row, "name" | "updatedAt">) => `${name} ${updatedAt.getTime()}`

/** The members of a connection that the audit log compares. Of secrets, only whether they are set or have changed. */
const fieldsOf = (
  row: Pick<Row, "platform" | "enabled" | "paused" | "refusing" | "isDefault" | "secrets">,
  settings: RecordFields,
  replaced: ReadonlySet<string>,
): RecordFields => ({
  "/platform": row.platform,
  "/enabled": row.enabled,
  "/paused": row.paused,
  ...(row.refusing === null ? {} : { "/refusing": true }),
  "/default": row.isDefault,
  ...settings,
  ...Object.fromEntries(
    Object.keys(row.secrets).map((name) => [
      `/secrets/${JsonPointer.escapeToken(name)}`,
      replaced.has(name) ? secretIs.replaced : secretIs.set,
    ]),
  ),
})

/** Name of the connection of every sandbox. Its configuration is not stored. */
const sandboxConnection = "sandbox"

/** Whether a text is a valid name of a connection. */
const isName = (name: string) => /^[a-z0-9][a-z0-9_-]{0,62}$/.test(name)

interface Surroundings {
  readonly guard: AddressGuard["Service"]
  readonly box: SecretBox["Service"]
  readonly changes: Changes["Service"]
  readonly clock: Clock.Clock
  readonly sql: SqlClient.SqlClient
  readonly rows: (org: OrgSlug) => Effect.Effect<ReadonlyArray<Row>, SqlError>
  /** The decrypted secrets of a row. `unreadable` has the error of each secret that can no longer be decrypted. */
  readonly opened: (
    org: OrgSlug,
    row: Pick<Row, "name" | "secrets">,
  ) => Effect.Effect<{ readonly clear: Record<string, string>; readonly unreadable: ReadonlyArray<string> }>
  readonly one: (org: OrgSlug, name: string) => Effect.Effect<Row | undefined, SqlError>
  readonly found: (org: OrgSlug, name: string) => Effect.Effect<Row, ConnectionNotFound>
}

/** Creates and changes connections. */
const makePut = ({ box, changes, clock, guard, opened, rows, sql }: Surroundings) => {
  const put = Effect.fn("Connections.put")(function* (org: OrgSlug, name: string, change: ConnectionChange) {
    const now = new Date(clock.currentTimeMillisUnsafe())
    const row = yield* sql.withTransaction(Effect.gen(function* () {
      // Serializes concurrent changes.
      yield* lockOrganization(sql, org)
      const all = yield* rows(org)
      const before = all.find((one) => one.name === name)
      const faults: Array<Fault> = []
      if (!isName(name)) {
        faults.push({
          pointer: "name",
          detail: "must be 1 to 63 lowercase letters, digits, hyphens or underscores, starting with a letter or digit",
        })
      }
      const platform = before?.platform ?? change.platform
      if (platform === undefined) {
        faults.push({ pointer: "/platform", detail: `is required: one of ${Object.keys(platforms).join(", ")}` })
      } else if (change.platform !== undefined && change.platform !== platform) {
        faults.push({
          pointer: "/platform",
          detail: `is ${platform} and cannot be changed. Create another connection and remove this one`,
        })
      }
      const known = before === undefined ? { clear: {}, unreadable: [] } : yield* opened(org, before)
      const secrets: Record<string, string> = { ...known.clear }
      for (const [secret, text] of Object.entries(change.secrets ?? {})) {
        if (text === null) delete secrets[secret]
        else Object.defineProperty(secrets, secret, { value: text, enumerable: true, configurable: true })
      }
      const settings = change.settings ?? before?.settings ?? {}
      if (platform !== undefined) faults.push(...platforms[platform].faults({ settings, secrets }))
      // A connection with an address that is no longer allowed can still be paused, disabled or given new secrets.
      if (faults.length === 0 && !isDeepStrictEqual(settings, before?.settings)) {
        faults.push(...forbiddenServers(guard, settings))
      }
      if (faults.length > 0) return yield* new InvalidInput({ faults })
      // Changed settings or secrets may remove the cause of the refusals.
      const isMended = before !== undefined &&
        !(isDeepStrictEqual(settings, before.settings) && isDeepStrictEqual(secrets, known.clear))
      const sealed: Record<string, string> = {}
      for (const [secret, text] of Object.entries(secrets)) {
        sealed[secret] = yield* box.seal(purposeOf(org, name, secret), Redacted.make(text))
      }
      const enabled = change.enabled ?? before?.enabled ?? true
      const others = all.filter((one) => one.name !== name)
      const isDefault = change.default ??
        (before?.isDefault === true || !others.some((one) => one.enabled && one.isDefault))
      if (isDefault) yield* sql`UPDATE connections c SET is_default = FALSE WHERE c.org_slug = ${org}`
      const [after] = yield* sql<Row>`
        INSERT INTO connections AS c (org_slug, name, platform, settings, secrets, enabled, paused, is_default,
          created_at, updated_at)
        VALUES (${org}, ${name}, ${platform!}, ${JSON.stringify(settings)}::text::json,
          ${JSON.stringify(sealed)}::text::json, ${enabled}, ${change.paused ?? before?.paused ?? false},
          ${isDefault}, ${now}, ${now})
        ON CONFLICT (org_slug, name) DO UPDATE SET settings = EXCLUDED.settings, secrets = EXCLUDED.secrets,
          enabled = EXCLUDED.enabled, paused = EXCLUDED.paused, is_default = EXCLUDED.is_default,
          updated_at = EXCLUDED.updated_at, trouble = NULL,
          refusing = CASE WHEN ${isMended} THEN NULL ELSE c.refusing END
        RETURNING c.name, c.platform, c.settings, c.secrets, c.enabled, c.paused, c.is_default, c.trouble,
          c.refusing, c.created_at, c.updated_at`
      const [was, is] = comparedSettings(before?.settings ?? {}, settings)
      const replaced = new Set(
        Object.keys(secrets).filter((secret) =>
          secret in (before?.secrets ?? {}) && (change.secrets ?? {})[secret] !== undefined &&
          known.clear[secret] !== secrets[secret]
        ),
      )
      yield* tell(
        "connection",
        name,
        before === undefined ? undefined : fieldsOf(before, was, new Set()),
        fieldsOf(after!, is, replaced),
      )
      // The sandbox stores the events of the sink's magic recipients.
      if (platform === "sink") yield* ensureSandbox(sql, org)
      yield* changes.bump(org)
      return after!
    })).pipe(Effect.catchTag("SqlError", Effect.die))
    yield* changes.refresh
    return fromRow(row)
  })
  return put
}

/** Pauses connections that refuse messages, and resumes them. */
const makeBrake = ({ changes, clock, found, one, sql }: Surroundings) => {
  const refuse = Effect.fn("Connections.refuse")(
    function* (org: OrgSlug, active: ActiveConnection, reason: string) {
      const since = new Date(clock.currentTimeMillisUnsafe()).toISOString()
      const refusing: Refusing = { state: "refusing", reason, since, until: null }
      const isBraked = yield* sql.withTransaction(Effect.gen(function* () {
        yield* lockOrganization(sql, org)
        const row = yield* one(org, active.name)
        if (row === undefined || versionOf(row) !== active.version) return false
        if (row.refusing !== null) return true
        yield* sql`
        UPDATE connections c SET refusing = ${JSON.stringify(refusing)}::text::json
        WHERE c.org_slug = ${org} AND c.name = ${active.name}`
        const { name: connection, platform } = active
        const data = { org, connection, platform, reason, since }
        yield* notify(sql, [{ kind: "connection.refusing", data, to: { role: "editor" } }])
        yield* changes.bump(org)
        yield* Effect.logWarning("A connection is paused because the platform refuses messages", {
          org,
          connection: active.name,
          reason,
        })
        return true
      }))
      yield* changes.refresh
      return isBraked
    },
  )

  const resume = Effect.fn("Connections.resume")(function* (org: OrgSlug, name: string) {
    const now = new Date(clock.currentTimeMillisUnsafe())
    const row = yield* sql.withTransaction(Effect.gen(function* () {
      yield* lockOrganization(sql, org)
      const before = yield* found(org, name)
      if (!before.paused && before.refusing === null) return before
      // A new version makes the lane discard earlier refusals.
      const [after] = yield* sql<Row>`
        UPDATE connections c SET paused = FALSE, refusing = NULL, trouble = NULL, updated_at = ${now}
        WHERE c.org_slug = ${org} AND c.name = ${name}
        RETURNING c.name, c.platform, c.settings, c.secrets, c.enabled, c.paused, c.is_default, c.trouble,
          c.refusing, c.created_at, c.updated_at`
      const [settings] = comparedSettings(before.settings, before.settings)
      yield* tell("connection", name, fieldsOf(before, settings, new Set()), fieldsOf(after!, settings, new Set()))
      yield* changes.bump(org)
      return after!
    })).pipe(Effect.catchTag("SqlError", Effect.die))
    yield* changes.refresh
    return fromRow(row)
  })
  return { refuse, resume }
}

/**
 * The connections of an organization: messaging platforms with the organization's credentials. Deliveries use one of
 * them.
 */
export class Connections extends Context.Service<Connections, {
  /** Creates or changes a connection. Fails with `InvalidInput`, which lists every fault of the input. */
  readonly put: (
    org: OrgSlug,
    name: string,
    change: ConnectionChange,
  ) => Effect.Effect<ConnectionSetup, InvalidInput | NoSecretKey | SecretFileFaulty>
  readonly list: (org: OrgSlug) => Effect.Effect<ReadonlyArray<ConnectionSetup>>
  /** Fails with `ConnectionNotFound` for an unknown connection. */
  readonly get: (org: OrgSlug, name: string) => Effect.Effect<ConnectionSetup, ConnectionNotFound>
  /** Fails with `ConnectionNotFound` for an unknown connection. */
  readonly remove: (org: OrgSlug, name: string) => Effect.Effect<void, ConnectionNotFound>
  /**
   * Opens a connection, which closes with the scope. Fails with `ConnectionNotFound` for an unknown connection, and
   * with `NotOpened` if its configuration does not work.
   */
  readonly open: (
    org: OrgSlug,
    name: string,
  ) => Effect.Effect<Connection, ConnectionNotFound | NotOpened, Scope.Scope>
  /**
   * Returns the connection that deliveries use, from memory, or undefined if no connection is enabled. A sandbox always
   * uses a sink.
   */
  readonly active: (org: string) => ActiveConnection | undefined
  /**
   * Pauses a connection that refuses messages, on every node, until `resume` or until its settings or secrets change.
   * Returns false if the configuration has changed since `active` was read. Fails with `SqlError` if the database does
   * not respond.
   */
  readonly refuse: (org: OrgSlug, active: ActiveConnection, reason: string) => Effect.Effect<boolean, SqlError>
  /** Resumes a paused or refusing connection. Fails with `ConnectionNotFound` for an unknown connection. */
  readonly resume: (org: OrgSlug, name: string) => Effect.Effect<ConnectionSetup, ConnectionNotFound>
  /**
   * Stores the trouble of a connection, which the console shows; null if the connection works again. Retries for an
   * hour while the database does not respond.
   */
  readonly note: (org: OrgSlug, name: string, trouble: ConnectionTrouble | null) => Effect.Effect<void>
}>()("parlance/delivery/Connections") {
  static readonly layer = Layer.effect(
    Connections,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      const box = yield* SecretBox
      const changes = yield* Changes
      const guard = yield* AddressGuard
      const composer = yield* Composer
      const sink = yield* SinkMessages
      const inUse = new Map<string, ActiveConnection>()

      const rows = (org: OrgSlug) =>
        sql<Row>`
          SELECT c.name, c.platform, c.settings, c.secrets, c.enabled, c.paused, c.is_default, c.trouble, c.refusing,
            c.created_at, c.updated_at
          FROM connections c WHERE c.org_slug = ${org} ORDER BY c.name`

      const one = (org: OrgSlug, name: string) => Effect.map(rows(org), (all) => all.find((row) => row.name === name))

      yield* changes.subscribe(Effect.fnUntraced(function* (org) {
        const enabled = (yield* rows(org)).filter((row) => row.enabled)
        const row = enabled.find(({ isDefault }) => isDefault) ?? enabled[0]
        if (row === undefined) inUse.delete(org)
        else {
          const { name, paused, platform, settings } = row
          const variables = platforms[platform].variables(settings)
          const refusing = row.refusing !== null
          inUse.set(org, { name, platform, paused, refusing, variables, version: versionOf(row) })
        }
      }))

      /** Decrypts the secrets of a row. `unreadable` has the error of each secret that can no longer be decrypted. */
      const opened = Effect.fnUntraced(function* (org: OrgSlug, { name, secrets }: Pick<Row, "name" | "secrets">) {
        const clear: Record<string, string> = {}
        const unreadable: Array<string> = []
        for (const [secret, sealed] of Object.entries(secrets)) {
          yield* box.open(purposeOf(org, name, secret), sealed).pipe(Effect.match({
            onFailure: (error) => void unreadable.push(error.message),
            onSuccess: (text) => void (clear[secret] = Redacted.value(text)),
          }))
        }
        return { clear, unreadable }
      })

      const list = Effect.fn("Connections.list")((org: OrgSlug) =>
        Effect.map(Effect.orDie(rows(org)), (all) => all.map(fromRow))
      )

      const found = Effect.fnUntraced(function* (org: OrgSlug, name: string) {
        const row = yield* Effect.orDie(one(org, name))
        return row ?? (yield* new ConnectionNotFound({ id: name }))
      })

      const get = Effect.fn("Connections.get")((org: OrgSlug, name: string) => Effect.map(found(org, name), fromRow))

      const remove = Effect.fn("Connections.remove")(function* (org: OrgSlug, name: string) {
        const gone = yield* sql.withTransaction(Effect.gen(function* () {
          const deleted = yield* sql<Row>`
            DELETE FROM connections c WHERE c.org_slug = ${org} AND c.name = ${name}
            RETURNING c.name, c.platform, c.settings, c.secrets, c.enabled, c.paused, c.is_default, c.trouble,
              c.refusing, c.created_at, c.updated_at`
          yield* changes.bump(org)
          return deleted
        })).pipe(Effect.orDie)
        for (const row of gone) {
          yield* tell("connection", name, fieldsOf(row, comparedSettings(row.settings, {})[0], new Set()), undefined)
        }
        if (gone.length === 0) return yield* new ConnectionNotFound({ id: name })
        yield* changes.refresh
      })

      /** Settings of an organization's active connection that also apply to a sink. */
      const sinkSettings = (org: OrgSlug) =>
        Effect.map(one(org, inUse.get(org)?.name ?? ""), (row) => {
          const known = Object.entries(row?.settings ?? {}).filter(([name]) => Object.hasOwn(SinkSettings.fields, name))
          const settings = Object.fromEntries(known)
          return platforms.sink.faults({ settings, secrets: {} }).length === 0 ? settings : {}
        })

      const open = Effect.fn("Connections.open")(function* (org: OrgSlug, name: string) {
        const { platform, secrets, settings } = isSandbox(org)
          ? { platform: "sink" as const, secrets: {}, settings: yield* Effect.orDie(sinkSettings(liveOf(org))) }
          : yield* found(org, name)
        const { clear, unreadable } = yield* opened(org, { name, secrets })
        if (unreadable.length > 0) return yield* new NotOpened({ reason: unreadable.join(" ") })
        const signer = isSandbox(org) ? undefined : yield* Effect.mapError(
          signerOf(sql, box, org, name),
          ({ message }) => new NotOpened({ reason: message }),
        )
        return yield* platforms[platform].make({ settings, secrets: clear }).pipe(
          Effect.mapError((faults) =>
            new NotOpened({
              reason: "The settings of the connection are not valid in this release:  " +
                faults.map(({ detail, pointer }) => `${pointer} ${detail}`).join("; "),
            })
          ),
          Effect.provideService(AddressGuard, guard),
          Effect.provideService(Composer, composer),
          Effect.provideService(DkimSigning, signer),
          Effect.provideService(SinkMessages, sink),
        )
      })

      const surroundings = { box, changes, clock, guard, sql, rows, opened, one, found }
      const put = makePut(surroundings)
      const { refuse, resume } = makeBrake(surroundings)

      /** The connection of a sandbox: a sink that composes messages like the organization's active connection. */
      const sandboxed = (org: string): ActiveConnection => {
        const live = inUse.get(liveOf(org))
        const version = `${sandboxConnection} ${live?.version ?? ""}`
        return { name: sandboxConnection, platform: "sink", paused: false, variables: live?.variables ?? {}, version }
      }

      const note = Effect.fn("Connections.note")(
        function* (org: OrgSlug, name: string, trouble: ConnectionTrouble | null) {
          yield* sql.withTransaction(Effect.gen(function* () {
            // Reads the state before the update, so that repeated failures are announced once.
            const [before] = yield* sql<{ platform: string; state: string | null }>`
            SELECT c.platform, c.trouble->>'state' AS state FROM connections c
            WHERE c.org_slug = ${org} AND c.name = ${name} FOR UPDATE`
            yield* sql`
            UPDATE connections c SET trouble = ${trouble === null ? null : JSON.stringify(trouble)}::text::json
            WHERE c.org_slug = ${org} AND c.name = ${name}`
            if (before === undefined || trouble?.state !== "broken" || before.state === "broken") return
            const { reason, since } = trouble
            const data = { org, connection: name, platform: before.platform, reason, since }
            yield* notify(sql, [{ kind: "connection.broken", data, to: { role: "editor" } }])
          })).pipe(
            // Retries during an outage of the database, so that webhook endpoints are notified when it ends.
            Effect.retry(noteRetries),
            Effect.catch((error) => Effect.logWarning("The state of a connection could not be stored", error.message)),
          )
        },
      )

      return Connections.of({
        put,
        list,
        get,
        remove,
        open,
        active: (org) => isSandbox(org) ? sandboxed(org) : inUse.get(org),
        refuse,
        resume,
        note,
      })
    }),
  )
}

/** A connection cannot be opened with its configuration. */
class NotOpened extends Schema.TaggedError<NotOpened>()("NotOpened", { reason: Schema.String }) {}
