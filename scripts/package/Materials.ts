import { readFileSync } from "node:fs"

/** A package in `deno.lock`. */
interface Locked {
  readonly integrity: string
  readonly dependencies?: ReadonlyArray<string>
  readonly optionalDependencies?: ReadonlyArray<string>
}

interface Lock {
  readonly specifiers: Readonly<Record<string, string>>
  readonly npm: Readonly<Record<string, Locked>>
}

/** The name and the version in a key of the lock file, such as `@effect/sql-pg@4.0.5_effect@4.1.0`. */
const parts = (key: string) => {
  const [, name = "", version = ""] = /^(@?[^@]+)@([^_]+)/.exec(key) ?? []
  return { name, version }
}

/** The keys of the packages that the service installs, with the packages that these depend on. */
const installed = (lock: Lock, dependencies: Readonly<Record<string, string>>): ReadonlySet<string> => {
  const found = new Set<string>()
  const keyOf = (text: string) =>
    text in lock.npm ? text : Object.keys(lock.npm).find((key) => parts(key).name === text)
  const add = (key: string | undefined): void => {
    if (key === undefined || found.has(key)) return
    found.add(key)
    const { dependencies = [], optionalDependencies = [] } = lock.npm[key]!
    for (const name of [...dependencies, ...optionalDependencies]) add(keyOf(name))
  }
  for (const [name, version] of Object.entries(dependencies)) {
    add(keyOf(`${name}@${lock.specifiers[`npm:${name}@${version}`]}`))
  }
  return found
}

/** Returns the packages of the service in the form of CycloneDX 1.6, without the tools of its development. */
export const billOfMaterials = (root: string, commit: string): string => {
  const lock = JSON.parse(readFileSync(`${root}deno.lock`, "utf8")) as Lock
  const { dependencies, name, version } = JSON.parse(readFileSync(`${root}package.json`, "utf8"))
  const purl = (name: string, version: string) => `pkg:npm/${name.replace("@", "%40")}@${version}`
  const components = [...installed(lock, dependencies)].sort().map((key) => {
    const one = parts(key)
    const content = atob(lock.npm[key]!.integrity.replace(/^sha512-/, ""))
    return {
      type: "library",
      "bom-ref": purl(one.name, one.version),
      ...one,
      purl: purl(one.name, one.version),
      hashes: [{
        alg: "SHA-512",
        content: [...content].map((c) => c.charCodeAt(0).toString(16).padStart(2, "0")).join(""),
      }],
    }
  })
  const component = {
    type: "application",
    "bom-ref": name,
    name,
    version,
    properties: [{ name: "commit", value: commit }],
  }
  return JSON.stringify(
    { bomFormat: "CycloneDX", specVersion: "1.6", version: 1, metadata: { component }, components },
    null,
    2,
  )
}
