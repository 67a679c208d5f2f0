import {
  Config,
  ConfigProvider,
  Context,
  Duration,
  Effect,
  Layer,
  Option,
  Redacted,
  Result,
  Schema,
  SchemaIssue,
} from "effect"
import { readFileSync } from "node:fs"
import { plainMessage } from "../text/FaultMessages.ts"
import type { RateLimit } from "../text/RateLimit.ts"
import { trackingUrlFault } from "../text/TrackingUrl.ts"
import { type DatabaseTarget, parse as parseDatabaseUrl } from "./DatabaseUrl.ts"
import { type MailServer, mailSettings, parseMailServer } from "./MailServer.ts"
import { readSecretFiles } from "./SecretFiles.ts"
import {
  atLeast,
  bytes,
  checked,
  duration,
  isHttpUrl,
  limit,
  namedFile,
  nameServers,
  pairs,
  pairsOf,
  parseAddress,
  ranges,
  rangeTexts,
  secret,
  secretsIn,
  senders,
} from "./SettingReaders.ts"
import { suggestionFaults, suggestionSettings } from "./SuggestionSettings.ts"

/** Default limit of keys: half the capacity of one process, and more than senders need. */
export const defaultKeyLimit: RateLimit = { requests: 5000, per: "second" }

/** Every setting of the process, read once from the environment while layers are built. */
const config = {
  /** `PORT`: TCP port of the HTTP server. Default 8080. 0 lets the system choose. */
  port: Config.schema(
    Schema.NumberFromString.check(Schema.isInt(), Schema.isBetween({ minimum: 0, maximum: 65_535 })),
    "PORT",
  ).pipe(Config.withDefault(8080)),
  /** `HOST`: address that the HTTP server binds to. Default 127.0.0.1. The container image sets 0.0.0.0. */
  host: Config.NonEmptyString("HOST").pipe(Config.withDefault("127.0.0.1")),
  /**
   * `PUBLIC_URL`: address under which callers reach the service, for printed and linked URLs. Default: host and port.
   */
  publicUrl: Config.option(Config.URL("PUBLIC_URL")),
  /**
   * `TRACKING_URL`: beginning of tracked links, pixels and unsubscribe links in e-mails, such as
   * `https://links.example.com`. Default `PUBLIC_URL`.
   */
  trackingUrl: checked(
    "TRACKING_URL",
    (text) => trackingUrlFault(text) === undefined,
    "must be a URL such as https://links.example.com, without a query",
  )
    .pipe(Config.map((text) => text === "" ? Option.none() : Option.some(new URL(text)))),
  /**
   * `BOUNCE_LISTEN`: `host:port` where this node receives bounces and complaints by SMTP, such as `0.0.0.0:2525`.
   * Default: this node receives no bounces.
   */
  bounceListen: checked(
    "BOUNCE_LISTEN",
    (text) => parseAddress(text) !== undefined,
    "must be an address and a port between 1 and 65535, such as 0.0.0.0:2525 or [::]:2525",
  ).pipe(Config.map((text) => Option.fromUndefinedOr(parseAddress(text)))),
  /**
   * `REFUSALS_FILE`: file with additional facts about refusals of mail servers, in the form of
   * `src/domain/refusals/refusals.json`. Default: no additional facts.
   */
  refusalsFile: namedFile("REFUSALS_FILE"),
  /**
   * `STORE`: `external` for the PostgreSQL server of `DATABASE_URL`, `embedded` for the service's own server in
   * `DATA_DIR`. Default: `external` if `DATABASE_URL` is set. The container image sets `external`.
   */
  store: checked("STORE", (text) => text === "embedded" || text === "external", "must be embedded or external"),
  /**
   * `DATABASE_URL`: `postgres://` URL, see DatabaseUrl.ts for its parameters. Default: see `STORE`. An empty text is an
   * error.
   */
  databaseUrl: Config.option(Config.Redacted("DATABASE_URL")),
  /**
   * `DATABASE_DIRECT_URL`: address of the same database without a pooler, for migrations and `LISTEN`. Default: both use
   * `DATABASE_URL`.
   */
  databaseDirectUrl: secret("DATABASE_DIRECT_URL"),
  /**
   * `DATABASE_READ_URL`: address of a read replica of the same database, for exports, results and pages of the console.
   * Default: they use `DATABASE_URL`.
   */
  databaseReadUrl: secret("DATABASE_READ_URL"),
  /**
   * `DATABASE_READ_MAX_LAG`: time in which the replica must show everything stored before a read. After it,
   * the primary answers. Default 1 second.
   */
  databaseReadMaxLag: duration("DATABASE_READ_MAX_LAG").pipe(Config.withDefault(Duration.seconds(1))),
  /**
   * `DATABASE_CA`: certificate of the authority that signs the certificate of the server of `DATABASE_URL`, as PEM or
   * as the path of a file. Without `sslmode`, it sets `sslmode` to `verify-full`. Default: no certificate.
   */
  databaseCa: Config.String("DATABASE_CA").pipe(Config.withDefault("")),
  /** `PARLANCE_DEMO`: `1` accepts the default password of the compose file, which is public. Default: refused. */
  isDemo: checked("PARLANCE_DEMO", (text) => text === "0" || text === "1", "must be 1, or 0 which is the same as unset")
    .pipe(Config.map((text) => text === "1")),
  /** `DATABASE_POOL_SIZE`: maximum number of connections to PostgreSQL, 2 or more. Default 10. */
  databasePoolSize: atLeast(2, "DATABASE_POOL_SIZE").pipe(Config.withDefault(10)),
  /** `DATA_DIR`: folder of the embedded store. Default `.parlance`. */
  dataDir: Config.NonEmptyString("DATA_DIR").pipe(Config.withDefault(".parlance")),
  /**
   * `ADMIN_TOKEN`: bearer token of the management API, 32 characters or more, or several separated by commas. Default: no
   * token is accepted.
   */
  adminToken: secret("ADMIN_TOKEN"),
  /**
   * `SECRET_KEY`: key under which secrets of platforms are stored, 64 hexadecimal digits, or several separated by
   * commas.
   */
  secretKey: secret("SECRET_KEY"),
  ...mailSettings,
  /**
   * `OIDC_ISSUER`: URL of an OpenID Connect provider for sign-in to the console. Default: sign-in only with passwords.
   */
  oidcIssuer: Config.option(Config.URL("OIDC_ISSUER")),
  /** `OIDC_CLIENT_ID`: id of this installation at the provider. */
  oidcClientId: Config.option(Config.NonEmptyString("OIDC_CLIENT_ID")),
  /** `OIDC_CLIENT_SECRET`: secret of this installation at the provider. */
  oidcClientSecret: secret("OIDC_CLIENT_SECRET"),
  /** `OIDC_SCOPES`: scopes to request, separated by spaces. Default `openid email profile`. */
  oidcScopes: Config.NonEmptyString("OIDC_SCOPES").pipe(Config.withDefault("openid email profile")),
  /** `OIDC_GROUPS_CLAIM`: claim with the groups of a person. Default `groups`. */
  oidcGroupsClaim: Config.NonEmptyString("OIDC_GROUPS_CLAIM").pipe(Config.withDefault("groups")),
  /** `SERVICE_WORDS`: name of the member that contains the result in the response of Delay. Default `service_words`. */
  serviceWords: Config.NonEmptyString("SERVICE_WORDS").pipe(Config.withDefault("service_words")),
  /** `LOG_LEVEL`: `Trace`, `Debug`, `Info`, `Warn`, `Error`, `Fatal` or `None`. Default `Info`. */
  logLevel: Config.LogLevel("LOG_LEVEL").pipe(Config.withDefault("Info" as const)),
  /** `ACCESS_LOG`: `1` logs each answered request. Default: requests are not logged. */
  isAccessLogged: checked(
    "ACCESS_LOG",
    (text) => text === "0" || text === "1",
    "must be 1, or 0 which is the same as unset",
  )
    .pipe(Config.map((text) => text === "1")),
  /**
   * `OTEL_EXPORTER_OTLP_ENDPOINT`: URL of an OpenTelemetry collector, such as `http://127.0.0.1:4318`. Traces, metrics
   * and logs go to `/v1/traces`, `/v1/metrics` and `/v1/logs` below it. Default: nothing is exported.
   */
  otlpEndpoint: checked(
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    isHttpUrl,
    "must be an http or https URL without a query, such as http://127.0.0.1:4318",
  ).pipe(Config.map((text) => text === "" ? Option.none() : Option.some(new URL(text)))),
  /**
   * `OTEL_EXPORTER_OTLP_HEADERS`: headers sent to the collector, such as `api-key=secret,tenant=one`. Default: no
   * headers.
   */
  otlpHeaders: pairs("OTEL_EXPORTER_OTLP_HEADERS").pipe(Config.map((text) => Redacted.make(pairsOf(text)!))),
  /** `OTEL_EXPORTER_OTLP_PROTOCOL`: `http/protobuf` or `http/json`. Default `http/protobuf`. */
  otlpProtocol: Config.schema(Schema.Literals(["http/protobuf", "http/json"]), "OTEL_EXPORTER_OTLP_PROTOCOL").pipe(
    Config.withDefault("http/protobuf" as const),
  ),
  /** `OTEL_SERVICE_NAME`: `service.name` of exported data. Default `parlance`. */
  serviceName: Config.NonEmptyString("OTEL_SERVICE_NAME").pipe(Config.withDefault("parlance")),
  /**
   * `OTEL_RESOURCE_ATTRIBUTES`: additional attributes of all exported data, such as
   * `deployment.environment.name=staging`.
   */
  resourceAttributes: pairs("OTEL_RESOURCE_ATTRIBUTES").pipe(Config.map((text) => pairsOf(text)!)),
  /**
   * `OTEL_TRACES_SAMPLER_ARG`: share of requests that are traced, 0 to 1. The `traceparent` of a request takes
   * precedence. Default 0.05.
   */
  traceShare: Config.schema(
    Schema.NumberFromString.check(Schema.isBetween({ minimum: 0, maximum: 1 })),
    "OTEL_TRACES_SAMPLER_ARG",
  ).pipe(Config.withDefault(0.05)),
  /** `DECISION_BUFFER_SIZE`: maximum number of decisions kept in memory while the store is down. Default 10,000. */
  decisionBufferSize: atLeast(0, "DECISION_BUFFER_SIZE").pipe(Config.withDefault(10_000)),
  /**
   * `DECISION_BUFFER_AGE`: maximum age of the oldest decision in memory. Above it, Generate responds with 503. Default
   * 60 seconds.
   */
  decisionBufferAge: duration("DECISION_BUFFER_AGE").pipe(Config.withDefault(Duration.seconds(60))),
  /**
   * `STORE_QUEUE_SIZE`: maximum number of writes of one kind that wait for a commit. Above it, requests get 503.
   * Default 10,000.
   */
  storeQueueSize: atLeast(1, "STORE_QUEUE_SIZE").pipe(Config.withDefault(10_000)),
  /**
   * `MAX_IN_FLIGHT`: maximum number of concurrent requests, 32 or more. Other requests wait, then get 503
   * (LoadShedding). Default 1,000.
   */
  maxInFlight: atLeast(32, "MAX_IN_FLIGHT").pipe(Config.withDefault(1000)),
  /** `STORE_TIMEOUT`: a commit slower than this counts as a store that is down. Default 5 seconds. */
  storeTimeout: duration("STORE_TIMEOUT").pipe(Config.withDefault(Duration.seconds(5))),
  /** `DELIVERY_RATE`: maximum number of messages sent for one organization in a second, 1 to 10,000. Default 100. */
  deliveryRate: Config.schema(
    Schema.NumberFromString.check(Schema.isInt(), Schema.isBetween({ minimum: 1, maximum: 10_000 })),
    "DELIVERY_RATE",
  ).pipe(Config.withDefault(100)),
  /**
   * `DELIVERY_ATTEMPTS`: maximum number of attempts of a message, regardless of the retry horizons. Default: no limit.
   */
  deliveryAttempts: atLeast(1, "DELIVERY_ATTEMPTS").pipe(Config.withDefault(Infinity)),
  /**
   * `DELIVERY_RETRY_HORIZON`: a message fails at the first failed attempt that begins this long after its first
   * failure. Default 24 hours.
   */
  deliveryRetryHorizon: duration("DELIVERY_RETRY_HORIZON").pipe(Config.withDefault(Duration.hours(24))),
  /**
   * `DELIVERY_RECIPIENT_RETRY_HORIZON`: the horizon if the recipient's server requests a later attempt. Default 72
   * hours.
   */
  deliveryRecipientRetryHorizon: duration("DELIVERY_RECIPIENT_RETRY_HORIZON").pipe(
    Config.withDefault(Duration.hours(72)),
  ),
  /**
   * `DELIVERY_RETRY_DELAY`: pause after the first failed attempt. It doubles with each failure, up to an hour. Default
   * 5 seconds.
   */
  deliveryRetryDelay: duration("DELIVERY_RETRY_DELAY").pipe(Config.withDefault(Duration.seconds(5))),
  /**
   * `OUTBOUND_ALLOW`: private or local address ranges that connections may reach, such as `10.0.0.0/8,127.0.0.1/32`.
   * Default: no such ranges.
   */
  outboundAllow: rangeTexts("OUTBOUND_ALLOW"),
  /**
   * `DNS_SERVERS`: name servers for SPF, DKIM and DMARC look-ups, such as `10.0.0.2,[fd00::2]:5353`. Default: the
   * system's name servers.
   */
  dnsServers: nameServers("DNS_SERVERS"),
  /**
   * `COMPLAINT_SENDERS`: more addresses or domains of feedback loops whose signed complaints suppress addresses, such as
   * `fbl.provider.example,reports@provider.example`. Default: the known feedback loops.
   */
  complaintSenders: senders("COMPLAINT_SENDERS"),
  /**
   * `SECURITY_CONTACT`: where to report a vulnerability of this installation, for `/.well-known/security.txt`, such as
   * `mailto:security@example.com`. Default: none, and the file does not exist.
   */
  securityContact: checked(
    "SECURITY_CONTACT",
    (text) => /^(mailto:[^\s@]+@[^\s@]+|https:\/\/\S+|tel:\+[0-9-]+)$/.test(text),
    "must be a URI such as mailto:security@example.com, https://example.com/security or tel:+1-201-555-0123",
  ).pipe(Config.map((text) => text === "" ? Option.none() : Option.some(text))),
  /**
   * `KEY_RATE_LIMIT`: limit of keys without their own limit, such as `1000/second`, or `none`. Default `5000/second`.
   */
  keyRateLimit: limit("KEY_RATE_LIMIT", defaultKeyLimit),
  /**
   * `WEBHOOK_DAILY_BYTES`: bytes of webhook bodies that one organization may store in a day (UTC), such as `500 MB`, or
   * `none`. An organization can have its own quota. Default `10 GiB`.
   */
  webhookDailyBytes: bytes("WEBHOOK_DAILY_BYTES", "10 GiB"),
  /**
   * `IMAGE_BYTES`: maximum size of an image that an organization uploads, such as `500 kB`, at most 8 MiB. Default
   * `2 MiB`.
   */
  imageBytes: bytes("IMAGE_BYTES", "2 MiB").pipe(Config.map(Option.getOrElse(() => Infinity))),
  /** `IMAGE_PIXELS`: maximum width times height of an image. Default 16,000,000. */
  imagePixels: atLeast(1, "IMAGE_PIXELS").pipe(Config.withDefault(16_000_000)),
  /** `IMAGE_TOTAL_BYTES`: maximum size of all images of an organization, or `none`. Default `200 MiB`. */
  imageTotalBytes: bytes("IMAGE_TOTAL_BYTES", "200 MiB"),
  /**
   * `TRUSTED_PROXIES`: address ranges of load balancers whose `X-Forwarded-For` and `X-Forwarded-Proto` are trusted,
   * such as `10.0.0.0/8`. Default: no ranges.
   */
  trustedProxies: ranges("TRUSTED_PROXIES"),
  /** `REQUEST_TIMEOUT`: timeout of a request's body. After it, the response is 408. Default 30 seconds. */
  requestTimeout: duration("REQUEST_TIMEOUT").pipe(Config.withDefault(Duration.seconds(30))),
  /**
   * `SHUTDOWN_DELAY`: time after SIGTERM in which requests are served as before while `/readyz` returns 503, so that a
   * load balancer removes this node first. Default 0.
   */
  shutdownDelay: duration("SHUTDOWN_DELAY").pipe(Config.withDefault(Duration.zero)),
  /**
   * `SHUTDOWN_TIMEOUT`: maximum time after SIGTERM for requests in progress and for the last commit. Default 10
   * seconds.
   */
  shutdownTimeout: duration("SHUTDOWN_TIMEOUT").pipe(Config.withDefault(Duration.seconds(10))),
  ...suggestionSettings,
}

