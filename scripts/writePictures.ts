// Writes the pictures of the README from the demo: deno run -A scripts/writePictures.ts. Needs Chromium (CHROMIUM names
// another than /usr/bin/chromium), and takes about two minutes.
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { chromium } from "playwright-core"

const root = new URL("..", import.meta.url).pathname
const folder = join(root, "docs/pictures")

/** Pages of the demo's organization, and the part of each that is shown, from its top. */
const pictures = [
  { name: "results", path: "/templates/cart-reminder/results" },
  { name: "editor", path: "/templates/cart-reminder/variants/trailhead" },
] as const

const size = { width: 1280, height: 840 }

/** Starts the demo. Resolves to the link that signs in, once the audience is simulated. */
const startDemo = async (dataDir: string) => {
  const flags = ["--unstable-no-legacy-abort", "src/demo/main.ts", "--days", "14", "--seconds", "60", "--port", "0"]
  const demo = spawn(process.execPath, ["run", "-A", "--no-prompt", ...flags, "--data-dir", dataDir], {
    cwd: root,
    env: { ...process.env, NO_COLOR: "1" },
    stdio: ["ignore", "pipe", "inherit"],
  })
  const link = await new Promise<string>((resolve, reject) => {
    let output = ""
    demo.stdout.on("data", (chunk) => {
      output += chunk
      const found = /https?:\S+\/console\/demo\?token=\S+/.exec(output)
      if (found !== null) resolve(found[0])
    })
    demo.on("exit", () => reject(new Error(`The demo ended:\n${output}`)))
  })
  return { demo, link }
}

const dataDir = mkdtempSync(join(tmpdir(), "parlance-pictures-"))
const { demo, link } = await startDemo(join(dataDir, "demo"))
const browser = await chromium.launch({
  executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
})
try {
  mkdirSync(folder, { recursive: true })
  for (const colorScheme of ["light", "dark"] as const) {
    const context = await browser.newContext({ viewport: size, colorScheme, reducedMotion: "reduce" })
    const page = await context.newPage()
    await page.goto(link)
    const organization = new URL(page.url()).pathname
    for (const { name, path } of pictures) {
      await page.goto(new URL(`${organization}${path}`, page.url()).href, { waitUntil: "networkidle" })
      await page.screenshot({ path: join(folder, `${name}-${colorScheme}.png`) })
    }
    await context.close()
  }
} finally {
  await browser.close()
  demo.kill("SIGTERM")
  await once(demo, "exit")
  rmSync(dataDir, { recursive: true, force: true })
}
