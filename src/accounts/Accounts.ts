import { Context, DateTime, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { isStorable } from "../domain/Attributes.ts"
import { InvalidInput } from "../domain/Errors.ts"
import type { RecordFields } from "../domain/Difference.ts"
import { randomId } from "../domain/Ids.ts"
import { tell } from "../store/ChangeTrail.ts"
import { type Account, type AccountInput, normalizeEmail } from "./Account.ts"
import { AccountNotFound, EmailTaken } from "./AccountErrors.ts"
import * as Passwords from "./Passwords.ts"
import { removeAllOf, secondFactorColumn } from "./RecoveryCodes.ts"

interface Row {
  readonly id: string
  readonly email: string
  readonly name: string
  readonly password: string | null
  readonly administrator: boolean
  readonly passwordOrigin: PasswordOrigin | null
  readonly passwordSetAt: Date | null
  readonly secondFactor: boolean
  readonly language: string | null
  readonly createdAt: Date
}

/**
 * The person who chose a password. `own`: its owner, which is certain after the link of the first run, a link that was
 * sent only to the account's address, or a sign-in through the identity provider. Any other password may come from a
 * person who does not own the e-mail address: an administrator, or the finder of an invitation or a link.
 */
export type PasswordOrigin = "own" | "administrator" | "invitation" | "link"

/** What a person changes in their account. `language`: null for the language of the browser. */
interface AccountChange {
  readonly name?: string
  readonly language?: string | null
}

/** An account whose password was right, and the time at which that password was set. */
interface Verified {
  readonly account: Account
  readonly passwordSetAt: Date | null
}

const fromRow = (row: Row): Account => ({
  id: row.id,
  email: row.email,
  name: row.name,
  administrator: row.administrator,
  has_password: row.password !== null,
  second_factor: row.secondFactor,
  language: row.language,
  created_at: row.createdAt.toISOString(),
})

/** Returns the fields of an account in the audit log. */
const fieldsOf = ({ administrator, name }: Row): RecordFields => ({ "/name": name, "/administrator": administrator })

/** People who work in the console. A broken store is a defect in all methods. */
export class Accounts extends Context.Service<Accounts, {
  /**
   * Creates an account. Fails with `EmailTaken` if another account has the address, and with `InvalidInput` and every
   * fault of an invalid input, such as a weak password (`/password`).
   */
  readonly create: (
    input: AccountInput,
    origin?: PasswordOrigin,
  ) => Effect.Effect<Account, EmailTaken | InvalidInput>
  /** Returns all accounts, sorted by e-mail address. */
  readonly list: Effect.Effect<ReadonlyArray<Account>>
  /** Returns an account. Fails with `AccountNotFound` for an unknown account. */
  readonly get: (id: string) => Effect.Effect<Account, AccountNotFound>
  readonly findByEmail: (email: string) => Effect.Effect<Account | undefined>
  /**
   * Returns the account with this e-mail address and password. The duration does not depend on whether the account
   * exists. Fails with `HashingOverloaded` if too many passwords are waiting.
   */
  readonly verify: (
    email: string,
    password: string,
    lane?: Passwords.PasswordLane,
  ) => Effect.Effect<Verified | undefined, Passwords.HashingOverloaded>
  /** Returns the time at which the password was set. Null if it is unknown, and without an account. */
  readonly passwordSetAt: (email: string) => Effect.Effect<Date | null>
  /**
   * Sets a password and returns the time. Fails with `AccountNotFound` for an unknown account, and with `InvalidInput`
   * and every fault of an invalid input, such as a weak password (`/password`).
   */
  readonly setPassword: (
    id: string,
    password: string,
    origin: PasswordOrigin | null,
  ) => Effect.Effect<Date, AccountNotFound | InvalidInput>
  /** Returns the person who chose the password. Null if unknown, undefined without a password. */
  readonly passwordOrigin: (id: string) => Effect.Effect<PasswordOrigin | null | undefined>
  /**
   * Removes a password that is not the owner's own, together with the second factors set up with it, links to choose
   * another password, and every session that did not begin at the identity provider. Returns whether there was such a
   * password.
   */
  readonly dropForeignPassword: (id: string) => Effect.Effect<boolean>
  /** Changes the given members. Fails with `AccountNotFound` for an unknown account. */
  readonly change: (id: string, change: AccountChange) => Effect.Effect<Account, AccountNotFound>
  /**
   * Removes an account with its memberships and sessions. Its actions stay in the audit log. Fails with
   * `AccountNotFound` for an unknown account.
   */
  readonly remove: (id: string) => Effect.Effect<void, AccountNotFound>
}>()("parlance/accounts/Accounts") {
  static readonly layer = Layer.effect(
    Accounts,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const cost = yield* Passwords.PasswordCost
      const priced = Effect.provideService(Passwords.PasswordCost, cost)

      const strong = Effect.fnUntraced(function* (password: string, email: string) {
        const fault = yield* Passwords.faultOf(password, email)
        if (fault !== undefined) {
          return yield* new InvalidInput({ faults: [{ pointer: "/password", detail: fault }] })
        }
      })

      const columns = sql`a.*, ${secondFactorColumn(sql)}`

      const create = Effect.fn("Accounts.create")(function* (
        input: AccountInput,
        origin: PasswordOrigin = "administrator",
      ) {
        const now = yield* DateTime.nowAsDate
        const email = normalizeEmail(input.email)
        if (input.password !== undefined) yield* strong(input.password, email)
        const password = input.password === undefined ? null : yield* priced(Passwords.hash(input.password))
        const [row] = yield* sql<Row>`
          INSERT INTO accounts AS a (id, email, name, password, password_origin, password_set_at, administrator, created_at,
            updated_at)
          VALUES (${randomId("acc")}, ${email}, ${input.name}, ${password}, ${password === null ? null : origin},
            ${password === null ? null : now}, ${input.administrator ?? false}, ${now}, ${now})
          ON CONFLICT DO NOTHING RETURNING ${columns}`.pipe(Effect.orDie)
        if (row === undefined) return yield* new EmailTaken({ email })
        yield* tell("account", email, undefined, fieldsOf(row))
        return fromRow(row)
      })

      const list = sql<Row>`SELECT ${columns} FROM accounts a ORDER BY a.email`.pipe(
        Effect.map((rows) => rows.map(fromRow)),
        Effect.orDie,
        Effect.withSpan("Accounts.list"),
      )

      const rowOf = (id: string) =>
        Effect.flatMap(
          Effect.orDie(sql<Row>`SELECT ${columns} FROM accounts a WHERE a.id = ${id}`),
          ([row]) => row === undefined ? Effect.fail(new AccountNotFound({ id })) : Effect.succeed(row),
        )
      /** An address that the database cannot store has no account. */
      const byEmail = (email: string) =>
        !isStorable(email) ? Effect.succeed(undefined) : Effect.map(
          Effect.orDie(sql<Row>`SELECT ${columns} FROM accounts a WHERE a.email = ${normalizeEmail(email)}`),
          ([row]) => row,
        )

      /** Stores a new hash of an unchanged password. */
      const rehash = Effect.fnUntraced(function* ({ id, password }: Row, plain: string) {
        const hashed = yield* priced(Passwords.hash(plain))
        const now = yield* DateTime.nowAsDate
        yield* Effect.orDie(sql`
          UPDATE accounts a SET password = ${hashed}, updated_at = ${now}
          WHERE a.id = ${id} AND a.password = ${password}`)
      })

      const verify = Effect.fn("Accounts.verify")(function* (
        email: string,
        password: string,
        lane: Passwords.PasswordLane = "anybody",
      ) {
        const row = yield* byEmail(email)
        const stored = row?.password ?? undefined
        const right = yield* priced(Passwords.verify(password, stored, lane))
        if (!right || row === undefined || stored === undefined) return undefined
        if (yield* priced(Passwords.isOutdated(stored))) yield* rehash(row, password)
        return { account: fromRow(row), passwordSetAt: row.passwordSetAt }
      })

      const setPassword = Effect.fn("Accounts.setPassword")(function* (
        id: string,
        password: string,
        origin: PasswordOrigin | null,
      ) {
        const { email } = yield* rowOf(id)
        yield* strong(password, email)
        const hashed = yield* priced(Passwords.hash(password))
        const now = yield* DateTime.nowAsDate
        yield* Effect.orDie(sql`
          UPDATE accounts a SET password = ${hashed}, password_origin = ${origin}, password_set_at = ${now},
            updated_at = ${now} WHERE a.id = ${id}`)
        return now
      })

      const dropForeignPassword = Effect.fn("Accounts.dropForeignPassword")(function* (id: string) {
        const now = yield* DateTime.nowAsDate
        return yield* Effect.orDie(sql.withTransaction(Effect.gen(function* () {
          const rows = yield* sql`
            UPDATE accounts a SET password = NULL, password_origin = NULL, password_set_at = ${now}, updated_at = ${now}
            WHERE a.id = ${id} AND a.password IS NOT NULL AND a.password_origin IS DISTINCT FROM 'own' RETURNING a.id`
          if (rows.length === 0) return false
          yield* sql`DELETE FROM sessions s WHERE s.account_id = ${id} AND s.method IS DISTINCT FROM 'openid'`
          yield* removeAllOf(sql, id)
          yield* sql`DELETE FROM one_time_links l WHERE l.account_id = ${id}`
          return true
        })))
      })

      const change = Effect.fn("Accounts.change")(function* (id: string, { language, name }: AccountChange) {
        const now = yield* DateTime.nowAsDate
        const [row] = yield* sql<Row>`
          UPDATE accounts a SET name = COALESCE(${name ?? null}::text, a.name), updated_at = ${now},
            language = CASE WHEN ${language === undefined} THEN a.language ELSE ${language ?? null}::text END
          WHERE a.id = ${id} RETURNING ${columns}`.pipe(Effect.orDie)
        return row === undefined ? yield* new AccountNotFound({ id }) : fromRow(row)
      })

      const remove = Effect.fn("Accounts.remove")(function* (id: string) {
        const [gone] = yield* Effect.orDie(sql<Row>`DELETE FROM accounts a WHERE a.id = ${id} RETURNING ${columns}`)
        if (gone === undefined) return yield* new AccountNotFound({ id })
        yield* tell("account", gone.email, fieldsOf(gone), undefined)
      })

      return Accounts.of({
        create,
        list,
        get: Effect.fn("Accounts.get")((id: string) => Effect.map(rowOf(id), fromRow)),
        findByEmail: Effect.fn("Accounts.findByEmail")((email: string) =>
          Effect.map(byEmail(email), (row) => row === undefined ? undefined : fromRow(row))
        ),
        verify,
        passwordSetAt: Effect.fn("Accounts.passwordSetAt")((email: string) =>
          Effect.map(byEmail(email), (row) => row?.passwordSetAt ?? null)
        ),
        setPassword,
        passwordOrigin: Effect.fn("Accounts.passwordOrigin")((id: string) =>
          Effect.match(rowOf(id), {
            onFailure: () => undefined,
            onSuccess: ({ password, passwordOrigin }) => password === null ? undefined : passwordOrigin,
          })
        ),
        dropForeignPassword,
        change,
        remove,
      })
    }),
  )
}
