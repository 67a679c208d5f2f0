import { assert, describe, it } from "@effect/vitest"
import { Duration, Redacted, Result } from "effect"
import { type DatabaseTarget, parse } from "../../src/settings/DatabaseUrl.ts"
import { makeCertificate } from "../support/certificates.ts"

const { certificate, key } = makeCertificate({ name: "Authority" })

const files: Readonly<Record<string, string>> = { "/ca.pem": certificate, "/client.key": key, "/empty": "" }

const readFile = (path: string): string => {
  const text = files[path]
  if (text === undefined) throw Object.assign(new Error("no"), { code: "ENOENT" })
  return text
}

const base = "postgres://shop:s3cret@db.example.com/shop"

const read = (url: string, authorities?: string) => parse(url, { authorities, readFile })

const targetOf = (url: string, authorities?: string): DatabaseTarget =>
  Result.getOrElse(read(url, authorities), (faults) => assert.fail(faults.join("\n")))

const faultsOf = (url: string, authorities?: string): ReadonlyArray<string> => {
  const result = read(url, authorities)
  const faults = Result.isFailure(result) ? result.failure : []
  assert.notInclude(faults.join("\n"), "s3cret")
  for (const fault of faults) assert.match(fault, /^DATABASE_(URL|CA): /)
  return faults
}

/** Fails unless the URL has one fault, which matches. */
const assertFault = (expected: RegExp, url: string, authorities?: string) => {
  const faults = faultsOf(url, authorities)
  assert.lengthOf(faults, 1, `${url}: ${faults.join("\n")}`)
  assert.match(faults[0]!, expected)
}

