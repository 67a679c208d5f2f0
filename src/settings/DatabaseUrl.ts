import { Duration, Redacted, Result } from "effect"
import { urlOf } from "./DatabaseUrlForm.ts"
import { authoritiesOf, faultOfCertificates, faultOfKey, makeFiles, type ReadPem } from "../text/PemFiles.ts"

/** The values of `sslmode`, from the weakest to the strictest. */
const modes = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"] as const

/** libpq's `sslmode`. */
export type EncryptionMode = (typeof modes)[number]

/** How connections to a server are encrypted, and how its certificate is checked. */
export interface Encryption {
  readonly mode: EncryptionMode
  /**
   * PEM certificates of the authorities that may sign the server's certificate. `system`: the authorities that Deno
   * trusts.
   */
  readonly authorities: string | "system" | undefined
  /** Checks of the server's certificate: nothing, its authority, or its authority and its host name. */
  readonly check: "nothing" | "authority" | "authority and host"
  /** The client's certificate and key, in PEM format. */
  readonly client: { readonly cert: string; readonly key: Redacted.Redacted } | undefined
}

/** The database of `DATABASE_URL`, and the settings of its connections. */
export interface DatabaseTarget {
  /** A host name, an IP address, or the folder of a Unix socket. */
  readonly host: string
  readonly port: number
  /** Undefined: the user of the operating system, as found by the client library. */
  readonly username: string | undefined
  readonly password: Redacted.Redacted | undefined
  /** Undefined: the database with the name of the user. */
  readonly database: string | undefined
  readonly applicationName: string
  /** Command line options for the server's process. */
  readonly options: string | undefined
  readonly connectTimeout: Duration.Duration
  readonly encryption: Encryption
  /** Whether a pooler is in front of the server. Undefined: the first connection finds out. */
  readonly isPooled: boolean | undefined
  /** Whether statements are prepared. Undefined: only if no pooler is in front of the server. */
  readonly prepares: boolean | undefined
}

/** Whether `host` is the folder of a Unix socket. */
export const isSocketFolder = (host: string): boolean => host.startsWith("/")

/** Input in addition to the URL. */
interface DatabaseUrlOptions {
  /** `DATABASE_CA`: PEM, or the path of a file. */
  readonly authorities: string | undefined
  /** Name of the setting in faults. Default `DATABASE_URL`. */
  readonly setting?: string
  /** Reads a file. Throws the error of the file system. */
  readonly readFile: ReadPem
}

const defaultConnectTimeout = Duration.seconds(3)

/** Parameters of libpq that the service supports. */
const understood = new Set([
  ...["host", "port", "user", "password", "dbname", "application_name", "connect_timeout", "options"],
  ...["sslmode", "sslrootcert", "sslcert", "sslkey", "pgbouncer", "prepare"],
])

/** Accepted values of parameters that describe what the service always does. */
const inEffect: Readonly<Record<string, ReadonlyArray<string>>> = {
  channel_binding: ["disable", "prefer"],
  client_encoding: ["UTF8", "utf8", "UTF-8", "utf-8", "auto"],
  gssencmode: ["disable", "prefer"],
  keepalives: ["1"],
  load_balance_hosts: ["disable"],
  ssl_min_protocol_version: ["TLSv1.2"],
  sslcertmode: ["allow"],
  sslcompression: ["0"],
  sslnegotiation: ["postgres"],
  sslsni: ["1"],
  target_session_attrs: ["any"],
}

