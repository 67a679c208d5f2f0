import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Layer, Result } from "effect"
import { SqlError, UnknownError } from "effect/sql/SqlError"
import { parse } from "../../src/settings/DatabaseUrl.ts"
import { explain } from "../../src/store/ConnectFailure.ts"
import { StartPatience } from "../../src/store/FirstConnection.ts"
import { checkRights, migrate } from "../../src/store/Migrations.ts"
import { unsuitability } from "../../src/store/ServerFacts.ts"
import * as StoreFromSettings from "../../src/store/StoreFromSettings.ts"
import { freePort } from "../support/service.ts"
import { embeddedEnvironment, layerSettings } from "../support/stores.ts"
import { onServer } from "../support/onServer.ts"
import { startPostgres } from "../support/throwawayPostgres.ts"

/** The message of a start that fails on `url`. */
const refusalOf = (url: string) =>
  Effect.andThen(migrate, checkRights).pipe(
    Effect.provide(Layer.fresh(StoreFromSettings.layer.pipe(Layer.provide(layerSettings({ DATABASE_URL: url }))))),
    Effect.flip,
    Effect.map(({ message }) => message),
    Effect.provideService(StartPatience, Duration.zero),
  )

const rules = ["host all postgres all trust", "host all known all trust", "host all all all scram-sha-256", ""].join(
  "\n",
)

