import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { gunzipSync } from "node:zlib"
import { BucketRuns } from "../../src/buckets/BucketRuns.ts"
import { aroundTests } from "../support/aroundTests.ts"
import { s3Key, s3Region, startS3 } from "../support/s3Server.ts"
import { startWith } from "../support/servicesOf.ts"
import { adminToken } from "../support/service.ts"

type Started = Effect.Success<ReturnType<typeof startWith>>
type S3 = Awaited<ReturnType<typeof startS3>>

describe("buckets", () => {
  let started: Started
  let s3: S3
  aroundTests(
    Effect.all([
      startWith({ OUTBOUND_ALLOW: "127.0.0.1/32" }),
      Effect.acquireRelease(Effect.promise(startS3), (server) => Effect.sync(server.close)),
    ]),
    ([service, server]) => [started, s3] = [service, server],
  )

  const sql = <A>(use: (sql: SqlClient.SqlClient) => Effect.Effect<A, unknown>) =>
    started.run(Effect.flatMap(SqlClient.SqlClient, use))

  const call = async (method: string, path: string, body?: unknown, status = 200) => {
    const answer = await started.service.manage(method, path, body)
    assert.strictEqual(answer.status, status, JSON.stringify(answer.body))
    return answer.body
  }

  const input = (more: object = {}) => ({
    endpoint: s3.endpoint,
    region: s3Region,
    name: "acme-data",
    ...s3Key,
    ...more,
  })

  /** An organization with decisions, half an hour old. */
  const furnish = async (slug: string, decisions: number, settings: object = {}) => {
    await call("POST", "/organizations", { slug, name: slug, time_zone: "Europe/Berlin" }, 201)
    await sql((sql) => sql`UPDATE organizations SET created_at = now() - interval '1 day' WHERE slug = ${slug}`)
    await decide(slug, "id", decisions)
    await call("PUT", `/organizations/${slug}/bucket`, input({ folder: slug, ...settings }))
  }

  const decide = (slug: string, prefix: string, count: number) =>
    sql((sql) =>
      sql`
        INSERT INTO decisions (org_slug, tracking_id, template_id, copy_id, user_id, mode, segment, policy, decided_at)
        SELECT ${slug}, ${prefix} || '-' || i, 't', 'a', 'user-' || i, 'bandit', '', '1',
          now() - interval '30 minutes' + i * interval '1 millisecond'
        FROM generate_series(1, ${count}::int) i`
    )

  /** Runs the bucket now, as if notes about late rows were as old as an export requires. */
  const run = async (slug: string) => {
    await sql((sql) =>
      sql`UPDATE late_rows SET noted_at = now() - interval '2 minutes 5 milliseconds'
        WHERE noted_at > now() - interval '1 minute'`
    )
    await sql((sql) => sql`UPDATE buckets SET due_at = now() - interval '1 second' WHERE org_slug = ${slug}`)
    await started.run(Effect.flatMap(BucketRuns, ({ run }) => run))
    return (await call("GET", `/organizations/${slug}/bucket`)).bucket
  }

  const keysBelow = (prefix: string) => [...s3.objects.keys()].filter((key) => key.startsWith(prefix)).sort()

  const rowsBelow = (prefix: string): ReadonlyArray<{ readonly tracking_id: string }> =>
    keysBelow(prefix).flatMap((key) =>
      gunzipSync(s3.objects.get(key)!.body).toString("utf8").trim().split("\n").map((line) => JSON.parse(line))
    )

  it("receive the rows of the exports, and a watermark", async () => {
    await furnish("whole", 12_000)
    const bucket = await run("whole")
    assert.isNull(bucket.problem)
    assert.strictEqual(bucket.streams.decisions.rows, 12_000)
    assert.isNotNull(bucket.last_success_at)
    const rows = rowsBelow("whole/decisions/")
    assert.strictEqual(new Set(rows.map(({ tracking_id }) => tracking_id)).size, 12_000)
    const answer = await started.service.request("/console/api/organizations/whole/exports/decisions?limit=1", {
      headers: { authorization: `Bearer ${adminToken}` },
    })
    assert.deepStrictEqual(rows[0], JSON.parse(await answer.text()))
    assert.match(
      keysBelow("whole/decisions/")[0]!,
      /^whole\/decisions\/loaded=\d{4}-\d\d-\d\d\/\d{8}T\d{6}Z-[0-9a-f]{16}\.ndjson\.gz$/,
    )
    const watermark = JSON.parse(s3.objects.get("whole/_watermark.json")!.body.toString("utf8"))
    assert.deepStrictEqual(watermark, bucket.streams)
    assert.isNotNull(watermark.decisions.complete_until)

    // Nothing new: no object, and a later watermark. A new row: one more object.
    const objects = s3.objects.size
    const later = await run("whole")
    assert.strictEqual(s3.objects.size, objects)
    assert.isTrue(later.streams.decisions.complete_until > bucket.streams.decisions.complete_until)
    await decide("whole", "late", 1)
    assert.strictEqual((await run("whole")).streams.decisions.rows, 12_001)
    assert.include(rowsBelow("whole/decisions/").map(({ tracking_id }) => tracking_id), "late-1")
  })

  it("receive the same object again after a run that ended before its position was stored", async () => {
    await furnish("again", 10)
    let ended = 0
    // The object arrives, and the node has lost its lease when it stores the position.
    s3.interfereWith((_, key) => {
      if (!key.startsWith("again/decisions/") || ended++ > 0) return
      return sql((sql) => sql`UPDATE buckets SET due_at = now() + interval '1 hour' WHERE org_slug = 'again'`).then(
        () => {},
      )
    })
    const broken = await run("again")
    assert.deepStrictEqual([broken.streams.decisions.objects, broken.problem, ended], [0, null, 1])
    const keys = keysBelow("again/decisions/")
    assert.strictEqual(keys.length, 1)
    await decide("again", "more", 5)
    await run("again")
    assert.strictEqual(ended, 2)
    assert.deepStrictEqual(keysBelow("again/decisions/"), keys)
    assert.strictEqual(new Set(rowsBelow("again/decisions/").map(({ tracking_id }) => tracking_id)).size, 15)
  })

  it("name the fault, and try again later", async () => {
    await furnish("wrong", 3)
    for (
      const [settings, reason] of [
        [{ secret_access_key: "another" }, /The secret does not belong to the id of the access key/],
        [{ access_key_id: "AKIDUNKNOWN" }, /does not know the id of the access key/],
        [{ region: "us-east-1" }, /is not in the region us-east-1 but in eu-central-1/],
        [{ name: "other-data" }, /There is no such bucket/],
        [{ endpoint: "http://127.0.0.1:1" }, /127\.0\.0\.1:1 did not answer/],
      ] as const
    ) {
      await call("PUT", "/organizations/wrong/bucket", input({ folder: "wrong", ...settings }))
      const checked = await call("POST", "/organizations/wrong/bucket/check", undefined, 400)
      assert.match(checked.errors[0].detail, reason)
    }
    const failed = await run("wrong")
    assert.match(failed.problem, /did not answer/)
    assert.isAbove(Date.parse(failed.next_run_at), Date.now())
    await call("PUT", "/organizations/wrong/bucket", input({ folder: "wrong" }))
    await call("POST", "/organizations/wrong/bucket/check", undefined, 204)
    assert.isNull((await run("wrong")).problem)
  })

  it("refuse what cannot be a bucket, with every fault", async () => {
    await call("POST", "/organizations", { slug: "input", name: "input", time_zone: "UTC" }, 201)
    const path = "/organizations/input/bucket"
    assert.isNull((await call("GET", path)).bucket)
    const { errors } = await call(
      "PUT",
      path,
      {
        region: "Frankfurt",
        name: "Has_Capitals",
        access_key_id: "",
        folder: "/a/",
        attributes_folder: "",
        endpoint: "ftp://x",
      },
      400,
    )
    assert.deepStrictEqual(errors.map(({ pointer }: { readonly pointer: string }) => pointer).sort(), [
      "/access_key_id",
      "/attributes_folder",
      "/endpoint",
      "/folder",
      "/name",
      "/region",
    ])
    const { secret_access_key: _, ...without } = input()
    assert.match((await call("PUT", path, without, 400)).errors[0].detail, /is required/)
    assert.match((await call("PUT", path, input({ endpoint: "http://10.0.0.1" }), 400)).errors[0].detail, /10\.0\.0\.1/)
    await call("POST", `${path}/run`, undefined, 400)
    await call("PUT", path, input())
    // The secret is kept for its key, and only for it.
    assert.isFalse((await call("PUT", path, { ...without, is_active: false })).is_active)
    await call("PUT", path, { ...without, access_key_id: "AKIDOTHER" }, 400)
    assert.match((await call("POST", `${path}/run`, undefined, 400)).errors[0].detail, /not active/)
    assert.notInclude(JSON.stringify(await call("GET", "/audit?limit=20")), s3Key.secret_access_key)
    await call("DELETE", path, undefined, 204)
    assert.isNull((await call("GET", path)).bucket)
  })

  it("hold attributes of people, each version of a file once", async () => {
    await furnish("people", 0, { attributes_folder: "audience" })
    const put = (key: string, text: string) =>
      s3.objects.set(key, { body: Buffer.from(text), modifiedAt: new Date(Date.now() - 60_000) })
    put("audience/2026-11-28/part-0.csv", "user_id,email,tier\nann,ann@shop.example,gold\nben,,silver\n,,bronze\n")
    put("audience/2026-11-28/_SUCCESS", "")
    put("audience/more.ndjson", '{"user_id":"ann","visits":7}\n')
    put("audience/third.ndjson", '{"user_id":"fay","visits":9}\n')
    put("elsewhere/x.csv", "user_id,tier\nann,wrong\n")
    const bucket = await run("people")
    assert.isNull(bucket.problem)
    const taken = bucket.attribute_objects.map((
      { faulty, faults, key, people }: Record<string, unknown>,
    ) => [key, people, faulty, faults])
    assert.deepStrictEqual(taken.sort(), [
      ["audience/2026-11-28/part-0.csv", 2, 1, ["Line 4 has no user_id"]],
      ["audience/more.ndjson", 1, 0, []],
      ["audience/third.ndjson", 1, 0, []],
    ])
    const bodies = () => sql((sql) => sql<{ source: string }>`SELECT source FROM inbox WHERE org_slug = 'people'`)
    assert.strictEqual((await bodies()).length, 3)
    await run("people")
    assert.strictEqual((await bodies()).length, 3)
    put("audience/more.ndjson", '{"user_id":"ann","visits":8}\n')
    await run("people")
    assert.strictEqual((await bodies()).length, 4)
  })

  it("hold attributes in files with every name that S3 allows", async () => {
    const names = [
      "a b+c&d=e.csv",
      "münchen ☃.csv",
      "100%.csv",
      "%41.csv",
      "it's (1)!*.csv",
      "q?x=1#y.csv",
      "a//b.csv",
      "a/./b.csv",
      "a/../b.csv",
      "semi;colon@:,$.csv",
      "back\\slash.csv",
      '~tilde^|`".csv',
    ].map((name) => `odd/${name}`)
    await furnish("odd", 0, { attributes_folder: "odd" })
    for (const key of names) {
      s3.objects.set(key, { body: Buffer.from("user_id,tier\nann,gold\n"), modifiedAt: new Date() })
    }
    const bucket = await run("odd")
    assert.isNull(bucket.problem)
    const read: ReadonlyArray<{ key: string; people: number; faults: ReadonlyArray<string> }> = bucket.attribute_objects
    assert.sameMembers(read.map(({ key }) => key), names)
    for (const { faults, key, people } of read) {
      if (people === 0) assert.match(faults[0]!, /no request can name the file\. Rename it/)
      assert.strictEqual(people, /\/\.\.?\//.test(key) ? 0 : 1, key)
    }
  })

  it("hold files that the service refuses, by name, beside files that it returns", async () => {
    await furnish("archived", 3, { attributes_folder: "mixed" })
    const put = (name: string, age: number) =>
      s3.objects.set(`mixed/${name}`, {
        body: Buffer.from(`user_id,tier\n${name},gold\n`),
        modifiedAt: new Date(Date.now() - age),
      })
    put("old.csv", 3_000)
    put("new.csv", 1_000)
    s3.interfereWith((method, key) =>
      method === "GET" && key === "mixed/old.csv" ? { status: 403, code: "InvalidObjectState" } : undefined
    )
    const bucket = await run("archived")
    assert.match(bucket.problem, /^mixed\/old\.csv: The file is archived\. Restore or delete it/)
    assert.deepStrictEqual(bucket.attribute_objects.map(({ key }: { key: string }) => key), ["mixed/new.csv"])
    assert.strictEqual(bucket.streams.decisions.rows, 3)
    s3.interfereWith(() => {})
    const mended = await run("archived")
    assert.isNull(mended.problem)
    assert.lengthOf(mended.attribute_objects, 2)
  })
})
