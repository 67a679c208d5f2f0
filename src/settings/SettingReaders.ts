import { Config, Duration, Option, Redacted, Result, Schema } from "effect"
import { readFileSync } from "node:fs"
import { isIP } from "node:net"
import { type AddressRange, addressRangeOf } from "../text/Addresses.ts"
import { parseBytes } from "../text/Bytes.ts"
import { parseRateLimit, type RateLimit } from "../text/RateLimit.ts"

// Readers of single settings. Each reads the environment variable of the given name and checks its text.

/** A whole number of at least `minimum`. */
export const atLeast = (minimum: number, name: string) =>
  Config.schema(
    Schema.NumberFromString.check(Schema.isInt(), Schema.isGreaterThanOrEqualTo(minimum)),
    name,
  )

/** A duration in the format of `Duration`. */
export const duration = (name: string) =>
  Config.schema(
    Schema.String.check(
      Schema.makeFilter<string>((text) =>
        isLength(text) || "must be a length of time such as 500 millis, 5 seconds or 2 minutes"
      ),
    ),
    name,
  ).pipe(Config.map((text) => Duration.fromInputUnsafe(text as Duration.Input)))

const isLength = (text: string): boolean =>
  Option.exists(
    Duration.fromInput(text as Duration.Input),
    (length) => Duration.isFinite(length) && Duration.toMillis(length) >= 0,
  )

/**
 * A secret, kept out of logs. Compose files and unit files pass unset values as an empty text, which counts as unset.
 */
export const secret = (name: string) =>
  Config.map(Config.option(Config.Redacted(name)), Option.filter((value) => Redacted.value(value) !== ""))

/** The value that switches a limit off. */
const none = "none"

/** A rate limit. An empty text means `otherwise`, and `none` means no limit. */
export const limit = (name: string, otherwise: RateLimit) =>
  Config.schema(
    Schema.String.check(
      Schema.makeFilter<string>((text) =>
        text.trim() === "" || text.trim() === none || parseRateLimit(text) !== undefined
          ? undefined
          : "Must be none, or a limit such as 100/second or 5000/minute, of 1 to 1,000,000 requests"
      ),
    ),
    name,
  ).pipe(
    Config.withDefault(""),
    Config.map((text) => text.trim() === "" ? Option.some(otherwise) : Option.fromUndefinedOr(parseRateLimit(text))),
  )

/** A number of bytes. An empty text means `otherwise`, and `none` means no limit. */
export const bytes = (name: string, otherwise: string) =>
  Config.schema(
    Schema.String.check(
      Schema.makeFilter<string>((text) =>
        text.trim() === "" || text.trim() === none || parseBytes(text) !== undefined
          ? undefined
          : "Must be none, or a number of bytes such as 10 GiB or 500 MB"
      ),
    ),
    name,
  ).pipe(
    Config.withDefault(""),
    Config.map((text) => Option.fromUndefinedOr(parseBytes(text.trim() === "" ? otherwise : text))),
  )

const entriesOf = (text: string) => text.split(",").map((entry) => entry.trim()).filter((entry) => entry !== "")

/** Address ranges as texts, each checked. */
export const rangeTexts = (name: string): Config.Config<ReadonlyArray<string>> =>
  Config.schema(
    Schema.String.check(
      Schema.makeFilter<string>((text) => {
        const faulty = entriesOf(text).filter((entry) => addressRangeOf(entry) === undefined)
        return faulty.length === 0
          ? undefined
          : `${
            faulty.map((entry) => JSON.stringify(entry)).join(", ")
          } is no address or range of addresses; write ranges ` +
            "such as 10.2.0.0/16, fd00:1::/32 or 127.0.0.1, with commas"
      }),
    ),
    name,
  ).pipe(Config.withDefault(""), Config.map(entriesOf))

/** Address ranges, parsed. */
export const ranges = (name: string): Config.Config<ReadonlyArray<AddressRange>> =>
  Config.map(rangeTexts(name), (entries) => entries.map((entry) => addressRangeOf(entry)!))

/** Whether a text is an address, optionally with a port, such as `10.0.0.2`, `10.0.0.2:5353` or `[fd00::2]:5353`. */
const isNameServer = (text: string): boolean => {
  const [, inner, plain, port] = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(text) ?? []
  if (port === undefined) return isIP(text) !== 0
  return (inner === undefined ? isIP(plain!) === 4 : isIP(inner) === 6) && Number(port) >= 1 && Number(port) <= 65_535
}

