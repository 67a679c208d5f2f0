import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawn, spawnSync } from "node:child_process"
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import {
  isOutput,
  isRun,
  missingLine,
  type Sample,
  type SampledDocument,
  sampledDocuments,
  shapeDifference,
} from "../support/documents.ts"
import { greeting } from "../../src/service/FirstRun.ts"
import { commandPrograms, workIn } from "../support/cli.ts"
import { adminToken, buildInProcess, scopedProcess } from "../support/service.ts"
import { embeddedEnvironment, temporaryEnvironment, temporaryFolder } from "../support/stores.ts"

const root = fileURLToPath(new URL("../../", import.meta.url))

// The system's Python has Debian's packages, also where another one comes first on the path.
const python = ["python3", "/usr/bin/python3"].find((name) => spawnSync(name, ["-c", "import httpx"]).status === 0)
if (python === undefined) {
  console.warn(
    "Skipped: the Python samples of docs (Python 3 with httpx is not installed: apt-get install python3-httpx)",
  )
}

const settings = { SECRET_KEY: "5e".repeat(32), OUTBOUND_ALLOW: "127.0.0.0/8" }

/** A service after its first start, and what that printed. */
interface Started {
  readonly url: string
  readonly output: () => string
}

/** The service as a reader starts it, as a process on the embedded store. */
const startAsReader = Effect.gen(function* () {
  const { output, printed, url } = yield* scopedProcess({ ...(yield* embeddedEnvironment), ...settings })
  yield* Effect.promise(() => printed(() => output().includes("/console/first-run")))
  return { output, url }
})

/** The same service in this process. */
const startHere = Effect.gen(function* () {
  const { context, service: { url } } = yield* buildInProcess(temporaryEnvironment, settings)
  const greeted = yield* Effect.provideContext(greeting(url, yield* temporaryFolder), context)
  return { output: () => greeted!, url }
})

/** Writes the programs that samples call: the command line by its name and by npx. */
const writePrograms = Effect.fnUntraced(function* (folder: string) {
  const bin = join(folder, "bin")
  mkdirSync(bin)
  yield* commandPrograms(bin)
  const demo =
    `"${Deno.execPath()}" run -A --no-prompt --cached-only --unstable-no-legacy-abort "${root}src/demo/main.ts"`
  writeFileSync(join(bin, "parlance-demo"), `#!/bin/sh\nexec ${demo} "$@"\n`, { mode: 0o755 })
  return bin
})

/** Secrets that a reader has from a platform, by the names that the documents use. */
const readersOwn = {
  TOKEN: "documents-token-0123456789",
  SIGNING_KEY: "documents-signing-key-0123456789",
  SIGNING_SECRET: `whsec_${btoa("documents-signing-secret-0123456789")}`,
  SHARED_SECRET: "documents-shared-secret",
  SIGNATURE_KEY: "ZG9jdW1lbnRzLXNpZ25hdHVyZS1rZXktMDEyMzQ1Njc=",
}

/** Samples in one language share the client that the first of them makes. */
const withClient = (sample: Sample, samples: ReadonlyArray<Sample>): string => {
  const first = samples.find((other) => isRun(other) && other.language === sample.language)!
  return first === sample ? sample.text : `${first.text}\n${sample.text}`
}

/** One shell script that runs all samples of a document in order and keeps the output of each in a file. */
const scriptOf = (folder: string, { samples }: SampledDocument, adjust: (text: string) => string): string => {
  const lines = ["set -aeuo pipefail"]
  for (const [index, sample] of samples.entries()) {
    if (!isRun(sample) || sample.words.includes("start")) continue
    const capture = `> "${folder}/${index}.out"`
    lines.push(`echo "sample in line ${sample.line}" >&2`)
    if (sample.language === "sh") lines.push(`{ ${adjust(sample.text)}\n} ${capture}`)
    const file = join(folder, `sample-${index}.${sample.language === "ts" ? "ts" : "py"}`)
    if (sample.language !== "sh") writeFileSync(file, adjust(withClient(sample, samples)))
    if (sample.language === "ts") {
      lines.push(`"${Deno.execPath()}" run -A --no-config --import-map "${folder}/imports.json" "${file}" ${capture}`)
    }
    if (sample.language === "python" && python !== undefined) lines.push(`${python} -B "${file}" ${capture}`)
  }
  return lines.join("\n")
}

