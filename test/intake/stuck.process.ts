// Replaces `intake.process.ts`: a body that says so hangs, ends the process, or makes the program throw.
import "../../src/runtime/leakGuard.ts"
import { bodyReader, type ReadAnswer, type ReadRequest } from "../../src/intake/BodyReading.ts"
import { answerAsProcess } from "../../src/store/WorkerProtocol.ts"

const answer = bodyReader()
const decoder = new TextDecoder()

await answerAsProcess<ReadRequest, ReadAnswer>((request, note) => {
  for (const { body, id } of request.type === "read" ? request.bodies : []) {
    note(id)
    const text = decoder.decode(body)
    if (text.includes("hang")) { for (;;); }
    if (text.includes("exit")) Deno.exit(1)
    if (text.includes("throw")) throw new Error("thrown by the program")
  }
  return answer(request, note)
})
