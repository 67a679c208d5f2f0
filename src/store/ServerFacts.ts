import type { PgConnection } from "@effect/sql-pg"
import { Effect } from "effect"
import { asAdministrator, quote } from "./ConnectFailure.ts"

// Properties of a server, a database and a session without which parts of the service would fail later.

/** The oldest supported major version of PostgreSQL. */
const oldestVersion = 14

/**
 * Encodings that keep every text. `SQL_ASCII` stores the bytes of UTF-8 unchanged. Many containers without a locale
 * have this encoding.
 */
const encodings: ReadonlyArray<string> = ["UTF8", "SQL_ASCII"]

/** Settings of every session, with the value that the statements of the service rely on. */
const requiredSettings: ReadonlyArray<readonly [name: string, isRight: (value: string) => boolean, value: string]> = [
  // A stricter level makes transactions of concurrent requests fail, which expect to wait for each other instead.
  ["default_transaction_isolation", (value) => value === "read committed", "read committed"],
  // Otherwise a backslash in a text would begin an escape.
  ["standard_conforming_strings", (value) => value === "on", "on"],
  ["DateStyle", (value) => value.startsWith("ISO"), "ISO, MDY"],
]

export interface ServerFacts {
  /** Such as `PostgreSQL 18.4 on x86_64-linux`. */
  readonly product: string
  /** Such as 180004. */
  readonly version: number
  /** Encoding of the database. */
  readonly encoding: string
  /** `I` in lower case. Not `i` with the rules of Turkish and Azerbaijani. */
  readonly lowerCase: string
  /** Maximum number of connections of the role and of the database. -1: no maximum. */
  readonly roleLimit: number
  readonly databaseLimit: number
  readonly role: string
  readonly database: string
  readonly searchPath: string
  /** The first schema of the search path that exists. Its tables are used. */
  readonly schema: string | null
  /** Values of `requiredSettings`. */
  readonly settings: ReadonlyArray<string>
}

const query = `SELECT version()::text AS product, current_setting('server_version_num')::int AS version,
  current_setting('server_encoding') AS encoding, lower('I') AS "lowerCase",
  coalesce((SELECT r.rolconnlimit FROM pg_roles r WHERE r.rolname = session_user AND NOT r.rolsuper), -1) AS "roleLimit",
  coalesce((SELECT d.datconnlimit FROM pg_database d WHERE d.datname = current_database()), -1) AS "databaseLimit",
  current_user::text AS role, current_database()::text AS database,
  current_setting('search_path') AS "searchPath", current_schema()::text AS schema,
  ARRAY[${requiredSettings.map(([name]) => `current_setting('${name}')`).join()}]::text[] AS settings`

/** Reads the facts over a connection. */
export const readFacts = (connection: PgConnection.PgConnection) =>
  Effect.map(connection.query(query, [], false), ({ rows: [row] }) => row as unknown as ServerFacts)

/** Returns the statement that creates the first schema of a search path, or selects a schema. */
const schemaRemedy = ({ database, role, searchPath }: ServerFacts): string => {
  const named = searchPath.split(",").map((name) => name.trim().replace(/^"(.*)"$/, "$1"))
    .filter((name) => name !== "" && name !== "$user")
  const schema = named[0] ?? "public"
  const selects = named.length > 0
    ? ""
    : `. Then run: ALTER ROLE ${quote(role)} IN DATABASE ${quote(database)} SET search_path = ${schema}`
  return `${asAdministrator(`GRANT USAGE, CREATE ON SCHEMA ${quote(schema)} TO ${quote(role)}`, quote(database))}. ` +
    `If there is no such schema: CREATE SCHEMA ${quote(schema)} AUTHORIZATION ${quote(role)}${selects}`
}

/** Returns the statement that creates a database for texts of any language. */
const databaseRemedy = (role: string): string =>
  `${
    asAdministrator(`CREATE DATABASE "parlance" OWNER ${quote(role)} ENCODING 'UTF8' TEMPLATE template0`)
  }, with a LOCALE ` +
  "for UTF-8 such as 'C.UTF-8' or 'en_US.UTF-8'. Copy data of the old database with pg_dump and pg_restore, and name the new " +
  "one in DATABASE_URL"

/**
 * Returns why a role or a database allows too few connections for a node that opens `needed` of them. Undefined if
 * there is no such limit.
 */
export const shortage = ({ database, databaseLimit, role, roleLimit }: ServerFacts, needed: number) => {
  const limited: ReadonlyArray<readonly [limit: number, owner: string]> = [
    [roleLimit, `ROLE ${quote(role)}`],
    [databaseLimit, `DATABASE ${quote(database)}`],
  ]
  const [least] = limited.filter(([limit]) => limit >= 0 && limit < needed)
  if (least === undefined) return undefined
  const [limit, owner] = least
  return `a limit allows ${limit} connections, and this node opens up to ${needed}. ${fewer(limit)}. ` +
    asAdministrator(`ALTER ${owner} CONNECTION LIMIT -1`)
}

/** Connections of a node in addition to its pool: for checks of the database and for `LISTEN`. */
export const besidePool = 2

/** Returns the advice for an address that grants `granted` connections. */
export const fewer = (granted: number): string =>
  granted >= 2 + besidePool
    ? `Set DATABASE_POOL_SIZE to ${granted - besidePool} or less`
    : `A node needs at least ${2 + besidePool}, with DATABASE_POOL_SIZE=2`

/** Returns why the service cannot use a server, and the remedy. Undefined for a suitable server. */
export const unsuitability = (facts: ServerFacts): string | undefined => {
  const { database, encoding, lowerCase, product, role, schema, searchPath, settings, version } = facts
  const name = /^PostgreSQL [\d.]+/.exec(product)?.[0] ?? product.slice(0, 80)
  if (!product.startsWith("PostgreSQL") || version < oldestVersion * 10_000) {
    return `the server is ${name}. Set DATABASE_URL to PostgreSQL ${oldestVersion} or later, see docs/operations/versions.md`
  }
  if (!encodings.includes(encoding)) {
    return `the database stores texts as ${encoding}, which lacks characters that messages may contain. ${
      databaseRemedy(role)
    }`
  }
  if (lowerCase !== "i") {
    return `the locale of the database has ${lowerCase} as the lower case of I, so that addresses of the same person would ` +
      `differ. ${databaseRemedy(role)}`
  }
  for (const [n, [setting, isRight, value]] of requiredSettings.entries()) {
    const found = settings[n]!
    if (isRight(found)) continue
    return `${setting} is ${found}, and the service needs ${value}. Run as this role: ALTER ROLE ${
      quote(role)
    } IN DATABASE ` +
      `${quote(database)} SET ${setting} = '${value}'. Remove it from options in DATABASE_URL, if it is there`
  }
  if (schema !== null) return undefined
  return `no schema has been selected to create in, since search_path is ${
    searchPath === "" ? "empty" : searchPath
  }. ` +
    schemaRemedy(facts)
}
