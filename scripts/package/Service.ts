// Bundles the service for the container image: deno run -A scripts/package/Service.ts. Writes bundle/ next to src/.
import { mkdirSync, readdirSync, writeFileSync } from "node:fs"
import { basename, join, relative } from "node:path"
import { type OutputChunk, rolldown } from "rolldown"
import { licensesOf } from "./Licenses.ts"

const root = new URL("../..", import.meta.url).pathname

/** Modules that run as threads or processes of their own, by the names that `new URL` has for them. */
const worker = /\.(process|worker)\.ts$/

/** A worker that a module starts. Group 1 is its name without the extension. */
const workerUrl = /new URL\("[^"]*?([^"/]+\.(?:process|worker))\.ts", import\.meta\.url\)/g

/**
 * Returns a module with addresses that hold in the bundle: workers are next to the module, and other files stay where
 * they are in the clone. `from` is the path of the module, relative to the bundle.
 */
const relocate = (code: string, from: string): string =>
  code
    .replaceAll(workerUrl, 'new URL("./$1.js", import.meta_url)')
    .replaceAll("import.meta.url", `new URL(${JSON.stringify(from)}, import.meta.url).href`)
    .replaceAll("import.meta_url", "import.meta.url")

/** Writes the service and its workers as modules without types and comments, and the licences of their packages. */
export const bundleService = async (folder: string): Promise<void> => {
  const modules = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
  // As a file of its own, `hideAsyncResource.ts` can run before `effect`.
  const entries = ["main.ts", "runtime/hideAsyncResource.ts", ...modules.filter((name) => worker.test(name))]
  const bundle = await rolldown({
    input: Object.fromEntries(entries.map((name) => [basename(name, ".ts"), join(root, "src", name)])),
    cwd: root,
    platform: "node",
    logLevel: "warn",
    transform: { jsx: { runtime: "automatic", importSource: "preact" } },
    plugins: [{
      name: "relocate",
      transform: (code, id) =>
        id.startsWith(join(root, "src/")) && code.includes("import.meta.url")
          ? relocate(code, relative(folder, id))
          : null,
    }],
  })
  const { output } = await bundle.write({
    dir: folder,
    format: "esm",
    // Names stay as they are, for stack traces.
    minify: { compress: false, mangle: false, codegen: true },
    comments: false,
  })
  await bundle.close()
  const chunks = output.filter((file): file is OutputChunk => file.type === "chunk")
  writeFileSync(join(folder, "LICENSES.txt"), licensesOf(chunks))
}

if (import.meta.main) {
  const folder = join(root, "bundle")
  mkdirSync(folder, { recursive: true })
  await bundleService(folder)
}
