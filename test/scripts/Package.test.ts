import { Effect } from "effect"
import { assert, beforeAll, describe, it, onTestFinished } from "vitest"
import { execFile, execFileSync, spawnSync } from "node:child_process"
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { basename, join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { promisify } from "node:util"
import { parse } from "yaml"
import { buildImage, packageInto } from "../../scripts/package.ts"
import { bundleService } from "../../scripts/package/Service.ts"
import { version } from "../../src/domain/Version.ts"
import { python } from "../clients/python.ts"
import { serviceForClients } from "../clients/serviceForClients.ts"

const run = (program: string, args: ReadonlyArray<string>, cwd: string) =>
  execFileSync(program, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] })

const folder = mkdtempSync(join(tmpdir(), "parlance-package-"))
const dist = join(folder, "dist")
const inDist = (name: string) => join(dist, name)

/** A folder into which an artifact is unpacked. */
const unpacked = (name: string) => {
  const target = join(folder, `${name}-unpacked`)
  mkdirSync(target)
  run("tar", ["-xzf", inDist(name), "-C", target], folder)
  return target
}

/** An address that answers every request with one organization and one generated message. */
const serveAnswers = async () => {
  const server = createServer((_, response) => {
    response.writeHead(200, { "content-type": "application/json" })
    response.end(
      JSON.stringify({ organizations: [{ slug: "acme" }], keys: [], copy: { id: "a" }, vars: {}, tracking_id: "t" }),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  onTestFinished(() => void server.close().closeAllConnections())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

interface ClientProgram {
  readonly name: string
  readonly program: {
    readonly path: string
    readonly args: ReadonlyArray<string>
    readonly cwd: string
    readonly env?: Readonly<Record<string, string>>
  }
}

const has = (program: string, ...args: ReadonlyArray<string>) => spawnSync(program, args).status === 0

/** A new folder with a file. */
const folderWith = (folderName: string, name: string, text: string) => {
  const target = join(folder, folderName)
  mkdirSync(target)
  writeFileSync(join(target, name), text)
  return target
}

/** Programs that print the subject of a generated message, each with one client that its archive installed. */
const clientPrograms = (): ReadonlyArray<ClientProgram> => {
  const generate = `
import os
from parlance import Parlance
with Parlance(os.environ["PARLANCE_URL"], "acme", os.environ["PARLANCE_KEY"]) as parlance:
    print(parlance.generate("welcome", fields={"name": "Ann"}).vars["subject"])
`
  const inPython = (name: string, cwd: string): ClientProgram => ({
    name: `Python: ${name}`,
    program: { path: python!, args: ["-c", generate], cwd, env: { PYTHONPATH: cwd } },
  })
  const found: Array<ClientProgram> = []
  if (python !== undefined) {
    const wheel = inDist(`parlance_client-${version}-py3-none-any.whl`)
    const target = join(folder, "python")
    const options = ["--quiet", "--no-compile", "--no-index", "--no-deps", "--target", target]
    run(python, ["-m", "pip", "install", ...options, wheel], folder)
    const source = join(unpacked(`parlance_client-${version}.tar.gz`), `parlance_client-${version}`)
    found.push(inPython("wheel", target), inPython("source", source))
  }
  if (has("go", "version")) {
    const module = join(unpacked(`parlance-go-${version}.tar.gz`), `parlance-go-${version}`)
    const cwd = folderWith(
      "go",
      "main.go",
      `package main

import (
	"context"
	"fmt"
	"os"

	parlance "github.com/parlance/parlance-go"
)

func main() {
	client, err := parlance.New(parlance.Options{URL: os.Getenv("PARLANCE_URL"), Org: "acme", APIKey: os.Getenv("PARLANCE_KEY")})
	if err != nil {
		panic(err)
	}
	content, err := client.Generate(context.Background(), parlance.GenerateRequest{
		TemplateID: "welcome", Fields: map[string]any{"name": "Ann"},
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(content.Copy.Vars["subject"])
}
`,
    )
    run("go", ["mod", "init", "example.com/shop"], cwd)
    run("go", ["mod", "edit", "-require=github.com/parlance/parlance-go@v0.0.0"], cwd)
    run("go", ["mod", "edit", `-replace=github.com/parlance/parlance-go=${module}`], cwd)
    found.push({ name: "Go", program: { path: "go", args: ["run", "."], cwd, env: { GOPROXY: "off" } } })
  }
  if (has("php", "--version") && python !== undefined) {
    const cwd = folderWith(
      "php",
      "generate.php",
      `<?php
$folder = __DIR__ . '/parlance-php-${version}';
$namespace = array_key_first(json_decode(file_get_contents("$folder/composer.json"), true)['autoload']['psr-4']);
spl_autoload_register(fn ($name) => require "$folder/src/" . substr($name, strlen($namespace)) . '.php');
$parlance = new Parlance\\Client(getenv('PARLANCE_URL'), 'acme', getenv('PARLANCE_KEY'));
echo $parlance->generate(['template_id' => 'welcome', 'fields' => ['name' => 'Ann']])['copy']['vars']['subject'];
`,
    )
    run(python, ["-m", "zipfile", "-e", inDist(`parlance-php-${version}.zip`), cwd], cwd)
    found.push({ name: "PHP", program: { path: "php", args: ["generate.php"], cwd } })
  }
  return found
}

beforeAll(async () => {
  const key = join(folder, "key")
  run("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-C", "releases@example.com", "-f", key], folder)
  await packageInto(dist, { key })
  return () => rmSync(folder, { recursive: true, force: true })
})

describe("the artifacts of a release", () => {
  it("have checksums, and a signature that a changed file of checksums does not match", () => {
    run("sha256sum", ["--check", "--strict", "SHA256SUMS"], dist)
    const signers = join(folder, "signers")
    writeFileSync(signers, `releases@example.com ${readFileSync(join(folder, "key.pub"), "utf8")}`)
    const verify = () =>
      spawnSync("ssh-keygen", [
        ...["-Y", "verify", "-f", signers, "-I", "releases@example.com", "-n", "parlance"],
        ...["-s", inDist("SHA256SUMS.sig")],
      ], { input: readFileSync(inDist("SHA256SUMS")) }).status
    assert.strictEqual(verify(), 0)
    appendFileSync(inDist("SHA256SUMS"), "\n")
    assert.notStrictEqual(verify(), 0)
  })

  it("include a command line and a client that npm installs without a registry", async () => {
    const url = await serveAnswers()
    const target = join(folder, "npm")
    mkdirSync(target)
    const packages = [inDist(`parlance-cli-${version}.tgz`), inDist(`parlance-client-${version}.tgz`)]
    run("npm", ["install", "--offline", "--no-audit", "--no-fund", "--prefix", target, ...packages], target)
    const environment = { ...process.env, PARLANCE_URL: url, ADMIN_TOKEN: "t".repeat(40), NO_COLOR: "1" }
    const call = async (program: string, ...args: ReadonlyArray<string>) =>
      (await promisify(execFile)(program, args, { cwd: target, env: environment })).stdout
    const parlance = join(target, "node_modules/.bin/parlance")
    assert.match(await call(parlance, "--version"), new RegExp(`^parlance v${version} \\(commit [0-9a-f]{12}`))
    assert.deepStrictEqual(JSON.parse(await call(parlance, "key", "list", "--json")), [])
    const file = inDist(`parlance-${version}.mjs`)
    assert.include(await call(process.execPath, "run", "-A", file, "--help"), "Content personalization")
    const program = "import { Parlance } from '@parlance/client'; const { PARLANCE_URL: url } = process.env; " +
      "const parlance = new Parlance({ url, org: 'acme', apiKey: 'plk_x' }); " +
      "console.log((await parlance.generate({ template_id: 'welcome' })).tracking_id)"
    assert.strictEqual(await call("node", "--input-type=module", "--eval", program), "t\n")
  })

  it("include a command line that says where commands on a database run", () => {
    const refused = (...args: ReadonlyArray<string>) =>
      spawnSync("node", [inDist(`parlance-${version}.mjs`), ...args], {
        env: { PATH: process.env["PATH"], HOME: folder, DATA_DIR: join(folder, "none") },
        encoding: "utf8",
      }).stderr
    assert.include(refused("migrate"), "Run `parlance migrate` in the container image or a clone")
    assert.include(refused("org", "list"), "No service was found")
  })

  it("include clients that work from the file alone, in every language that is installed", () =>
    Effect.runPromise(Effect.scoped(Effect.gen(function* () {
      const { apiKey, service } = yield* serviceForClients
      const environment = { PARLANCE_URL: service.url, PARLANCE_KEY: apiKey }
      for (const { name, program } of clientPrograms()) {
        const { args, cwd, env = {}, path } = program
        const { stdout } = yield* Effect.promise(() =>
          promisify(execFile)(path, args, { cwd, env: { ...process.env, ...environment, ...env } })
        )
        assert.strictEqual(stdout.trim(), "Hi Ann", name)
      }
    }))))

  it("include a chart with the version of the release", () => {
    const chart = join(unpacked(`parlance-chart-${version}.tgz`), "parlance")
    assert.strictEqual(parse(readFileSync(join(chart, "Chart.yaml"), "utf8")).version, version)
  })

  it("include a context with every file that the image copies", () => {
    const context = unpacked(`parlance-image-${version}.tar.gz`)
    const copied = [...readFileSync(join(context, "Dockerfile"), "utf8").matchAll(/^COPY (?!--from)(.+) \S+$/gm)]
      .flatMap(([, sources]) => sources!.split(" "))
    assert.include(copied, "src")
    run("ls", ["--", ...copied], context)
    run("test", ["-x", "deploy/image/parlance"], context)
  })

  it("include a bundle that reads only files of the image", async () => {
    const bundle = join(folder, "bundle")
    mkdirSync(bundle)
    await bundleService(bundle)
    const named = readdirSync(bundle).filter((name) => name.endsWith(".js")).flatMap((name) => {
      const module = pathToFileURL(join(bundle, name))
      const addresses = readFileSync(join(bundle, name), "utf8").matchAll(
        /new URL\(`([^`$]*)[^`]*`,(?:new URL\(`([^`]*)`,import\.meta\.url\)\.href|import\.meta\.url)\)/g,
      )
      return [...addresses].map(([, path, from = ""]) => fileURLToPath(new URL(path!, new URL(from, module))))
    })
    assert.includeMembers(named.map((file) => basename(file)), ["check.process.js", "examples.json", "schema"])
    // The image has no sources of modules.
    assert.deepStrictEqual(named.filter((file) => !existsSync(file) || file.endsWith(".ts")), [])
  })

  it("include the image of both architectures where Docker has BuildKit", () => {
    const target = mkdtempSync(join(folder, "image-"))
    const calls = join(target, "calls")
    // Stands in for a Docker with BuildKit, which has no package of Debian 12.
    writeFileSync(
      join(target, "docker"),
      `#!/bin/sh\n[ "$2" = version ] || echo "$SOURCE_DATE_EPOCH $*" >> "${calls}"\n`,
      { mode: 0o755 },
    )
    const path = process.env["PATH"]
    process.env["PATH"] = `${target}:${path}`
    onTestFinished(() => void (process.env["PATH"] = path))
    buildImage(target, "image.oci.tar")
    assert.match(
      readFileSync(calls, "utf8"),
      new RegExp(
        `^\\d{10} buildx build --platform linux/amd64,linux/arm64 .*type=oci,dest=${join(target, "image.oci.tar")},`,
      ),
    )
  })

  it("include a bill of the packages that the service installs", () => {
    const { components } = JSON.parse(readFileSync(inDist(`parlance-${version}.cdx.json`), "utf8"))
    const names = components.map(({ name }: { readonly name: string }) => name)
    const { dependencies } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"))
    assert.includeMembers(names, [...Object.keys(dependencies), "pg"])
    assert.notInclude(names, "vitest")
    for (const { hashes } of components) assert.match(hashes[0].content, /^[0-9a-f]{128}$/)
  })
})
