// Measures composed e-mails per second of processor time, unsigned and signed with DKIM keys of several lengths.
import { Effect } from "effect"
import process from "node:process"
import { compose } from "../src/delivery/Composition.ts"
import type { Email } from "../src/text/Email.ts"
import { makeKey } from "../src/delivery/dkim/DkimKey.ts"
import type { DkimSigner } from "../src/text/Email.ts"

const quick = Deno.args.includes("--quick")
const seconds = quick ? 1 : 5

/** Returns a typical e-mail of about 20 kB. */
const emailOf = (dkim: DkimSigner | undefined): Email => ({
  from: { email: "news@shop.example", name: "The Shop" },
  to: "ada@example.com",
  subject: "New shoes for Ada",
  html: `<html><body>${
    "<p>Hello Ada, <a href='https://shop.example/shoes'>new shoes</a> are here.</p>".repeat(250)
  }</body></html>`,
  text: undefined,
  messageId: "0198c0de-0000-7000-8000-000000000000@shop.example",
  trackingId: "0198c0de-0000-7000-8000-000000000000",
  unsubscribe: { url: "https://shop.example/u" },
  feedbackId: "a:welcome:bulk:shop-1",
  date: new Date(),
  dkim,
})

/** Returns messages per second of processor time, which other work on the machine does not affect. */
const measure = async (dkim: DkimSigner | undefined): Promise<number> => {
  const email = emailOf(dkim)
  for (let n = 0; n < 50; n++) await compose(email)
  const start = process.cpuUsage()
  let count = 0
  let used = 0
  while (used < seconds * 1e6) {
    await compose(email)
    count++
    const { system, user } = process.cpuUsage(start)
    used = system + user
  }
  return count * 1e6 / used
}

const signerOf = async (bits: number): Promise<DkimSigner> => {
  const { privateKey } = await Effect.runPromise(makeKey(bits))
  return { domain: "shop.example", selector: "s1", privateKey }
}

const unsigned = await measure(undefined)
console.log("| key | messages a second | added for each message |")
console.log("| --- | ---: | ---: |")
console.log(`| none | ${unsigned.toFixed(0)} | |`)
for (const bits of [1024, 2048, 4096]) {
  const rate = await measure(await signerOf(bits))
  console.log(`| RSA ${bits} | ${rate.toFixed(0)} | ${(1000 / rate - 1000 / unsigned).toFixed(2)} ms |`)
}