/** Advice about refused parameters, unless they only need to be removed. */
const advice: Readonly<Record<string, string>> = {
  channel_binding:
    "The database client has no channel binding. Remove it, and set sslmode=verify-full&sslrootcert=system, which makes " +
    "sure that the server is the right one, or sslmode=verify-full with DATABASE_CA for an authority of the provider",
  connection_limit: "Set DATABASE_POOL_SIZE instead",
  currentSchema: "Set options=-csearch_path%3Dname instead",
  hostaddr: "Write the address as the host",
  passfile: "Write the password into the URL",
  pool_max_conns: "Set DATABASE_POOL_SIZE instead",
  requiressl: "Set sslmode=require instead",
  schema: "Set options=-csearch_path%3Dname instead",
  search_path: "Set options=-csearch_path%3Dname instead",
  service: "Write the host, user and database into the URL",
  ssl: "Set sslmode=require or sslmode=verify-full instead",
  sslpassword: "Store the key without a password: openssl pkey -in client.key -out plain.key",
  statement_timeout: "Set options=-cstatement_timeout%3D30s instead",
  target_session_attrs: "Remove it. The host has to lead to the primary, see docs/operations/cluster.md",
  unix_sock: "Set host to the folder of the socket instead",
}

const defaultAdvice = "Remove it: only parameters that take effect are accepted"

const withoutEffect = (name: string, value: string): ReadonlyArray<string> =>
  understood.has(name) || inEffect[name]?.includes(value) === true
    ? []
    : [`the parameter ${name}${name in inEffect ? `=${value}` : ""} is not supported. ${advice[name] ?? defaultAdvice}`]

type Parameters = ReadonlyMap<string, string>

/** The parameters after the `?`, percent-decoded, and their faults. */
const parametersOf = (search: string): { readonly parameters: Parameters; readonly faults: ReadonlyArray<string> } => {
  const parameters = new Map<string, string>()
  const faults: Array<string> = []
  for (const pair of search.slice(1).split("&").filter((pair) => pair !== "")) {
    const at = pair.indexOf("=")
    if (at < 1) {
      faults.push("the part after the ? must be pairs such as sslmode=require, with & between them")
      continue
    }
    const [given, value] = [decode(pair.slice(0, at)), decode(pair.slice(at + 1))]
    if (given === undefined || value === undefined) {
      faults.push(`the parameter ${pair.slice(0, at)} is not percent-encoded correctly`)
      continue
    }
    if (parameters.has(given)) faults.push(`the parameter ${given} is given twice. Keep one`)
    if (value === "" && given !== "application_name") {
      faults.push(`the parameter ${given} has no value. Write one after the =, or remove it`)
    }
    parameters.set(given, value)
    // libpq accepts this parameter of JDBC.
    if (given !== "ssl" || value !== "true") faults.push(...withoutEffect(given, value))
  }
  if (parameters.get("ssl") === "true") {
    const mode = parameters.get("sslmode") ?? "require"
    if (["disable", "allow", "prefer"].includes(mode)) {
      faults.push(`ssl=true demands encryption, and sslmode=${mode} does not. Remove one of them`)
    }
    parameters.set("sslmode", mode)
  }
  return { parameters, faults }
}

const decode = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** The authorities' certificates, from `DATABASE_CA` or `sslrootcert`. */
const trustedOf = (
  parameters: Parameters,
  { authorities, readFile }: DatabaseUrlOptions,
  faults: Array<string>,
): Encryption["authorities"] => {
  const file = parameters.get("sslrootcert")
  const { read } = makeFiles(readFile, faults, "DATABASE_CA")
  if (authorities === undefined) {
    if (file === undefined || file === "system") return file
    return read("DATABASE_URL: sslrootcert", file, faultOfCertificates)
  }
  if (file !== undefined) faults.push("DATABASE_CA: is set, and sslrootcert in DATABASE_URL too. Set one of them")
  return authoritiesOf("DATABASE_CA", authorities, readFile, faults)
}

