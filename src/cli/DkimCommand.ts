import { Option } from "effect"
import { Flag } from "effect/cli"
import type { DkimKeyResource } from "../api/deliveries/DeliverabilityApi.ts"
import { zoneLineOf } from "../delivery/dkim/DkimKey.ts"
import { call, commandGroup, steps } from "./ApiCommand.ts"
import { argument, text, toggle } from "./Flags.ts"
import { readText } from "./Inputs.ts"
import { organization } from "./Root.ts"

const connection = argument("name", "The connection")
const selector = argument("selector", "The selector of the key")

/** A DKIM key with its DNS record, as the fields of a web form and as a line of a zone file. */
const keyText = ({ record, signing, ...key }: DkimKeyResource): string =>
  [
    `${key.selector} of ${key.domain}, ${key.bits} bits, ${signing ? "signs" : "does not sign"}`,
    `  Name:   ${record.name}`,
    `  Type:   ${record.type}`,
    `  Value:  ${record.value}`,
    `  Zone:   ${zoneLineOf(record)}`,
  ].join("\n")

/** `parlance connection dkim …` */
export const dkimCommand = commandGroup("dkim", "Keys that sign the messages of an SMTP connection (DKIM)", {
  list: call("listDkimKeys", "List the DKIM keys of a connection", { connection }).result(({ keys }) => keys).table(
    { selector: "selector", domain: "domain", bits: "bits", signs: "signing", record: ({ record }) => record.name },
    ({ connection }) =>
      `${connection} has no DKIM key. Create one with \`parlance connection dkim make ${connection}\`.`,
  ),

  make: call("createDkimKey", "Create or import a DKIM key, and show the DNS record to publish", {
    connection,
    domain: text("domain", "The signing domain. Default: the domain of the sender"),
    selector: text("selector", "The name of the key below the domain. Default: a new name"),
    private_key: toggle(
      "key-stdin",
      "Import a private key (RSA, PEM) from standard input instead of creating one",
    ).pipe(Flag.map((read) => read ? Option.some(readText("-")) : Option.none())),
  }).examples(
    "parlance connection dkim make main",
    "parlance connection dkim make main --domain shop.example --selector s1 --key-stdin < private.pem",
  ).text((key, { connection }) =>
    `${keyText(key)}\nPublish this record, then start signing with ` +
    `\`parlance connection dkim sign ${connection} ${key.selector}\`. The private key is stored and never shown.`
  ),

  show: steps(
    "Show the DNS record of a key",
    { connection, selector },
    function* (client, { connection, selector }) {
      const { keys } = yield* client.listDkimKeys({ params: { org: yield* organization, connection } })
      return keys.find((key) => key.selector === selector) ?? null
    },
  )
    .failsIf((key) => key === null)
    .text((key, { connection, selector }) =>
      key === null ? `${connection} has no DKIM key with the selector ${selector}` : keyText(key)
    ),

  sign: call("updateDkimKey", "Sign with a key. Its record must be in DNS", {
    connection,
    selector,
    unchecked: toggle("unchecked", "Sign even if the record is not found in DNS"),
  }).sends((values) => ({ ...values, signing: true }))
    .text(({ domain, selector }, { connection }) => `${connection} signs with ${selector} of ${domain} from now on`),

  stop: call("updateDkimKey", "Stop signing with a key", { connection, selector })
    .sends((values) => ({ ...values, signing: false }))
    .text(({ selector }, { connection }) => `${connection} no longer signs with ${selector}`),

  remove: call("deleteDkimKey", "Remove a key", { connection, selector })
    .result((_, { connection, selector }) => ({ connection, selector, removed: true }))
    .text(({ selector }) =>
      `Removed the key ${selector}. Leave its record in DNS for some days, so that receivers can verify messages in ` +
      "transit"
    ),
})
