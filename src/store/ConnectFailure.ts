import type { SqlError } from "effect/sql/SqlError"
import { stateOf } from "./DataFault.ts"
import { type DatabaseTarget, isSocketFolder } from "../settings/DatabaseUrl.ts"
import { noPostgresCode, noTlsCode, type ServerCertificate } from "./ServerConnection.ts"

/** A failed connection or first statement, with the facts for its explanation. */
interface Failure {
  /** Message of the server, in its language (`lc_messages`), or of the operating system. */
  readonly message: string
  /** The function of the server that failed. Unlike the message, it is the same in every language. */
  readonly routine: string
  readonly target: DatabaseTarget
  /** Names quoted as in SQL. */
  readonly role: string
  readonly database: string
  /** Maximum number of connections of this process. */
  readonly poolSize: number
  readonly certificate: ServerCertificate | undefined
  readonly now: Date
}

/** Quotes a name for SQL. */
export const quote = (name: string): string => `"${name.replaceAll('"', '""')}"`

const whereOf = ({ host, port }: DatabaseTarget): string =>
  isSocketFolder(host) ? `the socket in ${host}` : `port ${port} of ${host}`

/** Returns the sentence that asks an administrator to run a statement. */
export const asAdministrator = (statement: string, database?: string): string =>
  `As an administrator of the server${database === undefined ? "" : `, in the database ${database}`}, run: ${statement}`

/** Explanations by SQLSTATE. */
const byState: Readonly<Record<string, (failure: Failure) => string | undefined>> = {
  "3D000": ({ database, message, role }) =>
    `${message}. ${asAdministrator(`CREATE DATABASE ${database} OWNER ${role}`)}`,
  "28P01": ({ message, role }) =>
    `${message}. Correct the user or the password in DATABASE_URL, percent-encoded. ` +
    asAdministrator(
      `ALTER ROLE ${role} PASSWORD '…', or if there is no such role: CREATE ROLE ${role} LOGIN PASSWORD '…'`,
    ),
  "28000": (failure) => refusal(failure),
  "42501": (failure) => permission(failure),
  "22023": (failure) => ofOptions(failure),
  "42601": (failure) => ofOptions(failure),
  "42704": (failure) => ofOptions(failure),
  "53300": (failure) => tooManyConnections(failure),
  "57014": ({ database, message, role }) =>
    `${message}. Run as this role: ALTER ROLE ${role} IN DATABASE ${database} SET statement_timeout = 0`,
  "55000": ({ database, message }) =>
    `${message}. ${asAdministrator(`ALTER DATABASE ${database} ALLOW_CONNECTIONS true`)}`,
  "57P03": ({ message }) => `${message}. Try again in a moment. If the problem persists, check the log of the server`,
  "08P01": (failure) => pooler(failure),
  "25006": ({ database, message, role }) =>
    `${message}. The server follows another one, or is set to read only. Set DATABASE_URL to the primary. If it is the ` +
    "primary: some providers set it to read only while its disk is full, so make space. Or run as this role: ALTER ROLE " +
    `${role} IN DATABASE ${database} SET default_transaction_read_only = off`,
}

/** Explains a connection that the server's access rules (`pg_hba.conf`) or the role forbid. */
const refusal = ({ database, message, role, routine, target }: Failure): string => {
  if (/does not exist/.test(message)) return `${message}. ${asAdministrator(`CREATE ROLE ${role} LOGIN PASSWORD '…'`)}`
  if (/not permitted to log in/.test(message)) return `${message}. ${asAdministrator(`ALTER ROLE ${role} LOGIN`)}`
  if (routine === "InitializeSessionUserId") {
    return `${message}. ${
      asAdministrator(`ALTER ROLE ${role} LOGIN, or if there is no such role: CREATE ROLE ${role} LOGIN PASSWORD '…'`)
    }`
  }
  if (/valid client certificate/.test(message)) {
    return `${message}. Set sslcert and sslkey in DATABASE_URL to the files of one whose name (CN) is that of the role`
  }
  const wantsTls = target.encryption.mode === "disable" && /no encryption/.test(message)
  return `${message}. ` +
    (wantsTls
      ? "The server may want encryption: set sslmode=verify-full and DATABASE_CA"
      : `Add a line to the server's pg_hba.conf, such as: hostssl ${database} ${role} samenet scram-sha-256. Then run: ` +
        "SELECT pg_reload_conf()")
}

