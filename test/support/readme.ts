import { readFileSync } from "node:fs"

/** Returns the shell commands of README.md, in order. */
export const readmeCommands = (): ReadonlyArray<string> =>
  [...readFileSync(new URL("../../README.md", import.meta.url), "utf8").matchAll(/```sh\n([\s\S]*?)```/g)]
    .flatMap(([, block]) => block!.trim().split("\n"))