/** Addresses of name servers, as texts. */
export const nameServers = (name: string): Config.Config<ReadonlyArray<string>> =>
  Config.schema(
    Schema.String.check(Schema.makeFilter<string>((text) => {
      const faulty = entriesOf(text).filter((entry) => !isNameServer(entry))
      return faulty.length === 0
        ? undefined
        : `${
          faulty.map((entry) => JSON.stringify(entry)).join(", ")
        } is no address of a name server; write addresses ` +
          "such as 10.0.0.2, 10.0.0.2:5353 or [fd00::2]:5353, with commas"
    })),
    name,
  ).pipe(Config.withDefault(""), Config.map(entriesOf))

/** Addresses and domains of senders, separated by commas. */
export const senders = (name: string): Config.Config<ReadonlyArray<string>> =>
  Config.schema(
    Schema.String.check(Schema.makeFilter<string>((text) => {
      const faulty = entriesOf(text).filter((entry) => !/^(?:[^@\s]+@)?[a-z0-9-]+(?:\.[a-z0-9-]+)+$/i.test(entry))
      return faulty.length === 0
        ? undefined
        : `${faulty.map((entry) => JSON.stringify(entry)).join(", ")} is neither an address nor a domain; write ` +
          "fbl.provider.example or reports@provider.example, with commas"
    })),
    name,
  ).pipe(Config.withDefault(""), Config.map(entriesOf))

/** Address and port to listen on. */
export interface HostAndPort {
  readonly host: string
  readonly port: number
}

/** Parses a `host:port`. Undefined for any other text. */
export const parseAddress = (text: string): HostAndPort | undefined => {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^\s:/@[\]]+)):(\d{1,5})$/.exec(text)
  const port = Number(match?.[3])
  return match === null || port < 1 || port > 65_535 ? undefined : { host: (match[1] ?? match[2])!, port }
}

/** Parses pairs such as `name=value,other=value`, percent-encoded. Undefined for any other text. */
export const pairsOf = (text: string): Readonly<Record<string, string>> | undefined => {
  const pairs = text.split(",").map((pair) => pair.trim()).filter((pair) => pair !== "")
  try {
    return Object.fromEntries(pairs.map((pair) => {
      const at = pair.indexOf("=")
      if (at < 1) throw new Error(pair)
      return [decodeURIComponent(pair.slice(0, at).trim()), decodeURIComponent(pair.slice(at + 1).trim())]
    }))
  } catch {
    return undefined
  }
}

/** Whether a text is an http or https URL without a query. */
export const isHttpUrl = (text: string): boolean =>
  URL.canParse(text) && /^https?:$/.test(new URL(text).protocol) && new URL(text).search === ""

/** A text that satisfies `isOne`. An empty text counts as unset. `as` is the message for any other text. */
export const checked = (name: string, isOne: (text: string) => boolean, as: string) =>
  Config.schema(
    Schema.String.check(Schema.makeFilter((text: string) => text === "" || isOne(text) || as)),
    name,
  ).pipe(Config.withDefault(""))

/** Returns the secrets of a setting that takes several, separated by commas. The first is the newest. */
export const secretsIn = (text: Redacted.Redacted<string>): ReadonlyArray<string> =>
  Redacted.value(text).split(",").map((secret) => secret.trim())

/** Pairs such as `name=value,other=value`, as a text. */
export const pairs = (name: string) =>
  checked(name, (text) => pairsOf(text) !== undefined, "must be pairs such as name=value,other=value, percent-encoded")

/** A file that a setting names, and its text. */
export interface NamedFile {
  readonly path: string
  readonly text: string
}

/** The file of an absolute or relative path. An empty path means none. */
export const namedFile = (name: string): Config.Config<Option.Option<NamedFile>> =>
  Config.schema(
    Schema.String.check(
      Schema.makeFilter<string>((path) => {
        const read = textOf(path)
        return Result.isSuccess(read) ? undefined : `${path}: cannot be read: ${read.failure}. Correct or unset ${name}`
      }),
    ),
    name,
  ).pipe(
    Config.withDefault(""),
    Config.map((path) => Option.flatten(Result.getSuccess(textOf(path)))),
  )

const textOf = (path: string): Result.Result<Option.Option<NamedFile>, string> =>
  path.trim() === "" ? Result.succeed(Option.none()) : Result.try({
    try: () => Option.some({ path, text: readFileSync(path, "utf8") }),
    catch: (error) => error instanceof Error ? error.message : String(error),
  })
