import { t } from "../languages/Language.ts"
import { Schema } from "effect"

/** There is no account with this id, or no such member of the organization. */
export class AccountNotFound extends Schema.TaggedError<AccountNotFound>()("AccountNotFound", { id: Schema.String }) {
  override get message() {
    return `There is no account ${JSON.stringify(this.id)} here.`
  }
}

/** Another account has this e-mail address. */
export class EmailTaken extends Schema.TaggedError<EmailTaken>()("EmailTaken", { email: Schema.String }) {
  override get message() {
    return `There is already an account with the e-mail address ${JSON.stringify(this.email)}.`
  }
}

/** The organization has no group with this id. */
export class GroupRoleNotFound
  extends Schema.TaggedError<GroupRoleNotFound>()("GroupRoleNotFound", { id: Schema.String }) {
  override get message() {
    return `There is no role of a group ${JSON.stringify(this.id)} here.`
  }
}

/** The invitation does not exist, or it has been accepted, withdrawn, or has expired. */
export class InvitationNotFound
  extends Schema.TaggedError<InvitationNotFound>()("InvitationNotFound", { id: Schema.String }) {
  override get message() {
    return "There is no such invitation: it may have been used or withdrawn, or its 7 days are over. Ask for a new one."
  }
}

/** The account has no such session. */
export class SessionNotFound extends Schema.TaggedError<SessionNotFound>()("SessionNotFound", { id: Schema.String }) {
  override get message() {
    return `You have no session ${JSON.stringify(this.id)}.`
  }
}

/** The one-time link is unknown, used or expired. */
export class LinkSpent extends Schema.TaggedError<LinkSpent>()("LinkSpent", {}) {
  override get message() {
    return "This link was used already or has expired. Links work once, within one hour: request a new one."
  }
}

/** The e-mail address or the password is wrong. The message does not say which, so that accounts cannot be probed. */
export class WrongPassword extends Schema.TaggedError<WrongPassword>()("WrongPassword", {}) {
  override get message() {
    return "The e-mail address or the password is wrong."
  }
}

/** The code of a second factor is wrong or used. */
export class WrongCode extends Schema.TaggedError<WrongCode>()("WrongCode", {}) {
  override get message() {
    return "The code is wrong or has been used. Enter the code that your authenticator app shows now, or a recovery code."
  }
}

/** The account has no second factor that could be used, and none that awaits confirmation. */
export class SecondFactorOff extends Schema.TaggedError<SecondFactorOff>()("SecondFactorOff", {}) {
  override get message() {
    return "There is no second factor to use or to confirm. Set it up first."
  }
}

/** The account already has a second factor. */
export class SecondFactorOn extends Schema.TaggedError<SecondFactorOn>()("SecondFactorOn", {}) {
  override get message() {
    return "The second factor is on already. Turn it off before you set up another one."
  }
}

/** The account has no password, so a second factor would never be requested. */
export class NoPassword extends Schema.TaggedError<NoPassword>()("NoPassword", {}) {
  override get message() {
    return "This account has no password: it signs in through the identity provider, whose second factor counts. " +
      "Choose a password first if you want to sign in with one."
  }
}

/** A session is not recent enough for the requested action. */
export class SignInTooOld
  extends Schema.TaggedError<SignInTooOld>()("SignInTooOld", { to: Schema.Literals(["password", "passkeys"]) }) {
  override get message() {
    return this.to === "passkeys"
      ? "Sign out and in again, then change your passkeys within 15 minutes."
      : "Sign in again through the identity provider, then choose the password within 15 minutes."
  }
}

/** The sign-in did not reach the second factor, or did so too long ago. */
export class SignInExpired extends Schema.TaggedError<SignInExpired>()("SignInExpired", {}) {
  override get message() {
    return "Your sign-in has expired. Enter your e-mail address and password again."
  }
}

/** The identity provider names a person without an account or invitation here. */
export class NotInvited extends Schema.TaggedError<NotInvited>()("NotInvited", {}) {
  override get message() {
    return "No account or invitation here has this e-mail address."
  }
}

/** Too many attempts to sign in. */
export class TooManyAttempts
  extends Schema.TaggedError<TooManyAttempts>()("TooManyAttempts", { retryAfterSeconds: Schema.Int }) {
  override get message() {
    const minutes = Math.ceil(this.retryAfterSeconds / 60)
    return `Too many attempts. Try again in ${minutes} ${
      minutes === 1 ? "minute" : "minutes"
    }, or ask an administrator for ` +
      "a link to choose a new password."
  }
}

/** The request is understood, but people may not do this to themselves. */
export class NotOneself extends Schema.TaggedError<NotOneself>()("NotOneself", { message: Schema.String }) {}

/** Reasons why the response of a passkey is refused, in words. */
const passkeyRefusals = {
  malformed: "The browser sent no response of a passkey. Try again, or use another browser.",
  expired: "The request for the passkey is older than 5 minutes or was used already. Try again.",
  origin: "The passkey answered for another address than this console's. Open the console at its own address.",
  unknown: "No account here has this passkey: it may have been removed. Sign in another way, then add it again.",
  other_account: "The passkey belongs to another account. Use a passkey of the account whose password you entered.",
  counter: "The counter of the passkey went back, so it may have been copied. Sign in another way and remove it.",
  invalid: "The passkey could not be verified. Try again, and confirm with your PIN, fingerprint or face.",
  added: "This passkey has been added already.",
  too_many: "An account has at most 20 passkeys. Remove one first.",
} as const

/** The response of a passkey is refused. The message states the reason. */
export class PasskeyRefused extends Schema.TaggedError<PasskeyRefused>()("PasskeyRefused", {
  reason: Schema.Literals(Object.keys(passkeyRefusals) as ReadonlyArray<keyof typeof passkeyRefusals>),
}) {
  override get message() {
    return passkeyRefusals[this.reason]
  }
}

/** The console has no address that browsers bind passkeys to. */
export class PasskeysOff extends Schema.TaggedError<PasskeysOff>()("PasskeysOff", {}) {
  override get message() {
    return t`Passkeys need a console at a domain with https. Set PUBLIC_URL to such an address, then open the console there.`
  }
}

/** The account has no such passkey. */
export class PasskeyNotFound extends Schema.TaggedError<PasskeyNotFound>()("PasskeyNotFound", { id: Schema.String }) {
  override get message() {
    return `You have no passkey ${JSON.stringify(this.id)}.`
  }
}
