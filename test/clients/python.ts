import { spawnSync } from "node:child_process"

/**
 * Python 3 with httpx; undefined where there is none. The system's Python has Debian's packages, also where another one
 * comes first on the path.
 */
export const python = ["python3", "/usr/bin/python3"].find((name) =>
  spawnSync(name, ["-c", "import httpx"]).status === 0
)

if (python === undefined) {
  console.warn("Skipped: the Python client (Python 3 with httpx is not installed: apt-get install python3-httpx)")
}
