// Part of `deno task check`. Fails if folders or files of `src/` form a cycle of imports, if they import files outside
// of `src/`, if SQL names a table that another folder owns, if two files export types with one name, if the key of a
// service names another folder, or if tables, keys or joins lack the organization (`schema/distribution.json`).
import { readdirSync, readFileSync } from "node:fs"
import process from "node:process"
import { type DistributionExceptions, distributionFaults } from "./Distribution.ts"
import {
  crossingsOf,
  cyclesOf,
  foreignTables,
  outsideImports,
  type Ownership,
  ownershipFaults,
  serviceKeyFaults,
  sharedTypeNames,
} from "./Structure.ts"

const files = readdirSync("src", { recursive: true, encoding: "utf8" })
  .filter((path) => /\.tsx?$/.test(path))
  .map((path) => ({ path: `src/${path}`, text: readFileSync(`src/${path}`, "utf8") }))
const ownership: Ownership = JSON.parse(readFileSync("schema/owners.json", "utf8"))
const exceptions: DistributionExceptions = JSON.parse(readFileSync("schema/distribution.json", "utf8"))
const snapshot = readFileSync("schema/snapshot.sql", "utf8")

const faults = [
  ...cyclesOf(crossingsOf(files)).map((cycle) => `Folders import each other: ${cycle}`),
  ...cyclesOf(crossingsOf(files, (path) => path)).map((cycle) => `Files import each other: ${cycle}`),
  ...outsideImports(files),
  ...ownershipFaults(snapshot, ownership),
  ...foreignTables(files, ownership),
  ...sharedTypeNames(files),
  ...serviceKeyFaults(files),
  ...distributionFaults(snapshot, files, exceptions),
]
for (const fault of faults) console.error(fault)
console.log(`Structure of ${files.length} files: ${faults.length} faults`)
if (faults.length > 0) process.exit(1)
