// `deno task bench NAME …` runs bench/NAME.ts. Without a name, it lists the benchmarks.
import "../src/runtime/leakGuard.ts"
import { readdirSync } from "node:fs"

const names = readdirSync(new URL(".", import.meta.url))
  .filter((file) => file.endsWith(".ts") && file !== "run.ts")
  .map((file) => file.replace(/\.ts$/, ""))
const name = Deno.args[0]
if (name === undefined || !names.includes(name)) {
  console.log(`Which benchmark? deno task bench ${names.join(" | ")}`)
  Deno.exit(name === undefined ? 0 : 1)
}
await import(`./${name}.ts`)
