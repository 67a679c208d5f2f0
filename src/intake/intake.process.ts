// The worker process of `BodyReader`.
import "../runtime/leakGuard.ts"
import { answerAsProcess } from "../store/WorkerProtocol.ts"
import { bodyReader, type ReadAnswer, type ReadRequest } from "./BodyReading.ts"

await answerAsProcess<ReadRequest, ReadAnswer>(bodyReader())
