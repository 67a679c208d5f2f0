// Fails when folders or files of `src/` import each other or files outside of `src/`, when SQL names a table that another
// folder owns, when two files export types of one name, or when the key of a service names another folder: `deno task check`.
import { readdirSync, readFileSync } from "node:fs"
import process from "node:process"
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

const faults = [
  ...cyclesOf(crossingsOf(files)).map((cycle) => `Folders import each other: ${cycle}`),
  ...cyclesOf(crossingsOf(files, (path) => path)).map((cycle) => `Files import each other: ${cycle}`),
  ...outsideImports(files),
  ...ownershipFaults(readFileSync("schema/snapshot.sql", "utf8"), ownership),
  ...foreignTables(files, ownership),
  ...sharedTypeNames(files),
  ...serviceKeyFaults(files),
]
for (const fault of faults) console.error(fault)
console.log(`Structure of ${files.length} files: ${faults.length} faults`)
if (faults.length > 0) process.exit(1)
