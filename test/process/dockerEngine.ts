import { execFile, execFileSync } from "node:child_process"
import { promisify } from "node:util"

/** Runs a command of Docker's; rejects with what it printed when it fails. */
export const docker = async (...args: ReadonlyArray<string>): Promise<string> => {
  const { stdout } = await promisify(execFile)("docker", [...args], { maxBuffer: 64 * 1024 * 1024 })
  return stdout.trim()
}

/** Whether a Docker engine answers; says so when the suite `name` is skipped for want of one. */
export const hasDocker = (name: string): boolean => {
  try {
    execFileSync("docker", ["info"], { stdio: "pipe", timeout: 20_000 })
    return true
  } catch (error) {
    const reason = error instanceof Error ? error.message.split("\n")[0] : String(error)
    console.warn(`${name}: skipped, no Docker engine answers (${reason})`)
    return false
  }
}