/** Reads only the name servers of `DNS_SERVERS`. Fails with `ConfigError` if they are not valid. */
export const { dnsServers } = config

type Values = { readonly [name in keyof typeof config]: Config.Success<(typeof config)[name]> }

type DatabaseSetting = "databaseUrl" | "databaseDirectUrl" | "databaseReadUrl" | "databaseCa"

/** The values of all settings, checked. */
type Checked = Omit<Values, "store" | DatabaseSetting | "mailUrl" | "mailFrom" | "mailCa"> & {
  /** The server for mail of the service itself. None: the service sends no mail. */
  readonly mail: Option.Option<MailServer>
  /** The server of `DATABASE_URL`. None: the embedded database in `DATA_DIR`. */
  readonly database: Option.Option<DatabaseTarget>
  /** The server of `DATABASE_DIRECT_URL`. None: everything uses `database`. */
  readonly databaseDirect: Option.Option<DatabaseTarget>
  /** The server of `DATABASE_READ_URL`. None: reads use `database`. */
  readonly databaseRead: Option.Option<DatabaseTarget>
}

/** Invalid settings, each with its name. */
export class SettingsFaulty extends Schema.TaggedError<SettingsFaulty>()("SettingsFaulty", {
  faults: Schema.Array(Schema.String),
}) {
  override get message() {
    return `These settings are not valid:\n${this.faults.map((fault) => `  ${fault}`).join("\n")}`
  }
}

