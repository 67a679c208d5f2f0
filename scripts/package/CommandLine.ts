import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { type OutputChunk, rolldown } from "rolldown"

const root = new URL("../..", import.meta.url).pathname

/** Modules that open a database. `NoDatabase.ts` takes their place. */
const database = /\/(BackupCommand|DoctorLocal|InProcess|MigrateCommand|ServeCommand)\.ts$/

/** The folder of the package that a module belongs to. Undefined for a module of this project. */
const packageOf = (module: string): string | undefined =>
  /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(module)?.[0]

/** The licences of the packages in a bundle, by name. */
const licensesOf = ({ modules }: OutputChunk): string => {
  const folders = new Map<string, string>()
  for (const [module, { renderedLength }] of Object.entries(modules)) {
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

/** Returns the command line as one module for Node.js 20, with the licences of the packages in it. */
export const bundleCommandLine = async (
  commit: string,
): Promise<{ readonly code: string; readonly licenses: string }> => {
  const replacement = join(root, "scripts/package/NoDatabase.ts")
  const bundle = await rolldown({
    input: join(root, "scripts/package/cli.ts"),
    cwd: root,
    platform: "node",
    logLevel: "warn",
    transform: { target: "node20", define: { BUILD_COMMIT: JSON.stringify(commit) } },
    plugins: [{ name: "no-database", resolveId: (id) => database.test(id) ? replacement : null }],
  })
  const { output } = await bundle.generate({
    format: "esm",
    minify: true,
    codeSplitting: false,
    comments: { legal: false },
    banner: "#!/usr/bin/env node",
  })
  await bundle.close()
  return { code: output[0].code, licenses: licensesOf(output[0]) }
}
