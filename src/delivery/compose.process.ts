// The worker process of `Composer`.
import "../runtime/leakGuard.ts"
import { answerAsProcess } from "../store/WorkerProtocol.ts"
import type { Email } from "../text/Email.ts"
import { compose } from "./Composition.ts"

await answerAsProcess((emails: ReadonlyArray<Email>) => emails.map(compose))
