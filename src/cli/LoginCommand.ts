import { Console, Effect, Option, Redacted } from "effect"
import { Command } from "effect/cli"
import { clientFor, CommandFailed } from "./Client.ts"
import { argument, given } from "./Flags.ts"
import { addProfile, profilesFile, removeProfile, writeProfiles } from "./Profiles.ts"
import { baseUrlOf, storedProfiles } from "./Remote.ts"
import { print } from "./Root.ts"
import { root } from "./RootCommand.ts"
import { askSecret } from "./Secrets.ts"
import { table } from "./Table.ts"

const defaultName = "default"

const askToken = askSecret({
  question: "Admin token, or API key with a scope of the management API",
  empty: "Enter the token",
  missing: 'Write the token to standard input: echo "$ADMIN_TOKEN" | parlance login URL',
})

/** `parlance login` */
export const loginCommand = Command.make(
  "login",
  { url: argument("url", "The service, such as https://parlance.example.com") },
  Effect.fnUntraced(function* ({ url }) {
    const { org, profile } = yield* root
    const base = yield* baseUrlOf(url)
    const token = yield* askToken
    const client = yield* clientFor(base, token)
    const { organizations } = yield* client.listOrganizations()
    const slugs = organizations.map(({ slug }) => slug as string)
    if (Option.isSome(org) && !slugs.includes(org.value)) {
      return yield* new CommandFailed({ message: `This token has no organization ${org.value}: ${slugs.join(", ")}` })
    }
    const name = Option.getOrElse(profile, () => defaultName)
    const file = profilesFile()
    const stored = addProfile(yield* storedProfiles, name, {
      url: base,
      token: Redacted.value(token),
      ...given({ org: Option.getOrUndefined(org) }),
    })
    yield* Effect.sync(() => writeProfiles(file, stored))
    yield* print(
      { profile: name, url: base, organizations: slugs },
      `Commands now work at ${base} (profile ${name}). ` +
        `Organizations: ${slugs.length === 0 ? "none yet" : slugs.join(", ")}. The token is in ${file}`,
    )
  }),
).pipe(
  Command.withDescription(
    "Store the address and token of a service, for all later commands. Asks for the token, or reads it from standard input",
  ),
  Command.withExamples([
    { command: "parlance login https://parlance.example.com" },
    { command: 'echo "$TOKEN" | parlance --profile staging --org acme login https://staging.example.com' },
  ]),
)

/** `parlance logout` */
export const logoutCommand = Command.make(
  "logout",
  {},
  Effect.fnUntraced(function* () {
    const { profile } = yield* root
    const stored = yield* storedProfiles
    const name = Option.getOrNull(profile) ?? stored.current
    if (name === null || !Object.hasOwn(stored.profiles, name)) {
      return yield* new CommandFailed({
        message: name === null
          ? "There is no current profile. Name one with --profile."
          : `There is no profile ${name}.`,
      })
    }
    const rest = removeProfile(stored, name)
    yield* Effect.sync(() => writeProfiles(profilesFile(), rest))
    yield* print(
      { profile: name, removed: true, current: rest.current },
      `Removed profile ${name} and its token from this machine. The token itself stays valid. ` +
        (rest.current === null
          ? "Commands work on the local database again."
          : `Commands now use profile ${rest.current}.`),
    )
  }),
).pipe(
  Command.withDescription("Remove a stored profile with its token: the profile of --profile, or the current profile"),
)

const list = Command.make(
  "list",
  {},
  Effect.fnUntraced(function* () {
    const { current, profiles } = yield* storedProfiles
    const rows = Object.entries(profiles).map(([name, { org, url }]) => ({
      name,
      url,
      org: org ?? null,
      current: name === current,
    }))
    yield* print(
      rows,
      rows.length === 0
        ? "No profiles. Add one with `parlance login URL`."
        : table(["profile", "url", "organization", "current"], rows.map((one) => Object.values(one))),
    )
  }),
).pipe(Command.withDescription("List stored profiles, without their tokens"))

const use = Command.make(
  "use",
  { name: argument("profile", "Name of a stored profile") },
  Effect.fnUntraced(function* ({ name }) {
    const stored = yield* storedProfiles
    if (!Object.hasOwn(stored.profiles, name)) {
      return yield* new CommandFailed({ message: `There is no profile ${name}. \`parlance profile list\` lists them.` })
    }
    yield* Effect.sync(() => writeProfiles(profilesFile(), { ...stored, current: name }))
    yield* Console.log(`Commands now use profile ${name}, ${stored.profiles[name]!.url}`)
  }),
).pipe(Command.withDescription("Choose the profile of commands without --profile"))

/** `parlance profile …` */
export const profileCommand = Command.make("profile").pipe(
  Command.withDescription("Stored services and their tokens"),
  Command.withSubcommands([list, use]),
)
