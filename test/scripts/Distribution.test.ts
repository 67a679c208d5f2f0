import { assert, describe, it } from "@effect/vitest"
import { distributedTables, distributionFaults } from "../../scripts/Distribution.ts"
import { queryTables } from "../../scripts/SqlJoins.ts"
import { statementsOf } from "../../scripts/SqlStatements.ts"

const table = (name: string, ...lines: ReadonlyArray<string>) =>
  `CREATE TABLE ${name} (\n  ${lines.join(",\n  ")}\n);\n`
const snapshot = table("events", "org_slug text NOT NULL", "id text NOT NULL", "PRIMARY KEY (org_slug, id)") +
  table("decisions", "org_slug text NOT NULL", "id text NOT NULL", "PRIMARY KEY (org_slug, id)") +
  table("inbox", "id bigint NOT NULL", "org_slug text NOT NULL", "UNIQUE (org_slug, id)") +
  table("organizations", "slug text NOT NULL", "PRIMARY KEY (slug)")
const none = { tables: { organizations: "one row for each organization" }, keys: {}, joins: {} }
const file = (...statements: ReadonlyArray<string>) => ({
  path: "src/journal/Some.ts",
  text: statements.map((statement) => `yield* sql\`${statement}\`\n`).join(""),
})
const joinsIn = (...statements: ReadonlyArray<string>) =>
  distributionFaults(snapshot, [file(...statements)], none).map((fault) => / (\w.*) are joined/.exec(fault)?.[1])

