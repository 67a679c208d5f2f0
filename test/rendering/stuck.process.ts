// Stands in for `check.process.ts`: says which process it is and what it may, hangs or ends as the first source asks.
import type { CheckAnswer, CheckRequest } from "../../src/rendering/CheckProtocol.ts"

const answer = (message: CheckAnswer) => console.log(JSON.stringify(message))

const permitted = (["read", "write", "net", "env", "run", "ffi", "sys"] as const)
  .filter((name) => Deno.permissions.querySync({ name }).state === "granted")

answer({ type: "ready" })
let rest = ""
for await (const chunk of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
  const lines = (rest + chunk).split("\n")
  rest = lines.pop()!
  for (const line of lines) {
    const [[variable, source] = ["", ""]] = Object.entries((JSON.parse(line) as CheckRequest).vars)
    answer({ type: "begun", variable })
    if (source.includes("hang")) { for (;;); }
    if (source.includes("exit")) Deno.exit(1)
    const message = source.includes("permissions") ? permitted.join() : `${Deno.pid}`
    answer({ type: "faults", faults: [{ variable, line: 1, column: 1, message }] })
  }
}
