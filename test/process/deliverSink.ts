import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import type { Attempt, RecipientOptions } from "../support/platformServers/RecipientServer.ts"

/** Platforms that messages can be sent to; `recipients` is an SMTP server that treats recipients by their addresses. */
export type SinkKind = "smtp" | "webhook" | "recipients"

/**
 * A message that a platform took whole: `at` in milliseconds of its own clock; `isNew`: handed on, not a repetition. Of
 * `smtp` also the earliest time at which its first command can have come, the path of its unsubscribe link, and its
 * subject.
 */
export type SinkArrival = readonly [
  id: string,
  email: string,
  at: number,
  isNew: boolean,
  began?: number,
  unsubscribe?: string | undefined,
  subject?: string | undefined,
]

/** A platform in a process of its own. */
export interface Sink {
  readonly kind: SinkKind
  readonly port: number
  readonly pid: number
  /** Every arrival, in order; up to date after `refresh`. */
  readonly arrivals: ReadonlyArray<SinkArrival>
  /** Fetches new records. Returns the total number. */
  readonly refresh: () => Promise<number>
  /** All attempts that `recipients` answered, including refused ones. */
  readonly attempts: () => Promise<ReadonlyArray<Attempt>>
  readonly stop: () => Promise<void>
}

/** Starts a platform and waits until it listens. `command` goes before the one that runs it. */
export const startSink = async (
  kind: SinkKind,
  command: ReadonlyArray<string> = [],
  options: RecipientOptions = {},
): Promise<Sink> => {
  const [program, ...args] = [
    ...command,
    Deno.execPath(),
    "run",
    "-A",
    "--no-prompt",
    "--cached-only",
    fileURLToPath(new URL("deliverSink.process.ts", import.meta.url)),
    kind,
    JSON.stringify(options),
  ]
  const child = spawn(program!, args, { stdio: ["ignore", "pipe", "inherit"] })
  const ended = new Promise<void>((resolve) => child.on("exit", () => resolve()))
  const line = await new Promise<string>((resolve, reject) => {
    let output = ""
    child.stdout.on("data", (chunk) => {
      output += String(chunk)
      if (output.includes("\n")) resolve(output)
    })
    child.on("exit", (code) => reject(new Error(`The platform ended with ${code} while starting`)))
  })
  const { control, port } = JSON.parse(line) as { port: number; control: number }
  const arrivals: Array<SinkArrival> = []
  let turn: Promise<number> = Promise.resolve(0)
  const refresh = async () => {
    const response = await fetch(`http://127.0.0.1:${control}/arrivals?from=${arrivals.length}`)
    for (const arrival of await response.json() as ReadonlyArray<SinkArrival>) arrivals.push(arrival)
    return arrivals.length
  }
  return {
    kind,
    port,
    pid: child.pid!,
    arrivals,
    // One after another, or two would fetch the same ones.
    refresh: () => turn = turn.then(refresh, refresh),
    attempts: async () => await (await fetch(`http://127.0.0.1:${control}/attempts`)).json(),
    stop: async () => {
      child.kill("SIGKILL")
      await ended
    },
  }
}

/**
 * The most arrivals that any sliding second holds, both its ends counted only once; `times` in milliseconds, ascending.
 */
export const fullestSecond = (times: ReadonlyArray<number>): number => {
  let most = 0
  let first = 0
  for (let last = 0; last < times.length; last++) {
    while (times[last]! - times[first]! >= 1000) first++
    most = Math.max(most, last - first + 1)
  }
  return most
}

/** Arrivals a second between the first and the last. */
export const rateOf = (times: ReadonlyArray<number>): number =>
  times.length < 2 ? NaN : (times.length - 1) * 1000 / (times.at(-1)! - times[0]!)

/** Connection settings for a platform that `startSink` started. The service needs `sinkEnvironment`. */
export const connectionTo = ({ kind, port }: Pick<Sink, "kind" | "port">) =>
  kind !== "webhook"
    ? {
      platform: "smtp",
      settings: { host: "127.0.0.1", port, tls: "none", from: "shop@example.com", variables: { body: "body" } },
    }
    : {
      platform: "webhook",
      settings: { url: `http://127.0.0.1:${port}/send`, deduplicates: true },
      secrets: { signing_secret: `whsec_${btoa("0123456789abcdef0123456789abcdef")}` },
    }

/** Settings of a service that may reach this machine and keep secrets. */
export const sinkEnvironment = {
  OUTBOUND_ALLOW: "127.0.0.1/32",
  SECRET_KEY: "0123456789abcdef".repeat(4),
}
