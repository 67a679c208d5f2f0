import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { zoneLineOf } from "../delivery/dkim/DkimKey.ts"
import type { DkimKeyResource } from "../api/deliveries/DeliverabilityApi.ts"
import { ManagementClient } from "./Connection.ts"
import { readText } from "./Inputs.ts"
import { organization, print } from "./Root.ts"
import { table } from "./Table.ts"

const connection = Argument.String("name").pipe(Argument.withDescription("The connection"))
const selector = Argument.String("selector").pipe(Argument.withDescription("The selector of the key"))

/** A key with the record to publish, for a web form and for a zone file. */
const keyText = ({ record, signing, ...key }: DkimKeyResource): string =>
  [
    `${key.selector} of ${key.domain}, ${key.bits} bits, ${signing ? "signs" : "does not sign"}`,
    `  Name:   ${record.name}`,
    `  Type:   ${record.type}`,
    `  Value:  ${record.value}`,
    `  Zone:   ${zoneLineOf(record)}`,
  ].join("\n")

const list = Command.make(
  "list",
  { connection },
  Effect.fnUntraced(function* ({ connection }) {
    const client = yield* ManagementClient
    const params = { org: yield* organization, connection }
    const { keys } = yield* client.deliverability.listDkimKeys({ params })
    yield* print(
      keys,
      keys.length === 0
        ? `${connection} has no DKIM key. Create one with \`parlance connection dkim make ${connection}\`.`
        : table(
          ["selector", "domain", "bits", "signs", "record"],
          keys.map((key) => [key.selector, key.domain, key.bits, key.signing, key.record.name]),
        ),
    )
  }),
).pipe(Command.withDescription("List the DKIM keys of a connection"))

const make = Command.make(
  "make",
  {
    connection,
    domain: Flag.String("domain").pipe(
      Flag.withDescription("The signing domain. Default: the domain of the sender"),
      Flag.optional,
    ),
    selector: Flag.String("selector").pipe(
      Flag.withDescription("The name of the key below the domain. Default: a new name"),
      Flag.optional,
    ),
    keyStdin: Flag.Boolean("key-stdin").pipe(
      Flag.withDescription("Import a private key (RSA, PEM) from standard input instead of creating one"),
      Flag.withDefault(false),
    ),
  },
  Effect.fnUntraced(function* ({ connection, domain, keyStdin, selector }) {
    const client = yield* ManagementClient
    const key = yield* client.deliverability.createDkimKey({
      params: { org: yield* organization, connection },
      payload: {
        ...(Option.isSome(domain) ? { domain: domain.value } : {}),
        ...(Option.isSome(selector) ? { selector: selector.value } : {}),
        ...(keyStdin ? { private_key: yield* readText("-") } : {}),
      },
    })
    yield* print(
      key,
      `${keyText(key)}\nPublish this record, then start signing with ` +
        `\`parlance connection dkim sign ${connection} ${key.selector}\`. The private key is stored and never shown.`,
    )
  }),
).pipe(
  Command.withDescription("Create or import a DKIM key, and show the DNS record to publish"),
  Command.withExamples([{ command: "parlance connection dkim make main" }, {
    command: "parlance connection dkim make main --domain shop.example --selector s1 --key-stdin < private.pem",
  }]),
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

const changed = (
  connection: string,
  selector: string,
  payload: { readonly signing: boolean; readonly unchecked?: boolean },
) =>
  Effect.gen(function* () {
    const client = yield* ManagementClient
    const params = { org: yield* organization, connection, selector }
    return yield* client.deliverability.updateDkimKey({ params, payload })
  })

const sign = Command.make(
  "sign",
  {
    connection,
    selector,
    unchecked: Flag.Boolean("unchecked").pipe(
      Flag.withDescription("Sign even if the record is not found in DNS"),
      Flag.withDefault(false),
    ),
  },
  Effect.fnUntraced(function* ({ connection, selector, unchecked }) {
    const key = yield* changed(connection, selector, { signing: true, unchecked })
    yield* print(key, `${connection} signs with ${key.selector} of ${key.domain} from now on`)
  }),
).pipe(Command.withDescription("Sign with a key. Its record must be in DNS"))

const stop = Command.make(
  "stop",
  { connection, selector },
  Effect.fnUntraced(function* ({ connection, selector }) {
    const key = yield* changed(connection, selector, { signing: false })
    yield* print(key, `${connection} no longer signs with ${key.selector}`)
  }),
).pipe(Command.withDescription("Stop signing with a key"))

const remove = Command.make(
  "remove",
  { connection, selector },
  Effect.fnUntraced(function* ({ connection, selector }) {
    const client = yield* ManagementClient
    yield* client.deliverability.deleteDkimKey({ params: { org: yield* organization, connection, selector } })
    yield* print(
      { connection, selector, removed: true },
      `Removed the key ${selector}. Leave its record in DNS for some days, so that receivers can verify messages in transit`,
    )
  }),
).pipe(Command.withDescription("Remove a key"))

/** `parlance connection dkim …` */
export const dkimCommand = Command.make("dkim").pipe(
  Command.withDescription("Keys that sign the messages of an SMTP connection (DKIM)"),
  Command.withSubcommands([list, make, show, sign, stop, remove]),
)
