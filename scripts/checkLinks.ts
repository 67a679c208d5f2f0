import { execFileSync } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { dirname, join, normalize } from "node:path/posix"
import process from "node:process"
import { headingsOf } from "../src/api/documents/Markdown.ts"

// Part of `deno task check`: checks every relative link and anchor in the Markdown files that git tracks, and the files
// that they name in code. Decision records may name files that no longer exist.

/** Returns the links of a Markdown text with their lines. Links in code are omitted. */
export const linksOf = (markdown: string): ReadonlyArray<{ readonly href: string; readonly line: number }> => {
  let isCode = false
  return markdown.split("\n").flatMap((text, index) => {
    if (/^\s*```/.test(text)) isCode = !isCode
    if (isCode) return []
    const prose = text.replace(/`[^`]*`/g, (code) => "x".repeat(code.length))
    return [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, href]) => ({ href: href!, line: index + 1 }))
  })
}

/** Pages of the service, which documents may link to by their path. */
const served = /^\/(docs|problems|openapi\.json|console)(\/|#|$)/

/**
 * Returns the broken links of a file. `read` returns the text of a file, `""` for a folder and for a file without
 * anchors, or undefined if the path does not exist.
 */
export const brokenLinks = (
  file: string,
  markdown: string,
  read: (file: string) => string | undefined,
): ReadonlyArray<string> =>
  linksOf(markdown).flatMap(({ href, line }) => {
    if (/^(https?|mailto):/.test(href) || served.test(href)) return []
    const [path = "", anchor] = href.split("#")
    const target = path === "" ? file : normalize(join(dirname(file), path))
    const text = target === file ? markdown : read(target)
    if (text === undefined) return [`${file}:${line}: there is no file ${target}`]
    const isFound = anchor === undefined || !target.endsWith(".md") || headingsOf(text).some(({ id }) => id === anchor)
    return isFound ? [] : [`${file}:${line}: ${target} has no heading #${anchor}`]
  })

const named = /`((?:bench|clients|deploy|examples|schema|scripts|src|test)\/[\w./-]*)/g

/**
 * Returns files and folders of the repository that a text names in code and that do not exist. Paths with the
 * placeholders `NAME` and `NNNN` are not checked.
 */
export const missingFiles = (
  file: string,
  markdown: string,
  exists: (file: string) => boolean,
): ReadonlyArray<string> =>
  markdown.split("\n").flatMap((text, index) =>
    [...text.matchAll(named)].flatMap(([, path]) =>
      /NAME|NNNN/.test(path!) || exists(path!) ? [] : [`${file}:${index + 1}: there is no file ${path}`]
    )
  )

if (import.meta.main) {
  const files = execFileSync("git", ["ls-files", "-co", "--exclude-standard", "*.md"], { encoding: "utf8" })
    .split("\n").filter((file) => file !== "" && existsSync(file))
  const broken = files.flatMap((file) => {
    const markdown = readFileSync(file, "utf8")
    const links = brokenLinks(
      file,
      markdown,
      (target) => !existsSync(target) ? undefined : target.endsWith(".md") ? readFileSync(target, "utf8") : "",
    )
    const isRecord = file.startsWith("docs/decisions/") || file === "CHANGELOG.md"
    return isRecord ? links : [...links, ...missingFiles(file, markdown, existsSync)]
  })
  for (const line of broken) console.error(line)
  if (broken.length > 0) {
    console.error(`${broken.length} broken links. Correct the path or the anchor.`)
    process.exitCode = 1
  }
}
