// The process behind `Composer`.
import "../runtime/leakGuard.ts"
import { answerAsProcess } from "../store/WorkerProtocol.ts"
import { compose } from "./Composition.ts"

await answerAsProcess(compose)
