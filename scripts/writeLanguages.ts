// Writes the catalogues: adds the texts of the source that a language lacks, with an empty translation, and removes texts
// that the source no longer has. deno run --allow-read --allow-write --allow-env --allow-ffi scripts/writeLanguages.ts
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { type Catalogue, cataloguesFolder, completed, messagesOfSource, written } from "./Languages.ts"

const messages = messagesOfSource()
for (const name of readdirSync(cataloguesFolder).filter((name) => name.endsWith(".json"))) {
  const path = `${cataloguesFolder}/${name}`
  const before: Catalogue = JSON.parse(readFileSync(path, "utf8"))
  const { catalogue, removed } = completed(before, messages)
  writeFileSync(path, written(catalogue))
  const missing = Object.values(catalogue).filter((translation) => translation === "").length
  console.log(`${name}: ${Object.keys(catalogue).length} texts, ${missing} without a translation, ${removed} removed`)
}
