// Bundles the scripts of the console: deno run -A scripts/writeScripts.ts
import { rolldown } from "rolldown"

const root = new URL("..", import.meta.url).pathname
const licensesOf: Readonly<Record<string, ReadonlyArray<string>>> = {
  charts: ["uplot"],
  editor: ["@codemirror/view"],
}

/** The scripts by name, with their sources below `src/console`. */
const sources: Readonly<Record<string, string>> = {
  charts: "browser/charts.ts",
  comments: "browser/comments.ts",
  console: "browser/console.ts",
  drafts: "browser/drafts.ts",
  editor: "editor/editor.ts",
  live: "browser/live.ts",
  passkeys: "browser/passkeys.ts",
  templates: "browser/templates.ts",
}

/** Names of the scripts. */
export const scriptNames = Object.keys(sources)

/** Returns the path of a bundle. */
export const bundlePath = (name: string): string => `${root}src/console/assets/${name}.js`

/** Returns a script with the pinned packages as one minified module. */
export const bundleScript = async (name: string): Promise<string> => {
  const bundle = await rolldown({
    input: `${root}src/console/${sources[name]}`,
    cwd: root,
    logLevel: "warn",
    resolve: { alias: { "@codemirror/lang-javascript": `${root}src/console/editor/noJavaScript.ts` } },
  })
  const { output } = await bundle.generate({ format: "esm", minify: true, comments: { legal: false } })
  await bundle.close()
  const licenses = await Promise.all(
    (licensesOf[name] ?? []).map((name) => Deno.readTextFile(`${root}node_modules/${name}/LICENSE`)),
  )
  const head = ["Made by scripts/writeScripts.ts.", ...licenses].join("\n\n")
  return `/* ${head}${licenses.length > 0 ? "" : " "}*/\n${output[0].code}`
}

if (import.meta.main) {
  for (const name of scriptNames) await Deno.writeTextFile(bundlePath(name), await bundleScript(name))
}
