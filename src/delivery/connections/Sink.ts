import { Effect, JsonPointer, Result, Schema, type Scope } from "effect"
import { t } from "../../languages/Language.ts"
import { magicDomain } from "../sandbox/Magic.ts"
import { SinkMessages, type SunkEmail } from "../sandbox/SinkMessages.ts"
import { Composer } from "../Composer.ts"
import { MayBegin } from "../MayBegin.ts"
import type { Connection, Message, SendResult } from "../Connection.ts"
import { accepted, retry, works } from "./Answers.ts"
import { emailFields, emailOf, headersOf, messageIdOf } from "./ComposedEmail.ts"
import { Address, DisplayName, entry, Variables } from "./Entry.ts"

/** Settings of a sink, which affect the composed e-mails. */
export const Settings = Schema.Struct({
  /** Default: `sandbox@sandbox.test`. */
  from: Schema.optionalKey(Address),
  from_name: Schema.optionalKey(DisplayName),
  reply_to: Schema.optionalKey(Address),
  unsubscribe: emailFields.unsubscribe,
  variables: Schema.optionalKey(Variables),
})
type Settings = typeof Settings.Type

/** A sink accepts no secrets. */
export const Secrets = Schema.Struct({})

/** Validates an administrator's input for this platform: see `entry`. */
export const decode = entry(
  Settings,
  Secrets,
  (_, secrets) =>
    Object.keys(secrets).map((name) => ({
      pointer: `/secrets/${JsonPointer.escapeToken(name)}`,
      detail: "is not a setting of this platform",
    })),
)

/** The record of a message that cannot be composed as an e-mail. */
const faulty = ({ from }: Settings, fault: string): SunkEmail => ({
  sender: from ?? "",
  subject: null,
  html: null,
  plain: null,
  headers: [],
  links: [],
  fault,
})

const mayBegin = Effect.flatMap(
  MayBegin,
  (ask) => Effect.callback<boolean>((resume) => ask((may) => resume(Effect.succeed(may)))),
)

/**
 * Accepts every message and sends none. Composes the e-mail like an SMTP connection and stores it for the console. If
 * the variables form no e-mail, stores the variables and the reason.
 */
export const make = (given: Settings): Effect.Effect<Connection, never, Scope.Scope | Composer | SinkMessages> =>
  Effect.gen(function* () {
    const messages = yield* SinkMessages
    const { compose } = yield* (yield* Composer).forConnection
    const settings = { ...given, from: given.from ?? `sandbox@${magicDomain}` }

    /** Composes the e-mail of a message. Undefined if composition was not possible in time. */
    const sunk = (message: Message): Effect.Effect<SunkEmail | undefined> => {
      const email = emailOf(settings, message)
      if (Result.isFailure(email)) return Effect.succeed(faulty(settings, `The message ${email.failure}`))
      return Effect.match(compose({ ...email.success, isShown: true }), {
        onFailure: ({ final, reason }) => final ? faulty(settings, reason) : undefined,
        onSuccess: ({ bytes, shown }) => ({
          sender: settings.from_name === undefined ? settings.from : `${settings.from_name} <${settings.from}>`,
          subject: shown?.subject ?? null,
          html: shown?.html ?? null,
          plain: shown?.text ?? null,
          headers: headersOf(bytes),
          links: shown?.links ?? [],
          fault: null,
        }),
      })
    }

    return {
      send: (message) =>
        Effect.flatMap(
          sunk(message),
          (email): Effect.Effect<SendResult> =>
            email === undefined
              ? Effect.succeed(retry("The message was not composed in time"))
              : Effect.flatMap(mayBegin, (may) =>
                !may
                  ? Effect.succeed<SendResult>({ _tag: "yielded", reason: "It was withheld" })
                  : Effect.match(messages.take(message, email), {
                    onFailure: () => retry("The message could not be kept, as the store does not answer"),
                    onSuccess: () => accepted(messageIdOf(settings, message)),
                  })),
        ),
      test: Effect.sync(() => works(t`Messages are kept for the page Sandbox of the console. None is sent.`)),
      concurrency: 20,
      idempotent: true,
    }
  })
