import { Console, Effect, Option } from "effect"
import type { OrgSlug } from "../domain/Ids.ts"
import type { WaitingChange } from "../domain/Proposal.ts"
import { CommandFailed, ManagementClient } from "./Client.ts"
import { ServiceOfCommand } from "./Remote.ts"
import { root } from "./RootCommand.ts"

/** The organization of a command: the value of `--org`, or else the only organization. */
export const organization = Effect.gen(function* () {
  const service = yield* ServiceOfCommand
  const named = Option.orElse((yield* root).org, () => Option.flatMap(service, ({ org }) => org))
  if (Option.isSome(named)) return named.value as OrgSlug
  const client = yield* ManagementClient
  const { organizations } = yield* client.listOrganizations()
  if (organizations.length === 1) return organizations[0]!.slug
  return yield* new CommandFailed({
    message: organizations.length === 0
      ? `There is no organization in ${
        Option.match(service, {
          onNone: () => "the database of DATABASE_URL or DATA_DIR",
          onSome: ({ url }) => `the service at ${url}`,
        })
      }. Create one with \`parlance org create SLUG --name NAME\`, or set DATABASE_URL, DATA_DIR or PARLANCE_URL ` +
        "if the service uses another database."
      : `There are several organizations. Choose one with --org: ${organizations.map(({ slug }) => slug).join(", ")}`,
  })
})

/** Prints `value` as JSON with `--json`, otherwise `text`. */
export const print = Effect.fnUntraced(function* (value: unknown, text: string) {
  const { json } = yield* root
  yield* Console.log(json ? JSON.stringify(value, null, 2) : text)
})

/** Prints that a change needs approval, with the commands that show the change. */
export const printProposed = (waiting: WaitingChange) =>
  print(
    waiting,
    [
      waiting.detail,
      ...waiting.proposals.slice(0, 20).map(({ id, template_id }) => `  ${template_id}: parlance review show ${id}`),
    ].join("\n"),
  )

/** Whether a change needs approval before it is live. */
export const isProposed = (result: unknown): result is WaitingChange =>
  typeof result === "object" && result !== null && "proposals" in result
