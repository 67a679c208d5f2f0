// Writes the library of charts, uPlot, as the console serves it: deno run -A scripts/writeUplot.ts
const root = new URL("..", import.meta.url).pathname

/** Where the library is. */
export const uplotPath = `${root}src/console/assets/uplot.js`

/** The pinned package's own minified file, with its licence. */
export const uplotText = async (): Promise<string> => {
  const folder = `${root}node_modules/uplot`
  const license = await Deno.readTextFile(`${folder}/LICENSE`)
  const code = await Deno.readTextFile(`${folder}/dist/uPlot.iife.min.js`)
  return `/* Made by scripts/writeUplot.ts.\n\n${license}*/\n${code}`
}

if (import.meta.main) await Deno.writeTextFile(uplotPath, await uplotText())
