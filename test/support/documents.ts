import { readdirSync, readFileSync } from "node:fs"
import { join, relative } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../../", import.meta.url))

/**
 * Languages of code samples. Samples in `json` and `text` state output or are only parsed. The tests run all others.
 */
const languages = new Set(["sh", "ts", "python", "json", "text"])

/** A fenced block of a document. */
export interface Sample {
  readonly language: string
  /** Words after the language, except `not-run`. */
  readonly words: ReadonlyArray<string>
  /** The reason why tests do not run the sample: `not-run="reason"` after the language. */
  readonly notRun: string | undefined
  readonly text: string
  /** Line of the opening fence. */
  readonly line: number
}

/** Returns the fenced blocks of a Markdown text, including blocks in lists. */
export const samplesOf = (markdown: string): ReadonlyArray<Sample> => {
  const samples: Array<Sample> = []
  let open: { indent: string; info: string; line: number; lines: Array<string> } | undefined
  for (const [index, line] of markdown.split("\n").entries()) {
    const fence = /^(\s*)```(.*)$/.exec(line)
    if (fence === null) {
      open?.lines.push(line.startsWith(open.indent) ? line.slice(open.indent.length) : line)
      continue
    }
    if (open === undefined) {
      open = { indent: fence[1]!, info: fence[2]!.trim(), line: index + 1, lines: [] }
      continue
    }
    const { info, line: at, lines } = open
    const notRun = /not-run="([^"]*)"/.exec(info)?.[1]
    const [language = "", ...words] = info.replace(/not-run="[^"]*"/, "").split(/\s+/).filter((word) => word !== "")
    samples.push({ language, words, notRun, text: lines.join("\n"), line: at })
    open = undefined
  }
  return samples
}

/** A document with samples to run. `name` is its path in the project. */
export interface SampledDocument {
  readonly name: string
  readonly samples: ReadonlyArray<Sample>
}

/**
 * Returns every Markdown file below `docs/` with its samples, except decision records. README.md has a test of its own.
 */
export const sampledDocuments = (): ReadonlyArray<SampledDocument> =>
  readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".md") && !file.startsWith("decisions/"))
    .map((file) => join(root, "docs", file)).sort()
    .map((file) => ({
      name: relative(root, file),
      samples: samplesOf(readFileSync(file, "utf8")).filter(({ language }) => languages.has(language)),
    }))
    .filter(({ samples }) => samples.length > 0)

/** Whether a sample states the output of the sample before it. */
export const isOutput = ({ words }: Sample) => words.includes("output")

/** Whether a sample is code that the test runs. */
export const isRun = (sample: Sample) => sample.notRun === undefined && ["sh", "ts", "python"].includes(sample.language)

/** Returns a line with replaced figures and identifiers and without padding, which differ between runs. */
const masked = (line: string): string =>
  line.replace(/plk_\S+/g, "plk_").replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "0").replace(/[-+]?\d[\d.,:]*/g, "0")
    .replace(/[─-▟]+/g, "").replace(/\s+/g, " ").trim()

/**
 * Returns the first line of `stated` that `actual` lacks, in order and with figures ignored. Undefined if `actual` has
 * all lines.
 */
export const missingLine = (stated: string, actual: string): string | undefined => {
  const lines = actual.split("\n").map(masked)
  let at = 0
  for (const line of stated.split("\n")) {
    const wanted = masked(line)
    if (wanted === "" || wanted === "…") continue
    const [start, ...rest] = wanted.split("…")
    const found = lines.findIndex((candidate, index) =>
      index >= at && candidate.startsWith(start!) && rest.every((part) => candidate.includes(part.trim()))
    )
    if (found < 0) return line
    at = found + 1
  }
  return undefined
}

/**
 * Returns the path of the first difference in shape between `actual` and `stated`: other members, other types, or other
 * texts without a figure. A member named `…` allows any additional members. Lists may be longer than stated.
 */
export const shapeDifference = (stated: unknown, actual: unknown, path = "$"): string | undefined => {
  if (typeof stated === "string" && typeof actual === "string") {
    return /[\d…]/.test(stated) || stated === actual ? undefined : `${path}: ${JSON.stringify(actual)}`
  }
  if (Array.isArray(stated)) {
    if (!Array.isArray(actual)) return `${path}: not a list`
    return stated.map((element, index) => shapeDifference(element, actual[index], `${path}[${index}]`))
      .find((difference) => difference !== undefined)
  }
  if (stated !== null && typeof stated === "object") {
    if (actual === null || typeof actual !== "object") return `${path}: ${JSON.stringify(actual)}`
    const { "…": more, ...members } = stated as Record<string, unknown>
    const extra = Object.keys(actual).find((key) => !(key in members))
    if (more === undefined && extra !== undefined) return `${path}.${extra} is not stated`
    return Object.entries(members)
      .map(([key, value]) => shapeDifference(value, (actual as Record<string, unknown>)[key], `${path}.${key}`))
      .find((difference) => difference !== undefined)
  }
  if (typeof stated === "boolean" || stated === null) {
    return stated === actual ? undefined : `${path}: ${JSON.stringify(actual)}`
  }
  return typeof stated === typeof actual ? undefined : `${path}: ${JSON.stringify(actual)}`
}
