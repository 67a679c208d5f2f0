// The process behind `Composer`.
import { answerAsProcess } from "../store/WorkerProtocol.ts"
import { compose } from "./Composition.ts"

await answerAsProcess(compose)