const format = SchemaIssue.makeFormatterStandardSchemaV1()

const faultsOf = ({ cause }: Config.ConfigError): ReadonlyArray<string> =>
  cause._tag === "SchemaError"
    ? format(cause.issue).issues.map(({ message, path }) => {
      const name = (path ?? []).map((segment) => String(typeof segment === "object" ? segment.key : segment)).join(".")
      return `${name}: ${plainMessage(message)}`
    })
    : [cause.message]

/** The default password in `docker-compose.yml`, for a demo. */
const knownPassword = "parlance"

const demoFault =
  "DATABASE_URL: the password is the one of docker-compose.yml, which everybody knows. Set POSTGRES_PASSWORD in .env, such " +
  "as `openssl rand -hex 24` gives; a database that exists keeps its old one until `ALTER USER parlance PASSWORD '…'`. " +
  "To try Parlance out on this machine, set PARLANCE_DEMO=1"

const emptyUrl =
  "DATABASE_URL: is set and empty. Set it to a PostgreSQL server, such as postgres://user:password@host:5432/database, or " +
  "unset it to use the embedded database in DATA_DIR (in the container image, with STORE=embedded)"

/** The fault of settings without any database. */
const noDatabase =
  "STORE: is external, as in the container image, and DATABASE_URL is not set. Set DATABASE_URL to a PostgreSQL server, or " +
  "STORE=embedded for a database of the service's own in DATA_DIR"

