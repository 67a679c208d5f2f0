import { execFileSync } from "node:child_process"
import { mkdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../../", import.meta.url))

/** Returns the latest release in `schema/releases.json` and its commit. */
export const previousRelease = (): readonly [version: string, commit: string] => {
  const releases = JSON.parse(readFileSync(join(root, "schema/releases.json"), "utf8")) as Record<string, string>
  return Object.entries(releases).at(-1)!
}

const git = (...args: ReadonlyArray<string>) =>
  execFileSync("git", args, { cwd: root, maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "ignore"] })

/**
 * Whether the history of this checkout contains the commit of that release. If not, prints that tests of upgrades are
 * skipped.
 */
export const hasPreviousRelease = (): boolean => {
  const [version, commit] = previousRelease()
  try {
    git("cat-file", "-e", `${commit}^{commit}`)
    return true
  } catch {
    console.warn(`Skipped: upgrades (this checkout has no commit of release ${version}; fetch the whole history)`)
    return false
  }
}

/** Returns the text of a file of that release. */
export const previousText = (path: string): string => git("show", `${previousRelease()[1]}:${path}`).toString("utf8")

/** Returns the names of the files in a folder of that release. */
export const previousNames = (folder: string): ReadonlyArray<string> =>
  git("ls-tree", "--name-only", `${previousRelease()[1]}:${folder}`).toString("utf8").trim().split("\n")

/** Writes that release to `folder`, and installs the packages that it depends on. */
export const checkOutPreviousRelease = (folder: string): void => {
  mkdirSync(folder, { recursive: true })
  const [, commit] = previousRelease()
  const archive = git("archive", commit, "src", "schema", "examples", "package.json", "deno.json", "deno.lock")
  execFileSync("tar", ["-x", "-C", folder], { input: archive })
  execFileSync(Deno.execPath(), ["install", "--frozen", "--quiet"], {
    cwd: folder,
    stdio: ["ignore", "ignore", "pipe"],
  })
}
