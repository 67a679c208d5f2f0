import { assert, describe, it } from "@effect/vitest"
import { readFileSync, writeFileSync } from "node:fs"
import { aroundTests } from "../support/aroundTests.ts"
import type { Service } from "../support/service.ts"
import { type Entry, exchange, type Names, type Seen } from "./unusual/Requests.ts"
import { startWorld } from "./unusual/World.ts"

const file = new URL("unusual/requests.jsonl", import.meta.url)
const entries: ReadonlyArray<Entry> = readFileSync(file, "utf8").trim().split("\n").map((line) => JSON.parse(line))

// scripts/recordRequests.ts sets it.
const records = process.env["RECORD_REQUESTS"] !== undefined

describe("requests of unusual form", () => {
  let service: Service
  let names: Names
  aroundTests(startWorld, (started) => ({ service, names } = started))

  /** Answers that differ from the recorded ones. */
  const differences = async (entry: Entry): Promise<ReadonlyArray<unknown>> => {
    const answers: ReadonlyArray<Seen> = await exchange(entry, service.url, names)
    const isRefused = answers.every(({ status }) => status >= 400 && status < 500)
    const isSame = JSON.stringify(answers) === JSON.stringify(entry.answers)
    return isSame || (entry.anyServer === true && isRefused)
      ? []
      : [{ name: entry.name, seen: answers, recorded: entry.answers }]
  }

  const record = async () => {
    const lines: Array<string> = []
    for (const { answers: _before, ...entry } of entries) {
      lines.push(JSON.stringify({ ...entry, answers: await exchange(entry, service.url, names) }))
    }
    writeFileSync(file, `${lines.join("\n")}\n`)
  }

  it("receive the recorded answers in the order of the file", async () => {
    if (records) return await record()
    const found: Array<unknown> = []
    for (const entry of entries) found.push(...await differences(entry))
    assert.deepStrictEqual(found, [])
    assert.strictEqual((await service.request("/healthz")).status, 200)
  })

  it("are at least 400, each with a name of its own", () => {
    assert.isAtLeast(entries.length, 400)
    assert.strictEqual(new Set(entries.map(({ name }) => name)).size, entries.length)
  })
})
