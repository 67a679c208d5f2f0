// Builds everything that a release publishes into dist/: deno task package
import { execFileSync, spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type File, type Files, tarball, zip } from "./package/Archives.ts"
import { bundleCommandLine } from "./package/CommandLine.ts"
import { billOfMaterials } from "./package/Materials.ts"

const root = new URL("..", import.meta.url).pathname

const textOf = (path: string) => readFileSync(join(root, path), "utf8")

const git = (...args: ReadonlyArray<string>) => execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim()

/** Files of the repository below paths, without files that git does not know. Names are relative to `from`. */
const filesOf = (paths: ReadonlyArray<string>, from = ""): Files =>
  Object.fromEntries(
    git("ls-files", "--stage", "--", ...paths).split("\n").map((line): [string, File] => {
      const [, mode, path] = /^(\d+) \S+ \d\t(.*)$/.exec(line)!
      return [path!.slice(from.length), { data: readFileSync(join(root, path!)), isProgram: mode === "100755" }]
    }),
  )

type Artifacts = Record<string, Uint8Array | string>

/** The command line: one file, and the file as a package of npm. */
const commandLine = async (version: string, commit: string): Promise<Artifacts> => {
  const { code, licenses } = await bundleCommandLine(commit)
  const manifest = {
    name: "@parlance/cli",
    version,
    description: "The command line of Parlance, the content personalization service",
    type: "module",
    bin: { parlance: "parlance.mjs" },
    files: ["parlance.mjs", "LICENSES.txt", "README.md"],
    engines: { node: ">=20" },
  }
  return {
    [`parlance-${version}.mjs`]: code,
    [`parlance-cli-${version}.tgz`]: await tarball("package/", {
      "package.json": { data: JSON.stringify(manifest, null, 2) },
      "README.md": { data: textOf("docs/operations/command-line.md") },
      "LICENSES.txt": { data: licenses },
      "parlance.mjs": { data: code, isProgram: true },
    }),
  }
}

