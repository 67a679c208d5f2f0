import { parseArgs } from "node:util"

const parts = ["pure", "postgres", "embedded"] as const

/**
 * Reads the flags of a benchmark with a part for each store. `numbers` are names of its own flags, which require a
 * number above 0. Ends the process if a flag, a part or a number is not valid.
 */
export const flagsOf = <const Name extends string = never>(benchmark: string, numbers: ReadonlyArray<Name> = []) => {
  const { values } = parseArgs({
    args: Deno.args.filter((argument) => argument !== benchmark),
    options: {
      quick: { type: "boolean", default: false },
      only: { type: "string" },
      "postgres-url": { type: "string" },
      ...Object.fromEntries(numbers.map((name) => [name, { type: "string" } as const])),
    },
  })
  const { only, "postgres-url": postgresUrl, quick } = values
  if (only !== undefined && !parts.some((part) => part === only)) {
    console.error(`--only ${parts.join("|")}`)
    Deno.exit(1)
  }
  const numberOf = (name: Name): number | undefined => {
    const text = (values as { readonly [name: string]: string | boolean | undefined })[name]
    if (text === undefined) return undefined
    const value = Number(text)
    if (value > 0) return value
    console.error(`--${name} is a number above 0`)
    Deno.exit(1)
  }
  return { quick, postgresUrl, numberOf, wanted: (part: typeof parts[number]) => only === undefined || only === part }
}
