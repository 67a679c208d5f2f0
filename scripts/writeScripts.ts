// Bundles the scripts of the console: deno run -A scripts/writeScripts.ts
import { rolldown } from "rolldown"
import { type Language, languages } from "../src/languages/Language.ts"
import type { PageTexts } from "../src/console/browser/language.ts"
import { messagesOfSource } from "./Languages.ts"

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

/** Languages whose texts the scripts do not have themselves. */
export const translations = languages.slice(1)

/** Returns the script that gives the other scripts their texts in a language. */
export const textsScript = ({ locale, texts }: Language): string => {
  const keys = [...messagesOfSource(/^console\/(?:blocks|browser|editor)\//).keys()]
  const own = keys.flatMap((key) => {
    const text = texts.get(key) ?? ""
    return text === "" ? [] : [[key, text] as const]
  })
  const page: PageTexts = { locale, texts: Object.fromEntries(own) }
  return `/* Made by scripts/writeScripts.ts. */\nglobalThis.parlanceTexts=${JSON.stringify(page)}\n`
}

if (import.meta.main) {
  for (const language of translations) {
    await Deno.writeTextFile(bundlePath(`texts.${language.tag}`), textsScript(language))
  }
  for (const name of scriptNames) await Deno.writeTextFile(bundlePath(name), await bundleScript(name))
}
