import { Console, Effect } from "effect"
import { type AuditLog, auditLogs, type ChainEnds } from "../accounts/AuditChain.ts"
import { type ChainFault, type ChainLink, checkLines, readLine } from "../accounts/AuditLine.ts"
import { steps } from "./ApiCommand.ts"
import { CommandFailed, type ManagementClient } from "./Client.ts"
import { choice, given, out, text, toggle } from "./Flags.ts"
import { printOrWrite, readText } from "./Inputs.ts"
import { organization } from "./Root.ts"

/** Number of entries in one response. */
const atOnce = 2_000

export const installationFlag = toggle(
  "installation",
  "Use the log outside any organization: accounts, sessions and created organizations",
)

/** The result of the check of one chain. */
interface Verified {
  readonly log: AuditLog | undefined
  /** Number of the first entry that retention has not deleted. */
  readonly from: number
  /** Number of intact entries. */
  readonly entries: number
  /** The latest intact entry. */
  readonly head: ChainLink
  /** The first broken entry; null if the chain is whole. */
  readonly broken: ChainFault | null
}

/** Reads the head that a person kept: `SEQ:HASH`. */
const keptLink = (head: string | undefined): Effect.Effect<ChainLink | undefined, CommandFailed> => {
  if (head === undefined) return Effect.succeed(undefined)
  const [, seq, hash = ""] = /^(\d{1,15}):([0-9a-f]{64})$/.exec(head) ?? []
  return seq === undefined
    ? new CommandFailed({ message: "--head must be a number and a hash, as `audit verify` prints them: 12:9f86d0…" })
    : Effect.succeed({ seq: Number(seq), hash })
}

/** The fault of a whole chain that does not reach the head of the database, or the kept one. */
const faultAtEnd = (last: ChainLink, head: ChainLink, kept: ChainLink | undefined): ChainFault | undefined => {
  if (last.seq < head.seq) return { seq: last.seq + 1, reason: `is missing: the chain ends at ${head.seq}` }
  if (last.seq === head.seq && last.hash !== head.hash) {
    return { seq: last.seq, reason: "has another hash than the head of the chain" }
  }
  return kept !== undefined && kept.seq > last.seq
    ? { seq: last.seq + 1, reason: `is missing: the head that you kept is entry ${kept.seq}` }
    : undefined
}

/** The lines of an export. Programs of Windows write other ends of lines, which no hash covers. */
const linesOf = (text: string): ReadonlyArray<string> =>
  text.replace(/^\ufeff/, "").split(/\r?\n/).filter((line) => line !== "")

/** The fault of a chain that begins after the kept head, so that nothing proves the entries up to that head. */
const faultAtStart = (start: ChainLink, kept: ChainLink | undefined): ChainFault | undefined =>
  kept === undefined || kept.seq === 0 || kept.seq > start.seq ? undefined : {
    seq: kept.seq,
    reason: `is gone, but you kept its hash: all entries up to ${start.seq} were deleted. Only retention may delete ` +
      "them: changes after 730 days, refusals after 30. If the entry is younger, restore it from a backup. Otherwise keep " +
      "a newer head",
  }

/** Reads the first entries and the ends. Repeats while retention moves the anchor, which belongs to other entries then. */
const readStart = Effect.fnUntraced(function* (
  read: (after: number) => Effect.Effect<string, unknown>,
  ends: Effect.Effect<ChainEnds, unknown>,
): Effect.fn.Return<ChainEnds & { readonly lines: ReadonlyArray<string> }, unknown> {
  let before = yield* ends
  while (true) {
    const lines = linesOf(yield* read(0))
    const { anchor, head } = yield* ends
    if (anchor.seq === before.anchor.seq) return { anchor, head, lines }
    before = { anchor, head }
  }
})

