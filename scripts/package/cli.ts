import "./Node20.ts"
import "../../src/runtime/leakGuard.ts"
import { program } from "../../src/cli/Program.ts"
import { runAsProcess } from "../../src/Process.ts"

/** The commit of the build, which `CommandLine.ts` defines. */
declare const BUILD_COMMIT: string

runAsProcess(program(process.argv.slice(2), ` (commit ${BUILD_COMMIT})`))
