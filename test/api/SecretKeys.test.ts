import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { hash } from "node:crypto"
import { SecondFactors } from "../../src/accounts/SecondFactors.ts"
import { Connections } from "../../src/delivery/Connections.ts"
import type { OrgSlug } from "../../src/domain/Ids.ts"
import { MailQueue } from "../../src/mail/MailQueue.ts"
import { sealedColumns } from "../../src/service/sealedColumns.ts"
import { AddressKeys } from "../../src/suppressions/AddressKeys.ts"
import { runCommand } from "../support/cli.ts"
import { adminToken } from "../support/service.ts"
import { startWith } from "../support/servicesOf.ts"
import { temporaryEnvironment } from "../support/stores.ts"

const acme = "acme" as OrgSlug
const [first, second, third] = ["1a", "2b", "3c"].map((byte) => byte.repeat(32)) as [string, string, string]
const idOf = (key: string) => hash("sha256", key, "hex").slice(0, 8)

/** Columns of all tables with values that a key encrypted. */
const columnsWith = (key: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const columns = yield* sql<{ table: string; column: string }>`
      SELECT c.table_name AS table, c.column_name AS column FROM information_schema.columns c
      WHERE c.table_schema = 'public' AND c.data_type IN ('text', 'json', 'ARRAY')`
    const found: Array<string> = []
    for (const { column, table } of columns) {
      const rows = yield* sql`
        SELECT 1 FROM ${sql(table)} t WHERE t.${sql(column)}::text LIKE ${`%v1:${idOf(key)}:%`} LIMIT 1`
      if (rows.length > 0) found.push(`${table}.${column}`)
    }
    return found.sort()
  })

