import { Config, Console, Context, Effect, Option, Redacted, Result } from "effect"
import { CommandFailed } from "./Client.ts"
import { profileName, profilesFile, readProfiles } from "./Profiles.ts"
import { secretVariable } from "./Secrets.ts"
import { secretsIn } from "../settings/SettingReaders.ts"
import { Settings } from "../settings/Settings.ts"
import * as LocalService from "../store/LocalService.ts"

/** A running service, to which commands send their requests. */
export interface RemoteService {
  /** Base URL without a trailing slash. */
  readonly url: string
  readonly token: Redacted.Redacted<string>
  /** The variable, profile or file of the token, for messages. */
  readonly tokenFrom: string
  /** Slug of the organization for commands without `--org`. */
  readonly org: Option.Option<string>
}

/** The running service of a command, or none if the command opens the database itself. */
export class ServiceOfCommand extends Context.Service<ServiceOfCommand, Option.Option<RemoteService>>()(
  "parlance/cli/ServiceOfCommand",
) {}

const text = (name: string) =>
  Config.option(Config.String(name)).pipe(Config.map(Option.filter((value) => value !== "")))

/** The stored profiles. */
export const storedProfiles = Effect.suspend(() =>
  Result.match(readProfiles(profilesFile()), {
    onFailure: (message) => Effect.fail(new CommandFailed({ message })),
    onSuccess: Effect.succeed,
  })
)

/** The base URL of a service, without a slash at its end. `from`: where the text comes from, for the message. */
export const baseUrlOf = (text: string, from = "") => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.search !== "" || url.username !== "") {
    return new CommandFailed({
      message: `${from}${text} is not the URL of a service, such as https://parlance.example.com`,
    })
  }
  return Effect.succeed(url.href.replace(/\/+$/, ""))
}

const fromEnvironment = Effect.fnUntraced(function* (given: string) {
  const url = yield* baseUrlOf(given, "PARLANCE_URL: ")
  for (const tokenFrom of ["ADMIN_TOKEN", "PARLANCE_KEY"]) {
    const token = yield* secretVariable(tokenFrom)
    if (Option.isSome(token)) {
      const [newest] = secretsIn(token.value)
      return { url, token: Redacted.make(newest!), tokenFrom, org: Option.none() }
    }
  }
  return yield* new CommandFailed({
    message:
      "PARLANCE_URL is set, but neither ADMIN_TOKEN nor PARLANCE_KEY. Set ADMIN_TOKEN to the admin token of that " +
      "service, or PARLANCE_KEY to an API key with a scope of the management API.",
  })
})

/**
 * The service of a command: the service of `--profile`, of `PARLANCE_URL`, of `PARLANCE_PROFILE`, or of the last login.
 * Undefined if no service is known, or if the environment names a store and only the last login would apply.
 */
export const remoteService = Effect.fnUntraced(function* (flag: Option.Option<string>) {
  const url = yield* text("PARLANCE_URL")
  if (Option.isNone(flag) && Option.isSome(url)) return Option.some<RemoteService>(yield* fromEnvironment(url.value))
  const stores = yield* Config.all(["DATABASE_URL", "DATA_DIR", "STORE"].map(text))
  const profiles = yield* storedProfiles
  const name = profileName(profiles, {
    flag,
    variable: yield* text("PARLANCE_PROFILE"),
    namesStore: stores.some(Option.isSome),
  })
  if (Option.isNone(name)) return Option.none<RemoteService>()
  const profile = Object.hasOwn(profiles.profiles, name.value) ? profiles.profiles[name.value] : undefined
  if (profile === undefined) {
    const names = Object.keys(profiles.profiles).join(", ")
    return yield* new CommandFailed({
      message: `There is no profile ${JSON.stringify(name.value)}. ` +
        (names === "" ? "" : `There are: ${names}. `) + `Add it with \`parlance --profile ${name.value} login URL\`.`,
    })
  }
  return Option.some<RemoteService>({
    url: profile.url,
    token: Redacted.make(profile.token),
    tokenFrom: `the profile ${name.value} (${profilesFile()})`,
    org: Option.fromUndefinedOr(profile.org),
  })
})

/**
 * The service that runs on the embedded database of the settings. If it was killed, prints that the command opens the
 * database itself.
 */
const localService = Effect.gen(function* () {
  const { dataDir, database } = yield* Settings.pipe(Effect.provide(Settings.layer))
  const found = Option.isNone(database) ? LocalService.find(dataDir) : undefined
  if (found === undefined) return Option.none<RemoteService>()
  const { file, isRunning, token, url } = found
  if (!isRunning) {
    yield* Console.error(
      `parlance: the service of ${file} has ended without removing the file. The command opens the database itself.`,
    )
    return Option.none<RemoteService>()
  }
  const tokenFrom = LocalService.tokenFile(dataDir)
  return Option.some<RemoteService>({ url, token: Redacted.make(token), tokenFrom, org: Option.none() })
})

/** The service of a command: the chosen one (see `remoteService`), or else the one that runs on this machine. */
export const serviceOfCommand = (profile: Option.Option<string>) =>
  Effect.flatMap(
    remoteService(profile),
    Option.match({ onNone: () => localService, onSome: (one) => Effect.succeedSome(one) }),
  )
