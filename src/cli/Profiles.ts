import { Option, Result, Schema } from "effect"
import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { homedir } from "node:os"
import { dirname, join } from "node:path"
import * as Json from "../json/Json.ts"

/** A service that `parlance login` has stored. */
const Profile = Schema.Struct({
  /** Base URL without a slash at its end. */
  url: Schema.NonEmptyString,
  /** The admin token, or an API key with a scope of the management API. */
  token: Schema.NonEmptyString,
  /** Slug of the organization of commands without `--org`. */
  org: Schema.optionalKey(Schema.NonEmptyString),
})
type Profile = typeof Profile.Type

/** All profiles, and the name of the current profile, which commands use without `--profile`. */
export const StoredProfiles = Schema.Struct({
  current: Schema.NullOr(Schema.String),
  profiles: Schema.Record(Schema.String, Profile),
})
export type StoredProfiles = typeof StoredProfiles.Type

const decode = Schema.decodeUnknownResult(StoredProfiles)

/** The file of the profiles: `parlance/profiles.json` in `XDG_CONFIG_HOME`, or else in `~/.config`. */
export const profilesFile = (): string =>
  join(process.env.XDG_CONFIG_HOME || join(homedir(), ".config"), "parlance", "profiles.json")

/**
 * Reads the stored profiles. Returns no profiles if the file does not exist. Fails with a message if the file is
 * damaged.
 */
export const readProfiles = (file: string): Result.Result<StoredProfiles, string> => {
  let text: string
  try {
    text = readFileSync(file, "utf8")
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return Result.succeed({ current: null, profiles: {} })
    return Result.fail(`${file} cannot be read: ${(error as Error).message}`)
  }
  return Result.mapError(
    Result.flatMap(Result.try(() => Json.parse(text)), decode),
    () => `${file} is damaged. Delete it and repeat \`parlance login URL\` for each service.`,
  )
}

/** Writes the profiles, readable only by this user. If the process crashes, the previous file remains. */
export const writeProfiles = (file: string, profiles: StoredProfiles): void => {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  const next = `${file}.${process.pid}`
  writeFileSync(next, `${JSON.stringify(profiles, null, 2)}\n`, { mode: 0o600 })
  // The mode above does not apply to a file that remains from a crash.
  chmodSync(next, 0o600)
  renameSync(next, file)
}

/** Adds or replaces a profile, and makes it the current profile. */
export const addProfile = ({ profiles }: StoredProfiles, name: string, profile: Profile): StoredProfiles => ({
  current: name,
  profiles: { ...profiles, [name]: profile },
})

/**
 * Removes a profile. If it was the current profile, the remaining profile becomes current. If zero or several profiles
 * remain, no profile is current.
 */
export const removeProfile = ({ current, profiles }: StoredProfiles, name: string): StoredProfiles => {
  const { [name]: _, ...rest } = profiles
  const names = Object.keys(rest)
  return { current: current !== name ? current : names.length === 1 ? names[0]! : null, profiles: rest }
}

/** The flags and variables that select the service of a command. */
interface ProfileChoice {
  /** `--profile`. */
  readonly flag: Option.Option<string>
  /** `PARLANCE_PROFILE`. */
  readonly variable: Option.Option<string>
  /** Whether `DATABASE_URL`, `DATA_DIR` or `STORE` names a store for this process. */
  readonly namesStore: boolean
}

/** The name of a command's profile. `Option.none` if the command runs within this process. */
export const profileName = ({ current }: StoredProfiles, { flag, namesStore, variable }: ProfileChoice) =>
  Option.orElse(
    Option.orElse(flag, () => variable),
    () => namesStore ? Option.none<string>() : Option.fromNullOr(current),
  )