describe("the check of distribution by organization", () => {
  it("accepts tables whose keys and joins contain the organization", () => {
    assert.deepStrictEqual(distributedTables(snapshot), new Set(["events", "decisions", "inbox"]))
    assert.deepStrictEqual(distributionFaults(snapshot, [], none), [])
  })

  it("reports a primary key, a unique key, a unique index and a table without the organization", () => {
    const planted = snapshot +
      table("links", "org_slug text", "id text", "digest text", "PRIMARY KEY (id)", "UNIQUE (digest)") +
      "CREATE UNIQUE INDEX links_open ON public.links USING btree (id, digest) WHERE (id IS NOT NULL);\n" +
      "CREATE UNLOGGED " + table("requests", "id bigint", "PRIMARY KEY (id)").slice("CREATE ".length)
    assert.deepStrictEqual(distributionFaults(planted, [], none).map((fault) => fault.split(" has no")[0]), [
      "The table requests",
      "The key links (id)",
      "The key links (digest)",
      "The key links (id, digest)",
    ])
  })

  it("accepts exceptions with a reason, and reports exceptions that apply to nothing", () => {
    const planted = snapshot + table("links", "org_slug text", "id text", "PRIMARY KEY (id)")
    const faults = distributionFaults(planted, [file("SELECT 1 FROM events e JOIN decisions d ON d.id = e.id")], {
      tables: { ...none.tables, gone: "removed" },
      keys: { "links (id)": "random" },
      joins: { "src/journal/Some.ts: decisions, events": "a count of all organizations" },
    })
    assert.deepStrictEqual(faults, [
      'schema/distribution.json: the exception "gone" applies to nothing. Remove it.',
    ])
  })

  it("names the file, the tables and the remedy of a join without the organization", () => {
    const [fault] = distributionFaults(snapshot, [file("SELECT 1 FROM events e JOIN decisions d ON d.id = e.id")], none)
    assert.strictEqual(
      fault,
      "src/journal/Some.ts: decisions, events are joined without equality of org_slug. Add it to the condition, or list " +
        "it with a reason in schema/distribution.json.",
    )
  })

  it("reports joins of every form", () => {
    const joins = [
      "SELECT 1 FROM events e LEFT JOIN decisions AS d ON d.id = e.id",
      "SELECT 1 FROM events e, decisions d WHERE d.id = e.id AND d.org_slug <> e.org_slug",
      "SELECT 1 FROM events e WHERE e.org_slug = ${org} AND EXISTS (SELECT 1 FROM decisions d WHERE d.id = e.id)",
      "UPDATE events e SET id = 'x' FROM decisions d WHERE d.id = e.id AND e.org_slug = ${org}",
      "DELETE FROM events e USING decisions d WHERE d.id = e.id",
      "DELETE FROM events e WHERE e.id IN (SELECT d.id FROM decisions d)",
      "WITH found AS (SELECT d.id FROM decisions d) SELECT 1 FROM found f JOIN events e ON e.id = f.id",
      "INSERT INTO events (id, org_slug) SELECT d.org_slug, d.id FROM decisions d",
      "SELECT 1 FROM events e JOIN decisions d USING (id)",
      "SELECT 1 FROM events e WHERE e.org_slug = ANY(${orgs}) AND e.id IN (SELECT d.id FROM decisions d WHERE d.org_slug = ANY(${orgs}))",
    ]
    for (const join of joins) {
      assert.deepStrictEqual(joinsIn(join), ["decisions, events"], join)
    }
  })

  it("accepts the organization in every form", () => {
    const joins = [
      "SELECT 1 FROM events e LEFT JOIN decisions AS d ON d.org_slug = e.org_slug AND d.id = e.id",
      "SELECT 1 FROM events e, decisions d WHERE (d.org_slug, d.id) = (e.org_slug, e.id)",
      "SELECT 1 FROM events e WHERE e.org_slug = ${org}::text AND EXISTS (SELECT 1 FROM decisions WHERE org_slug = ${org} AND id = e.id)",
      "DELETE FROM events e WHERE (e.org_slug, e.id) IN (SELECT d.org_slug, d.id FROM decisions d)",
      "SELECT 1 FROM events e JOIN decisions d USING (org_slug, id)",
      "WITH found AS MATERIALIZED (SELECT d.* FROM decisions d), x (org, i) AS (SELECT f.org_slug, 1 FROM found f) INSERT INTO events (id, org_slug) SELECT x.i, x.org FROM x",
      "SELECT 1 FROM ${rows} CROSS JOIN LATERAL (SELECT 1 FROM events e WHERE e.org_slug = r.org_slug LIMIT 1) e JOIN decisions d ON d.org_slug = r.org_slug",
      "SELECT 1 FROM organizations o JOIN events e ON e.org_slug = o.slug JOIN decisions d ON d.org_slug = o.slug",
      "WITH gone AS (DELETE FROM events e RETURNING e.org_slug AS org) INSERT INTO decisions (org_slug, id) SELECT g.org, 'x' FROM gone g",
    ]
    for (const join of joins) assert.deepStrictEqual(joinsIn(join), [], join)
  })

  it("reads tables in texts that another file exports", () => {
    const rows = {
      path: "src/templates/Rows.ts",
      text: 'export const eventRows = "(SELECT x.org_slug, x.id FROM events x) t"\n' +
        "export const all = `(SELECT y.* FROM events y) t`\n",
    }
    const using = (name: string, condition: string) => ({
      path: "src/journal/Some.ts",
      text: `import { ${name} } from "../templates/Rows.ts"\n` +
        `sql\`SELECT 1 FROM decisions d JOIN \${sql.literal(${name})} ON ${condition}\`\n`,
    })
    for (const name of ["eventRows", "all"]) {
      assert.lengthOf(distributionFaults(snapshot, [rows, using(name, "t.id = d.id")], none), 1)
      assert.lengthOf(distributionFaults(snapshot, [rows, using(name, "t.org_slug = d.org_slug")], none), 0)
    }
  })

  it("keeps equal aliases of different subqueries apart", () => {
    const statement =
      `SELECT (SELECT 1 FROM events d WHERE d.org_slug = "$one"), (SELECT 1 FROM inbox d WHERE d.org_slug = "$two")`
    const groups = queryTables(statement, { distributed: distributedTables(snapshot), column: "org_slug" })
    assert.deepStrictEqual(groups, [{ table: "events", group: '"$one"' }, { table: "inbox", group: '"$two"' }])
  })

  it("inlines fragments of the file, nested templates and string constants", () => {
    const text = 'const columns = "org_slug, id"\nconst mine = sql`d.org_slug = ${org}`\n' +
      "const of = (id: string) =>\n  sql<Row>`AND d.id = ${id}`\n// A comment with ` in it.\n" +
      'sql`SELECT ${sql.literal(columns)} FROM decisions d WHERE ${mine} ${of(x)} ${\n  all ? sql`ORDER BY ${by}` : sql.literal("")}`\n'
    assert.deepStrictEqual(statementsOf(text), [
      'SELECT org_slug, id FROM decisions d WHERE d.org_slug = "$org" AND d.id = "$id" ORDER BY "$by"',
    ])
  })
})