/** Returns the faults of `STORE`, with or without `DATABASE_URL`. */
const storeFaults = (store: string, isUrlSet: boolean): ReadonlyArray<string> => {
  if (store === "embedded" && isUrlSet) {
    return ["STORE: is embedded, and DATABASE_URL names another database. Unset one of them"]
  }
  return store === "external" && !isUrlSet ? [noDatabase] : []
}

/** Returns the databases of the settings, and their faults. */
const databasesOf = (
  values: Partial<Values>,
  isUrlEmpty: boolean,
): Pick<Checked, "database" | "databaseDirect" | "databaseRead"> & { readonly faults: ReadonlyArray<string> } => {
  const { databaseCa, databaseUrl = Option.none(), isDemo, store } = values
  const { databaseDirectUrl = Option.none(), databaseReadUrl = Option.none() } = values
  const none = { database: Option.none(), databaseDirect: Option.none(), databaseRead: Option.none() }
  if (isUrlEmpty || Option.exists(databaseUrl, (url) => Redacted.value(url).trim() === "")) {
    return { ...none, faults: [emptyUrl] }
  }
  const faults = [...storeFaults(store ?? "", Option.isSome(databaseUrl))]
  if (Option.isNone(databaseUrl)) {
    const others = {
      DATABASE_CA: !!databaseCa,
      DATABASE_DIRECT_URL: Option.isSome(databaseDirectUrl),
      DATABASE_READ_URL: Option.isSome(databaseReadUrl),
    }
    for (const [name, isSet] of Object.entries(others)) {
      if (isSet) faults.push(`${name}: has no effect without DATABASE_URL. Set that too, or unset ${name}`)
    }
    return { ...none, faults }
  }
  const targetOf = (setting: string, url: Option.Option<Redacted.Redacted>): Option.Option<DatabaseTarget> => {
    if (Option.isNone(url)) return Option.none()
    const result = parseDatabaseUrl(Redacted.value(url.value), {
      authorities: databaseCa ? databaseCa : undefined,
      setting,
      readFile: (path) => readFileSync(path, "utf8"),
    })
    if (Result.isFailure(result)) faults.push(...result.failure)
    return Result.getSuccess(result)
  }
  const database = targetOf("DATABASE_URL", databaseUrl)
  const password = Option.getOrUndefined(database)?.password
  if (isDemo === false && password !== undefined && Redacted.value(password) === knownPassword) faults.push(demoFault)
  const databaseDirect = targetOf("DATABASE_DIRECT_URL", databaseDirectUrl)
  const databaseRead = targetOf("DATABASE_READ_URL", databaseReadUrl)
  // A fault of DATABASE_CA concerns every URL.
  return { database, databaseDirect, databaseRead, faults: [...new Set(faults)] }
}

