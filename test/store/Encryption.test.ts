import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber, Layer, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { StartPatience } from "../../src/store/FirstConnection.ts"
import * as StoreFromSettings from "../../src/store/StoreFromSettings.ts"
import { Store } from "../../src/store/Store.ts"
import { relayTo } from "../process/relay.ts"
import { type Certificate, makeCertificate } from "../support/certificates.ts"
import { onServer } from "../support/onServer.ts"
import { embeddedEnvironment, layerSettings, temporaryFolder } from "../support/stores.ts"
import { startPostgres } from "../support/throwawayPostgres.ts"

const authority = makeCertificate({ name: "Private authority" })
const otherAuthority = makeCertificate({ name: "Another authority" })
const hour = 3_600_000

interface Server {
  /** The URL of the user `shop`, without parameters. */
  readonly url: string
}

/** A server with a user `shop`, whom `pg_hba.conf` admits by the lines `rules`. */
const scopedServer = (
  rules: ReadonlyArray<string>,
  certificate?: Certificate,
): Effect.Effect<Server, never, Scope.Scope> =>
  Effect.gen(function* () {
    // A copy of the files takes less time than making them.
    const { DATA_DIR: seed } = yield* embeddedEnvironment
    const { url } = yield* Effect.acquireRelease(
      Effect.promise(async () => {
        const server = await startPostgres({
          seed: seed!,
          files: {
            "pg_hba.conf": ["host all postgres 127.0.0.1/32 trust", ...rules, ""].join("\n"),
            ...(certificate && { "server.crt": certificate.certificate, "server.key": certificate.key }),
            "root.crt": authority.certificate,
          },
          settings: certificate === undefined ? {} : { ssl: "on", ssl_ca_file: "root.crt" },
        })
        await onServer(server.url, "CREATE ROLE shop LOGIN PASSWORD 'pass'")
        await onServer(server.url, "CREATE DATABASE shop OWNER shop")
        return server
      }),
      ({ stop }) => Effect.promise(stop),
    )
    return { url: `postgres://shop:pass@localhost:${new URL(url).port}/shop` }
  })

const ofHosts = (
  hosts: ReadonlyArray<string>,
  more: { readonly until?: Date; readonly authority?: Certificate } = {},
) => makeCertificate({ name: "database", hosts, authority, ...more })

const onlyTls = ["hostssl all shop all scram-sha-256"]

const layerOf = (url: string, more: Readonly<Record<string, string>> = {}) =>
  StoreFromSettings.layer.pipe(Layer.provide(layerSettings({ DATABASE_URL: url, ...more })))

const isEncrypted = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ ssl: boolean }>`SELECT s.ssl FROM pg_stat_ssl s WHERE s.pid = pg_backend_pid()`
  return row!.ssl
})

/** Whether the settings lead to an encrypted connection, or the reason for a failure. */
const connect = (url: string, more: Readonly<Record<string, string>> = {}) =>
  isEncrypted.pipe(
    Effect.provide(Layer.fresh(layerOf(url, more))),
    Effect.catchTag("StoreUnreachable", ({ reason }) => Effect.succeed(reason)),
    Effect.provideService(StartPatience, Duration.zero),
  )

describe("a server that requires TLS under a private authority", () => {
  it.live("is reached in each mode that allows it", () =>
    Effect.scoped(Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const file = join(folder, "ca.pem")
      writeFileSync(file, authority.certificate)
      const { url } = yield* scopedServer(onlyTls, ofHosts(["localhost", "127.0.0.1"]))
      const DATABASE_CA = authority.certificate
      assert.isTrue(yield* connect(url), "without sslmode, which is prefer")
      for (const mode of ["allow", "prefer", "require"]) assert.isTrue(yield* connect(`${url}?sslmode=${mode}`), mode)
      for (const mode of ["require", "verify-ca", "verify-full"]) {
        assert.isTrue(yield* connect(`${url}?sslmode=${mode}`, { DATABASE_CA }), mode)
        assert.isTrue(yield* connect(`${url}?sslmode=${mode}&sslrootcert=${file}`), `${mode} with sslrootcert`)
      }
      assert.isTrue(yield* connect(url, { DATABASE_CA }), "DATABASE_CA alone")
      assert.isTrue(yield* connect(url, { DATABASE_CA: file }), "the path of a file")
      assert.isTrue(yield* connect(url, { DATABASE_CA: DATABASE_CA.replaceAll("\n", "\\n") }), "in one line")
      assert.isTrue(yield* connect(url.replace("localhost", "127.0.0.1"), { DATABASE_CA }), "by its address")
      assert.match(
        `${yield* connect(`${url}?sslmode=disable`)}`,
        /no pg_hba.conf entry.*no encryption.*set sslmode=verify-full and DATABASE_CA/,
      )
      assert.match(`${yield* connect(`${url}?sslrootcert=system`)}`, /not signed by a publicly trusted authority/)
    })))

  it.live("is rejected if another authority signed its certificate, for any name", () =>
    Effect.scoped(Effect.gen(function* () {
      const { url } = yield* scopedServer(onlyTls, ofHosts(["localhost"]))
      const DATABASE_CA = otherAuthority.certificate
      for (const mode of ["require", "verify-ca", "verify-full"]) {
        assert.match(
          `${yield* connect(`${url}?sslmode=${mode}`, { DATABASE_CA })}`,
          /not signed by the authority of DATABASE_CA.*but by Private authority.*Set DATABASE_CA to the certificate of the authority.*openssl s_client/,
        )
      }
    })))

  it.live("is rejected only by verify-full if its certificate is for another host", () =>
    Effect.scoped(Effect.gen(function* () {
      const { url } = yield* scopedServer(onlyTls, ofHosts(["db.example.com"]))
      const DATABASE_CA = authority.certificate
      for (const mode of ["require", "verify-ca"]) {
        assert.isTrue(yield* connect(`${url}?sslmode=${mode}`, { DATABASE_CA }), mode)
      }
      for (const host of ["localhost", "127.0.0.1"]) {
        assert.match(
          `${yield* connect(url.replace("localhost", host), { DATABASE_CA })}`,
          /another name than (localhost|127\.0\.0\.1).*Set the host in DATABASE_URL to a name that the certificate has/,
        )
      }
    })))

  it.live("is rejected if its certificate has expired", () =>
    Effect.scoped(Effect.gen(function* () {
      const { url } = yield* scopedServer(onlyTls, ofHosts(["localhost"], { until: new Date(Date.now() - hour) }))
      const DATABASE_CA = authority.certificate
      for (const mode of ["require", "verify-ca", "verify-full"]) {
        assert.match(
          `${yield* connect(`${url}?sslmode=${mode}`, { DATABASE_CA })}`,
          /certificate expired on \d{4}-\d\d-\d\d\. Put a new one in its place.*pg_reload_conf/,
        )
      }
      // As libpq: without an authority nothing of the certificate is checked.
      assert.isTrue(yield* connect(`${url}?sslmode=require`))
    })))

  it.live("receives a client certificate if it requires one", () =>
    Effect.scoped(Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const client = makeCertificate({ name: "shop", hosts: ["shop"], authority })
      const [cert, key] = [join(folder, "client.crt"), join(folder, "client.key")]
      writeFileSync(cert, client.certificate)
      writeFileSync(key, client.key)
      const { url } = yield* scopedServer(["hostssl all shop all cert"], ofHosts(["localhost"]))
      const DATABASE_CA = authority.certificate
      assert.isTrue(yield* connect(`${url}?sslcert=${cert}&sslkey=${key}`, { DATABASE_CA }))
      assert.match(`${yield* connect(url, { DATABASE_CA })}`, /valid client certificate.*sslcert and sslkey/)
    })))
})

