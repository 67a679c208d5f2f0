// Writes the chart library uPlot in the form that the console serves: deno run -A scripts/writeUplot.ts
const root = new URL("..", import.meta.url).pathname

/** Path of the library. */
export const uplotPath = `${root}src/console/assets/uplot.js`

/** Returns the minified file of the pinned package, with its license. */
export const uplotText = async (): Promise<string> => {
  const folder = `${root}node_modules/uplot`
  const license = await Deno.readTextFile(`${folder}/LICENSE`)
  const code = await Deno.readTextFile(`${folder}/dist/uPlot.iife.min.js`)
  return `/* Made by scripts/writeUplot.ts.\n\n${license}*/\n${code}`
}

if (import.meta.main) await Deno.writeTextFile(uplotPath, await uplotText())
