import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from "@simplewebauthn/server"
import { Context, DateTime, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { randomId } from "../domain/Ids.ts"
import { passkeyLetter } from "../mail/Letters.ts"
import { MailQueue } from "../mail/MailQueue.ts"
import type { Account, Passkey } from "./Account.ts"
import { PasskeyNotFound, PasskeyRefused } from "./AccountErrors.ts"
import { dropUnneeded, writeRecoveryCodes } from "./RecoveryCodes.ts"
import * as Tokens from "./Tokens.ts"
import * as WebAuthn from "./WebAuthn.ts"

/** Path of the page with one's own passkeys. */
export const passkeysPath = "/console/account/passkeys"

/** Maximum number of passkeys of an account. */
const maxPasskeys = 20

/** Where a challenge can be used: for a new passkey, or to sign in. */
type Purpose = "passkey_new" | "passkey_use"

interface Row {
  readonly id: string
  readonly accountId: string
  readonly name: string
  readonly rpId: string
  readonly credentialId: string
  readonly publicKey: string
  readonly counter: number
  readonly transports: ReadonlyArray<string>
  readonly synced: boolean
  readonly createdAt: Date
  readonly lastUsedAt: Date | null
}

const fromRow = (row: Row): Passkey => ({
  id: row.id,
  name: row.name,
  domain: row.rpId,
  synced: row.synced,
  created_at: row.createdAt.toISOString(),
  last_used_at: row.lastUsedAt?.toISOString() ?? null,
})

/**
 * Passkeys of accounts. A passkey signs in alone, because it verifies its user, and is a second factor after a password.
 * A challenge works once, within five minutes, on every node.
 */
export class Passkeys extends Context.Service<Passkeys, {
  /** Returns the passkeys of an account, oldest first. */
  readonly list: (accountId: string) => Effect.Effect<ReadonlyArray<Passkey>>
  /** Returns the options for a new passkey. Fails with `PasskeyRefused` if the account has 20 passkeys. */
  readonly beginNew: (
    site: WebAuthn.Site,
    account: Pick<Account, "id" | "email" | "name">,
  ) => Effect.Effect<PublicKeyCredentialCreationOptionsJSON, PasskeyRefused>
  /**
   * Stores the passkey that a browser made, and mails its owner. Returns new recovery codes if the account has none
   * left. Fails with `PasskeyRefused` for an expired challenge, a wrong origin, an invalid response, or a 21st passkey.
   */
  readonly add: (
    site: WebAuthn.Site,
    account: Pick<Account, "id" | "email">,
    name: string,
    response: string,
  ) => Effect.Effect<
    { readonly passkey: Passkey; readonly recoveryCodes: ReadonlyArray<string> | undefined },
    PasskeyRefused
  >
  /** Returns the options for a sign-in, with the passkeys of an account or with any passkey. */
  readonly beginUse: (
    site: WebAuthn.Site,
    accountId: string | undefined,
  ) => Effect.Effect<PublicKeyCredentialRequestOptionsJSON>
  /**
   * Returns the account of the passkey that a browser used. Fails with `PasskeyRefused` for an expired challenge, a
   * wrong origin, an unknown passkey, a passkey of another account than `accountId`, a counter that went back, or an
   * invalid response.
   */
  readonly use: (
    site: WebAuthn.Site,
    response: string,
    accountId: string | undefined,
  ) => Effect.Effect<string, PasskeyRefused>
  /** Renames a passkey. Fails with `PasskeyNotFound` for an unknown passkey. */
  readonly rename: (accountId: string, id: string, name: string) => Effect.Effect<Passkey, PasskeyNotFound>
  /**
   * Removes a passkey, and the recovery codes if no second factor is left. Fails with `PasskeyNotFound` for an unknown
   * passkey.
   */
  readonly remove: (accountId: string, id: string) => Effect.Effect<void, PasskeyNotFound>
}>()("parlance/accounts/Passkeys") {
  static readonly layer = Layer.effect(
    Passkeys,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const mail = yield* MailQueue

      const columns = sql`k.*, k.counter::float8 AS counter`

      const rowsOf = (accountId: string) =>
        Effect.orDie(sql<Row>`
          SELECT ${columns} FROM passkeys k WHERE k.account_id = ${accountId} ORDER BY k.created_at, k.id`)

      /** Stores a challenge next to the one-time links, which are kept and removed alike. */
      const challengeFor = Effect.fnUntraced(function* (purpose: Purpose, accountId: string | undefined) {
        const challenge = Tokens.make()
        const now = yield* DateTime.nowAsDate
        yield* Effect.orDie(sql`
          INSERT INTO one_time_links (digest, purpose, account_id, created_at, expires_at)
          VALUES (${Tokens.digest(challenge)}, ${purpose}, ${accountId ?? null}, ${now},
            ${new Date(now.getTime() + WebAuthn.challengeMillis)})`)
        return challenge
      })

      /** Uses up a challenge. Of two concurrent uses, one fails. */
      const spend = Effect.fnUntraced(function* (purpose: Purpose, accountId: string | undefined, challenge: string) {
        const now = yield* DateTime.nowAsDate
        const rows = yield* Effect.orDie(sql`
          DELETE FROM one_time_links l WHERE l.digest = ${Tokens.digest(challenge)} AND l.purpose = ${purpose}
            AND l.account_id IS NOT DISTINCT FROM ${accountId ?? null}::text AND l.expires_at > ${now}
          RETURNING l.digest`)
        if (rows.length === 0) return yield* new PasskeyRefused({ reason: "expired" })
      })

      const beginNew = Effect.fn("Passkeys.beginNew")(
        function* (site: WebAuthn.Site, account: Pick<Account, "id" | "email" | "name">) {
          const known = yield* rowsOf(account.id)
          if (known.length >= maxPasskeys) return yield* new PasskeyRefused({ reason: "too_many" })
          const challenge = yield* challengeFor("passkey_new", account.id)
          return yield* WebAuthn.creationOptions(site, challenge, account, known)
        },
      )

      const add = Effect.fn("Passkeys.add")(function* (
        site: WebAuthn.Site,
        { email, id: accountId }: Pick<Account, "id" | "email">,
        name: string,
        response: string,
      ) {
        const sent = yield* WebAuthn.readResponse<RegistrationResponseJSON>(response)
        yield* spend("passkey_new", accountId, sent.challenge)
        const made = yield* WebAuthn.verifyCreation(site, sent)
        const now = yield* DateTime.nowAsDate
        return yield* sql.withTransaction(Effect.gen(function* () {
          // Concurrent additions wait, so that each sees the passkeys and recovery codes of the others.
          yield* sql`SELECT FROM accounts a WHERE a.id = ${accountId} FOR UPDATE`
          if ((yield* rowsOf(accountId)).length >= maxPasskeys) return yield* new PasskeyRefused({ reason: "too_many" })
          const [row] = yield* sql<Row>`
            INSERT INTO passkeys AS k (id, account_id, name, rp_id, credential_id, public_key, counter, transports,
              synced, created_at)
            VALUES (${randomId("psk")}, ${accountId}, ${name}, ${site.rpId}, ${made.credentialId}, ${made.publicKey},
              ${made.counter}, ${made.transports}::text[], ${made.isSynced}, ${now})
            ON CONFLICT (credential_id) DO NOTHING RETURNING ${columns}`
          if (row === undefined) return yield* new PasskeyRefused({ reason: "added" })
          yield* mail.queue("passkey", email, passkeyLetter({ name, url: mail.urlOf(passkeysPath) }))
          const codes = yield* sql`
            SELECT FROM recovery_codes r WHERE r.account_id = ${accountId} AND r.used_at IS NULL LIMIT 1`
          return {
            passkey: fromRow(row),
            recoveryCodes: codes.length > 0 ? undefined : yield* writeRecoveryCodes(sql, accountId, now),
          }
        })).pipe(Effect.catchTag("SqlError", Effect.die))
      })

      const beginUse = Effect.fn("Passkeys.beginUse")(function* (site: WebAuthn.Site, accountId: string | undefined) {
        const known = accountId === undefined ? [] : yield* rowsOf(accountId)
        const challenge = yield* challengeFor("passkey_use", accountId)
        return yield* WebAuthn.requestOptions(site, challenge, known.filter(({ rpId }) => rpId === site.rpId))
      })

      const use = Effect.fn("Passkeys.use")(
        function* (site: WebAuthn.Site, response: string, accountId: string | undefined) {
          const sent = yield* WebAuthn.readResponse<AuthenticationResponseJSON>(response)
          yield* spend("passkey_use", accountId, sent.challenge)
          const [row] = yield* Effect.orDie(sql<Row>`
            SELECT ${columns} FROM passkeys k WHERE k.credential_id = ${sent.response.id}`)
          if (row === undefined) return yield* new PasskeyRefused({ reason: "unknown" })
          if (accountId !== undefined && row.accountId !== accountId) {
            return yield* new PasskeyRefused({ reason: "other_account" })
          }
          const counter = yield* WebAuthn.verifyUse(site, sent, row, row.accountId)
          const now = yield* DateTime.nowAsDate
          // Of two concurrent uses with one counter, only the first succeeds.
          const rows = yield* Effect.orDie(sql`
            UPDATE passkeys k SET counter = ${counter}, last_used_at = ${now}
            WHERE k.id = ${row.id} AND (k.counter < ${counter} OR (k.counter = 0 AND ${counter} = 0)) RETURNING k.id`)
          if (rows.length === 0) return yield* new PasskeyRefused({ reason: "counter" })
          return row.accountId
        },
      )

      const rename = Effect.fn("Passkeys.rename")(function* (accountId: string, id: string, name: string) {
        const [row] = yield* Effect.orDie(sql<Row>`
          UPDATE passkeys k SET name = ${name} WHERE k.account_id = ${accountId} AND k.id = ${id} RETURNING ${columns}`)
        return row === undefined ? yield* new PasskeyNotFound({ id }) : fromRow(row)
      })

      const remove = Effect.fn("Passkeys.remove")(function* (accountId: string, id: string) {
        const rows = yield* Effect.orDie(sql.withTransaction(Effect.gen(function* () {
          const rows = yield* sql`
            DELETE FROM passkeys k WHERE k.account_id = ${accountId} AND k.id = ${id} RETURNING k.id`
          yield* dropUnneeded(sql, accountId)
          return rows
        })))
        if (rows.length === 0) return yield* new PasskeyNotFound({ id })
      })

      return Passkeys.of({
        list: Effect.fn("Passkeys.list")((accountId: string) =>
          Effect.map(rowsOf(accountId), (rows) => rows.map(fromRow))
        ),
        beginNew,
        add,
        beginUse,
        use,
        rename,
        remove,
      })
    }),
  )
}
