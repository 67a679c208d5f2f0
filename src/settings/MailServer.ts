import { Config, Redacted, Result } from "effect"
import { isIPv6 } from "node:net"
import { headerFault, type Mailbox, validateAddress } from "../text/Email.ts"
import { authoritiesOf, type ReadPem } from "../text/PemFiles.ts"
import { secret } from "./SettingReaders.ts"

/** The settings of mail of the service itself, as they are read from the environment. */
export const mailSettings = {
  /**
   * `MAIL_URL`: SMTP server for mail of the service itself: `smtps://user:password@host:465` with TLS from the start,
   * or `smtp://user:password@host:587` with STARTTLS. Default: no mail is sent, and people pass links on themselves.
   */
  mailUrl: secret("MAIL_URL"),
  /** `MAIL_FROM`: sender of that mail, such as `Parlance <parlance@example.com>`. */
  mailFrom: Config.String("MAIL_FROM").pipe(Config.withDefault("")),
  /**
   * `MAIL_CA`: certificate of the authority that signs the certificate of the server of `MAIL_URL`, as PEM or path of a
   * file.
   */
  mailCa: Config.String("MAIL_CA").pipe(Config.withDefault("")),
}

/** The SMTP server for mail of the service itself. */
export interface MailServer {
  readonly host: string
  readonly port: number
  /** `tls`: encrypted from the start. `starttls`: encrypts before any other command, or fails. */
  readonly tls: "tls" | "starttls" | "none"
  readonly login: { readonly user: string; readonly password: Redacted.Redacted<string> } | undefined
  /** PEM certificates of trusted authorities, in place of the public authorities. */
  readonly authorities: string | undefined
  readonly from: Mailbox
}

const form =
  "must be a URL such as smtps://user:password@mail.example.com:465, which is encrypted from the start, or " +
  "smtp://user:password@mail.example.com:587 with STARTTLS. Special characters of user and password are percent-encoded"

const urlOf = (text: string): URL | undefined => {
  const url = URL.canParse(text.trim()) ? new URL(text.trim()) : undefined
  return url?.protocol === "smtp:" || url?.protocol === "smtps:" ? url : undefined
}

const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/**
 * Parses a mailbox such as `Parlance <parlance@example.com>`, or a bare address. Returns undefined for any other text.
 */
const parseMailbox = (text: string): Mailbox | undefined => {
  const [, name = "", named] = /^\s*"?([^"<>]*?)"?\s*<([^<>]*)>\s*$/.exec(text) ?? []
  const email = (named ?? text).trim()
  if (validateAddress(email) !== undefined || headerFault(name) !== undefined) return undefined
  return name === "" ? { email } : { email, name }
}

const hostOf = (url: URL): string => url.hostname.replace(/^\[(.*)\]$/, "$1")

const isHost = (host: string): boolean => /^[a-z0-9._-]{1,253}$/i.test(host) || isIPv6(host)

/** Faults of a URL with a valid scheme. The messages do not repeat values, because one of them is the password. */
const faultsOf = (url: URL): ReadonlyArray<string> => {
  const { password, pathname, search, username } = url
  const hasLogin = username !== "" || password !== ""
  return [
    ...(isHost(hostOf(url)) ? [] : ["MAIL_URL: must name a host"]),
    ...(pathname === "" || pathname === "/" ? [] : ["MAIL_URL: must have nothing after host and port"]),
    ...(search === "" || search === "?tls=none"
      ? []
      : ["MAIL_URL: has no parameter but tls=none, for a server without encryption"]),
    ...((username === "") === (password === "") ? [] : ["MAIL_URL: must have both user and password, or neither"]),
    ...(decoded(username) === undefined || decoded(password) === undefined
      ? ["MAIL_URL: user and password must be percent-encoded, a % as %25"]
      : []),
    ...(search === "?tls=none" && (hasLogin || url.protocol === "smtps:")
      ? ["MAIL_URL: tls=none is for smtp:// without user and password, which are never sent unencrypted"]
      : []),
  ]
}

/** Reads `MAIL_URL`, `MAIL_FROM` and `MAIL_CA`. Fails with every fault, each with the name of its setting. */
export const parseMailServer = (
  text: Redacted.Redacted<string>,
  { authorities, from, readFile }: {
    /** `MAIL_CA`: PEM, or the path of a file. */
    readonly authorities: string | undefined
    /** `MAIL_FROM` */
    readonly from: string
    readonly readFile: ReadPem
  },
): Result.Result<MailServer, ReadonlyArray<string>> => {
  const url = urlOf(Redacted.value(text))
  const faults: Array<string> = [...(url === undefined ? [`MAIL_URL: ${form}`] : faultsOf(url))]
  const mailbox = parseMailbox(from)
  if (mailbox === undefined) {
    faults.push(
      `MAIL_FROM: ${from === "" ? "is not set. It " : ""}must be the sender of these mails, such as ` +
        "Parlance <parlance@example.com>",
    )
  }
  const pem = authorities === undefined ? undefined : authoritiesOf("MAIL_CA", authorities, readFile, faults)
  if (url === undefined || mailbox === undefined || faults.length > 0) return Result.fail(faults)
  const tls = url.protocol === "smtps:" ? "tls" : url.search === "?tls=none" ? "none" : "starttls"
  return Result.succeed({
    host: hostOf(url),
    port: url.port === "" ? { tls: 465, starttls: 587, none: 25 }[tls] : Number(url.port),
    tls,
    login: url.username === ""
      ? undefined
      : { user: decoded(url.username)!, password: Redacted.make(decoded(url.password)!) },
    authorities: pem,
    from: mailbox,
  })
}
