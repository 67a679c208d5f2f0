// Bundles MJML for the checking process: deno run -A scripts/writeMjml.ts
import { rolldown } from "rolldown"

const root = new URL("..", import.meta.url).pathname

/** The bundle, which only the checking process imports. */
export const mjmlBundle = `${root}src/checker/mjml.js`

/** Packages that MJML needs for files, minification and formatting. The bundle is without them. */
const absent: ReadonlySet<string> = new Set([
  "@biomejs/wasm-nodejs",
  "cssnano-preset-lite",
  "detect-node",
  "fs",
  "htmlnano",
  "js-beautify",
  "path",
])

/** Returns the pinned MJML, with the packages that it needs, as one minified module. */
export const bundleMjml = async (): Promise<string> => {
  const bundle = await rolldown({
    input: `${root}scripts/mjml/entry.js`,
    cwd: root,
    logLevel: "warn",
    // Selects the builds of packages that read no files and open no connections.
    platform: "browser",
    plugins: [{
      name: "without-files",
      resolveId(source, importer) {
        if (absent.has(source)) return `${root}scripts/mjml/absent.cjs`
        return source === "cheerio" ? this.resolve("cheerio/slim", importer) : null
      },
      // Without minification, MJML awaits nothing.
      transform(code) {
        return code.includes("async function mjml2html(")
          ? code.replace("async function mjml2html(", "function mjml2html(").replaceAll("await ", "")
          : null
      },
    }],
  })
  const { output } = await bundle.generate({ format: "esm", minify: true, comments: { legal: false } })
  await bundle.close()
  const license = await Deno.readTextFile(`${root}node_modules/mjml-core/LICENSE.md`)
  const head = `Made by scripts/writeMjml.ts.\n\n${license}`
  return `/* ${head}*/\n/* @ts-self-types="./mjml.d.ts" */\n${output[0].code}`
}

if (import.meta.main) await Deno.writeTextFile(mjmlBundle, await bundleMjml())