describe("a database that cannot be used", () => {
  it.live("is reported with its cause and a statement that repairs it", () =>
    Effect.scoped(Effect.gen(function* () {
      const { DATA_DIR: seed } = yield* embeddedEnvironment
      const server = yield* Effect.acquireRelease(
        Effect.promise(() =>
          startPostgres({ seed: seed!, files: { "pg_hba.conf": rules }, settings: { max_connections: "20" } })
        ),
        ({ stop }) => Effect.promise(stop),
      )
      const { port } = new URL(server.url)
      /** Runs statements in a database as its superuser. */
      const run = (database: string, ...statements: ReadonlyArray<string>) =>
        Effect.promise(async () => {
          const url = new URL(`/${database}`, server.url).href
          for (const statement of statements) await onServer(url, statement)
        })
      /** Checks the message of a start, and runs the statement in it. */
      const help = Effect.fnUntraced(
        function* (user: string, expected: RegExp, statement: string, database = "postgres") {
          const message = yield* refusalOf(`postgres://${user}@127.0.0.1:${port}/shop`)
          assert.match(
            message,
            new RegExp(`^DATABASE_URL: the database at 127\\.0\\.0\\.1:${port}/shop cannot be used: `),
          )
          assert.match(message, expected)
          assert.include(message, statement)
          assert.notInclude(message, "s3cret")
          yield* run(database, ...statement.replace("…", "s3cret").split("; "))
        },
      )

      yield* help("new:s3cret", /password authentication failed/, `CREATE ROLE "new" LOGIN PASSWORD '…'`)
      yield* help("new:wrong", /password authentication failed/, `ALTER ROLE "new" PASSWORD '…'`)
      const asks = yield* refusalOf(`postgres://new@127.0.0.1:${port}/shop`)
      assert.match(asks, /asks for a password. Write it into DATABASE_URL/)
      yield* help("known", /role "known" does not exist/, `CREATE ROLE "known" LOGIN PASSWORD '…'`)
      yield* run("postgres", "ALTER ROLE known NOLOGIN")
      yield* help("known", /not permitted to log in/, `ALTER ROLE "known" LOGIN`)
      yield* help("new:s3cret", /database "shop" does not exist/, `CREATE DATABASE "shop" OWNER "new"`)
      yield* run("postgres", "REVOKE CONNECT ON DATABASE shop FROM PUBLIC")
      yield* help("known", /permission denied for database/, `GRANT CONNECT ON DATABASE "shop" TO "known"`)
      yield* help(
        "known",
        /permission denied for schema public/,
        `GRANT USAGE, CREATE ON SCHEMA "public" TO "known"`,
        "shop",
      )
      yield* run("shop", "DROP SCHEMA public")
      yield* help("known", /no schema has been selected/, `CREATE SCHEMA "public" AUTHORIZATION "known"`, "shop")
      yield* run("postgres", "ALTER ROLE known CONNECTION LIMIT 0")
      yield* help("known", /too many connections for role/, `ALTER ROLE "known" CONNECTION LIMIT -1`)
      yield* run("postgres", "ALTER DATABASE shop CONNECTION LIMIT 0")
      yield* help("known", /too many connections for database/, `ALTER DATABASE "shop" CONNECTION LIMIT -1`)
      yield* run("postgres", "ALTER DATABASE shop ALLOW_CONNECTIONS false")
      yield* help("known", /not currently accepting/, `ALTER DATABASE "shop" ALLOW_CONNECTIONS true`)
      const start = (user: string) =>
        Effect.provide(
          Effect.andThen(migrate, checkRights),
          StoreFromSettings.layer.pipe(
            Layer.provide(layerSettings({ DATABASE_URL: `postgres://${user}@127.0.0.1:${port}/shop` })),
          ),
        )
      yield* start("known")
      yield* run(
        "shop",
        "ALTER TABLE decisions OWNER TO postgres",
        "GRANT ALL ON decisions TO known",
        "ALTER TABLE decisions_first OWNER TO postgres",
        "ALTER TABLE decisions_other OWNER TO postgres",
        "ALTER SEQUENCE template_revisions OWNER TO postgres",
        "REVOKE INSERT ON templates FROM known",
        "ALTER SCHEMA public OWNER TO postgres",
        "GRANT USAGE ON SCHEMA public TO known",
      )
      const partitions = ["decisions", "decisions_first", "decisions_other"]
      yield* help(
        "known",
        /the role known lacks rights on the tables/,
        `GRANT USAGE, CREATE ON SCHEMA "public" TO "known"; ` +
          `GRANT SELECT, INSERT, UPDATE, DELETE ON "decisions_other", "templates" TO "known"; ` +
          `GRANT USAGE ON SEQUENCE "template_revisions" TO "known"; ` +
          partitions.map((name) => `ALTER TABLE "${name}" OWNER TO "known"`).join("; "),
        "shop",
      )
      yield* start("known")
      yield* run("shop", "ALTER TABLE schema_migrations OWNER TO postgres", "DELETE FROM schema_migrations")
      const owner = yield* refusalOf(`postgres://known@127.0.0.1:${port}/shop`)
      assert.match(owner, /permission denied for table schema_migrations.*Use the role.*GRANT ALL ON ALL TABLES/)
    })))

  it.live("is reported for a closed port, another program, and an unknown name", () =>
    Effect.gen(function* () {
      const port = yield* Effect.promise(freePort)
      assert.match(
        yield* refusalOf(`postgres://shop@127.0.0.1:${port}/shop`),
        new RegExp(`nothing accepts connections at port ${port} of 127\\.0\\.0\\.1. Start the server, or correct`),
      )
      assert.match(
        yield* refusalOf("postgres://shop@nowhere.invalid/shop"),
        /at nowhere\.invalid:5432\/shop cannot be used: the name(?: nowhere\.invalid is not known| server does not answer)/,
      )
      assert.match(
        yield* refusalOf("postgres://shop@%2Ftmp%2Fparlance-nothing/shop"),
        /there is no server at the socket in \/tmp\/parlance-nothing/,
      )
    }))

  it.live("is refused if its encoding or its settings would break statements later, until the remedy is applied", () =>
    Effect.scoped(Effect.gen(function* () {
      const { DATA_DIR: seed } = yield* embeddedEnvironment
      const server = yield* Effect.acquireRelease(
        Effect.promise(() => startPostgres({ seed: seed! })),
        ({ stop }) => Effect.promise(stop),
      )
      const run = (database: string, statement: string) =>
        Effect.promise(() => onServer(new URL(`/${database}`, server.url).href, statement))
      const urlOf = (database: string) => {
        const url = new URL(`/${database}`, server.url)
        url.username = "shop"
        url.password = "s3cret"
        return url.href
      }
      yield* run("postgres", "CREATE ROLE shop LOGIN PASSWORD 's3cret'")
      yield* run("postgres", "CREATE DATABASE latin OWNER shop ENCODING 'LATIN1' TEMPLATE template0 LOCALE 'C'")
      assert.match(
        yield* refusalOf(urlOf("latin")),
        /stores texts as LATIN1.*CREATE DATABASE "parlance" OWNER "shop" ENCODING 'UTF8' TEMPLATE template0/,
      )
      yield* run("postgres", "CREATE DATABASE shop OWNER shop")
      for (const options of ["endpoint%3Dep-x", "-cno_such%3D1", "-clog_statement%3Dall", "-cstatement_timeout%3Dx"]) {
        const message = yield* refusalOf(`${urlOf("shop")}?options=${options}`)
        assert.match(message, /Correct or remove options in DATABASE_URL/, options)
        assert.strictEqual(message.includes("names a project or an endpoint"), options.startsWith("endpoint"))
      }
      const settings: ReadonlyArray<readonly [string, string, string]> = [
        ["default_transaction_isolation", "'serializable'", "'read committed'"],
        ["standard_conforming_strings", "off", "'on'"],
      ]
      for (const [name, wrong, right] of settings) {
        yield* run("postgres", `ALTER DATABASE shop SET ${name} = ${wrong}`)
        const statement = `ALTER ROLE "shop" IN DATABASE "shop" SET ${name} = ${right}`
        assert.include(
          yield* refusalOf(urlOf("shop")),
          `the service needs ${right.replaceAll("'", "")}. Run as this role: ${statement}`,
        )
        yield* Effect.promise(() => onServer(urlOf("shop"), statement))
      }
      for (const owner of ["ROLE", "DATABASE"]) {
        yield* run("postgres", `ALTER ${owner} shop CONNECTION LIMIT 11`)
        const message = yield* refusalOf(urlOf("shop"))
        assert.include(
          message,
          "allows 11 connections, and this node opens up to 12. Set DATABASE_POOL_SIZE to 9 or less",
        )
        const remedy = `ALTER ${owner} "shop" CONNECTION LIMIT -1`
        assert.include(message, remedy)
        yield* run("postgres", remedy)
      }
      yield* run("postgres", "ALTER DATABASE shop SET search_path = tables")
      assert.include(
        yield* refusalOf(urlOf("shop")),
        `If there is no such schema: CREATE SCHEMA "tables" AUTHORIZATION "shop"`,
      )
      yield* run("shop", `CREATE SCHEMA "tables" AUTHORIZATION "shop"`)
      yield* Effect.andThen(migrate, checkRights).pipe(
        Effect.provide(
          StoreFromSettings.layer.pipe(Layer.provide(layerSettings({ DATABASE_URL: urlOf("shop") }))),
        ),
      )
    })))

  it("is explained by the function that failed if the server writes in another language", () => {
    const target = Result.getOrThrow(
      parse("postgres://shop@db/shop", { authorities: undefined, readFile: () => "" }),
    )
    const explained = (code: string, routine: string) => {
      const cause = Object.assign(new Error("Das geht nicht"), { code, routine })
      return explain(new SqlError({ reason: new UnknownError({ cause }) }), { target, poolSize: 10, now: new Date(0) })
    }
    assert.include(explained("42501", "CheckMyDatabase"), `GRANT CONNECT ON DATABASE "shop" TO "shop"`)
    assert.include(explained("28000", "InitializeSessionUserId"), `ALTER ROLE "shop" LOGIN`)
    assert.include(explained("53300", "InitializeSessionUserId"), `ALTER ROLE "shop" CONNECTION LIMIT -1`)
    assert.include(explained("53300", "CheckMyDatabase"), `ALTER DATABASE "shop" CONNECTION LIMIT -1`)
    assert.include(explained("53300", "InitProcess"), "max_connections")
  })

  it("is refused if it is not PostgreSQL of a supported version", () => {
    const facts = { encoding: "UTF8", role: "shop", database: "shop", searchPath: "public", schema: "public" }
    const settings = ["read committed", "on", "ISO, MDY"]
    const limits = { roleLimit: -1, databaseLimit: -1 }
    const refused = (product: string, version: number, lowerCase = "i", encoding = facts.encoding) =>
      unsuitability({ ...facts, ...limits, settings, product, version, lowerCase, encoding })
    assert.isUndefined(refused("PostgreSQL 18.4", 180_004, "i", "SQL_ASCII"))
    assert.match(refused("PostgreSQL 18.4", 180_004, "i", "WIN1252")!, /stores texts as WIN1252/)
    assert.match(refused("PostgreSQL 18.4", 180_004, "ı")!, /ı as the lower case of I.*LOCALE.*'en_US\.UTF-8'/)
    for (const [product, version] of [["PostgreSQL 14.0 on x86_64", 140_000], ["PostgreSQL 18.4", 180_004]] as const) {
      assert.isUndefined(refused(product, version))
    }
    assert.match(refused("PostgreSQL 13.23 on x86_64", 130_023)!, /the server is PostgreSQL 13\.23\. Set .*14 or later/)
    assert.match(refused("PostgreSQL 11.2-YB-2.20.1.0-b0 on x86_64", 110_002)!, /the server is PostgreSQL 11\.2/)
    assert.match(refused("CockroachDB CCL v24.1.0 (x86_64)", 130_000)!, /the server is CockroachDB CCL v24\.1\.0/)
  })
})
