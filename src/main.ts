import "./runtime/leakGuard.ts"
import { program } from "./cli/Program.ts"
import { runAsProcess } from "./Process.ts"

runAsProcess(program(process.argv.slice(2)))
