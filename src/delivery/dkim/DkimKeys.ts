import { Clock, Context, Effect, Layer, Redacted, Result, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { randomBytes } from "node:crypto"
import { domainToASCII } from "node:url"
import { type NoSecretKey, SecretBox, type SecretFileFaulty } from "../../store/SecretBox.ts"
import { type ConnectionNotFound, DkimKeyNotFound, type Fault, InvalidInput } from "../../domain/Errors.ts"
import { lockOrganization } from "../../organizations/Existing.ts"
import type { OrgSlug } from "../../domain/Ids.ts"
import { Changes } from "../../organizations/Changes.ts"
import { tell } from "../../store/ChangeTrail.ts"
import { Connections, type ConnectionSetup } from "../Connections.ts"
import { validateAddress } from "../../text/Email.ts"
import { DnsRecords } from "../receivers/DnsRecords.ts"
import { keyFindingOf, type KeyRecordFinding } from "../receivers/KeyRecord.ts"
import { defaultBits, type DkimKey, type DnsRecord, keyRecordOf, makeKey, readKey } from "./DkimKey.ts"
import { purposeOf } from "./SigningKeys.ts"

/** Input for a new DKIM key of a connection. */
export const NewDkimKey = Schema.Struct({
  /** The signing domain. Default: the domain of the connection's sender. */
  domain: Schema.optionalKey(Schema.String),
  /** Selector: the name of the key below the domain. Default: `parlance-` and four random digits. */
  selector: Schema.optionalKey(Schema.String),
  /** A private RSA key to import, in PEM form. Default: a generated key of 2,048 bits. */
  private_key: Schema.optionalKey(Schema.String),
})
export type NewDkimKey = typeof NewDkimKey.Type

/** Input that starts or stops signing with a key. */
export const DkimKeyChange = Schema.Struct({
  signing: Schema.Boolean,
  /** True: the key signs even if its record is not found in DNS. Default: false. */
  unchecked: Schema.optionalKey(Schema.Boolean),
})
export type DkimKeyChange = typeof DkimKeyChange.Type

/** A DKIM key without its private key. */
export interface DkimKeyView {
  readonly domain: string
  readonly selector: string
  readonly bits: number
  /** Whether the key signs the messages of the connection. At most one key of a connection does. */
  readonly isSigning: boolean
  /** The DNS record to publish. */
  readonly record: DnsRecord
  readonly createdAt: Date
}

/** The DNS record of a key was not found, or contains another key. */
class DkimKeyNotPublished extends Schema.TaggedError<DkimKeyNotPublished>()("DkimKeyNotPublished", {
  detail: Schema.String,
}) {
  override get message() {
    return `${this.detail} Nothing was changed. Publish the record, wait until name servers have it, and try again. ` +
      "If you are sure that it is published, say so with `unchecked`."
  }
}

/** Maximum number of keys of a connection. */
const maxKeys = 10

interface Row {
  readonly domain: string
  readonly selector: string
  readonly publicKey: string
  readonly bits: number
  readonly signing: boolean
  readonly createdAt: Date
}

interface StoredKey extends Row {
  readonly connection: string
}

const viewOf = ({ signing, ...row }: Row): DkimKeyView => ({
  domain: row.domain,
  selector: row.selector,
  bits: row.bits,
  isSigning: signing,
  record: keyRecordOf(row),
  createdAt: row.createdAt,
})

/** Describes the key in the audit log. */
const auditedAs = ({ domain, selector, signing }: Pick<Row, "domain" | "selector" | "signing">) =>
  `${selector}._domainkey.${domain}${signing ? ", signing" : ""}`

const isSelector = (text: string): boolean => /^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$/.test(text) && !text.includes("..")

/** Returns the domain of a connection's sender, in ASCII and lowercase. */
export const senderDomainOf = (settings: ConnectionSetup["settings"]): string => {
  const from = String(settings["from"] ?? "")
  return domainToASCII(from.slice(from.lastIndexOf("@") + 1).toLowerCase())
}

/** Returns the faults of a new key, or its values with defaults. */
const checkedNew = (
  { platform, settings }: ConnectionSetup,
  { domain, private_key: pem, selector }: NewDkimKey,
  taken: ReadonlyArray<StoredKey>,
) => {
  const faults: Array<Fault> = []
  if (platform !== "smtp") {
    faults.push({
      pointer: "connection",
      detail: `is of the platform ${platform}, which signs messages itself. Only SMTP connections sign`,
    })
  }
  const fromDomain = domain?.trim().toLowerCase() ?? senderDomainOf(settings)
  if (validateAddress(`a@${fromDomain}`) !== undefined) {
    faults.push({ pointer: "/domain", detail: "must be a domain such as shop.example" })
  }
  const ascii = domainToASCII(fromDomain)
  const name = selector?.trim().toLowerCase() ?? `parlance-${randomBytes(2).toString("hex")}`
  if (!isSelector(name)) {
    faults.push({
      pointer: "/selector",
      detail: "must be 1 to 63 letters, digits, hyphens or full stops, starting and ending with a letter or digit",
    })
  } else if (taken.some((row) => row.selector === name && row.domain === ascii)) {
    faults.push({ pointer: "/selector", detail: `is taken by another key of ${ascii}: choose another selector` })
  }
  const key = pem === undefined ? undefined : readKey(pem)
  if (key !== undefined && Result.isFailure(key)) faults.push({ pointer: "/private_key", detail: key.failure })
  return {
    faults,
    domain: ascii,
    selector: name,
    key: key !== undefined && Result.isSuccess(key) ? key.success : undefined,
  }
}

/** Returns the conflicts of a new key with the existing keys of its organization. */
const takenFaults = (
  setup: ConnectionSetup,
  key: Pick<NewDkimKey, "domain" | "selector">,
  all: ReadonlyArray<StoredKey>,
): ReadonlyArray<Fault> => {
  const faults = [...checkedNew(setup, key, all).faults]
  const own = all.filter(({ connection }) => connection === setup.name)
  if (own.length >= maxKeys) {
    faults.push({ pointer: "", detail: `would be one key too many: remove one of the ${maxKeys} keys first` })
  }
  if (own.some(({ selector }) => selector === key.selector) && faults.length === 0) {
    faults.push({ pointer: "/selector", detail: "is taken by another key of this connection" })
  }
  return faults
}

const columnsOf = (sql: SqlClient.SqlClient) =>
  sql`k.connection, k.domain, k.selector, k.public_key, k.bits, k.signing, k.created_at`

/** Reads the keys of an organization, newest first. */
const readKeys = (sql: SqlClient.SqlClient, org: OrgSlug) =>
  sql<StoredKey>`
    SELECT ${columnsOf(sql)} FROM dkim_keys k WHERE k.org_slug = ${org} ORDER BY k.created_at DESC, k.selector`

/** Changes the keys of a connection in a transaction. Lanes then reopen the connection with the new keys. */
const makeChanging =
  (sql: SqlClient.SqlClient, clock: Clock.Clock, changes: Changes["Service"]) =>
  <A, E>(org: OrgSlug, connection: string, effect: Effect.Effect<A, E>) =>
    sql.withTransaction(Effect.gen(function* () {
      // Serializes concurrent changes.
      yield* lockOrganization(sql, org)
      const result = yield* effect
      const now = new Date(clock.currentTimeMillisUnsafe())
      yield* sql`
      UPDATE connections c SET updated_at = GREATEST(${now}, c.updated_at + interval '1 millisecond')
      WHERE c.org_slug = ${org} AND c.name = ${connection}`
      yield* changes.bump(org)
      return result
    })).pipe(Effect.catchTag("SqlError", Effect.die), Effect.tap(() => changes.refresh))

/** The keys that sign the messages of connections. Private keys are stored encrypted and never returned. */
export class DkimKeys extends Context.Service<DkimKeys, {
  /** The keys of a connection, newest first. Fails with `ConnectionNotFound` for an unknown connection. */
  readonly list: (org: OrgSlug, connection: string) => Effect.Effect<ReadonlyArray<DkimKeyView>, ConnectionNotFound>
  /**
   * Generates or imports a key, which does not sign yet. Fails with `ConnectionNotFound` for an unknown connection,
   * `InvalidInput` with every fault of an invalid input, `NoSecretKey` without an encryption key, and
   * `SecretFileFaulty` if the key file of the embedded database is damaged.
   */
  readonly add: (
    org: OrgSlug,
    connection: string,
    input: NewDkimKey,
  ) => Effect.Effect<DkimKeyView, ConnectionNotFound | InvalidInput | NoSecretKey | SecretFileFaulty>
  /**
   * Starts signing with a key, which stops the previous signing key, or stops signing with it. Signing requires that
   * the key's record is found in DNS, unless `unchecked`. Fails with `ConnectionNotFound` for an unknown connection,
   * `DkimKeyNotFound` for an unknown selector, and `DkimKeyNotPublished` if the record is not in DNS.
   */
  readonly change: (
    org: OrgSlug,
    connection: string,
    selector: string,
    change: DkimKeyChange,
  ) => Effect.Effect<DkimKeyView, ConnectionNotFound | DkimKeyNotFound | DkimKeyNotPublished>
  /**
   * Removes a key. After the removal of its signing key, a connection sends unsigned messages. Fails with
   * `ConnectionNotFound` for an unknown connection and `DkimKeyNotFound` for an unknown selector.
   */
  readonly remove: (
    org: OrgSlug,
    connection: string,
    selector: string,
  ) => Effect.Effect<void, ConnectionNotFound | DkimKeyNotFound>
  /** Compares a key with its record in DNS. */
  readonly check: (key: Pick<DkimKeyView, "record">) => Effect.Effect<KeyRecordFinding>
}>()("parlance/delivery/dkim/DkimKeys") {
  static readonly layer = Layer.effect(
    DkimKeys,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      const box = yield* SecretBox
      const changes = yield* Changes
      const connections = yield* Connections
      const dns = yield* DnsRecords

      const columns = columnsOf(sql)

      const rowsOf = (org: OrgSlug, connection: string) =>
        Effect.map(readKeys(sql, org), (rows) => rows.filter((row) => row.connection === connection))

      const list = Effect.fn("DkimKeys.list")(function* (org: OrgSlug, connection: string) {
        yield* connections.get(org, connection)
        return (yield* Effect.orDie(rowsOf(org, connection))).map(viewOf)
      })

      const changing = makeChanging(sql, clock, changes)

      const add = Effect.fn("DkimKeys.add")(function* (org: OrgSlug, connection: string, input: NewDkimKey) {
        const setup = yield* connections.get(org, connection)
        const before = checkedNew(setup, input, [])
        if (before.faults.length > 0) return yield* new InvalidInput({ faults: before.faults })
        const key: DkimKey = before.key ?? (yield* makeKey(defaultBits))
        const { domain, selector } = before
        const sealed = yield* box.seal(purposeOf(org, connection, selector), Redacted.make(key.privateKey))
        const row = yield* changing(
          org,
          connection,
          Effect.gen(function* () {
            const faults = takenFaults(setup, { domain, selector }, yield* readKeys(sql, org))
            if (faults.length > 0) return yield* new InvalidInput({ faults })
            const [made] = yield* sql<Row>`
            INSERT INTO dkim_keys AS k (org_slug, connection, selector, domain, private_key, public_key, bits, signing,
              created_at)
            VALUES (${org}, ${connection}, ${selector}, ${domain}, ${sealed}, ${key.publicKey}, ${key.bits}, FALSE,
              ${new Date(clock.currentTimeMillisUnsafe())})
            RETURNING ${columns}`
            return made!
          }),
        )
        yield* tell("connection", connection, {}, { "/dkim": auditedAs(row) })
        return viewOf(row)
      })

      const found = Effect.fnUntraced(function* (org: OrgSlug, connection: string, selector: string) {
        yield* connections.get(org, connection)
        const row = (yield* Effect.orDie(rowsOf(org, connection))).find((one) => one.selector === selector)
        return row ?? (yield* new DkimKeyNotFound({ id: selector }))
      })

      const check = Effect.fn("DkimKeys.check")(({ record }: Pick<DkimKeyView, "record">) =>
        Effect.map(dns.txt(record.name), (answer) => keyFindingOf(record, answer))
      )

      const change = Effect.fn("DkimKeys.change")(
        function* (org: OrgSlug, connection: string, selector: string, { signing, unchecked }: DkimKeyChange) {
          const before = yield* found(org, connection, selector)
          if (signing && !before.signing && unchecked !== true) {
            const { detail, isPublished } = yield* check({ record: keyRecordOf(before) })
            if (!isPublished) return yield* new DkimKeyNotPublished({ detail })
          }
          const [row] = yield* changing(
            org,
            connection,
            Effect.gen(function* () {
              if (signing) {
                yield* sql`
                UPDATE dkim_keys k SET signing = FALSE WHERE k.org_slug = ${org} AND k.connection = ${connection}`
              }
              return yield* sql<Row>`
              UPDATE dkim_keys k SET signing = ${signing}
              WHERE k.org_slug = ${org} AND k.connection = ${connection} AND k.selector = ${selector}
              RETURNING ${columns}`
            }),
          )
          if (row === undefined) return yield* new DkimKeyNotFound({ id: selector })
          yield* tell("connection", connection, { "/dkim": auditedAs(before) }, { "/dkim": auditedAs(row) })
          return viewOf(row)
        },
      )

      const remove = Effect.fn("DkimKeys.remove")(function* (org: OrgSlug, connection: string, selector: string) {
        const before = yield* found(org, connection, selector)
        yield* changing(
          org,
          connection,
          sql`
          DELETE FROM dkim_keys k
          WHERE k.org_slug = ${org} AND k.connection = ${connection} AND k.selector = ${selector}`,
        )
        yield* tell("connection", connection, { "/dkim": auditedAs(before) }, {})
      })

      return DkimKeys.of({ list, add, change, remove, check })
    }),
  )
}
