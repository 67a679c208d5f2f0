import { Effect, Schema } from "effect"
import { createHash, randomBytes } from "node:crypto"
import {
  chmodSync,
  chownSync,
  existsSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs"
import { dirname, join } from "node:path"

/** The data directory cannot be created, written or used. */
export class DataDirUnusable extends Schema.TaggedError<DataDirUnusable>()("DataDirUnusable", {
  dataDir: Schema.String,
  reason: Schema.String,
}) {
  override get message() {
    return `The data directory ${this.dataDir} cannot be used: ${this.reason}`
  }
}

/** A user of the operating system, by number. */
export interface User {
  readonly uid: number
  readonly gid: number
}

/** The folders of the embedded database, and the user that runs the server. */
export interface Folders {
  /** The folder with all files of the server: `DATA_DIR/postgres`, or its target if it is a link. Absolute. */
  readonly root: string
  /** PostgreSQL's data folder in `root`. */
  readonly data: string
  /** The folder of the server's socket. */
  readonly sockets: string
  /** The server's user if the service runs as root, because PostgreSQL refuses to run as root. */
  readonly user: User | undefined
}

/** The server's user if the service runs as root. No account has this number, so no other program runs as this user. */
const serverUser: User = { uid: 60_932, gid: 60_932 }

/** Contains files that must be outside of data directories that only root may enter. */
export const sharedFolder = "/var/lib/parlance"

/** Maximum length of a socket's path on all supported systems; macOS has the lowest limit. Unit: bytes. */
const maxSocketPath = 103

/** Name of the server's socket file. */
export const socketName = ".s.PGSQL.5432"

/**
 * Returns the folder for the server's socket: `root`, or a short path in `/tmp` if the socket's path would be too long.
 */
export const socketFolderOf = (root: string): string =>
  new TextEncoder().encode(join(root, socketName)).length <= maxSocketPath
    ? root
    : join("/tmp", `parlance-${createHash("sha256").update(root).digest("hex").slice(0, 16)}`)

const parentsOf = (folder: string): ReadonlyArray<string> => {
  const parent = dirname(folder)
  return parent === folder ? [folder] : [folder, ...parentsOf(parent)]
}

/** Whether every user may enter the existing folder `folder`. */
export const canBeEntered = (folder: string): boolean =>
  parentsOf(realpathSync(folder)).every((one) => (statSync(one).mode & 0o001) !== 0)

const isRoot = (): boolean => process.getuid?.() === 0

/** Whether a file or link exists at `path`, even a link without a target. */
const isThere = (path: string): boolean => {
  try {
    lstatSync(path)
    return true
  } catch {
    return false
  }
}

const makeFor = (folder: string, user: User | undefined) => {
  mkdirSync(folder, { mode: 0o700 })
  if (user !== undefined) chownSync(folder, user.uid, user.gid)
}

/**
 * Creates the socket's folder if it is not `root`. Everyone may write to its parent, so its owner and mode are checked.
 */
const makeSocketFolder = (folder: string, user: User | undefined): void => {
  if (!isThere(folder)) makeFor(folder, user)
  const { mode, uid } = lstatSync(folder)
  const isSafe = lstatSync(folder).isDirectory() && uid === (user?.uid ?? process.getuid?.()) && (mode & 0o077) === 0
  if (!isSafe) throw new Error(`${folder} belongs to another user. Remove it, or set DATA_DIR to a shorter path`)
}

/** Makes `user` the owner of `path` and of all its content. */
export const giveTo = (user: User, path: string): void => {
  const found = lstatSync(path)
  if (found.uid !== user.uid) lchownSync(path, user.uid, user.gid)
  if (!found.isDirectory()) return
  for (const name of readdirSync(path)) giveTo(user, join(path, name))
}

/**
 * Creates a folder for the server's files. If the server's user cannot enter `dataDir`, the folder is outside of it and
 * linked from it.
 */
const makeRoot = (dataDir: string, entry: string): void => {
  if (!isRoot()) return makeFor(entry, undefined)
  if (parentsOf(dirname(dataDir)).every((one) => (statSync(one).mode & 0o001) !== 0)) {
    chmodSync(dataDir, statSync(dataDir).mode & 0o777 | 0o011)
    return makeFor(entry, serverUser)
  }
  mkdirSync(sharedFolder, { recursive: true })
  chmodSync(sharedFolder, 0o755)
  const elsewhere = join(sharedFolder, randomBytes(8).toString("hex"))
  makeFor(elsewhere, serverUser)
  symlinkSync(elsewhere, entry)
}

/** Creates `dataDir` for its owner only. As root, allows the server's user to pass through newly created folders. */
const makeDataDir = (dataDir: string): void => {
  const made = mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  if (made === undefined || !isRoot()) return
  const first = realpathSync(made)
  for (const folder of parentsOf(realpathSync(dataDir))) if (folder.startsWith(first)) chmodSync(folder, 0o711)
}

/** Creates the folder for the server's files, unless another process creates it at the same time. */
const makeRootOnce = (dataDir: string, entry: string): void => {
  try {
    makeRoot(dataDir, entry)
  } catch (error) {
    if (!isThere(entry)) throw error
  }
}

const reasonOf = (error: unknown): string => {
  const code = error instanceof Error && "code" in error ? error.code : undefined
  if (code === "EACCES" || code === "EPERM" || code === "EROFS") {
    return `this user may not write there. Set DATA_DIR to a folder that it may write`
  }
  if (code === "ENOSPC") return "the disk is full. Free some space, or set DATA_DIR to a folder on another disk"
  return error instanceof Error ? error.message : String(error)
}

const check = (dataDir: string, entry: string) => {
  if (existsSync(join(dataDir, "db", "PG_VERSION")) && !isThere(entry)) {
    throw new Error(
      "it holds a store of release 0.2 or earlier (PGlite, in db), which this release cannot read. Set DATA_DIR to " +
        "another folder or remove this one to begin with an empty store, or go on with the earlier release",
    )
  }
  if (isThere(entry) && !existsSync(entry)) {
    throw new Error(
      "its link postgres leads to a folder that is gone. Put the folder back, or remove the link to begin with an empty store",
    )
  }
}

/**
 * Returns the user to run the server as: the owner of its files, so that the folder may come from a machine with other
 * users.
 */
const userOf = (root: string): User | undefined => {
  if (isRoot()) {
    const data = join(root, "data")
    const { gid, uid } = existsSync(data) ? statSync(data) : serverUser
    return uid === 0 ? serverUser : { uid, gid }
  }
  const { uid } = statSync(root)
  if (uid === process.getuid?.()) return undefined
  throw new Error(`its database belongs to the user ${uid}. Run as that user or as root`)
}

/**
 * Creates or finds the folders of the server in `dataDir`. Fails with `DataDirUnusable` if they cannot be created or
 * entered, and for the store of a release that used PGlite.
 */
export const prepare = (dataDir: string): Effect.Effect<Folders, DataDirUnusable> =>
  Effect.try({
    try: () => {
      makeDataDir(dataDir)
      const entry = join(realpathSync(dataDir), "postgres")
      check(dataDir, entry)
      if (!isThere(entry)) makeRootOnce(realpathSync(dataDir), entry)
      const root = realpathSync(entry)
      const user = userOf(root)
      const sockets = socketFolderOf(root)
      if (sockets !== root) makeSocketFolder(sockets, user)
      return { root, data: join(root, "data"), sockets, user }
    },
    catch: (error) => new DataDirUnusable({ dataDir, reason: reasonOf(error) }),
  })

/** Deletes the database of `dataDir`, even if it is outside and linked. No server may run on it. */
export const removeDatabase = (dataDir: string): void => {
  const entry = join(dataDir, "postgres")
  if (existsSync(entry)) rmSync(realpathSync(entry), { recursive: true, force: true })
  rmSync(entry, { force: true })
}

/** The folder in `root` that contains the files of a restore until it ends. */
export const restoring = (root: string): string => join(root, "restoring")

/**
 * Returns the major version of PostgreSQL that created `data`; undefined without a database; NaN for a database whose
 * version is missing or unreadable.
 */
export const versionIn = (data: string): number | undefined => {
  const file = join(data, "PG_VERSION")
  if (existsSync(file)) return Number.parseInt(readFileSync(file, "utf8"))
  return existsSync(data) && readdirSync(data).length > 0 ? NaN : undefined
}
