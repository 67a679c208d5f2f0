import { Context, DateTime, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { isStorable } from "../domain/Attributes.ts"
import { InvalidInput } from "../domain/Errors.ts"
import type { Fields } from "../domain/Difference.ts"
import { randomId } from "../domain/Ids.ts"
import { tell } from "../store/ChangeTrail.ts"
import { type Account, type AccountInput, normalizeEmail } from "./Account.ts"
import { AccountNotFound, EmailTaken } from "./AccountErrors.ts"
import * as Passwords from "./Passwords.ts"

interface Row {
  readonly id: string
  readonly email: string
  readonly name: string
  readonly password: string | null
  readonly administrator: boolean
  readonly createdAt: Date
}

const fromRow = (row: Row): Account => ({
  id: row.id,
  email: row.email,
  name: row.name,
  administrator: row.administrator,
  has_password: row.password !== null,
  created_at: row.createdAt.toISOString(),
})

/** What the audit log says of an account. */
const fieldsOf = ({ administrator, name }: Row): Fields => ({ "/name": name, "/administrator": administrator })

/** People who work in the console. A broken store is a defect everywhere here. */
export class Accounts extends Context.Service<Accounts, {
  /** Refuses a weak password (`/password`) and an address that is taken. */
  readonly create: (input: AccountInput) => Effect.Effect<Account, EmailTaken | InvalidInput>
  /** All, by e-mail address. */
  readonly list: Effect.Effect<ReadonlyArray<Account>>
  readonly get: (id: string) => Effect.Effect<Account, AccountNotFound>
  readonly findByEmail: (email: string) => Effect.Effect<Account | undefined>
  /** The account whose e-mail address and password these are. Takes the same time whether the account exists. */
  readonly verify: (email: string, password: string) => Effect.Effect<Account | undefined>
  /** Refuses a weak password with the pointer `/password`. */
  readonly setPassword: (id: string, password: string) => Effect.Effect<void, AccountNotFound | InvalidInput>
  readonly rename: (id: string, name: string) => Effect.Effect<Account, AccountNotFound>
  /** With its memberships and sessions; what it did stays in the audit log. */
  readonly remove: (id: string) => Effect.Effect<void, AccountNotFound>
}>()("parlance/accounts/Accounts") {
  static readonly layer = Layer.effect(
    Accounts,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const cost = yield* Passwords.PasswordCost
      const priced = Effect.provideService(Passwords.PasswordCost, cost)

      const strong = (password: string, email: string) => {
        const fault = Passwords.faultOf(password, email)
        return fault === undefined
          ? Effect.void
          : Effect.fail(new InvalidInput({ faults: [{ pointer: "/password", detail: fault }] }))
      }

      const create = Effect.fn("Accounts.create")(function* (input: AccountInput) {
        const now = yield* DateTime.nowAsDate
        const email = normalizeEmail(input.email)
        if (input.password !== undefined) yield* strong(input.password, email)
        const password = input.password === undefined ? null : yield* priced(Passwords.hash(input.password))
        const [row] = yield* sql<Row>`
          INSERT INTO accounts AS a (id, email, name, password, administrator, created_at, updated_at)
          VALUES (${randomId("acc")}, ${email}, ${input.name}, ${password}, ${
          input.administrator ?? false
        }, ${now}, ${now})
          ON CONFLICT DO NOTHING RETURNING a.*`.pipe(Effect.orDie)
        if (row === undefined) return yield* new EmailTaken({ email })
        yield* tell("account", email, undefined, fieldsOf(row))
        return fromRow(row)
      })

      const list = sql<Row>`SELECT a.* FROM accounts a ORDER BY a.email`.pipe(
        Effect.map((rows) => rows.map(fromRow)),
        Effect.orDie,
        Effect.withSpan("Accounts.list"),
      )

      const rowOf = (id: string) =>
        Effect.flatMap(
          Effect.orDie(sql<Row>`SELECT a.* FROM accounts a WHERE a.id = ${id}`),
          ([row]) => row === undefined ? Effect.fail(new AccountNotFound({ id })) : Effect.succeed(row),
        )
      /** What the store could not hold is nobody's address. */
      const byEmail = (email: string) =>
        !isStorable(email) ? Effect.succeed(undefined) : Effect.map(
          Effect.orDie(sql<Row>`SELECT a.* FROM accounts a WHERE a.email = ${normalizeEmail(email)}`),
          ([row]) => row,
        )

      const write = Effect.fnUntraced(function* (id: string, password: string) {
        const hashed = yield* priced(Passwords.hash(password))
        const now = yield* DateTime.nowAsDate
        yield* Effect.orDie(sql`UPDATE accounts a SET password = ${hashed}, updated_at = ${now} WHERE a.id = ${id}`)
      })

      const verify = Effect.fn("Accounts.verify")(function* (email: string, password: string) {
        const row = yield* byEmail(email)
        const stored = row?.password ?? undefined
        const right = yield* priced(Passwords.verify(password, stored))
        if (!right || row === undefined || stored === undefined) return undefined
        if (yield* priced(Passwords.isOutdated(stored))) yield* write(row.id, password)
        return fromRow(row)
      })

      const setPassword = Effect.fn("Accounts.setPassword")(function* (id: string, password: string) {
        const { email } = yield* rowOf(id)
        yield* strong(password, email)
        yield* write(id, password)
      })

      const rename = Effect.fn("Accounts.rename")(function* (id: string, name: string) {
        const now = yield* DateTime.nowAsDate
        const [row] = yield* sql<Row>`
          UPDATE accounts a SET name = ${name}, updated_at = ${now} WHERE a.id = ${id} RETURNING a.*`.pipe(Effect.orDie)
        return row === undefined ? yield* new AccountNotFound({ id }) : fromRow(row)
      })

      const remove = Effect.fn("Accounts.remove")(function* (id: string) {
        const [gone] = yield* Effect.orDie(sql<Row>`DELETE FROM accounts a WHERE a.id = ${id} RETURNING a.*`)
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
        setPassword,
        rename,
        remove,
      })
    }),
  )
}