/** Returns the server for mail of the service itself, and the faults of its settings. */
const mailOf = (
  { mailCa = "", mailFrom = "", mailUrl = Option.none(), publicUrl, secretKey }: Partial<Values>,
  isExternal: boolean,
): { readonly mail: Option.Option<MailServer>; readonly faults: ReadonlyArray<string> } => {
  if (Option.isNone(mailUrl)) {
    const lonely = [...(mailFrom === "" ? [] : ["MAIL_FROM"]), ...(mailCa === "" ? [] : ["MAIL_CA"])]
    return {
      mail: Option.none(),
      faults: lonely.map((name) => `${name}: has no effect without MAIL_URL. Set that too, or unset ${name}`),
    }
  }
  const faults: Array<string> = []
  const server = parseMailServer(mailUrl.value, {
    authorities: mailCa === "" ? undefined : mailCa,
    from: mailFrom,
    readFile: (path) => readFileSync(path, "utf8"),
  })
  if (Result.isFailure(server)) faults.push(...server.failure)
  if (publicUrl !== undefined && Option.isNone(publicUrl)) {
    faults.push("PUBLIC_URL: is not set, and links in mails begin with it. Set it to the address of this service")
  }
  if (isExternal && secretKey !== undefined && Option.isNone(secretKey)) {
    faults.push(
      "SECRET_KEY: is not set, and mails with links wait encrypted in the database. Set it to 64 hexadecimal digits, " +
        "such as `openssl rand -hex 32` prints",
    )
  }
  return { mail: Result.isSuccess(server) ? Option.some(server.success) : Option.none(), faults }
}

