// Replaces `compose.process.ts`: hangs, ends or throws as the subject says, and composes all other e-mails.
import "../../src/runtime/leakGuard.ts"
import { compose } from "../../src/delivery/Composition.ts"
import type { Email } from "../../src/text/Email.ts"
import { answerAsProcess } from "../../src/store/WorkerProtocol.ts"

const composeUnless = (email: Email) => {
  if (email.subject.includes("hang")) { for (;;); }
  if (email.subject.includes("exit")) Deno.exit(1)
  if (email.subject.includes("throw")) throw new Error("no luck")
  return compose(email)
}

await answerAsProcess((emails: ReadonlyArray<Email>) => Promise.all(emails.map(composeUnless)))
