// Bundles the script of the variant editor: deno run -A scripts/writeEditor.ts
import { rolldown } from "rolldown"

const root = new URL("..", import.meta.url).pathname

/** Path of the bundle. */
export const bundlePath = `${root}src/console/assets/editor.js`

/** Returns the editor with the pinned packages as one minified module. */
export const bundleEditor = async (): Promise<string> => {
  const bundle = await rolldown({
    input: `${root}src/console/editor/editor.js`,
    cwd: root,
    logLevel: "warn",
    resolve: { alias: { "@codemirror/lang-javascript": `${root}src/console/editor/noJavaScript.js` } },
  })
  const { output } = await bundle.generate({ format: "esm", minify: true, comments: { legal: false } })
  await bundle.close()
  const license = await Deno.readTextFile(`${root}node_modules/@codemirror/view/LICENSE`)
  return `/* Made by scripts/writeEditor.ts from src/console/editor, with CodeMirror and Lezer.\n\n${license}*/\n${
    output[0].code
  }`
}

if (import.meta.main) await Deno.writeTextFile(bundlePath, await bundleEditor())