describe("a server without TLS", () => {
  it.live("is reached in the modes that do not require TLS", () =>
    Effect.scoped(Effect.gen(function* () {
      const { url } = yield* scopedServer(["host all shop all scram-sha-256"])
      for (const mode of ["disable", "allow", "prefer"]) assert.isFalse(yield* connect(`${url}?sslmode=${mode}`), mode)
      assert.isFalse(yield* connect(url))
      assert.match(
        `${yield* connect(`${url}?sslmode=require`)}`,
        /takes no encrypted connections.*ALTER SYSTEM SET ssl = on/,
      )
    })))

  it.live("is reached with prefer even if it has TLS but its rules forbid it", () =>
    Effect.scoped(Effect.gen(function* () {
      const { url } = yield* scopedServer(["hostnossl all shop all scram-sha-256"], ofHosts(["localhost"]))
      for (const mode of ["disable", "allow", "prefer"]) assert.isFalse(yield* connect(`${url}?sslmode=${mode}`), mode)
      assert.match(`${yield* connect(`${url}?sslmode=require`)}`, /no pg_hba.conf entry.*Add a line/)
    })))
})

describe("an encrypted connection", () => {
  it.live("transfers long texts in both directions, and cancelled statements", () =>
    Effect.scoped(Effect.gen(function* () {
      const { url } = yield* scopedServer(onlyTls, ofHosts(["localhost"]))
      const text = "äß€𝄞".repeat(300_000)
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const answers = yield* Effect.forEach(
          [1, 2, 3, 4],
          (n) => sql<{ n: number; text: string }>`SELECT ${n}::int AS n, ${text}::text AS text`,
          { concurrency: "unbounded" },
        )
        for (const [i, [row]] of answers.entries()) {
          assert.strictEqual(row!.n, i + 1)
          assert.isTrue(row!.text === text)
        }
        yield* Effect.flip(Effect.timeout(sql`SELECT pg_sleep(60)`, "200 millis"))
        const running = yield* sql`SELECT 1 FROM pg_stat_activity a WHERE a.query LIKE '%pg_sleep(60)%'
          AND a.pid <> pg_backend_pid() AND a.state = 'active'`
        assert.lengthOf(running, 0, "the server was told")
      }).pipe(Effect.provide(layerOf(url, { DATABASE_CA: authority.certificate })))
    })))

  it.live("is closed after a network failure if its requests are lost", () =>
    Effect.scoped(Effect.gen(function* () {
      const { url } = yield* scopedServer(onlyTls, ofHosts(["localhost"]))
      const port = Number(new URL(url).port)
      const relay = yield* relayTo(port)
      const context = yield* Layer.build(
        layerOf(url.replace(`:${port}/`, `:${relay.port}/`), { DATABASE_CA: authority.certificate }),
      )
      const sql = yield* Effect.provideContext(SqlClient.SqlClient, context)
      const { look } = yield* Effect.provideContext(Store, context)
      yield* sql`SELECT 1`
      assert.isTrue(yield* look!)
      relay.block()
      const asked = yield* Effect.forkScoped(Effect.flip(sql`SELECT 2`), { startImmediately: true })
      assert.isFalse(yield* look!)
      relay.redirect(port)
      assert.isTrue(yield* look!)
      assert.isTrue(yield* look!)
      assert.strictEqual((yield* Fiber.join(asked))._tag, "SqlError")
      yield* sql`SELECT 3`
    })))
})
