import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import type { OutputChunk } from "rolldown"

/** The folder of the package that a module belongs to. Undefined for a module of this project. */
const packageOf = (module: string): string | undefined =>
  /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(module)?.[0]

/** Returns the licences of the packages in the chunks of a bundle, by name. */
export const licensesOf = (chunks: ReadonlyArray<OutputChunk>): string => {
  const folders = new Map<string, string>()
  for (const [module, { renderedLength }] of chunks.flatMap(({ modules }) => Object.entries(modules))) {
    const folder = renderedLength > 0 ? packageOf(module) : undefined
    if (folder !== undefined) folders.set(folder.replace(/^.*\/node_modules\//, ""), folder)
  }
  return [...folders].sort(([a], [b]) => a < b ? -1 : 1).map(([name, folder]) => {
    const { license, version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"))
    const text = readdirSync(folder).find((file) => /^licen[cs]e/i.test(file))
    return `${name} ${version}, ${license}\n\n${
      text === undefined ? "" : readFileSync(join(folder, text), "utf8").trim()
    }`
  }).join(`\n\n${"-".repeat(80)}\n\n`)
}
