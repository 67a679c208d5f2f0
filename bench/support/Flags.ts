import { parseArgs } from "node:util"

const parts = ["pure", "postgres", "embedded"] as const

/** What a benchmark with a part for each store was asked for; ends the process where that is none of its parts. */
export const flagsOf = (benchmark: string) => {
  const { values } = parseArgs({
    args: Deno.args.filter((argument) => argument !== benchmark),
    options: {
      quick: { type: "boolean", default: false },
      only: { type: "string" },
      "postgres-url": { type: "string" },
      generate: { type: "string" },
    },
  })
  const { only, "postgres-url": postgresUrl, quick } = values
  const generate = values.generate === undefined ? undefined : Number(values.generate)
  if (only !== undefined && !parts.some((part) => part === only)) {
    console.error(`--only ${parts.join("|")}`)
    Deno.exit(1)
  }
  return { quick, postgresUrl, generate, wanted: (part: typeof parts[number]) => only === undefined || only === part }
}