const leastSecret = 32

/**
 * Whether an environment variable is set but empty. `Config` treats it as missing, but lists its name among the names
 * with its prefix.
 */
const isSetToNothing = Effect.fnUntraced(function* (name: string) {
  const provider = yield* ConfigProvider.ConfigProvider
  const path = name.split("_")
  const above = yield* provider.load(path.slice(0, -1))
  if (above?._tag !== "Record" || !above.keys.has(path.at(-1)!)) return false
  return (yield* provider.load(path)) === undefined
}, Effect.orElseSucceed(() => false))

const read = Effect.flatMap(
  Effect.suspend(() => readSecretFiles(faultsOf)),
  ({ faults, provider }) => Effect.provideService(readFrom(faults), ConfigProvider.ConfigProvider, provider),
)

/** Reads all settings. `faultsOfFiles` are faults that are already known. */
const readFrom = Effect.fnUntraced(function* (faultsOfFiles: ReadonlyArray<string>) {
  const values: Record<string, unknown> = {}
  const faults = [...faultsOfFiles]
  for (const [name, one] of Object.entries(config)) {
    const result = yield* Effect.result<unknown, Config.ConfigError, never>(one)
    if (Result.isSuccess(result)) values[name] = result.success
    else faults.push(...faultsOf(result.failure))
  }
  const settings: Partial<Values> = values
  const { faults: databaseFaults, ...databases } = databasesOf(settings, yield* isSetToNothing("DATABASE_URL"))
  faults.push(...databaseFaults)
  const { faults: mailFaults, mail } = mailOf(settings, Option.isSome(databases.database))
  faults.push(...mailFaults, ...suggestionFaults(settings))
  const adminTokens = Option.match(settings.adminToken ?? Option.none(), { onNone: () => [], onSome: secretsIn })
  // The message shows only the length of a token.
  const short = adminTokens.find(({ length }) => length < leastSecret)
  if (short !== undefined) {
    const place = adminTokens.length > 1 ? " in one of its tokens" : ""
    faults.push(
      `ADMIN_TOKEN: has ${short.length} characters${place} and must have ` +
        `${leastSecret} or more, since it opens every organization. Make a new one with \`openssl rand -hex 32\` and set ` +
        "it on every node and wherever commands use it",
    )
  }
  // The message shows no part of the keys.
  const secretKeys = Option.match(settings.secretKey ?? Option.none(), { onNone: () => [], onSome: secretsIn })
  if (!secretKeys.every((key) => /^[0-9a-f]{64}$/i.test(key))) {
    faults.push(
      "SECRET_KEY: must be 64 hexadecimal digits, such as `openssl rand -hex 32` prints, or several of these separated by " +
        "commas, of which the first encrypts and the others only decrypt",
    )
  }
  const oidc = [settings.oidcIssuer, settings.oidcClientId, settings.oidcClientSecret]
  if ((settings.imageBytes ?? 0) > 8 * 1024 * 1024) faults.push("IMAGE_BYTES: must be at most 8 MiB, such as `2 MiB`")
  if (oidc.every((one) => one !== undefined) && new Set(oidc.map((one) => one!._tag)).size > 1) {
    faults.push("OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET: set all three, or none")
  }
  if (settings.oidcScopes?.split(" ").includes("openid") === false) {
    faults.push("OIDC_SCOPES: must contain `openid`, such as `openid email profile groups`")
  }
  if (faults.length > 0) return yield* new SettingsFaulty({ faults })
  return { ...(settings as Values), ...databases, mail }
})

/** The settings of this process. Fails to build with the names of all faulty settings. */
export class Settings extends Context.Service<Settings, Checked>()("parlance/settings/Settings") {
  static readonly layer = Layer.effect(Settings, read)
}
