// The worker process of `Judging`.
import "../runtime/leakGuard.ts"
import { answerAsProcess } from "../store/WorkerProtocol.ts"
import type { JudgeRequest } from "./Judging.ts"
import { normalizer } from "./Sources.ts"
import { judge, type Judged } from "./Verdicts.ts"

await answerAsProcess<JudgeRequest, Judged>(({ body, headers, reading, receivedAt }) =>
  judge(normalizer("events", reading), body, headers, receivedAt)
)