/** The client in TypeScript as a package of npm. */
const typescriptClient = async (version: string): Promise<Artifacts> => {
  const folder = mkdtempSync(join(tmpdir(), "parlance-client-"))
  try {
    const compiler = join(root, "node_modules/.deno/typescript@5.9.3/node_modules/typescript/lib/tsc.js")
    const project = join(root, "clients/typescript/tsconfig.json")
    execFileSync(process.execPath, ["run", "-A", compiler, "--project", project, "--outDir", folder], { cwd: root })
    const dist = readdirSync(folder).map((name): [string, File] => [
      `dist/${name}`,
      { data: readFileSync(join(folder, name)) },
    ])
    const files = filesOf(["clients/typescript/package.json", "clients/typescript/README.md"], "clients/typescript/")
    return { [`parlance-client-${version}.tgz`]: await tarball("package/", { ...files, ...Object.fromEntries(dist) }) }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** The client in Python, as a wheel and as its source. */
const pythonClient = async (version: string): Promise<Artifacts> => {
  const project = textOf("clients/python/pyproject.toml")
  const member = (name: string) => new RegExp(`^${name} = "(.+)"$`, "m").exec(project)![1]!
  const [, needs = ""] = /^dependencies = \[(.*)\]$/m.exec(project)!
  const metadata = [
    "Metadata-Version: 2.1",
    `Name: ${member("name")}`,
    `Version: ${member("version")}`,
    `Summary: ${member("description")}`,
    `Requires-Python: ${member("requires-python")}`,
    ...[...needs.matchAll(/"([^"]+)"/g)].map(([, need]) => `Requires-Dist: ${need}`),
    "Description-Content-Type: text/markdown",
    "",
    textOf("clients/python/README.md"),
  ].join("\n")
  const info = `parlance_client-${version}.dist-info`
  const installed: Files = {
    ...filesOf(["clients/python/parlance"], "clients/python/"),
    [`${info}/METADATA`]: { data: metadata },
    [`${info}/WHEEL`]: {
      data: "Wheel-Version: 1.0\nGenerator: parlance\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    },
  }
  const record =
    Object.entries(installed).map(([path, { data }]) =>
      `${path},sha256=${createHash("sha256").update(data).digest("base64url")},${new Blob([data as BlobPart]).size}\n`
    ).join("") + `${info}/RECORD,,\n`
  return {
    [`parlance_client-${version}-py3-none-any.whl`]: zip("", { ...installed, [`${info}/RECORD`]: { data: record } }),
    [`parlance_client-${version}.tar.gz`]: await tarball(`parlance_client-${version}/`, {
      ...filesOf(["clients/python"], "clients/python/"),
      "PKG-INFO": { data: metadata },
    }),
  }
}

/** The clients in Go and PHP, as their sources. */
const generatedClients = async (version: string): Promise<Artifacts> => ({
  [`parlance-go-${version}.tar.gz`]: await tarball(`parlance-go-${version}/`, filesOf(["clients/go"], "clients/go/")),
  [`parlance-php-${version}.zip`]: zip(`parlance-php-${version}/`, filesOf(["clients/php"], "clients/php/")),
})

/** The files that the image is built from, without the files that `.dockerignore` excludes. */
const imageContext = async (version: string): Promise<Artifacts> => {
  const paths = textOf(".dockerignore").split("\n").flatMap((line) => line.startsWith("!") ? [line.slice(1)] : [])
  const files = filesOf(["Dockerfile", ".dockerignore", ...paths])
  return { [`parlance-image-${version}.tar.gz`]: await tarball("", files) }
}

const chart = async (version: string): Promise<Artifacts> => ({
  [`parlance-chart-${version}.tgz`]: await tarball("", filesOf(["deploy/helm/parlance"], "deploy/helm/")),
})

/** Signs the checksums with a key of SSH, for the namespace `parlance`. */
const sign = (folder: string, key: string) => {
  execFileSync("ssh-keygen", ["-Y", "sign", "-q", "-n", "parlance", "-f", key, join(folder, "SHA256SUMS")])
}

/**
 * Builds the image for amd64 and arm64 as one archive of the Open Container Initiative. Does nothing where Docker has no
 * BuildKit. Times in the image are the time of the commit.
 */
export const buildImage = (folder: string, name: string) => {
  if (spawnSync("docker", ["buildx", "version"]).status !== 0) {
    console.error(
      "The image was not built, because this machine has no docker buildx. The archive of its files is complete.",
    )
    return
  }
  const output = `type=oci,dest=${join(folder, name)},rewrite-timestamp=true`
  execFileSync(
    "docker",
    ["buildx", "build", "--platform", "linux/amd64,linux/arm64", "--provenance=false", "--output", output, root],
    { env: { ...process.env, SOURCE_DATE_EPOCH: git("log", "-1", "--format=%ct") }, stdio: "inherit" },
  )
}

interface PackageOptions {
  /** Name of the file of a key with which the checksums are signed. Default: none, and no signature. */
  readonly key?: string | undefined
  /** Whether the image is built where Docker has BuildKit. Default: false. */
  readonly withImage?: boolean
}

/** Writes all artifacts with their checksums into `folder`. Returns their names. */
export const packageInto = async (
  folder: string,
  { key, withImage = false }: PackageOptions = {},
): Promise<ReadonlyArray<string>> => {
  const { version } = JSON.parse(textOf("package.json")) as { readonly version: string }
  const commit = git("rev-parse", "HEAD").slice(0, 12) + (git("status", "--porcelain") === "" ? "" : ", changed")
  const artifacts: Artifacts = {
    ...await commandLine(version, commit),
    ...await typescriptClient(version),
    ...await pythonClient(version),
    ...await generatedClients(version),
    ...await chart(version),
    ...await imageContext(version),
    [`parlance-${version}.cdx.json`]: billOfMaterials(root, commit),
  }
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  for (const [name, content] of Object.entries(artifacts)) {
    writeFileSync(join(folder, name), content, name.endsWith(".mjs") ? { mode: 0o755 } : {})
  }
  if (withImage) buildImage(folder, `parlance-image-${version}.oci.tar`)
  const names = readdirSync(folder).sort()
  const sums = names.map((name) =>
    `${createHash("sha256").update(readFileSync(join(folder, name))).digest("hex")}  ${name}\n`
  )
  writeFileSync(join(folder, "SHA256SUMS"), sums.join(""))
  if (key !== undefined) sign(folder, key)
  return names
}

/**
 * Looks for known vulnerabilities of the packages in `deno.lock`. Returns false if one is high or critical. Prints the
 * reason if the registry does not answer.
 */
const isFreeOfAdvisories = (): boolean => {
  const { status, stderr, stdout } = spawnSync(process.execPath, ["audit", "--level=high"], {
    cwd: root,
    encoding: "utf8",
  })
  if (status === 0) return true
  if (stderr.includes("error sending request")) {
    console.error(`Advisories were not checked: ${stderr.split("\n")[0]}`)
    return true
  }
  console.error(`${stdout}${stderr}`)
  return false
}

/** Prints the packages of which there are newer versions. */
const printNewerVersions = () => {
  const { status, stdout } = spawnSync(process.execPath, ["outdated"], { cwd: root, encoding: "utf8" })
  if (status === 0 && stdout !== "") console.error(`Newer versions:\n${stdout}`)
}

if (import.meta.main) {
  if (!isFreeOfAdvisories()) {
    console.error("Update the packages above, then repeat the command.")
    process.exit(1)
  }
  const folder = join(root, "dist")
  printNewerVersions()
  const names = await packageInto(folder, { key: process.env["PACKAGE_SIGNING_KEY"], withImage: true })
  console.log([...names, "SHA256SUMS"].map((name) => `dist/${name}`).join("\n"))
}