describe("DATABASE_URL", () => {
  it("contains the server, the user and the database, percent-encoded", () => {
    const target = targetOf("postgresql://sh%2Fop:p%40ss%25@[::1]:6432/my%20shop")
    assert.deepInclude(target, { host: "::1", port: 6432, username: "sh/op", database: "my shop" })
    assert.strictEqual(Redacted.value(target.password!), "p@ss%")
    const least = targetOf("postgres://")
    assert.deepInclude(least, { host: "localhost", port: 5432, username: undefined, database: undefined })
    assert.deepInclude(least, { applicationName: "parlance", options: undefined, password: undefined })
    assert.strictEqual(Duration.toSeconds(least.connectTimeout), 3)
  })

  it("accepts the supported parameters", () => {
    const target = targetOf(
      "postgres:///?host=db&port=1234&user=u&password=a+b%26&dbname=d&application_name=shop%201&connect_timeout=20" +
        "&options=-c%20search_path%3Dshop",
    )
    assert.deepInclude(target, { host: "db", port: 1234, username: "u", database: "d", applicationName: "shop 1" })
    assert.strictEqual(target.options, "-c search_path=shop")
    assert.strictEqual(Redacted.value(target.password!), "a+b&")
    assert.strictEqual(Duration.toSeconds(target.connectTimeout), 20)
    assert.strictEqual(targetOf(`${base}?ssl=true`).encryption.mode, "require", "as libpq reads JDBC's")
  })

  it("accepts parameter values that match its behavior, and rejects other values", () => {
    for (
      const [name, value, other] of [
        ["channel_binding", "prefer", "require"],
        ["target_session_attrs", "any", "read-write"],
        ["gssencmode", "disable", "require"],
        ["client_encoding", "UTF8", "LATIN1"],
        ["sslnegotiation", "postgres", "direct"],
        ["ssl_min_protocol_version", "TLSv1.2", "TLSv1.3"],
      ]
    ) {
      targetOf(`${base}?${name}=${value}`)
      assertFault(new RegExp(`the parameter ${name}=${other} is not supported\\. .`), `${base}?${name}=${other}`)
    }
  })

  it("rejects every unknown parameter", () => {
    const names = [
      "hostaddr",
      "passfile",
      "service",
      "replication",
      "sslcrl",
      "sslpassword",
      "requirepeer",
      "schema",
      "sslmdoe",
    ]
    for (const name of names) {
      assertFault(new RegExp(`the parameter ${name} is not supported\\. .`), `${base}?${name}=1`)
    }
    assertFault(/sslmode is given twice/, `${base}?sslmode=require&sslmode=disable`)
    assertFault(/must be pairs/, `${base}?sslmode`)
    assertFault(/options may not set idle_in/, `${base}?options=-cidle_in_transaction_session_timeout%3D0`)
  })

  it("asks for a pooler as Prisma and Postgres.js do, and can keep prepared statements", () => {
    const usesOf = (search: string) => {
      const { isPooled, prepares } = targetOf(`${base}${search}`)
      return [isPooled, prepares]
    }
    assert.deepStrictEqual(usesOf(""), [undefined, undefined])
    assert.deepStrictEqual(usesOf("?pgbouncer=true"), [true, undefined])
    assert.deepStrictEqual(usesOf("?pgbouncer=false"), [undefined, undefined])
    assert.deepStrictEqual(usesOf("?prepare=false"), [true, false])
    assert.deepStrictEqual(usesOf("?prepare=true"), [undefined, true])
    assert.deepStrictEqual(usesOf("?pgbouncer=true&prepare=true"), [true, true])
    assertFault(/^DATABASE_URL: prepare=no must be true or false$/, `${base}?prepare=no`)
  })

  it("is rejected with all faults", () => {
    const faults = faultsOf(`${base}?sslmode=strict&connect_timeout=0&port=x&pgbouncer=yes`)
    for (const name of ["sslmode=strict", "connect_timeout=0", "port=x", "pgbouncer"]) {
      assert.lengthOf(faults.filter((fault) => fault.includes(name)), 1, name)
    }
    assert.lengthOf(faults, 4)
  })

  it("accepts the forms of libpq, with white space and a byte order mark around them", () => {
    const cloud = targetOf("postgresql://shop%40p.iam:p%40ss@/shop?host=/cloudsql/p:europe-west1:db")
    assert.deepInclude(cloud, { host: "/cloudsql/p:europe-west1:db", username: "shop@p.iam", database: "shop" })
    assert.deepInclude(targetOf("postgres://shop@/shop?host=/run/postgresql&port=6432"), { port: 6432 })
    assert.deepInclude(targetOf("postgres://shop@:6432/shop"), { host: "localhost", port: 6432 })
    assert.deepInclude(targetOf("postgres://:6432/shop"), { host: "localhost", port: 6432, username: undefined })
    assert.strictEqual(Redacted.value(targetOf("postgres://shop:a,b:c@db/shop").password!), "a,b:c")
    assert.deepInclude(targetOf("\uFEFFpostgres://shop@db/shop\r\n"), { host: "db", database: "shop" })
    for (const search of ["ssl=true&sslmode=verify-full", "sslmode=verify-full&ssl=true"]) {
      assert.strictEqual(targetOf(`${base}?${search}&sslrootcert=system`).encryption.mode, "verify-full")
    }
  })

  it("is rejected with the remedy for each form of other clients", () => {
    const forms: ReadonlyArray<readonly [string, RegExp]> = [
      [`psql '${base}?sslmode=require'`, /is a command. Keep only the URL/],
      [`'${base}'`, /quotation mark.*Remove/],
      [`"${base}"`, /quotation mark.*Remove/],
      [`DATABASE_URL=${base}`, /name of a setting. Keep only the text after the =/],
      ["${DATABASE_URL}", /variable that nothing has replaced/],
      ["jdbc:postgresql://db/shop?user=shop&password=s3cret", /begins with jdbc:\. Remove that/],
      ["postgresql+asyncpg://shop:s3cret@db/shop", /name of a driver. Begin it with postgres:\/\//],
      ["host=db user=shop password=s3cret dbname=shop", /keywords and values. Write them as a URL/],
      ["Server=db;Database=shop;User Id=shop;Password=s3cret;Ssl Mode=Require;", /keywords and values/],
      ["postgres://shop:s3cr\net@db/shop", /line break.*Write it in one line/],
      ["postgres://shop:[YOUR-PASSWORD]@db/shop", /placeholder in place of the password/],
      ["postgres://shop:${PASSWORD}@db/shop", /placeholder in place of the password/],
      ["postgres://shop:s3cr%00et@db/shop", /%00.*Remove it/],
      ["postgres:/shop:s3cret@db/shop", /must be a URL such as/],
      ["postgres://shop:s3cret@db:70000/shop", /must be at most 65535/],
      ["postgres://shop:12/s3cret@db/shop", /Percent-encode these characters in the password/],
      [`${base}&sslmode=require`, /write \? before the first parameter/],
      [`${base}?options=`, /options has no value. Write one/],
      [`${base}?ssl=true&sslmode=disable`, /ssl=true demands encryption, and sslmode=disable does not/],
      [
        "postgres:///shop?host=/run/postgresql/.s.PGSQL.6432",
        /Set host to its folder \/run\/postgresql, and port to 6432/,
      ],
      [`${base}?channel_binding=require`, /sslmode=verify-full&sslrootcert=system/],
      [`${base}?unix_sock=/cloudsql/x/.s.PGSQL.5432`, /Set host to the folder of the socket/],
    ]
    for (const [text, expected] of forms) assertFault(expected, text)
  })

  it("is rejected without revealing it if it is no valid URL", () => {
    assertFault(/must be a URL such as/, "mysql://shop:s3cret@db/shop")
    assertFault(/must be a URL such as/, "s3cret")
    assertFault(/Percent-encode it as %23/, "postgres://shop:s3cret@db/shop#1")
    assertFault(/Write %25/, "postgres://shop:s3cret%@db/shop")
    assertFault(/several hosts.*cluster\.md/, "postgres://shop:s3cret@one,two/shop")
    assertFault(/several hosts.*cluster\.md/, "postgres://shop:s3cret@one:1,two:2/shop")
    assertFault(/several hosts.*cluster\.md/, "postgres:///shop?host=one,two")
  })
})

describe("sslmode", () => {
  const checkOf = (query: string, authorities?: string) => targetOf(`${base}${query}`, authorities).encryption.check

  it("checks certificates as libpq does", () => {
    assert.strictEqual(targetOf(base).encryption.mode, "prefer")
    for (const mode of ["disable", "allow", "prefer", "require"]) {
      assert.strictEqual(checkOf(`?sslmode=${mode}`), "nothing")
    }
    assert.strictEqual(checkOf("?sslmode=require", certificate), "authority")
    assert.strictEqual(checkOf("?sslmode=require&sslrootcert=/ca.pem"), "authority")
    assert.strictEqual(checkOf("?sslmode=verify-ca", certificate), "authority")
    assert.strictEqual(checkOf("?sslmode=verify-full", certificate), "authority and host")
    assert.strictEqual(checkOf("?sslrootcert=system"), "authority and host")
    assert.strictEqual(checkOf("", "/ca.pem"), "authority and host", "DATABASE_CA alone")
  })

  it("is rejected if certificates would not be checked, or without an authority", () => {
    for (const mode of ["disable", "allow", "prefer"]) {
      assertFault(/DATABASE_CA: has no effect.*verify-full/, `${base}?sslmode=${mode}`, certificate)
      assertFault(/sslrootcert has no effect.*verify-full/, `${base}?sslmode=${mode}&sslrootcert=/ca.pem`)
    }
    assertFault(/sslrootcert has no effect with sslmode=prefer/, `${base}?sslrootcert=/ca.pem`)
    for (const mode of ["verify-ca", "verify-full"]) {
      assertFault(/needs the certificate.*DATABASE_CA.*sslrootcert=system/, `${base}?sslmode=${mode}`)
    }
    for (const mode of ["disable", "prefer", "require", "verify-ca"]) {
      assertFault(/sslrootcert=system needs sslmode=verify-full/, `${base}?sslmode=${mode}&sslrootcert=system`)
    }
    assertFault(/Set one of them/, `${base}?sslmode=verify-full&sslrootcert=/ca.pem`, certificate)
    assertFault(/socket.*is not encrypted/, "postgres:///shop?host=/run/postgresql&sslmode=require")
  })

  it("has no effect on a socket, as with libpq", () => {
    for (const mode of ["disable", "allow", "prefer"]) {
      const { encryption, host } = targetOf(`postgres://%2Frun%2Fpostgresql/shop?sslmode=${mode}`)
      assert.deepStrictEqual([encryption.mode, host], ["disable", "/run/postgresql"])
    }
  })

  it("is rejected with files that contain no certificates or keys", () => {
    assertFault(/DATABASE_CA: the file \/nowhere cannot be read: there is no such file/, base, "/nowhere")
    assertFault(/DATABASE_CA: the file \/empty holds no certificate/, base, "/empty")
    assertFault(/DATABASE_CA: holds a certificate that cannot be read/, base, certificate.replace("MII", "AAA"))
    assertFault(/DATABASE_CA: holds no certificate/, base, key)
    assertFault(/sslrootcert: the file \/nowhere/, `${base}?sslmode=verify-full&sslrootcert=/nowhere`)
    assertFault(/set both sslcert and sslkey/, `${base}?sslcert=/ca.pem`)
    assertFault(/sslkey: the file \/ca.pem holds no private key/, `${base}?sslcert=/ca.pem&sslkey=/ca.pem`)
    assertFault(/no effect with sslmode=disable/, `${base}?sslmode=disable&sslcert=/ca.pem&sslkey=/client.key`)
    const { client } = targetOf(`${base}?sslcert=/ca.pem&sslkey=/client.key`).encryption
    assert.deepStrictEqual([client?.cert, client && Redacted.value(client.key)], [certificate, key])
  })
})
