import { Context, Effect, Option } from "effect"
import { type Actor, CurrentActor } from "./Actor.ts"

/** The author of a proposed change or comment, as stored: `member:ACCOUNT_ID`, `key:KEY_ID`, or `token`. */
export type Author = `member:${string}` | `key:${string}` | "token"

/** Returns an actor as an author. */
export const authorOf = (actor: Actor): Author => {
  switch (actor.kind) {
    case "token":
      return "token"
    case "key":
      return `key:${actor.keyId}`
    case "session":
      return `member:${actor.session.account.id}`
  }
}

/** Returns the account of an author. Undefined for keys and the admin token. */
export const accountOf = (author: string): string | undefined =>
  author.startsWith("member:") ? author.slice("member:".length) : undefined

/** The caller of the current management request or form. Undefined in jobs and in the service itself. */
export const currentActor: Effect.Effect<Actor | undefined> = Effect.contextWith((context) =>
  Effect.succeed(Option.getOrUndefined(Context.getOption(context as Context.Context<CurrentActor>, CurrentActor)))
)
