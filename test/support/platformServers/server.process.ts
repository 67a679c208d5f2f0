import process from "node:process"
import { startPostmark, startResend, startSes } from "./EmailServers.ts"
import { startBraze, startCustomerIo, startIterable, startSfmc, startWebhook } from "./PlatformServer.ts"
import { startSmtp } from "./SmtpReceiver.ts"

/**
 * A platform as a separate process, for trials and benchmarks:
 *
 *     deno run -A server.process.ts smtp '{"plain": true, "faults": [{"at": "data", "reply": "451 later"}]}'
 *
 * Prints `{"url", "port"}`, and then a line `{"id", "at"}` for each accepted message. Ends with its standard input.
 */
const servers = {
  smtp: startSmtp,
  braze: startBraze,
  iterable: startIterable,
  customerio: startCustomerIo,
  sfmc: startSfmc,
  webhook: startWebhook,
  ses: startSes,
  resend: startResend,
  postmark: startPostmark,
}

const [name = "", options = "{}"] = process.argv.slice(2)
if (!Object.hasOwn(servers, name)) throw new Error(`There is no platform ${JSON.stringify(name)} here`)
const server = await servers[name as keyof typeof servers](JSON.parse(options))
const line = (value: object) => process.stdout.write(`${JSON.stringify(value)}\n`)
line({ url: "url" in server ? server.url : `smtp://127.0.0.1:${server.port}`, port: server.port })

let printed = 0
void server.until(() => {
  for (; printed < server.arrivals.length; printed++) line(server.arrivals[printed]!)
  return false
})
process.stdin.on("end", () => process.exit(0)).resume()
