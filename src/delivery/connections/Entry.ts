import { Result, Schema } from "effect"
import type { Fault } from "../../domain/Errors.ts"
import { fromIssue } from "../../domain/Faults.ts"
import type { ConnectionInput, Faults } from "../Connection.ts"
import { headerFault, validateAddress } from "../../text/Email.ts"

const checked = (fault: (text: string) => string | undefined) => Schema.String.check(Schema.makeFilter<string>(fault))

/** An e-mail address of the organization. */
export const Address = checked(validateAddress)

/** A display name. 1 to 100 characters. */
export const DisplayName = checked((text) =>
  text.trim() === "" || text.length > 100 ? "must be 1 to 100 characters" : headerFault(text)
)

/** An id or a name that the platform assigned. 1 to 200 characters. */
export const PlatformId = checked((text) =>
  text.trim() !== text || text === "" || text.length > 200
    ? "must be 1 to 200 characters, without spaces at its ends"
    : headerFault(text)
)

/** The name of a configuration set or a message stream of an e-mail service. */
export const ServiceId = checked((text) =>
  /^[\w-]{1,64}$/.test(text) ? undefined : "must be 1 to 64 letters, digits, hyphens or underscores"
)

/** The name of a variant's variable. */
const VariableName = checked((text) =>
  text.trim() === "" || text.length > 100 ? "must be 1 to 100 characters" : headerFault(text)
)

const urlOf = (text: string): URL | undefined => {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}

/** Returns why a text is not a valid URL of an HTTP server, or undefined. */
const urlFault = (text: string): string | undefined => {
  const url = urlOf(text)
  return text.length > 500 || url === undefined || (url.protocol !== "https:" && url.protocol !== "http:")
    ? "must be a URL such as https://mail.example.com, 500 characters at most"
    // The parser of URLs leaves them out without a word.
    : /\p{Cc}/u.test(text)
    ? "must not contain tabs, line breaks or other control characters"
    : url.username !== "" || url.password !== ""
    ? "must not contain a user or a password"
    : url.hash !== ""
    ? "must not contain a fragment (#)"
    : undefined
}

/** An `https:` URL. `http:` works only for addresses listed in `OUTBOUND_ALLOW`. */
export const HttpUrl = checked(urlFault)

/** The base URL of a platform's API, without a query. A trailing slash is ignored. */
export const Endpoint = checked((text) =>
  urlFault(text) ?? (text.includes("?") ? "must not contain a query" : undefined)
)

/** Appends `path` to an endpoint. */
export const under = (endpoint: string, path: string): URL => new URL(`${endpoint.replace(/\/+$/, "")}${path}`)

/** A secret: 1 to 4,000 printable characters. Its faults do not quote it. */
export const Secret = checked((text) =>
  text === "" || text.length > 4_000
    ? "must be 1 to 4,000 characters"
    : text.trim() !== text
    ? "must not begin or end with a space"
    : headerFault(text)
)

/** A secret sent in a header: 1 to 4,000 ASCII characters without spaces. */
export const Token = checked((text) =>
  /^[\x21-\x7e]{1,4000}$/.test(text)
    ? undefined
    : "must be 1 to 4,000 ASCII characters without spaces: the key alone, without a word such as Bearer"
)

/** Names of the variables that become parts of an e-mail. `Content.ts` has the defaults. */
export const Variables = Schema.Struct({
  subject: Schema.optionalKey(VariableName),
  /** HTML or text, according to the variable's format. */
  body: Schema.optionalKey(VariableName),
  html: Schema.optionalKey(VariableName),
  text: Schema.optionalKey(VariableName),
  preheader: Schema.optionalKey(VariableName),
})

const words: ReadonlyMap<string, string> = new Map([
  ["is unknown", "is not a setting of this platform"],
])

const decoderOf = <S extends Schema.ConstraintDecoder<unknown>>(schema: S, root: string) => {
  const decode = Schema.decodeUnknownResult(schema, { errors: "all", onExcessProperty: "error" })
  return (input: unknown): Result.Result<S["Type"], Faults> =>
    Result.mapError(decode(input), ({ issue }) =>
      fromIssue(issue).map(({ detail, pointer }): Fault => ({
        pointer: `${root}${pointer}`,
        detail: words.get(detail) ?? detail,
      })))
}

/** The members of an input that have no fault, to be compared with each other. Faulty members are left out. */
const membersOf = <A>(input: unknown, faults: Faults, root: string): Partial<A> =>
  typeof input !== "object" || input === null ? {} : Object.fromEntries(
    Object.entries(input).filter(([name, value]) =>
      typeof value !== "object" || !faults.some(({ pointer }) => `${pointer}/`.startsWith(`${root}/${name}/`))
    ),
  ) as Partial<A>

/** Returns a validator of a platform's inputs. It returns the decoded settings and secrets, or all faults. */
export const entry = <
  Settings extends Schema.ConstraintDecoder<unknown>,
  Secrets extends Schema.ConstraintDecoder<unknown>,
>(
  settings: Settings,
  secrets: Secrets,
  /**
   * Returns faults that concern several members. Some members may be missing, or left out because of their own faults.
   */
  further: (settings: Partial<Settings["Type"]>, secrets: Partial<Secrets["Type"]>) => Faults = () => [],
) => {
  const decodeSettings = decoderOf(settings, "/settings")
  const decodeSecrets = decoderOf(secrets, "/secrets")
  return (
    input: ConnectionInput,
  ): Result.Result<{ readonly settings: Settings["Type"]; readonly secrets: Secrets["Type"] }, Faults> => {
    const first = decodeSettings(input.settings)
    const second = decodeSecrets(input.secrets)
    const single = [
      ...(Result.isFailure(first) ? first.failure : []),
      ...(Result.isFailure(second) ? second.failure : []),
    ]
    const between = further(
      membersOf(input.settings, single, "/settings"),
      membersOf(input.secrets, single, "/secrets"),
    ).filter(({ pointer }) => !single.some((fault) => fault.pointer === pointer))
    return Result.isFailure(first) || Result.isFailure(second) || between.length > 0
      ? Result.fail([...single, ...between])
      : Result.succeed({ settings: first.success, secrets: second.success })
  }
}
