import type { PublicKeyCredentialRequestOptionsJSON } from "@simplewebauthn/server"
import { Context, DateTime, Effect, Layer } from "effect"
import { InvalidInput } from "../domain/Errors.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import type { SecretFileFaulty, SecretUnreadable } from "../store/SecretBox.ts"
import type { Account, SignInMethod } from "./Account.ts"
import {
  type AccountNotFound,
  LinkSpent,
  NoPassword,
  NotInvited,
  PasskeyRefused,
  type SecondFactorOff,
  SignInExpired,
  SignInTooOld,
  type TooManyAttempts,
  WrongCode,
  WrongPassword,
} from "./AccountErrors.ts"
import { Accounts, type PasswordOrigin } from "./Accounts.ts"
import { Devices } from "./Devices.ts"
import { type GroupChange, GroupRoles } from "./GroupRoles.ts"
import { noGroups, type ProvidedGroups } from "./GroupsClaim.ts"
import { Invitations } from "./Invitations.ts"
import { OneTimeLinks } from "./OneTimeLinks.ts"
import { Passkeys } from "./Passkeys.ts"
import * as Passwords from "./Passwords.ts"
import { type Proof, SecondFactors } from "./SecondFactors.ts"
import { SecurityLog } from "./SecurityLog.ts"
import type { Reason } from "./SecurityTally.ts"
import { type Beginning, type Client, Sessions, type SignedIn } from "./Sessions.ts"
import { Signatures } from "./Signatures.ts"
import { SignInLimits } from "./SignInLimits.ts"
import type { Site } from "./WebAuthn.ts"

/** An account that is signed in now. */
export interface Entered {
  readonly kind: "entered"
  readonly account: Account
  /** Token for the cookie of the session. */
  readonly token: string
  /** Value for the cookie by which the browser is known from now on. */
  readonly device: string
}

/** An account whose password was right and whose second factor is still missing. */
export interface CodeAsked {
  readonly kind: "code"
  readonly account: Account
  /** Value for a cookie. The code or passkey must follow with it within ten minutes. */
  readonly pending: string
}

/** A person whom the identity provider has identified. */
interface Vouched {
  readonly email: string
  readonly name: string
  /** Methods by which the provider authenticated the person, such as `pwd` and `mfa` (the claim `amr`). */
  readonly factors: ReadonlyArray<string>
  /** The groups of the person. Read only if a group has a role here. */
  readonly groups: Effect.Effect<ProvidedGroups>
}

/** Timeout of the second factor. Unit: milliseconds. */
const pendingMillis = 10 * 60_000

/**
 * Maximum age of a sign-in at the identity provider that permits choosing a password, and of a sign-in that permits
 * changing passkeys. Unit: milliseconds.
 */
export const recentMillis = 15 * 60_000

const pendingPurpose = "pending sign-in"

type Limited = TooManyAttempts | Passwords.HashingOverloaded

/** Compares passwords within the limits of attempts. */
const makeCompare = ({ accounts, devices, limits, log }: {
  readonly accounts: Accounts["Service"]
  readonly devices: Devices["Service"]
  readonly limits: SignInLimits["Service"]
  readonly log: SecurityLog["Service"]
}) => {
  const compare = Effect.fnUntraced(function* (email: string, password: string, client: Client) {
    const about = { email, address: client.address }
    const refusedAs = (reason: Reason) => () => Effect.sync(() => log.refusedSignIn(reason, about))
    const count = (device: string | undefined) =>
      Effect.as(Effect.tapError(limits.attempt({ ...about, device }), refusedAs("locked_out")), device)
    let device = yield* count((yield* devices.find(client.deviceCookie, email))?.id)
    // Read only now, so that attempts past a limit cause no query.
    if (device !== undefined && (yield* isForgotten(email, client))) device = yield* count(undefined)
    const verified = yield* accounts.verify(email, password, device === undefined ? "anybody" : "known").pipe(
      Effect.tapError(refusedAs("sign_in_overload")),
    )
    if (verified === undefined) {
      log.refusedSignIn("bad_password", about)
      return yield* new WrongPassword()
    }
    yield* limits.succeeded({ ...about, device })
    return verified
  })

  /**
   * Whether the password was set after the client's device signed in, because its user at that time need not own the
   * account.
   */
  const isForgotten = Effect.fnUntraced(function* (email: string, client: Client) {
    const device = yield* devices.find(client.deviceCookie, email)
    const setAt = yield* accounts.passwordSetAt(email)
    return device === undefined || (setAt !== null && setAt.getTime() > device.signedInMillis)
  })

  const deviceOf = Effect.fnUntraced(function* (email: string, client: Client) {
    const device = yield* devices.find(client.deviceCookie, email)
    return device === undefined || (yield* isForgotten(email, client)) ? undefined : device.id
  })
  return { compare, deviceOf }
}

