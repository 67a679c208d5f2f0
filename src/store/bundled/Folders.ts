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

/** The data directory cannot be made, written or used. */
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

/** Where the database's files are, and as which user the server runs. */
export interface Folders {
  /** The folder that holds everything of the server: `DATA_DIR/postgres`, or where that leads. Absolute. */
  readonly root: string
  /** PostgreSQL's data folder within it. */
  readonly data: string
  /** The folder of the server's socket. */
  readonly sockets: string
  /** Set when the service runs as root, which PostgreSQL refuses. */
  readonly user: User | undefined
}

/** The user that the server runs as in the place of root: no account has this number, so no other program runs as it. */
const serverUser: User = { uid: 60_932, gid: 60_932 }

/** Holds files that must lie outside of data directories that only root may enter. */
export const sharedFolder = "/var/lib/parlance"

/** Users of the operating system and its programs may connect to a path of this many bytes at most: macOS has the least. */
const maxSocketPath = 103

export const socketName = ".s.PGSQL.5432"

/** The folder for the server's socket: `root`, or a short one in `/tmp` where the socket's path would be too long. */
export const socketFolderOf = (root: string): string =>
  new TextEncoder().encode(join(root, socketName)).length <= maxSocketPath
    ? root
    : join("/tmp", `parlance-${createHash("sha256").update(root).digest("hex").slice(0, 16)}`)

const parentsOf = (folder: string): ReadonlyArray<string> => {
  const parent = dirname(folder)
  return parent === folder ? [folder] : [folder, ...parentsOf(parent)]
}

/** Whether every user may enter `folder`, which exists. */
export const canBeEntered = (folder: string): boolean =>
  parentsOf(realpathSync(folder)).every((one) => (statSync(one).mode & 0o001) !== 0)

const isRoot = (): boolean => process.getuid?.() === 0

/** A link or file is there, even a link that leads nowhere. */
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

/** Makes the socket's folder where it is not `root`. Everybody may write in its parent, so its owner and mode are checked. */
const makeSocketFolder = (folder: string, user: User | undefined): void => {
  if (!isThere(folder)) makeFor(folder, user)
  const { mode, uid } = lstatSync(folder)
  const isSafe = lstatSync(folder).isDirectory() && uid === (user?.uid ?? process.getuid?.()) && (mode & 0o077) === 0
  if (!isSafe) throw new Error(`${folder} belongs to another user. Remove it, or set DATA_DIR to a shorter path`)
}

/** Makes `user` the owner of `path` and of everything in it, where it is not that yet. */
export const giveTo = (user: User, path: string): void => {
  const found = lstatSync(path)
  if (found.uid !== user.uid) lchownSync(path, user.uid, user.gid)
  if (!found.isDirectory()) return
  for (const name of readdirSync(path)) giveTo(user, join(path, name))
}

/** A new folder for the server's files; outside of `dataDir`, and linked from there, where the server's user cannot enter. */
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

/** Makes `dataDir` for its owner alone. Root lets the server's user pass through the folders that are new. */
const makeDataDir = (dataDir: string): void => {
  const made = mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  if (made === undefined || !isRoot()) return
  const first = realpathSync(made)
  for (const folder of parentsOf(realpathSync(dataDir))) if (folder.startsWith(first)) chmodSync(folder, 0o711)
}

/** Makes the folder for the server's files, unless another process makes it at this moment. */
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

/** The user to run the server as: the owner of its files, so that a folder may come from a machine with other users. */
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
 * Makes the folders of the server below `dataDir`, or finds them. Fails with `DataDirUnusable` when they cannot be made or
 * entered, and for a store of a release that used PGlite.
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

/** Deletes the database of `dataDir`, also where it is outside and linked from there. No server may run on it. */
export const removeDatabase = (dataDir: string): void => {
  const entry = join(dataDir, "postgres")
  if (existsSync(entry)) rmSync(realpathSync(entry), { recursive: true, force: true })
  rmSync(entry, { force: true })
}

/** The major version of PostgreSQL that made `data`; undefined where there is no database yet. */
export const versionIn = (data: string): number | undefined => {
  const file = join(data, "PG_VERSION")
  return existsSync(file) ? Number.parseInt(readFileSync(file, "utf8")) : undefined
}
