import { assert, describe, it } from "@effect/vitest"
import {
  crossingsOf,
  cyclesOf,
  foreignTables,
  outsideImports,
  ownershipFaults,
  serviceKeyFaults,
  sharedTypeNames,
} from "../../scripts/Structure.ts"

const file = (path: string, text: string) => ({ path, text })

describe("The check of the structure", () => {
  it("finds cycles of imports between folders, also of types and through others", () => {
    const files = [
      file("src/a/One.ts", 'import type { Two } from "../b/Two.ts"\n'),
      file("src/b/Two.ts", 'import {\n  Three,\n} from "../c/deep/Three.ts"\n'),
      file("src/c/deep/Three.ts", 'export { One } from "../../a/One.ts"\n'),
      file("src/d/Four.ts", 'import { One } from "../a/One.ts"\nimport { Own } from "./Own.ts"\n'),
      file("src/App.ts", 'import { Four } from "./d/Four.ts"\nconst one = await import("./a/One.ts")\n'),
    ]
    assert.deepStrictEqual(cyclesOf(crossingsOf(files)), [
      "a → b → c → a (src/a/One.ts, src/b/Two.ts, src/c/deep/Three.ts)",
    ])
    assert.deepStrictEqual(cyclesOf(crossingsOf(files.filter(({ path }) => !path.startsWith("src/c")))), [])
  })

  it("finds cycles of imports between files of one folder", () => {
    const files = [
      file("src/a/One.ts", 'import type { Two } from "./Two.ts"\n'),
      file("src/a/Two.ts", 'import { one } from "./One.ts"\n'),
      file("src/a/Three.ts", 'import { one } from "./One.ts"\n'),
    ]
    assert.deepStrictEqual(cyclesOf(crossingsOf(files, (path) => path)), ["src/a/One.ts → src/a/Two.ts → src/a/One.ts"])
  })

  it("finds imports of files outside of src, except package.json", () => {
    const faults = outsideImports([
      file("src/a/One.ts", 'import { two } from "./Two.ts"\nimport { three } from "../b/Three.ts"\n'),
      file("src/a/Two.ts", 'import type { World } from "../../bench/World.ts"\n'),
      file("src/b/Three.ts", 'import { version } from "../../package.json" with { type: "json" }\n'),
      file("src/b/Four.ts", 'const four = await import("../../test/Four.ts")\n'),
    ])
    assert.deepStrictEqual(faults.map((fault) => fault.split(",")[0]), [
      "src/a/Two.ts imports bench/World.ts",
      "src/b/Four.ts imports test/Four.ts",
    ])
  })

  it("finds SQL on tables of other folders", () => {
    const ownership = { owners: { journal: ["events"], delivery: ["deliveries"] } }
    const faults = foreignTables([
      file("src/journal/Events.ts", "sql`INSERT INTO events AS e SELECT 1 FROM deliveries d`"),
      file("src/people/Story.ts", "sql`SELECT 1 FROM events e`"),
      file("src/results/Words.ts", "// Reads from events and deliveries.\nsql`SELECT 1 FROM tallies`"),
      file("src/results/Lock.ts", "sql`LOCK TABLE events`; sql`UPDATE ONLY deliveries d SET x = 1`"),
    ], ownership)
    assert.deepStrictEqual(faults.map((fault) => fault.split(",")[0]), [
      "src/journal/Events.ts: SQL names the table deliveries",
      "src/people/Story.ts: SQL names the table events",
      "src/results/Lock.ts: SQL names the table deliveries",
      "src/results/Lock.ts: SQL names the table events",
    ])
  })

  it("finds tables without an owner or with two, and owners of missing tables", () => {
    const snapshot = "CREATE TABLE public.events (\n);\nCREATE UNLOGGED TABLE public.requests (\n);\n"
    const owners = { journal: ["events", "gone"], people: ["events"] }
    assert.deepStrictEqual(ownershipFaults(snapshot, { owners }), [
      "requests has no owner in schema/owners.json",
      "gone in schema/owners.json does not exist",
      "events has two owners",
    ])
  })
  it("finds type names that two files export", () => {
    const faults = sharedTypeNames([
      file("src/a/One.ts", "export interface Line {}\nexport const Kind = 1\nexport type Kind = 1\ninterface Row {}\n"),
      file("src/b/Two.ts", "export class Line {}\ninterface Row {}\nexport class Gone {}\n"),
      file("src/api/problems/Some.ts", "export class Gone {}\n"),
    ])
    assert.deepStrictEqual(faults.map((fault) => fault.split(".ts.")[0]), [
      "The type name Line is exported by src/a/One.ts and src/b/Two",
    ])
  })

  it("finds keys of services that name another folder or service", () => {
    const faults = serviceKeyFaults([
      file(
        "src/journal/events/Inbox.ts",
        'export class Inbox extends Context.Service<Inbox, {}>()("parlance/events/Inbox") {}',
      ),
      file("src/Settings.ts", 'export class Settings extends Context.Service<Settings, {}>()("parlance/Settings") {}'),
      file("src/auth/Limits.ts", 'export const Limits = Context.Reference<Rates>("parlance/auth/Limit", {})'),
    ])
    assert.deepStrictEqual(faults, [
      'src/journal/events/Inbox.ts: the key of the service Inbox must be "parlance/journal/events/Inbox".',
      'src/auth/Limits.ts: the key of the service Limits must be "parlance/auth/Limits".',
    ])
  })
})
