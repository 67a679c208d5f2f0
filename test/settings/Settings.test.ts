import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Duration, Effect, Layer, Option, Redacted } from "effect"
import { Buffer } from "node:buffer"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Settings } from "../../src/settings/Settings.ts"

const read = (env: Record<string, string>) =>
  Effect.provide(
    Settings,
    Settings.layer.pipe(Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env })))),
  )

describe("settings", () => {
  it.effect("accept durations in words", () =>
    Effect.gen(function* () {
      const settings = yield* read({ STORE_TIMEOUT: "500 millis", SHUTDOWN_DELAY: "2 minutes" })
      assert.strictEqual(Duration.toMillis(settings.storeTimeout), 500)
      assert.strictEqual(Duration.toMillis(settings.shutdownDelay), 120_000)
    }))

  it.effect('accept limits in words, and "none" for no limit', () =>
    Effect.gen(function* () {
      const byDefault = yield* read({ KEY_RATE_LIMIT: "", WEBHOOK_DAILY_BYTES: "" })
      assert.deepStrictEqual(byDefault.keyRateLimit, Option.some({ requests: 5000, per: "second" as const }))
      assert.deepStrictEqual(byDefault.webhookDailyBytes, Option.some(10 * 1024 ** 3))
      const given = yield* read({ KEY_RATE_LIMIT: "20/minute", WEBHOOK_DAILY_BYTES: "500 MB" })
      assert.deepStrictEqual(given.keyRateLimit, Option.some({ requests: 20, per: "minute" as const }))
      assert.deepStrictEqual(given.webhookDailyBytes, Option.some(500_000_000))
      const none = yield* read({ KEY_RATE_LIMIT: "none", WEBHOOK_DAILY_BYTES: "none" })
      assert.deepStrictEqual([none.keyRateLimit, none.webhookDailyBytes], [Option.none(), Option.none()])
      const error = yield* Effect.flip(
        read({ KEY_RATE_LIMIT: "many", WEBHOOK_DAILY_BYTES: "10 G", IMAGE_BYTES: "9 MiB" }),
      )
      assert.deepStrictEqual(
        error._tag === "SettingsFaulty" ? error.faults.map((fault) => fault.split(":")[0]) : [],
        ["KEY_RATE_LIMIT", "WEBHOOK_DAILY_BYTES", "IMAGE_BYTES"],
      )
    }))

  it.effect("accept a contact for vulnerabilities as a URI", () =>
    Effect.gen(function* () {
      const contacts = ["mailto:security@example.com", "https://example.com/security", "tel:+1-201-555-0123"]
      for (const contact of contacts) {
        assert.deepStrictEqual((yield* read({ SECURITY_CONTACT: contact })).securityContact, Option.some(contact))
      }
      for (const contact of ["security@example.com", "http://example.com", "mailto:", "mailto:a@b.c\nExpires: 1"]) {
        const error = yield* Effect.flip(read({ SECURITY_CONTACT: contact }))
        assert.include(
          error._tag === "SettingsFaulty" ? error.faults.join() : "",
          "SECURITY_CONTACT: must be a URI such as",
        )
      }
    }))

  it.effect("reject the password of the compose file, except in a demo", () =>
    Effect.gen(function* () {
      const known = { DATABASE_URL: "postgres://parlance:parlance@postgres:5432/parlance" }
      for (const demo of [{}, { PARLANCE_DEMO: "" }, { PARLANCE_DEMO: "0" }]) {
        const error = yield* Effect.flip(read({ ...known, ...demo }))
        assert.lengthOf(error._tag === "SettingsFaulty" ? error.faults : [], 1)
        assert.match(error.message, /POSTGRES_PASSWORD.*PARLANCE_DEMO=1/s)
        assert.notInclude(error.message, "parlance:parlance")
      }
      assert.isTrue(Option.isSome((yield* read({ ...known, PARLANCE_DEMO: "1" })).database))
      assert.isTrue(
        Option.isSome((yield* read({ DATABASE_URL: known.DATABASE_URL.replace(":parlance@", ":x@") })).database),
      )
      const error = yield* Effect.flip(read({ PARLANCE_DEMO: "yes" }))
      assert.match(error.message, /^ {2}PARLANCE_DEMO: must be 1/m)
    }))

  it.effect("accept the address for received bounces, which may be empty", () =>
    Effect.gen(function* () {
      for (const env of [{}, { BOUNCE_LISTEN: "" }]) assert.isTrue(Option.isNone((yield* read(env)).bounceListen))
      const { bounceListen } = yield* read({ BOUNCE_LISTEN: "[::]:2525" })
      assert.deepStrictEqual(Option.getOrUndefined(bounceListen), { host: "::", port: 2525 })
      for (const text of ["2525", "0.0.0.0", "0.0.0.0:0", "0.0.0.0:70000", "smtp://0.0.0.0:25"]) {
        const error = yield* Effect.flip(read({ BOUNCE_LISTEN: text }))
        assert.match(error.message, /^ {2}BOUNCE_LISTEN: must be an address and a port/m, text)
      }
    }))

  it.effect("read the file of facts about refusals, or say why it cannot be read", () =>
    Effect.gen(function* () {
      for (const env of [{}, { REFUSALS_FILE: "" }]) assert.isTrue(Option.isNone((yield* read(env)).refusalsFile))
      const folder = yield* Effect.acquireRelease(
        Effect.sync(() => mkdtempSync(join(tmpdir(), "refusals-"))),
        (path) => Effect.sync(() => rmSync(path, { recursive: true })),
      )
      const path = join(folder, "refusals.json")
      writeFileSync(path, "[]")
      assert.deepStrictEqual((yield* read({ REFUSALS_FILE: path })).refusalsFile, Option.some({ path, text: "[]" }))
      const missing = yield* Effect.flip(read({ REFUSALS_FILE: join(folder, "none.json") }))
      assert.match(
        missing.message,
        /REFUSALS_FILE: .*none\.json: cannot be read: .*\. Correct or unset REFUSALS_FILE/,
      )
    }))

  it.effect("accept the address for links in e-mails, which may be empty", () =>
    Effect.gen(function* () {
      for (const env of [{}, { TRACKING_URL: "" }]) assert.isTrue(Option.isNone((yield* read(env)).trackingUrl))
      const { trackingUrl } = yield* read({ TRACKING_URL: "https://links.example.com" })
      assert.strictEqual(Option.getOrUndefined(trackingUrl)?.href, "https://links.example.com/")
      for (
        const url of ["links.example.com", "ftp://links.example.com", "https://a:b@links.example.com", "https://x/?a"]
      ) {
        const error = yield* Effect.flip(read({ TRACKING_URL: url }))
        assert.match(error.message, /^ {2}TRACKING_URL: must be a URL such as/m, url)
      }
    }))

  it.effect("read secrets from files, and name faults of the files", () =>
    Effect.gen(function* () {
      const folder = mkdtempSync(join(tmpdir(), "parlance-settings-"))
      yield* Effect.addFinalizer(() => Effect.sync(() => rmSync(folder, { recursive: true })))
      const fileOf = (name: string, text: string | Buffer) => {
        writeFileSync(join(folder, name), text)
        return join(folder, name)
      }
      const url = fileOf("url", "postgres://shop:p%40ss@db/shop\n")
      const { adminToken, database } = yield* read({
        DATABASE_URL_FILE: url,
        ADMIN_TOKEN_FILE: fileOf("token", `\uFEFF${"t".repeat(32)}\r\n`),
      })
      assert.strictEqual(Redacted.value(Option.getOrThrow(database).password!), "p@ss")
      assert.strictEqual(Redacted.value(Option.getOrThrow(adminToken)), "t".repeat(32))
      const refused: ReadonlyArray<readonly [Record<string, string>, RegExp]> = [
        [
          { DATABASE_URL_FILE: fileOf("empty", "\n") },
          /DATABASE_URL_FILE: the file \S+ is empty. Write the value of DATABASE_URL/,
        ],
        [{ SECRET_KEY_FILE: "/nowhere" }, /SECRET_KEY_FILE: \/nowhere: cannot be read/],
        [
          { DATABASE_URL_FILE: url, DATABASE_URL: "postgres://db" },
          /DATABASE_URL: is set, and DATABASE_URL_FILE too. Set one/,
        ],
        [
          { ADMIN_TOKEN_FILE: fileOf("utf16", Buffer.from(`\uFEFF${"t".repeat(32)}\r\n`, "utf16le")) },
          /ADMIN_TOKEN_FILE: the file \S+ is not in UTF-8\. Save it as UTF-8/,
        ],
        [{ DATABASE_URL_FILE: fileOf("bad", "mysql://db") }, /DATABASE_URL: must be a URL such as/],
      ]
      for (const [env, expected] of refused) assert.match((yield* Effect.flip(read(env))).message, expected)
    }).pipe(Effect.scoped))

  it.effect("name the database, or explain how to configure one", () =>
    Effect.gen(function* () {
      const DATABASE_URL = "postgres://shop:pass@db/shop"
      const databaseOf = (env: Record<string, string>) =>
        Effect.map(read(env), ({ database }) => Option.isSome(database))
      for (const env of [{}, { STORE: "embedded" }, { STORE: "" }, { DATABASE_CA: "" }]) {
        assert.isFalse(yield* databaseOf(env))
      }
      for (
        const env of [{}, { STORE: "external", STORE_TIMEOUT: "5 seconds" }, { STORE: "" }, { DATABASE_CA: "" }]
      ) {
        assert.isTrue(yield* databaseOf({ DATABASE_URL, ...env }))
      }
      const refused: ReadonlyArray<readonly [Record<string, string>, RegExp]> = [
        [{ DATABASE_URL: "" }, /DATABASE_URL: is set and empty.*unset it to use the embedded database/],
        [{ DATABASE_URL: " ", STORE: "external" }, /DATABASE_URL: is set and empty/],
        [
          { STORE: "external", PARLANCE_URL: "https://parlance.example.com" },
          /STORE: is external.*DATABASE_URL is not set.*STORE=embedded/,
        ],
        [{ STORE: "embedded", DATABASE_URL }, /STORE: is embedded.*Unset one/],
        [{ STORE: "sqlite" }, /STORE: must be embedded or external/],
        [{ DATABASE_CA: "/ca.pem" }, /DATABASE_CA: has no effect without DATABASE_URL/],
        [{ DATABASE_DIRECT_URL: DATABASE_URL }, /DATABASE_DIRECT_URL: has no effect without DATABASE_URL/],
        [{ DATABASE_READ_URL: DATABASE_URL }, /DATABASE_READ_URL: has no effect without DATABASE_URL/],
        [{ DATABASE_URL, DATABASE_READ_URL: "mysql://db" }, /^ {2}DATABASE_READ_URL: must be a URL such as/m],
        [{ DATABASE_URL, DATABASE_DIRECT_URL: "mysql://db" }, /^ {2}DATABASE_DIRECT_URL: must be a URL such as/m],
        [
          { DATABASE_URL, DATABASE_DIRECT_URL: DATABASE_URL, DATABASE_CA: "/nowhere/ca.pem" },
          /DATABASE_CA: the file \/nowhere\/ca.pem cannot be read/,
        ],
        [{ DATABASE_URL, DATABASE_CA: "/nowhere/ca.pem" }, /DATABASE_CA: the file \/nowhere\/ca.pem cannot be read/],
      ]
      for (const [env, expected] of refused) {
        const error = yield* Effect.flip(read(env))
        assert.lengthOf(error._tag === "SettingsFaulty" ? error.faults : [], 1)
        assert.match(error.message, expected)
      }
      const several = yield* Effect.flip(read({ DATABASE_URL: `${DATABASE_URL}?sslmode=x&nothing=1`, PORT: "x" }))
      for (const part of ["PORT:", "sslmode=x", "the parameter nothing"]) assert.include(several.message, part)
      assert.notInclude(several.message, "pass")
    }))

  it.effect("report the setting of each fault and the expected value", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(
        read({ PORT: "70000", STORE_TIMEOUT: "5", SHUTDOWN_DELAY: "Infinity", REQUEST_TIMEOUT: "5s" }),
      )
      const wanted = "must be a length of time such as 500 millis, 5 seconds or 2 minutes"
      assert.sameMembers(error._tag === "SettingsFaulty" ? [...error.faults] : [], [
        "PORT: must be between 0 and 65535",
        `STORE_TIMEOUT: ${wanted}`,
        `SHUTDOWN_DELAY: ${wanted}`,
        `REQUEST_TIMEOUT: ${wanted}`,
      ])
    }))

  it.effect("report all faults at once without secrets", () =>
    Effect.gen(function* () {
      const env = {
        PORT: "x",
        PUBLIC_URL: "x",
        DATABASE_URL: "mysql://x",
        TRUSTED_PROXIES: "x",
        OUTBOUND_ALLOW: "10.0.0.0/8,mail",
        SECRET_KEY: `${"5e".repeat(32)},5e5e`,
        ADMIN_TOKEN: "short",
        OIDC_CLIENT_ID: "x",
        OIDC_SCOPES: "email profile",
        LOG_LEVEL: "loud",
      }
      const error = yield* Effect.flip(read(env))
      const faulty = error._tag === "SettingsFaulty" ? error.faults.map((fault) => fault.split(/[:,]/)[0]) : []
      assert.sameMembers(faulty, [...Object.keys(env).filter((name) => name !== "OIDC_CLIENT_ID"), "OIDC_ISSUER"])
      assert.include(error.message, 'OUTBOUND_ALLOW: "mail" is no address')
      assert.notInclude(error.message, "5e5e")
      const { outboundAllow, secretKey } = yield* read({
        OUTBOUND_ALLOW: "10.0.0.0/8, ::1",
        SECRET_KEY: "5E".repeat(32),
      })
      assert.deepStrictEqual(outboundAllow, ["10.0.0.0/8", "::1"])
      assert.isTrue(Option.isSome(secretKey))
    }))

  it.effect("report the fault of a secret key without the key", () =>
    Effect.gen(function* () {
      const right = "0123456789abcdef".repeat(4)
      for (const key of ["x", right.slice(1), `${right}0`, `${right},`, `${right},short`, "g".repeat(64)]) {
        const error = yield* Effect.flip(read({ SECRET_KEY: key }))
        assert.match(error.message, /SECRET_KEY: must be 64 hexadecimal/)
        assert.notInclude(error.message, key.slice(0, 20).padEnd(20, "\u0000"))
      }
    }))

  it.effect("reject a short admin token without showing it, and accept one of 32 characters", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(read({ ADMIN_TOKEN: "a-secret-of-31-characters-12345", PORT: "x" }))
      assert.match(error.message, /ADMIN_TOKEN: has 31 characters and must have 32 or more.*openssl rand -hex 32/)
      assert.include(error.message, "PORT:", "beside all other faults")
      assert.notInclude(error.message, "a-secret")
      assert.isTrue(Option.isSome((yield* read({ ADMIN_TOKEN: "x".repeat(32) })).adminToken))
      assert.isTrue(Option.isNone((yield* read({ ADMIN_TOKEN: "" })).adminToken))
      for (const tokens of [`${"x".repeat(32)},`, `${"x".repeat(40)}, short`]) {
        const { message } = yield* Effect.flip(read({ ADMIN_TOKEN: tokens }))
        assert.match(message, /ADMIN_TOKEN: has [05] characters in one of its tokens and must have 32 or more/)
      }
    }))

  it.effect("accept a mail server with its sender, and report every fault without the password", () =>
    Effect.gen(function* () {
      const more = { PUBLIC_URL: "https://parlance.example", MAIL_FROM: "Parlance <parlance@example.com>" }
      const mailOf = (env: Record<string, string>) =>
        Effect.map(read({ ...more, ...env }), ({ mail }) => Option.getOrUndefined(mail))
      assert.isUndefined(yield* mailOf({ MAIL_URL: "", MAIL_FROM: "" }))
      const server = (yield* mailOf({ MAIL_URL: "smtps://u%40x:p%2Fw@mail.example.com" }))!
      assert.deepInclude(server, {
        host: "mail.example.com",
        port: 465,
        tls: "tls",
        authorities: undefined,
        from: { email: "parlance@example.com", name: "Parlance" },
      })
      assert.strictEqual(server.login!.user, "u@x")
      assert.strictEqual(Redacted.value(server.login!.password), "p/w")
      assert.notInclude(String(JSON.stringify(server)), "p/w")
      assert.deepInclude(yield* mailOf({ MAIL_URL: "smtp://[::1]:2525", MAIL_FROM: "a@example.com" }), {
        host: "::1",
        port: 2525,
        tls: "starttls",
        login: undefined,
        from: { email: "a@example.com" },
      })
      assert.deepInclude(yield* mailOf({ MAIL_URL: "smtp://localhost?tls=none" }), { port: 25, tls: "none" })

      const faultsOf = (env: Record<string, string>) =>
        Effect.map(Effect.flip(read(env)), (error) => error._tag === "SettingsFaulty" ? error.faults : [])
      const all = yield* faultsOf({
        MAIL_URL: "smtp://user@mail.example.com/inbox?tls=none",
        MAIL_FROM: "Parlance",
        MAIL_CA: "/no/such/file.pem",
        DATABASE_URL: "postgres://parlance:x@postgres/parlance",
      })
      assert.deepStrictEqual(all.map((fault) => fault.split(":")[0]), [
        "MAIL_URL",
        "MAIL_URL",
        "MAIL_URL",
        "MAIL_FROM",
        "MAIL_CA",
        "PUBLIC_URL",
        "SECRET_KEY",
      ])
      for (const url of ["http://mail.example.com", "mail.example.com:465", "smtps://u:sesame%@mail.example.com"]) {
        const faults = yield* faultsOf({ ...more, MAIL_URL: url })
        assert.lengthOf(faults, 1, url)
        assert.notInclude(faults[0], "sesame")
      }
      assert.lengthOf(yield* faultsOf({ ...more, MAIL_FROM: "a@example.com", MAIL_CA: "x" }), 2)
    }))
})
