import { join } from "node:path"
import { rolldown } from "rolldown"
import { licensesOf } from "./Licenses.ts"

const root = new URL("../..", import.meta.url).pathname

/** Modules that open a database. `NoDatabase.ts` takes their place. */
const database = /\/(BackupCommand|DoctorLocal|InProcess|MigrateCommand|ServeCommand)\.ts$/

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
  return { code: output[0].code, licenses: licensesOf([output[0]]) }
}
