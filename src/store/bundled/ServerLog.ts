/** Lines that state why a server ended or does not start. */
const faults = /^(?:FATAL|PANIC|initdb: error|postgres: error|.*error while loading shared libraries)/

/** Lines that state that files of the database are damaged or missing. */
const damage = [
  /PG_CONTROL_VERSION 0,/,
  /could not find the database system/,
  /is not a valid data directory/,
  /could not locate a valid checkpoint record/,
  /could not access (?:status of transaction|the server configuration file)/,
  /could not load .*pg_(?:hba|ident)\.conf/,
  /could not (?:open|read) file "(?:global|base|pg_[a-z]+)\/.*(?:No such file or directory|read \d+ of \d+|Input\/output error)/i,
  /incorrect checksum in control file/,
  /contains invalid data/,
  /invalid page in block|page verification failed/,
]

/** PostgreSQL also logs these lines as FATAL when a single connection ends. */
const ofOneClient = /^FATAL: +(?:terminating connection|the database system is)/

/** Maximum number of lines of a server's output that are kept. */
const kept = 40

/** The last lines of a PostgreSQL program's output. */
interface ServerLog {
  readonly add: (line: string) => void
  readonly lines: () => ReadonlyArray<string>
}

/** Creates an empty log. */
export const make = (): ServerLog => {
  const lines: Array<string> = []
  return {
    add: (line) => {
      if (line.trim() === "") return
      lines.push(line)
      if (lines.length > kept) lines.shift()
    },
    lines: () => lines,
  }
}

/** Whether a line reports that the server accepts connections. */
export const isReady = (line: string): boolean => /ready to accept (read-only )?connections/.test(line)

/** Returns the step of a starting server, for people who wait; undefined if the line reports none. */
export const progressOf = (line: string): string | undefined => {
  if (line.includes("automatic recovery in progress")) return "The database was not shut down and recovers"
  if (line.includes("redo in progress")) return "The database goes through its write-ahead log"
  return undefined
}

/** Whether operators should see a line. */
export const isFault = (line: string): boolean => faults.test(line) && !ofOneClient.test(line)

/** Whether a server did not start because processes of a killed server are still ending. */
export const isPassing = (lines: ReadonlyArray<string>): boolean =>
  lines.some((line) => line.includes("pre-existing shared memory block"))

/**
 * Returns why a program ended, from its output: the known remedy, otherwise the last line that states a fault,
 * otherwise the last line.
 */
export const reasonOf = (lines: ReadonlyArray<string>, major: number): string => {
  const has = (text: string) => lines.some((line) => line.includes(text))
  const fault = lines.findLast(isFault) ?? lines.findLast((line) => !ofOneClient.test(line))
  if (has("No space left on device")) {
    return "the disk is full. Free some space, or set DATA_DIR to a folder on another disk"
  }
  if (has("Read-only file system")) return "the file system is read-only. Set DATA_DIR to a folder that can be written"
  const damaged = lines.find((line) => damage.some((pattern) => pattern.test(line)))
  if (damaged !== undefined) {
    return `its files are damaged (${damaged}). Move DATA_DIR away, restore the last backup with ` +
      "`parlance restore FILE`, and check the disk"
  }
  if (has("database files are incompatible with server")) {
    return `its files were made by another release of PostgreSQL than ${major} or on a machine of another kind`
  }
  if (has("could not look up effective user ID")) {
    return "the user it runs as has no entry in /etc/passwd, which PostgreSQL wants to make a database. " +
      "Run as a user that has one, or set DATABASE_URL"
  }
  if (isPassing(lines)) return "processes of an earlier server are still ending. Try again"
  if (has("could not create shared memory") || has("could not resize shared memory")) {
    return `the machine has too little shared memory (${fault})`
  }
  return fault ?? "it printed nothing"
}