describe("rotation of SECRET_KEY", () => {
  it.live("encrypts every stored secret with the new key, so that the old key is removable", () =>
    Effect.gen(function* () {
      const environment = {
        ...(yield* temporaryEnvironment),
        MAIL_URL: "smtp://127.0.0.1:9",
        MAIL_FROM: "p@example.com",
        PUBLIC_URL: "https://p.example",
        OUTBOUND_ALLOW: "203.0.113.7",
      }
      /** Uses a node whose SECRET_KEY has these keys. */
      const withKeys = <A>(
        keys: ReadonlyArray<string>,
        use: (node: Effect.Success<ReturnType<typeof startWith>>) => Promise<A>,
      ) =>
        Effect.scoped(
          Effect.flatMap(
            startWith({ ...environment, SECRET_KEY: keys.join(",") }),
            (node) => Effect.promise(() => use(node)),
          ),
        )

      const before = yield* withKeys([first], async ({ run, service: { manage } }) => {
        const made = async (method: string, path: string, body: unknown) => {
          const answer = await manage(method, path, body)
          assert.isBelow(answer.status, 300, JSON.stringify(answer.body))
          return answer.body
        }
        await made("POST", "/organizations", { slug: acme, name: "Acme" })
        const org = "/organizations/acme"
        await made("POST", `${org}/templates`, {
          id: "welcome",
          name: "Welcome",
          variants: [{ id: "a", vars: { subject: "Hi" } }],
        })
        await made("PUT", `${org}/connections/main`, {
          platform: "smtp",
          settings: { host: "smtp.example.com", port: 587, from: "news@example.com", user: "acme" },
          secrets: { password: "smtp-password" },
        })
        await made("POST", `${org}/connections/main/dkim`, { selector: "s1" })
        await made("PATCH", `${org}/connections/main/dkim/s1`, { signing: true, unchecked: true })
        await made("PUT", `${org}/webhooks/braze`, { secret: "b".repeat(32) })
        await made("PUT", `${org}/webhooks/braze`, { secret: "c".repeat(32) })
        await made("POST", `${org}/webhook-endpoints`, { url: "https://203.0.113.7/", events: ["delivery.failed"] })
        await made("PUT", `${org}/bucket`, {
          region: "eu-west-1",
          name: "acme-data",
          access_key_id: "AKIA",
          secret_access_key: "s3-secret",
        })
        await made("PATCH", `${org}/suggestion-setup`, {
          endpoint: "own",
          url: "https://203.0.113.7/v1",
          model: "m",
          key: "model-key",
        })
        const ann = await made("POST", "/accounts", { email: "ann@example.com", name: "Ann" })
        await made("PUT", `${org}/members/${ann.id}`, { role: "editor" })
        await made("PUT", `${org}/templates/welcome/reports/slack`, {
          member: "ann@example.com",
          url: "https://hooks.slack.com/services/T/B/x",
        })
        const { secret } = await run(
          SecondFactors.use((factors) => factors.begin({ id: ann.id, email: "ann@example.com" })),
        )
        const digest = await run(AddressKeys.use((keys) => keys.digestOf("gone@example.com")))
        return { ann, secret, digest }
      })

      const changed = yield* withKeys([second, first], async ({ run, service }) => {
        const covered = sealedColumns.map(({ column, table }) => `${table}.${column}`)
          .filter((name) => name !== "suppression_keys.sealed").sort()
        assert.deepStrictEqual(await run(columnsWith(first)), covered)
        const list = async () => (await service.manage("GET", "/secret-keys")).body.keys
        const [encrypting, decrypting] = await list()
        assert.deepStrictEqual(encrypting, { id: idOf(second), state: "encrypting", values: 0, removable: false })
        assert.deepInclude(decrypting, { id: idOf(first), state: "decrypting", removable: false })

        const parlance = { PARLANCE_URL: service.url, ADMIN_TOKEN: adminToken }
        const { output } = await runCommand(["secret-key", "reencrypt"], parlance)
        assert.include(output, `Encrypted ${decrypting.values - 1} values again`)
        assert.include(
          output,
          `Key ${idOf(first)} can be removed from SECRET_KEY, or its file DATA_DIR/secret-key deleted`,
        )
        assert.deepStrictEqual((await service.manage("POST", "/secret-keys/reencrypt")).body, {
          changed: 0,
          keys: [
            { id: idOf(second), state: "encrypting", values: decrypting.values, removable: false },
            { id: idOf(first), state: "decrypting", values: 0, removable: true },
          ],
        })
        assert.deepStrictEqual(await run(columnsWith(first)), [])
        return decrypting.values
      })
      assert.strictEqual(changed, 11)

      // A second rotation also covers the key of digests that the first one kept.
      yield* withKeys([third, second], async ({ service }) => {
        const { body } = await service.manage("POST", "/secret-keys/reencrypt")
        assert.strictEqual(body.changed, changed)
      })
      yield* withKeys([third], async ({ run, service }) => {
        assert.deepStrictEqual((await service.manage("GET", "/secret-keys")).body.keys, [
          { id: idOf(third), state: "encrypting", values: changed + 1, removable: false },
        ])
        assert.include(await run(AddressKeys.use((keys) => keys.of("gone@example.com"))), before.digest)
        const { secret } = (await run(SecondFactors.use((factors) =>
          factors.pending({ id: before.ann.id, email: "ann@example.com" })
        )))!
        assert.strictEqual(secret, before.secret)
        await run(Effect.scoped(Effect.asVoid(Connections.use((connections) => connections.open(acme, "main")))))
        const [mail] = await run(MailQueue.use((queue) => queue.take(1)))
        const { subject } = await run(MailQueue.use((queue) => queue.open(mail!.id, mail!.content!)))
        assert.strictEqual(subject, "Choose a password for Parlance")
      })
    }).pipe(Effect.scoped))

  it.live("names values whose key is missing, and keeps them", () =>
    Effect.gen(function* () {
      const environment = yield* temporaryEnvironment
      yield* Effect.scoped(Effect.flatMap(startWith({ ...environment, SECRET_KEY: first }), ({ service }) =>
        Effect.promise(async () => {
          await service.manage("POST", "/organizations", { slug: acme, name: "Acme" })
          await service.manage("PUT", "/organizations/acme/webhooks/braze", { secret: "b".repeat(32) })
        })))
      const { service } = yield* startWith({ ...environment, SECRET_KEY: second })
      const { output } = yield* Effect.promise(() =>
        runCommand(["secret-key", "reencrypt"], { PARLANCE_URL: service.url, ADMIN_TOKEN: adminToken })
      )
      assert.include(output, "Encrypted 0 values again")
      assert.include(output, `1 values need the missing key ${idOf(first)}`)
    }).pipe(Effect.scoped))
})