/** Faults of a `sslmode` with which other settings would have no effect. */
const modeFaults = (mode: EncryptionMode, parameters: Parameters, hasOwnSetting: boolean): ReadonlyArray<string> => {
  const roots = parameters.get("sslrootcert")
  const source = hasOwnSetting ? "DATABASE_CA" : "DATABASE_URL: sslrootcert"
  const faults: Array<string> = []
  if (roots === "system" && mode !== "verify-full") {
    faults.push(`DATABASE_URL: sslrootcert=system needs sslmode=verify-full, since anybody can have such a certificate`)
  } else if ((hasOwnSetting || roots !== undefined) && ["disable", "allow", "prefer"].includes(mode)) {
    faults.push(
      `${source}${
        hasOwnSetting ? ":" : ""
      } has no effect with sslmode=${mode}, which goes on without encryption where it cannot be had. Set ` +
        "sslmode=verify-full",
    )
  }
  if (!hasOwnSetting && roots === undefined && mode.startsWith("verify-")) {
    faults.push(
      `DATABASE_URL: sslmode=${mode} needs the certificate of the authority that signs the server's. Set DATABASE_CA to it, ` +
        "or sslrootcert=system for a server with a publicly trusted certificate",
    )
  }
  if (mode === "disable" && (parameters.has("sslcert") || parameters.has("sslkey"))) {
    faults.push("DATABASE_URL: sslcert and sslkey have no effect with sslmode=disable")
  }
  return faults
}

const isMode = (text: string): text is EncryptionMode => modes.some((mode) => mode === text)

/**
 * The mode without `sslmode`: `verify-full` for `DATABASE_CA` or `sslrootcert=system`, otherwise `prefer` as in libpq.
 */
const defaultMode = (parameters: Parameters, hasOwnSetting: boolean): EncryptionMode =>
  hasOwnSetting || parameters.get("sslrootcert") === "system" ? "verify-full" : "prefer"

const checkOf = (mode: EncryptionMode, authorities: Encryption["authorities"]): Encryption["check"] => {
  if (mode === "verify-full") return "authority and host"
  return mode === "verify-ca" || (mode === "require" && authorities !== undefined) ? "authority" : "nothing"
}

const clientOf = (
  parameters: Parameters,
  readFile: DatabaseUrlOptions["readFile"],
  faults: Array<string>,
): Encryption["client"] => {
  const [cert, key] = [parameters.get("sslcert"), parameters.get("sslkey")]
  if (cert === undefined && key === undefined) return undefined
  if (cert === undefined || key === undefined) {
    faults.push("DATABASE_URL: set both sslcert and sslkey, or neither")
    return undefined
  }
  const { read } = makeFiles(readFile, faults, "DATABASE_CA")
  return {
    cert: read("DATABASE_URL: sslcert", cert, faultOfCertificates),
    key: Redacted.make(read("DATABASE_URL: sslkey", key, faultOfKey)),
  }
}

const encryptionOf = (
  host: string,
  parameters: Parameters,
  options: DatabaseUrlOptions,
  faults: Array<string>,
): Encryption => {
  const hasOwnSetting = options.authorities !== undefined
  const given = parameters.get("sslmode")
  if (given !== undefined && !isMode(given)) {
    faults.push(`DATABASE_URL: sslmode=${given} is not supported. Use one of ${modes.join(", ")}`)
  }
  const mode = given !== undefined && isMode(given) ? given : defaultMode(parameters, hasOwnSetting)
  const authorities = trustedOf(parameters, options, faults)
  const client = clientOf(parameters, options.readFile, faults)
  if (given === undefined || isMode(given)) faults.push(...modeFaults(mode, parameters, hasOwnSetting))
  if (isSocketFolder(host) && modes.indexOf(mode) > modes.indexOf("prefer")) {
    faults.push(
      `DATABASE_URL: the socket in ${host} stays on this machine and is not encrypted. Remove sslmode, sslrootcert and DATABASE_CA`,
    )
  }
  return {
    mode: isSocketFolder(host) ? "disable" : mode,
    authorities,
    check: checkOf(mode, authorities),
    client,
  }
}

/** A part of the URL, percent-decoded. Undefined if the part is empty. */
const part = (text: string): string | undefined => text === "" ? undefined : decode(text)

/** Faults of the host, which may be in the parameter `host`. */
const hostFaults = (host: string): ReadonlyArray<string> => {
  if (host.includes(",")) {
    return [
      "DATABASE_URL: has several hosts. Give the one address that leads to the primary, see docs/operations/cluster.md",
    ]
  }
  const [, folder, port] = /^(\/.*)\/\.s\.PGSQL\.(\d+)$/.exec(host) ?? []
  return folder === undefined ? [] : [
    `DATABASE_URL: the host is the file of a socket. Set host to its folder ${folder}, and port to ${port}`,
  ]
}

