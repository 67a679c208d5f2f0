import { Deferred, Effect, Result } from "effect"
import type { Composed, Email } from "../../text/Email.ts"
import { aheadAtMost, aheadLength, type Composing, NotComposed } from "../Composer.ts"
import type { Message, SendResult } from "../Connection.ts"
import { ofRecipient, retry, unfit } from "./Answers.ts"

/** Messages that are composed in one request. */
interface Group {
  readonly done: Deferred.Deferred<void>
  composed: ReadonlyArray<Composed | undefined>
}

/** The place of a message in its group. */
interface Place {
  readonly group: Group
  readonly index: number
}

const lengthOf = ({ vars }: Message): number => Object.values(vars).reduce((sum, text) => sum + text.length, 0)

/** Composes the messages of a connection, some of them before they are sent. */
interface OutboundMail {
  /** Composes a message. Fails with `NotComposed` if the message is at fault or composition failed. */
  readonly compose: (message: Message) => Effect.Effect<Composed, NotComposed>
  /** Composes messages that will be sent soon. The results are kept as long as the caller keeps the message objects. */
  readonly prepare: (messages: ReadonlyArray<Message>) => Effect.Effect<void>
  /** Composes a message and passes it to `deliver`. Composition that failed for now is a failure of the recipient. */
  readonly send: (
    message: Message,
    deliver: (mail: Composed) => Effect.Effect<SendResult>,
  ) => Effect.Effect<SendResult>
}

/** Creates the composer of a connection. `emailOf` fails with the end of a sentence that begins with "The message". */
export const makeOutbound = (
  { compose, composeAhead }: Composing,
  emailOf: (message: Message) => Result.Result<Email, string>,
): OutboundMail => {
  const places = new WeakMap<Message, Place>()

  const composeNow = (message: Message) =>
    Effect.suspend(() => {
      const email = emailOf(message)
      return Result.isFailure(email)
        ? Effect.fail(new NotComposed({ final: true, reason: `The message ${email.failure}` }))
        : compose(email.success)
    })

  const composed = (message: Message) =>
    Effect.suspend(() => {
      const place = places.get(message)
      if (place === undefined) return composeNow(message)
      const { group, index } = place
      return Effect.flatMap(Deferred.await(group.done), () => {
        const composed = group.composed[index]
        return composed === undefined ? composeNow(message) : Effect.succeed(composed)
      })
    })

  const composeGroup = ([group, emails]: readonly [Group, ReadonlyArray<Email>]) =>
    composeAhead(emails).pipe(
      Effect.map((composed) => void (group.composed = composed)),
      Effect.ensuring(Deferred.succeed(group.done, undefined)),
    )

  return {
    prepare: (messages) =>
      Effect.suspend(() => {
        const groups: Array<readonly [Group, Array<Email>]> = []
        for (const message of messages) {
          const email = lengthOf(message) > aheadLength ? undefined : Result.getOrUndefined(emailOf(message))
          if (email === undefined) continue
          const last = groups.at(-1)
          if (last === undefined || last[1].length === aheadAtMost) {
            groups.push([{ done: Deferred.makeUnsafe(), composed: [] }, []])
          }
          const [group, emails] = groups.at(-1)!
          places.set(message, { group, index: emails.length })
          emails.push(email)
        }
        // If this is interrupted, waiting messages are composed individually.
        const release = Effect.forEach(groups, ([{ done }]) => Deferred.succeed(done, undefined), { discard: true })
        return Effect.ensuring(Effect.forEach(groups, composeGroup, { discard: true }), release)
      }),
    compose: composed,
    send: (message, deliver) =>
      Effect.matchEffect(composed(message), {
        onFailure: ({ final, reason }) => Effect.succeed(final ? unfit(reason) : ofRecipient(retry(reason))),
        onSuccess: deliver,
      }),
  }
}