/** Begins sessions, or requests a code first. */
const makeEntry = ({ accounts, devices, log, sessions, signatures }: {
  readonly accounts: Accounts["Service"]
  readonly devices: Devices["Service"]
  readonly log: SecurityLog["Service"]
  readonly sessions: Sessions["Service"]
  readonly signatures: Signatures["Service"]
}) => {
  /** Begins a session. Undefined if the matching password has been replaced or removed since. */
  const enter = Effect.fnUntraced(function* (
    account: Account,
    client: Client,
    beginning: Beginning,
    details: Readonly<Record<string, unknown>> = {},
  ) {
    const token = yield* sessions.start(account.id, client, beginning)
    if (token === undefined) return undefined
    log.signedIn(account, { method: beginning.method, ...details }, client.address)
    const device = yield* devices.remember(client.deviceCookie, account.email)
    return { kind: "entered" as const, account, token, device }
  })

  const askCode = Effect.fnUntraced(function* (account: Account, method: SignInMethod, passwordSetAt: Date | null) {
    const until = (yield* DateTime.nowAsDate).getTime() + pendingMillis
    const text = [account.id, method, until, passwordSetAt?.getTime() ?? ""].join(":")
    return { kind: "code" as const, account, pending: yield* signatures.sign(pendingPurpose, text) }
  })

  const readPending = Effect.fnUntraced(function* (pending: string) {
    const text = yield* signatures.open(pendingPurpose, pending)
    const [id = "", method = "", until = "", setAt = ""] = text?.split(":") ?? []
    const now = (yield* DateTime.nowAsDate).getTime()
    if (Number(until) <= now) return yield* new SignInExpired()
    const account = yield* Effect.mapError(accounts.get(id), () => new SignInExpired())
    const passwordSetAt = setAt === "" ? null : new Date(Number(setAt))
    return { account, beginning: { method: method as SignInMethod, passwordSetAt } }
  })
  return { askCode, enter, readPending }
}

/** Signs in with passkeys within the limits of attempts. */
const makePasskeys = ({ accounts, entry: { enter, readPending }, limits, log, passkeys }: {
  readonly accounts: Accounts["Service"]
  readonly entry: ReturnType<typeof makeEntry>
  readonly limits: SignInLimits["Service"]
  readonly log: SecurityLog["Service"]
  readonly passkeys: Passkeys["Service"]
}) => {
  const awaiting = Effect.fn("SignIn.awaiting")((pending: string) =>
    Effect.map(readPending(pending), ({ account }) => account)
  )

  const beginPasskey = Effect.fn("SignIn.beginPasskey")(function* (site: Site, client: Client, pending?: string) {
    const account = pending === undefined ? undefined : yield* awaiting(pending)
    const { address } = client
    yield* Effect.tapError(
      limits.attemptPasskey(address),
      () => Effect.sync(() => log.refusedSignIn("locked_out", { email: account?.email ?? "", address })),
    )
    return yield* passkeys.beginUse(site, account?.id)
  })

  const withPasskey = Effect.fn("SignIn.withPasskey")(
    function* (site: Site, response: string, client: Client, pending?: string) {
      const first = pending === undefined ? undefined : yield* readPending(pending)
      const { address } = client
      const id = yield* Effect.tapError(
        passkeys.use(site, response, first?.account.id),
        () => Effect.sync(() => log.refusedSignIn("bad_passkey", { email: first?.account.email ?? "", address })),
      )
      yield* limits.succeededPasskey(address)
      const account = yield* Effect.mapError(accounts.get(id), () => new PasskeyRefused({ reason: "unknown" }))
      const entered = first === undefined
        ? yield* enter(account, client, { method: "passkey" })
        : yield* enter(account, client, first.beginning, { second_factor: "passkey" })
      return entered ?? (yield* new SignInExpired())
    },
  )
  return { awaiting, beginPasskey, withPasskey }
}

