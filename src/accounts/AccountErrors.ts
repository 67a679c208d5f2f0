import { Schema } from "effect"

/** There is no account by that id, or no such member of the organization. */
export class AccountNotFound extends Schema.TaggedError<AccountNotFound>()("AccountNotFound", { id: Schema.String }) {
  override get message() {
    return `There is no account ${JSON.stringify(this.id)} here.`
  }
}

/** Somebody has this e-mail address already. */
export class EmailTaken extends Schema.TaggedError<EmailTaken>()("EmailTaken", { email: Schema.String }) {
  override get message() {
    return `There is already an account with the e-mail address ${JSON.stringify(this.email)}.`
  }
}

/** There is no such invitation, or it has been accepted, withdrawn, or has run out. */
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

/** A one-time link that opens nothing (any more). */
export class LinkSpent extends Schema.TaggedError<LinkSpent>()("LinkSpent", {}) {
  override get message() {
    return "This link has been used already, or its time is over. Links work once, for one hour."
  }
}

/** The e-mail address or the password is wrong; which of them is not told. */
export class WrongPassword extends Schema.TaggedError<WrongPassword>()("WrongPassword", {}) {
  override get message() {
    return "The e-mail address or the password is wrong."
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

/** Understood, but not something to do to oneself. */
export class NotOneself extends Schema.TaggedError<NotOneself>()("NotOneself", { message: Schema.String }) {}
