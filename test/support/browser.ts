import { existsSync, mkdirSync, readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core"

const executablePath = process.env["CHROMIUM"] ?? "/usr/bin/chromium"

/** Whether this machine has a browser for tests. */
export const hasBrowser = existsSync(executablePath)

if (!hasBrowser) {
  console.warn(`Skipped: tests in a browser (no Chromium at ${executablePath}; CHROMIUM names another)`)
}

/** A Chromium that connects only to the page under test. */
export const launch = (): Promise<Browser> =>
  chromium.launch({
    executablePath,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  })

/**
 * The variants in which pages are tested: on a desktop in light colors, and on a phone in dark colors. Two variants
 * cover both widths and both color schemes.
 */
export const looks = [
  { name: "1280-light", width: 1280, height: 860, colorScheme: "light" },
  { name: "390-dark", width: 390, height: 844, colorScheme: "dark" },
] as const

const folder = fileURLToPath(new URL("../../artifacts/console/", import.meta.url))

/**
 * Writes a picture of the whole page to `artifacts/console`, which git ignores, for review by people. In CI, it does
 * nothing.
 */
export const screenshot = async (page: Page, name: string): Promise<void> => {
  if (process.env["CI"] === "true") return
  const file = join(folder, `${name}.png`)
  mkdirSync(dirname(file), { recursive: true })
  await page.screenshot({ path: file, fullPage: true })
}

/** Writes the page as printed on A4 to `artifacts/console`, which git ignores. */
export const printed = async (page: Page, name: string): Promise<void> => {
  mkdirSync(folder, { recursive: true })
  await page.pdf({ path: join(folder, `${name}.pdf`), preferCSSPageSize: true, printBackground: true })
}

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")

/** Returns the violations of WCAG 2.2 A and AA and of axe's best practices, one line for each. */
export const faultsByAxe = async (page: Page): Promise<ReadonlyArray<string>> => {
  // The page's policy forbids foreign scripts. Scripts of the debugger are not subject to it.
  await page.evaluate(axe)
  return await page.evaluate(async () => {
    const { axe } = globalThis as unknown as { readonly axe: typeof import("axe-core") }
    const { violations } = await axe.run(document, {
      runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
      // Only rules about sounds need preloaded media and style sheets, and no page plays sounds.
      preload: false,
      // Passed and undecided rules are not reported, because the description of their elements is slow.
      resultTypes: ["violations"],
    })
    return violations.flatMap((one) =>
      one.nodes.map((node) => `${one.id}: ${node.target.join(" ")}: ${node.failureSummary}`)
    )
  })
}

export type { Browser, BrowserContext, Page }
