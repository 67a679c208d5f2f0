import { execFileSync } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import process from "node:process"

/** Returns the output of `deno lint` with one plugin of `scripts/lint/`. `files` contains texts by path. */
export const lint = (plugin: string, files: Readonly<Record<string, string>>): string => {
  const folder = mkdtempSync(join(tmpdir(), "parlance-lint-"))
  try {
    const lint = { plugins: [resolve("scripts/lint", plugin)], rules: { tags: [] } }
    writeFileSync(join(folder, "deno.json"), JSON.stringify({ lint }))
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(join(folder, path, ".."), { recursive: true })
      writeFileSync(join(folder, path), text)
    }
    const options = { cwd: folder, encoding: "utf8", env: { ...process.env, NO_COLOR: "1" }, stdio: "pipe" } as const
    return execFileSync(process.execPath, ["lint", "--quiet"], options)
  } catch (error) {
    return (error as { stderr: string }).stderr
  } finally {
    rmSync(folder, { recursive: true })
  }
}