/** Explains a fault of `options` in the URL. Undefined without `options`. */
const ofOptions = ({ message, target: { options } }: Failure): string | undefined =>
  options === undefined
    ? undefined
    : `${message}. Correct or remove options in DATABASE_URL, which ${
      /^\w+=/.test(options)
        ? "names a project or an endpoint to the proxy of one provider, and this server does not know that"
        : "are settings of PostgreSQL, such as -csearch_path%3Dname"
    }`

/** Explains a missing right of the role in the database. */
const permission = (failure: Failure): string => {
  const { database, message, role, routine } = failure
  if (routine.startsWith("set_config")) return ofOptions(failure) ?? message
  if (routine === "CheckMyDatabase") {
    return `${message}. ${asAdministrator(`GRANT CONNECT ON DATABASE ${database} TO ${role}`)}`
  }
  const schema = /for schema (\S+)/.exec(message)?.[1]
  if (schema !== undefined) {
    return `${message}. ${asAdministrator(`GRANT USAGE, CREATE ON SCHEMA ${quote(schema)} TO ${role}`, database)}`
  }
  const table = /must be owner of \w+ (\S+)/.exec(message)?.[1]
  if (table !== undefined) {
    return `${message}. Use the role in DATABASE_URL that made the tables. ` +
      asAdministrator(`ALTER TABLE ${quote(table)} OWNER TO ${role}, for each table`, database)
  }
  return `${message}. Use the role in DATABASE_URL that made the tables. ` +
    asAdministrator(
      `GRANT USAGE, CREATE ON SCHEMA public TO ${role}; GRANT ALL ON ALL TABLES IN SCHEMA public TO ${role}`,
      database,
    )
}

const tooManyConnections = ({ database, message, poolSize, role, routine }: Failure): string => {
  if (routine === "InitializeSessionUserId") {
    return `${message}. ${asAdministrator(`ALTER ROLE ${role} CONNECTION LIMIT -1`)}`
  }
  if (routine === "CheckMyDatabase") {
    return `${message}. ${asAdministrator(`ALTER DATABASE ${database} CONNECTION LIMIT -1`)}`
  }
  return `${message}. Each node opens up to ${poolSize} (DATABASE_POOL_SIZE) and a few more while it starts. Lower that, or ` +
    `raise the limit and restart the server. ${asAdministrator("ALTER SYSTEM SET max_connections = 200")}`
}

const day = (at: Date): string => at.toISOString().slice(0, 10)

/** Explains a refused certificate. Deno does not report whether its dates or its issuer are the reason. */
const certificateRefused = (failure: Failure): string => {
  const { certificate, now } = failure
  if (certificate !== undefined && certificate.until < now) {
    return `the server's certificate expired on ${day(certificate.until)}. Put a new one in its place on the server ` +
      "(ssl_cert_file, ssl_key_file), then run: SELECT pg_reload_conf()"
  }
  if (certificate !== undefined && certificate.from > now) {
    return `the server's certificate is not valid before ${
      day(certificate.from)
    }. Check the clock of this machine and that ` +
      "of the server"
  }
  return unknownAuthority(failure)
}

/** Explains a certificate that an unknown authority has signed. */
const unknownAuthority = ({ certificate, message, target: { encryption, host, port } }: Failure): string =>
  `the server's certificate is not signed by ${
    encryption.authorities === "system" ? "a publicly trusted authority" : "the authority of DATABASE_CA or sslrootcert"
  } (${
    certificate === undefined ? message : `but by ${certificate.issuer}`
  }). Set DATABASE_CA to the certificate of the ` +
  "authority that signed it, which the provider of the database offers. To look at what the server sends: " +
  `openssl s_client -starttls postgres -showcerts -connect ${host}:${port}`