/**
 * The ways to sign in, and to change passwords and second factors. The security log records sign-ins and refused ones.
 * A session of an account with a second factor begins only after a code or a passkey. A sign-in through the identity provider needs
 * no code, because the provider is responsible for second factors.
 */
export class SignIn extends Context.Service<SignIn, {
  /**
   * Signs in with a password, or requests a code after it. Fails with `WrongPassword` for a wrong password,
   * `TooManyAttempts` after too many attempts, and `HashingOverloaded` while too many passwords are being checked.
   */
  readonly withPassword: (
    email: string,
    password: string,
    client: Client,
  ) => Effect.Effect<Entered | CodeAsked, WrongPassword | Limited>
  /**
   * The second step: a code of the authenticator app, or a recovery code. Fails with `WrongCode` for a wrong or used
   * code, `SignInExpired` if the sign-in has expired, `TooManyAttempts` after too many attempts, `SecretUnreadable` if
   * no present key decrypts a stored secret, and `SecretFileFaulty` if the key file of the embedded database is
   * damaged.
   */
  readonly withCode: (
    pending: string,
    code: string,
    client: Client,
  ) => Effect.Effect<
    Entered & { readonly proof: Proof },
    | WrongCode
    | SignInExpired
    | TooManyAttempts
    | SecretUnreadable
    | SecretFileFaulty
  >
  /**
   * Sets a new password by a one-time link, then signs in or requests a code. Every other session of the account ends.
   * Fails with `LinkSpent` if the link is unknown, used or expired, `AccountNotFound` for an unknown account, and
   * `InvalidInput` with every fault of an invalid input.
   */
  readonly withLink: (
    link: string,
    password: string,
    client: Client,
  ) => Effect.Effect<Entered | CodeAsked, LinkSpent | AccountNotFound | InvalidInput>
  /**
   * Signs in through the identity provider. Removes a password that another person may have chosen, because the account
   * belongs to the owner of its address, whom only the provider has verified. Memberships follow the person's groups,
   * unless the groups are unknown. Fails with `NotInvited` without an account, an invitation or a group with a role.
   */
  readonly withIdentity: (
    identity: Vouched,
    client: Client,
  ) => Effect.Effect<
    Entered & {
      readonly isNew: boolean
      readonly joined: ReadonlyArray<OrgSlug>
      readonly passwordRemoved: boolean
      readonly groupChanges: ReadonlyArray<GroupChange>
      /** The reason why the groups are unknown. */
      readonly groupsUnknown: string | undefined
    },
    NotInvited
  >
  /**
   * Returns the account whose password was right, which awaits its second factor. Fails with `SignInExpired` if the
   * sign-in has expired.
   */
  readonly awaiting: (pending: string) => Effect.Effect<Account, SignInExpired>
  /**
   * Returns the options for a passkey: any one, or with `pending` one of the account that awaits its second factor.
   * Counts as an attempt. Fails with `SignInExpired` if the sign-in has expired, and `TooManyAttempts` after too many
   * attempts.
   */
  readonly beginPasskey: (
    site: Site,
    client: Client,
    pending?: string,
  ) => Effect.Effect<PublicKeyCredentialRequestOptionsJSON, SignInExpired | TooManyAttempts>
  /**
   * Signs in by a passkey, alone or with `pending` as the second factor after a password. Fails with `PasskeyRefused`
   * if the passkey is not accepted, and `SignInExpired` if the sign-in has expired.
   */
  readonly withPasskey: (
    site: Site,
    response: string,
    client: Client,
    pending?: string,
  ) => Effect.Effect<Entered, PasskeyRefused | SignInExpired>
  /** Signs in to an account that its holder has just created. */
  readonly asNew: (account: Account, method: "first_run" | "invitation", client: Client) => Effect.Effect<Entered>
  /**
   * Confirms the password of a session's account. Counts as an attempt. Fails with `WrongPassword` for a wrong
   * password, `NoPassword` if the account has no password, `TooManyAttempts` after too many attempts, and
   * `HashingOverloaded` while too many passwords are being checked.
   */
  readonly confirmPassword: (session: SignedIn, password: string, client: Client) => Effect.Effect<
    void,
    WrongPassword | NoPassword | Limited
  >
  /**
   * Confirms a code for a session's account. Counts as an attempt. Fails with `WrongCode` for a wrong or used code,
   * `SecondFactorOff` if there is no second factor to use or confirm, `TooManyAttempts` after too many attempts,
   * `SecretUnreadable` if no present key decrypts a stored secret, and `SecretFileFaulty` if the key file of the
   * embedded database is damaged.
   */
  readonly confirmCode: (session: SignedIn, code: string, client: Client) => Effect.Effect<
    Proof,
    | WrongCode
    | SecondFactorOff
    | TooManyAttempts
    | SecretUnreadable
    | SecretFileFaulty
  >
  /**
   * Sets a new password by the old one or, without an old one, by a recent sign-in at the identity provider. Every
   * other session of the account ends. Fails with `WrongPassword` for a wrong password, `TooManyAttempts` after too
   * many attempts, `HashingOverloaded` while too many passwords are being checked, `SignInTooOld` if the session is not
   * recent enough, `AccountNotFound` for an unknown account, and `InvalidInput` with every fault of an invalid input.
   */
  readonly changePassword: (
    session: SignedIn,
    current: string,
    next: string,
    client: Client,
  ) => Effect.Effect<Entered, WrongPassword | Limited | SignInTooOld | AccountNotFound | InvalidInput>
}>()("parlance/accounts/SignIn") {
  static readonly layer = Layer.effect(
    SignIn,
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const devices = yield* Devices
      const invitations = yield* Invitations
      const links = yield* OneTimeLinks
      const sessions = yield* Sessions
      const limits = yield* SignInLimits
      const log = yield* SecurityLog
      const factors = yield* SecondFactors
      const groupRoles = yield* GroupRoles
      const passkeys = yield* Passkeys
      const signatures = yield* Signatures

      const { compare, deviceOf } = makeCompare({ accounts, devices, limits, log })

      const entry = makeEntry({ accounts, devices, log, sessions, signatures })
      const { askCode, enter, readPending } = entry

      const checkCode = Effect.fnUntraced(function* (
        { email, id }: Pick<Account, "id" | "email">,
        code: string,
        client: Client,
      ) {
        const attempt = { email, address: client.address, device: yield* deviceOf(email, client) }
        yield* Effect.tapError(
          limits.attemptCode(attempt),
          () => Effect.sync(() => log.refusedSignIn("locked_out", attempt)),
        )
        const proof = yield* Effect.tapError(factors.check(id, code), (error) =>
          Effect.sync(() => {
            if (error._tag === "WrongCode") log.refusedSignIn("bad_code", attempt)
          }))
        yield* limits.succeededCode(attempt)
        return proof
      })

      /** Returns the origin of a password that replaces another one within a session. */
      const originAfter = (before: PasswordOrigin | null | undefined, { method }: SignedIn): PasswordOrigin | null =>
        method === "openid" ? "own" : before ?? null

      const withPassword = Effect.fn("SignIn.withPassword")(
        function* (email: string, password: string, client: Client) {
          const { account, passwordSetAt } = yield* compare(email, password, client)
          if (account.second_factor) return yield* askCode(account, "password", passwordSetAt)
          return (yield* enter(account, client, { method: "password", passwordSetAt })) ?? (yield* new WrongPassword())
        },
      )

      const withCode = Effect.fn("SignIn.withCode")(function* (pending: string, code: string, client: Client) {
        const { account, beginning } = yield* readPending(pending)
        const proof = yield* Effect.catchTag(
          checkCode(account, code, client),
          "SecondFactorOff",
          () => new SignInExpired(),
        )
        const entered = yield* enter(account, client, beginning, { second_factor: proof })
        return entered === undefined ? yield* new SignInExpired() : { ...entered, proof }
      })

      const withLink = Effect.fn("SignIn.withLink")(function* (link: string, password: string, client: Client) {
        const accountId = (yield* links.find("password", link)) ?? ""
        const { email } = yield* accounts.get(accountId)
        // Checked first, because a refused password must not use up the link.
        const fault = yield* Passwords.faultOf(password, email)
        if (fault !== undefined) {
          return yield* new InvalidInput({ faults: [{ pointer: "/password", detail: fault }] })
        }
        const { isOwn } = yield* links.spend("password", link)
        const passwordSetAt = yield* accounts.setPassword(accountId, password, isOwn ? "own" : "link")
        yield* sessions.revokeAll(accountId)
        yield* limits.forget(email)
        const account = yield* accounts.get(accountId)
        if (account.second_factor) return yield* askCode(account, "link", passwordSetAt)
        return (yield* enter(account, client, { method: "link", passwordSetAt })) ?? (yield* new LinkSpent())
      })

      const withIdentity = Effect.fn("SignIn.withIdentity")(
        function* ({ email, factors, groups, name }: Vouched, client: Client) {
          const known = yield* accounts.findByEmail(email)
          const provided = (yield* groupRoles.isUsed) ? yield* groups : noGroups
          const granted = yield* groupRoles.granted(provided.kind === "known" ? provided.groups : [])
          const mayEnter = known !== undefined || granted.size > 0 || (yield* invitations.isInvited(email))
          if (!mayEnter) return yield* new NotInvited()
          const account = known ?? (yield* Effect.mapError(accounts.create({ email, name }), () => new NotInvited()))
          const passwordRemoved = yield* accounts.dropForeignPassword(account.id)
          const joined = yield* invitations.acceptAll(account)
          const groupChanges = provided.kind === "known" ? yield* groupRoles.follow(account.id, provided.groups) : []
          const details = {
            second_factor: "provider",
            provider_factors: factors.slice(0, 10).map((one) => one.slice(0, 40)),
          }
          const entered = yield* enter(account, client, { method: "openid" }, details)
          if (entered === undefined) return yield* new NotInvited()
          const groupsUnknown = provided.kind === "unknown" ? provided.reason : undefined
          return { ...entered, isNew: known === undefined, joined, passwordRemoved, groupChanges, groupsUnknown }
        },
      )

      const { awaiting, beginPasskey, withPasskey } = makePasskeys({ accounts, entry, limits, log, passkeys })

      const confirmPassword = Effect.fn("SignIn.confirmPassword")(
        function* ({ account }: SignedIn, password: string, client: Client) {
          if ((yield* accounts.passwordOrigin(account.id)) === undefined) return yield* new NoPassword()
          yield* compare(account.email, password, client)
        },
      )

      const changePassword = Effect.fn("SignIn.changePassword")(
        function* (session: SignedIn, current: string, next: string, client: Client) {
          const { account: { email, id }, method, startedMillis } = session
          const before = yield* accounts.passwordOrigin(id)
          if (before !== undefined) yield* compare(email, current, client)
          else {
            const now = (yield* DateTime.nowAsDate).getTime()
            if (method !== "openid" || now - startedMillis > recentMillis) {
              return yield* new SignInTooOld({ to: "password" })
            }
          }
          const passwordSetAt = yield* accounts.setPassword(id, next, originAfter(before, session))
          yield* sessions.revokeAll(id)
          const account = yield* accounts.get(id)
          return (yield* enter(account, client, { method: method ?? "password", passwordSetAt })) ??
            (yield* new WrongPassword())
        },
      )

      return SignIn.of({
        withPassword,
        withCode,
        withLink,
        withIdentity,
        awaiting,
        beginPasskey,
        withPasskey,
        asNew: Effect.fn("SignIn.asNew")((account: Account, method: "first_run" | "invitation", client: Client) =>
          Effect.flatMap(
            enter(account, client, { method }),
            (entered) =>
              entered === undefined ? Effect.die(new Error("The new account is gone")) : Effect.succeed(entered),
          )
        ),
        confirmPassword,
        confirmCode: Effect.fn("SignIn.confirmCode")((session: SignedIn, code: string, client: Client) =>
          checkCode(session.account, code, client)
        ),
        changePassword,
      })
    }),
  )
}