/** The service sets this parameter for every session, so that a value in `options` would have no effect. */
const reserved = "idle_in_transaction_session_timeout"

/** Parses a whole number from `least` to `most`. For any other text, adds a fault and returns `otherwise`. */
const wholeNumber = (
  name: string,
  text: string | undefined,
  { faults, least, most, otherwise }: {
    readonly least: number
    readonly most: number
    readonly otherwise: number
    readonly faults: Array<string>
  },
): number => {
  if (text === undefined) return otherwise
  const value = Number(text)
  if (/^\d+$/.test(text) && value >= least && value <= most) return value
  faults.push(`DATABASE_URL: ${name}=${text} must be a whole number from ${least} to ${most}`)
  return otherwise
}

/** Parses `true` or `false`. For any other text, adds a fault. */
const isTrue = (parameters: Parameters, name: string, faults: Array<string>): boolean | undefined => {
  const text = parameters.get(name)
  if (text !== undefined && text !== "true" && text !== "false") {
    faults.push(`DATABASE_URL: ${name}=${text} must be true or false`)
  }
  return text === undefined ? undefined : text === "true"
}

/**
 * Reads the parameters about poolers. `pgbouncer=true` (as in Prisma) and `prepare=false` (as in Postgres.js) both mean
 * a pooler that keeps no sessions. `pgbouncer=false` means the same as no parameter.
 */
const poolerOf = (parameters: Parameters, faults: Array<string>) => {
  const prepares = isTrue(parameters, "prepare", faults)
  const isAsked = isTrue(parameters, "pgbouncer", faults) === true || prepares === false
  return { isPooled: isAsked || undefined, prepares }
}

/**
 * Reads `DATABASE_URL` as libpq does, and `DATABASE_CA`. Fails with all faults, each of which begins with the name of a
 * setting. No fault contains a password.
 */
export const parse = (
  text: string,
  options: DatabaseUrlOptions,
): Result.Result<DatabaseTarget, ReadonlyArray<string>> =>
  Result.mapError(
    read(text, options),
    (faults) => faults.map((fault) => fault.replaceAll("DATABASE_URL", options.setting ?? "DATABASE_URL")),
  )

const read = (text: string, options: DatabaseUrlOptions): Result.Result<DatabaseTarget, ReadonlyArray<string>> => {
  const url = urlOf(text)
  if (typeof url === "string") return Result.fail([`DATABASE_URL: ${url}`])
  const { faults: ofParameters, parameters } = parametersOf(url.search)
  const faults = ofParameters.map((fault) => `DATABASE_URL: ${fault}`)
  const host = parameters.get("host") ?? part(url.hostname.replace(/^\[(.*)\]$/, "$1")) ?? "localhost"
  faults.push(...hostFaults(host))
  if (parameters.get("options")?.includes(reserved) === true) {
    faults.push(`DATABASE_URL: options may not set ${reserved}, which the service sets by itself`)
  }
  const password = parameters.get("password") ?? part(url.password)
  const seconds = wholeNumber("connect_timeout", parameters.get("connect_timeout"), {
    least: 1,
    most: 3600,
    otherwise: Duration.toSeconds(defaultConnectTimeout),
    faults,
  })
  const port = wholeNumber("port", parameters.get("port") ?? part(url.port), {
    least: 1,
    most: 65_535,
    otherwise: 5432,
    faults,
  })
  const encryption = encryptionOf(host, parameters, options, faults)
  const pooler = poolerOf(parameters, faults)
  if (faults.length > 0) return Result.fail(faults)
  return Result.succeed({
    host,
    port,
    username: parameters.get("user") ?? part(url.username),
    password: password === undefined ? undefined : Redacted.make(password),
    database: parameters.get("dbname") ?? part(url.pathname.slice(1)),
    applicationName: parameters.get("application_name") ?? "parlance",
    options: parameters.get("options"),
    connectTimeout: Duration.seconds(seconds),
    encryption,
    ...pooler,
  })
}