/** Checks a chain of the service. */
const verifyService = Effect.fnUntraced(function* (
  log: AuditLog,
  kept: ChainLink | undefined,
  read: (after: number) => Effect.Effect<string, unknown>,
  ends: Effect.Effect<ChainEnds, unknown>,
): Effect.fn.Return<Verified, unknown> {
  const { anchor, head, ...first } = yield* readStart(read, ends)
  let { lines } = first
  let last = anchor
  let fault = faultAtStart(anchor, kept)
  while (fault === undefined && lines.length > 0) {
    const checked = checkLines(last, lines, kept)
    last = checked.last
    fault = checked.fault
    if (fault !== undefined || last.seq >= head.seq) break
    lines = linesOf(yield* read(last.seq))
  }
  fault ??= faultAtEnd(last, last.seq > head.seq ? last : head, kept)
  return { log, from: anchor.seq + 1, entries: last.seq - anchor.seq, head: last, broken: fault ?? null }
})

/** Checks a file that `audit export` wrote. The entry before its first line is not part of it. */
const verifyFile = (text: string, kept: ChainLink | undefined): Verified => {
  const lines = linesOf(text)
  const first = readLine(lines[0] ?? "")
  const start = { seq: (first?.seq ?? 1) - 1, hash: first?.previous ?? "" }
  // A file that continues the kept entry proves it by its hash.
  const gone = kept?.seq === start.seq && kept.hash === start.hash ? undefined : faultAtStart(start, kept)
  const { fault = gone, last } = checkLines(start, lines, kept)
  return {
    log: undefined,
    from: start.seq + 1,
    entries: last.seq - start.seq,
    head: last,
    broken: fault ?? faultAtEnd(last, last, kept) ?? null,
  }
}

const verifiedText = ({ broken, entries, from, head, log }: Verified): string => {
  const name = log === undefined ? "" : `${log}: `
  if (broken !== null) {
    return `${name}broken: entry ${broken.seq} ${broken.reason}. ${entries} entries before it are whole`
  }
  if (head.seq === 0) return `${name}no entries`
  const rest = from === 1 ? "" : ` after entry ${from - 1}, up to which all were deleted`
  return `${name}${entries} entries are whole${rest}. Head: ${head.seq}:${head.hash}`
}

const requests = (client: ManagementClient["Service"], org: string | undefined) => ({
  read: (log: AuditLog) => (after: number) => {
    const query = given({ log, cursor: String(after), limit: String(atOnce) })
    return org === undefined
      ? client.exportInstallationAudit({ query })
      : client.exportAudit({ params: { org }, query })
  },
  ends: org === undefined ? client.getInstallationAuditChains() : client.getAuditChains({ params: { org } }),
})

const logFlag = choice("log", auditLogs, "changes, with sign-ins, or refusals, the refused requests")

/** `parlance audit verify` */
export const verifyCommand = steps(
  "Find the first entry of the audit log that was removed or changed; exit 1 if there is one",
  {
    installation: installationFlag,
    log: logFlag,
    head: text("head", "A head that an earlier run printed, SEQ:HASH, of the log `changes` or of --log"),
    file: text("file", "Check a file of `audit export`, or - for standard input, instead of the service"),
  },
  function* (client, { file, head, installation, log }) {
    const kept = yield* keptLink(head)
    if (file !== undefined) return [verifyFile(yield* readText(file), kept)]
    const { ends, read } = requests(client, installation ? undefined : yield* organization)
    return yield* Effect.forEach(log === undefined ? auditLogs : [log], (one) =>
      verifyService(
        one,
        one === (log ?? "changes") ? kept : undefined,
        read(one),
        Effect.map(ends, (all) => all[one]),
      ))
  },
).failsIf((all) => all.some(({ broken }) => broken !== null)).text((all) => all.map(verifiedText).join("\n"))

/** `parlance audit export` */
export const exportCommand = steps(
  "Write the audit log in the order of its chain, with the hashes",
  {
    installation: installationFlag,
    log: logFlag,
    format: choice("format", ["ndjson", "csv"], "ndjson, which can be verified, or csv. Default: ndjson"),
    out,
  },
  function* (client, { format, installation, log, out }) {
    const org = installation ? undefined : yield* organization
    const query = given({ format, log })
    const text = yield* org === undefined
      ? client.exportInstallationAudit({ query })
      : client.exportAudit({ params: { org }, query })
    if (yield* printOrWrite(out, text, 0o600)) yield* Console.log(`Wrote the audit log to ${out}`)
  },
).silent()
