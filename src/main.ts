import "./runtime/leakGuard.ts"
import { fileURLToPath } from "node:url"
import { program } from "./cli/Program.ts"
import { runAsProcess } from "./Process.ts"
import { linkDeno } from "./runtime/Npx.ts"

linkDeno(fileURLToPath(new URL("../node_modules/.bin", import.meta.url)))
runAsProcess(program(process.argv.slice(2)))