/** Explains a refusal by a pooler. PgBouncer before version 1.21 has one SQLSTATE for all of them. */
const pooler = ({ database, message, poolSize, role }: Failure): string | undefined => {
  const parameter = /unsupported startup parameter(?: in options)?: (\S+)/.exec(message)?.[1]
  if (parameter !== undefined) {
    return `the pooler refuses the parameter ${parameter}. Remove it from DATABASE_URL, and set it for the role instead. ` +
      asAdministrator(`ALTER ROLE ${role} IN DATABASE ${database} SET search_path = '…', or another setting of options`)
  }
  if (/no more connections allowed/.test(message)) {
    return `${message}. Each node opens up to ${
      poolSize + 2
    } to the pooler. Lower DATABASE_POOL_SIZE, or raise max_client_conn in ` +
      "its configuration"
  }
  if (/no such database/.test(message)) {
    return `${message}. The pooler does not know the database: add it below [databases] of pgbouncer.ini, or correct it ` +
      "in DATABASE_URL"
  }
  return /no such user|auth|password/i.test(message)
    ? `${message}. The pooler refuses the user or the password: correct them in DATABASE_URL, percent-encoded, or in its ` +
      "auth_file"
    : undefined
}

/** Explanations by the error codes of the operating system and of TLS. */
const byCode: Readonly<Record<string, (failure: Failure) => string>> = {
  ECONNREFUSED: ({ target }) =>
    `nothing accepts connections at ${whereOf(target)}. Start the server, or correct the host and port in DATABASE_URL`,
  ENOENT: ({ target }) => `there is no server at ${whereOf(target)}. Start it, or correct host in DATABASE_URL`,
  ENOTFOUND: ({ target }) =>
    `the name ${target.host} is not known. Correct the host in DATABASE_URL, or the name server`,
  EAI_AGAIN: ({ target }) => `the name server does not answer for ${target.host}. Try again, or use an address`,
  EHOSTUNREACH: ({ target }) => `there is no way to ${target.host}. Check the network and the host in DATABASE_URL`,
  ENETUNREACH: ({ target }) => `there is no way to ${target.host}. Check the network and the host in DATABASE_URL`,
  [noPostgresCode]: ({ target }) =>
    `a server that is not PostgreSQL answers at ${whereOf(target)}. Correct the host and port in DATABASE_URL`,
  [noTlsCode]: ({ target }) =>
    `the server takes no encrypted connections, and sslmode=${target.encryption.mode} demands them. ` +
    `${
      asAdministrator("ALTER SYSTEM SET ssl = on")
    }, with a certificate. Set sslmode=disable only where nobody can listen`,
  CERT_HAS_EXPIRED: certificateRefused,
  CERT_NOT_YET_VALID: certificateRefused,
  ERR_TLS_CERT_ALTNAME_INVALID: ({ message, target }) =>
    `the server's certificate is for another name than ${target.host} (${message}). Set the host in DATABASE_URL to a name ` +
    "that the certificate has, or have one made for this name. sslmode=verify-ca accepts any name",
  DEPTH_ZERO_SELF_SIGNED_CERT: certificateRefused,
  SELF_SIGNED_CERT_IN_CHAIN: certificateRefused,
  UNABLE_TO_GET_ISSUER_CERT: certificateRefused,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: certificateRefused,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: certificateRefused,
}

const timedOut = ({ target }: Failure): string =>
  `nothing answers at ${
    whereOf(target)
  } in time (connect_timeout). Check the host and port in DATABASE_URL, and firewalls`

/** Explains a connection that ended during its handshake. */
const closed = ({ message, target }: Failure): string =>
  target.encryption.mode === "disable"
    ? `the server closed the connection (${message}). Look into its log`
    : `the server closed the connection (${message}). Look into its log. It may want a client certificate: set sslcert and sslkey`

const isConnectFailure = ({ reason }: SqlError): boolean =>
  reason._tag === "ConnectionError" || reason._tag === "AuthenticationError"

