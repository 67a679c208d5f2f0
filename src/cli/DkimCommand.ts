import { Effect } from "effect"
import { Command } from "effect/cli"
import { zoneLineOf } from "../delivery/dkim/DkimKey.ts"
import type { DkimKeyResource } from "../api/deliveries/DeliverabilityApi.ts"
import { ManagementClient } from "./Connection.ts"
import { argument, given, text, toggle } from "./Flags.ts"
import { readText } from "./Inputs.ts"
import { organizationCommand } from "./ManagementCommand.ts"
import { organization, print } from "./Root.ts"

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

const list = organizationCommand({
  name: "list",
  description: "List the DKIM keys of a connection",
  flags: { connection },
  call: (client, { connection, org }) => client.deliverability.listDkimKeys({ params: { org, connection } }),
  result: ({ keys }) => keys,
}).table(
  { selector: "selector", domain: "domain", bits: "bits", signs: "signing", record: ({ record }) => record.name },
  ({ connection }) => `${connection} has no DKIM key. Create one with \`parlance connection dkim make ${connection}\`.`,
)

const make = organizationCommand({
  name: "make",
  description: "Create or import a DKIM key, and show the DNS record to publish",
  examples: [
    "parlance connection dkim make main",
    "parlance connection dkim make main --domain shop.example --selector s1 --key-stdin < private.pem",
  ],
  flags: {
    connection,
    domain: text("domain", "The signing domain. Default: the domain of the sender"),
    selector: text("selector", "The name of the key below the domain. Default: a new name"),
    keyStdin: toggle("key-stdin", "Import a private key (RSA, PEM) from standard input instead of creating one"),
  },
  payload: ({ domain, keyStdin, selector }) =>
    Effect.map(
      keyStdin ? Effect.asSome(readText("-")) : Effect.succeedNone,
      (key) => given({ domain, selector, private_key: key }),
    ),
  call: (client, { connection, org, payload }) =>
    client.deliverability.createDkimKey({ params: { org, connection }, payload }),
}).text((key, { connection }) =>
  `${keyText(key)}\nPublish this record, then start signing with ` +
  `\`parlance connection dkim sign ${connection} ${key.selector}\`. The private key is stored and never shown.`
)

const show = Command.make(
  "show",
  { connection, selector },
  Effect.fnUntraced(function* ({ connection, selector }) {
    const client = yield* ManagementClient
    const params = { org: yield* organization, connection }
    const { keys } = yield* client.deliverability.listDkimKeys({ params })
    const key = keys.find((one) => one.selector === selector)
    if (key !== undefined) return yield* print(key, keyText(key))
    process.exitCode = 1
    yield* print(null, `${connection} has no DKIM key with the selector ${selector}`)
  }),
).pipe(Command.withDescription("Show the DNS record of a key"))

const sign = organizationCommand({
  name: "sign",
  description: "Sign with a key. Its record must be in DNS",
  flags: { connection, selector, unchecked: toggle("unchecked", "Sign even if the record is not found in DNS") },
  call: (client, { connection, org, selector, unchecked }) =>
    client.deliverability.updateDkimKey({
      params: { org, connection, selector },
      payload: { signing: true, unchecked },
    }),
}).text(({ domain, selector }, { connection }) => `${connection} signs with ${selector} of ${domain} from now on`)

const stop = organizationCommand({
  name: "stop",
  description: "Stop signing with a key",
  flags: { connection, selector },
  call: (client, { connection, org, selector }) =>
    client.deliverability.updateDkimKey({ params: { org, connection, selector }, payload: { signing: false } }),
}).text(({ selector }, { connection }) => `${connection} no longer signs with ${selector}`)

const remove = organizationCommand({
  name: "remove",
  description: "Remove a key",
  flags: { connection, selector },
  call: (client, { connection, org, selector }) =>
    client.deliverability.deleteDkimKey({ params: { org, connection, selector } }),
  result: (_, { connection, selector }) => ({ connection, selector, removed: true }),
}).text(({ selector }) =>
  `Removed the key ${selector}. Leave its record in DNS for some days, so that receivers can verify messages in transit`
)

/** `parlance connection dkim …` */
export const dkimCommand = Command.make("dkim").pipe(
  Command.withDescription("Keys that sign the messages of an SMTP connection (DKIM)"),
  Command.withSubcommands([list, make, show, sign, stop, remove]),
)
