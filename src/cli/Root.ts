import { Console, Effect, Option } from "effect"
import type { OrgSlug } from "../domain/Ids.ts"
import { CommandFailed, ManagementClient } from "./Connection.ts"
import { root } from "./RootCommand.ts"

/** The organization a command is about: that of `--org`, or the only one there is. */
export const organization = Effect.gen(function* () {
  const { org } = yield* root
  if (Option.isSome(org)) return org.value as OrgSlug
  const client = yield* ManagementClient
  const { organizations } = yield* client.organizations.listOrganizations()
  if (organizations.length === 1) return organizations[0]!.slug
  return yield* new CommandFailed({
    message: organizations.length === 0
      ? "There is no organization yet. Create one with `parlance org create SLUG --name NAME`."
      : `There are several organizations. Choose one with --org: ${organizations.map(({ slug }) => slug).join(", ")}`,
  })
})

/** Prints `value` as JSON with `--json`, otherwise `text`. */
export const print = Effect.fnUntraced(function* (value: unknown, text: string) {
  const { json } = yield* root
  yield* Console.log(json ? JSON.stringify(value, null, 2) : text)
})