/** Returns the message of the server, the operating system or TLS. */
const messageOf = ({ message, reason }: SqlError): string =>
  reason.cause instanceof Error && reason.cause.message !== "" ? reason.cause.message : reason.message ?? message

const codeOf = ({ reason: { cause } }: SqlError): string =>
  cause instanceof Error && "code" in cause ? String(cause.code) : ""

const routineOf = ({ reason: { cause } }: SqlError): string =>
  cause instanceof Error && "routine" in cause ? String(cause.routine) : ""

/**
 * SQLSTATEs of failures that may pass: a broken connection (08), exhausted resources (53), a server that is stopping or
 * starting (57P01 to 57P03), and a standby that may be promoted (25006).
 */
const passingState = /^(08(?!P01)...|53...|57P0[123]|25006)$/

/**
 * Error codes of a server, a network or a name server that is not available yet. The names of containers and of
 * headless services exist only while their server runs, so an unknown name may also pass.
 */
const passingCodes = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "ECONNABORTED",
  "EPIPE",
  "ENOENT",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EHOSTDOWN",
  "ENETDOWN",
  "ETIMEDOUT",
])

/** Texts of failures without a code, and of PgBouncer, whose failures all have SQLSTATE 08P01. */
const passingText =
  /^(Connection timed out|Connection (was )?closed.*)$|login has been failing|cannot connect to server|server_login_retry|query_wait_timeout|client_login_timeout/i

/**
 * Whether an unusable database may become usable without a change of its settings or of this service's settings. False
 * for a wrong password, an unknown role or database, a missing right, and a refused certificate.
 */
export const isPassing = (error: SqlError): boolean => {
  const state = stateOf(error)
  if (passingState.test(state)) return true
  const message = messageOf(error)
  if (state === "08P01") return passingText.test(message)
  return isConnectFailure(error) && (passingCodes.has(codeOf(error)) || passingText.test(message))
}

/** Whether a certificate was refused, so that `explain` needs the certificate. */
export const isCertificateRefused = (error: SqlError): boolean => byCode[codeOf(error)] === certificateRefused

/**
 * Explains why the embedded database in `dataDir` cannot be used. Undefined for errors that do not concern the
 * connection.
 */
export const explainEmbedded = (error: SqlError, dataDir: string): string | undefined =>
  isConnectFailure(error) || isPassing(error)
    ? `${
      messageOf(error)
    }. If the machine is busy, start again later. Otherwise look at the log lines of the embedded ` +
      `database above, and at the free space and the rights of ${dataDir}`
    : undefined

interface ExplainOptions {
  readonly target: DatabaseTarget
  /** Maximum number of connections of this process. */
  readonly poolSize: number
  /** The certificate of the server, if it was refused. */
  readonly certificate?: ServerCertificate | undefined
  readonly now: Date
}

/**
 * Explains why the database at `target` cannot be used and how to fix it, with the statement to run. Undefined for
 * errors that concern neither the connection nor the rights of its role.
 */
export const explain = (
  error: SqlError,
  { certificate, now, poolSize, target }: ExplainOptions,
): string | undefined => {
  const message = messageOf(error)
  const role = target.username ?? "postgres"
  const failure: Failure = {
    message,
    routine: routineOf(error),
    target,
    role: quote(role),
    database: quote(target.database ?? role),
    poolSize,
    certificate,
    now,
  }
  const known = byState[stateOf(error)]?.(failure)
  if (known !== undefined) return known
  if (!isConnectFailure(error)) return undefined
  const code = codeOf(error)
  const ofCode = byCode[code]
  if (ofCode !== undefined) return ofCode(failure)
  if (code === "ETIMEDOUT" || message === "Connection timed out") return timedOut(failure)
  if (message === "No username configured") {
    return "DATABASE_URL names no user. Write it before the password, percent-encoded"
  }
  if (/requested password/.test(message)) {
    return "the server asks for a password. Write it into DATABASE_URL, percent-encoded"
  }
  if (code === "ECONNRESET" || /closed|alert|tls|handshake/i.test(message)) return closed(failure)
  return `${message}. Check that it runs, and the host, port, user, password and database in DATABASE_URL`
}