const runScript = (script: string, cwd: string, env: Record<string, string>) =>
  new Promise<{ readonly code: number | null; readonly errors: string }>((resolve) => {
    const { DATABASE_URL: _, DATA_DIR: __, ...inherited } = process.env
    const child = spawn("bash", ["-c", script], {
      cwd,
      env: { ...inherited, NO_COLOR: "1", ...env } as NodeJS.ProcessEnv,
      stdio: ["ignore", "pipe", "pipe"],
    })
    let errors = ""
    child.stdout.resume()
    child.stderr.on("data", (chunk) => errors += String(chunk))
    child.on("close", (code) => resolve({ code, errors }))
  })

/** Fails unless the output that the document states has the shape of the real one. */
const checkOutput = (name: string, stated: Sample, actual: string) => {
  const where = `${name}:${stated.line}`
  if (stated.language === "json") {
    const difference = shapeDifference(JSON.parse(stated.text), JSON.parse(actual))
    assert.isUndefined(difference, `${where}: ${difference}\n${actual}`)
  } else assert.isUndefined(missingLine(stated.text, actual), `${where}\n${actual}`)
}

/**
 * Starts the service on a new store with the demo organization, and runs the samples of a document. Only a document
 * that has the reader start the service gets one that is a process: others do not depend on it.
 */
const runDocument = (document: SampledDocument) =>
  Effect.gen(function* () {
    const folder = yield* temporaryFolder
    const isStarted = document.samples.some((sample) => isRun(sample) && sample.words.includes("start"))
    const service: Started = yield* isStarted ? startAsReader : startHere
    const key = /plk_\w+/.exec(service.output())![0]
    const bin = yield* writePrograms(folder)
    yield* workIn(folder)
    for (const name of ["examples", "clients"]) symlinkSync(join(root, name), join(folder, name))
    const client = new URL("../../clients/typescript/src/index.ts", import.meta.url).href
    writeFileSync(join(folder, "imports.json"), JSON.stringify({ imports: { "@parlance/client": client } }))
    const adjust = (text: string) =>
      text.replaceAll(/http:\/\/127\.0\.0\.1:8080|https:\/\/parlance\.example\.com/g, service.url)
        .replaceAll("plk_…", key)
        .replaceAll("--port 8081", "--port 0")
    const { code, errors } = yield* Effect.promise(() =>
      runScript(scriptOf(folder, document, adjust), folder, {
        PATH: `${bin}:${process.env["PATH"]}`,
        PARLANCE_URL: service.url,
        ADMIN_TOKEN: adminToken,
        PYTHONPATH: join(root, "clients/python"),
        ...readersOwn,
        KEY: key,
      })
    )
    assert.strictEqual(code, 0, `${document.name}\n${errors}`)
    for (const [index, sample] of document.samples.entries()) {
      const before = document.samples[index - 1]
      if (!isOutput(sample) || before === undefined || !isRun(before)) continue
      if (before.language === "python" && python === undefined) continue
      const actual = before.words.includes("start")
        ? service.output()
        : readFileSync(join(folder, `${index - 1}.out`), "utf8")
      checkOutput(document.name, sample, actual.replaceAll(service.url, "http://127.0.0.1:8080"))
    }
  })

const documents = sampledDocuments()

describe("The documents", () => {
  it("have JSON that can be parsed, and a reason for each sample that is not run", () => {
    for (const { name, samples } of documents) {
      for (const { language, line, notRun, text } of samples) {
        if (language === "json") assert.doesNotThrow(() => void JSON.parse(text), `${name}:${line}`)
        assert.notStrictEqual(notRun, "", `${name}:${line} says not-run without a reason`)
      }
    }
  })

  for (const document of documents.filter(({ samples }) => samples.some(isRun))) {
    it.live(`has samples that work: ${document.name}`, () => Effect.scoped(runDocument(document)), 300_000)
  }
})
