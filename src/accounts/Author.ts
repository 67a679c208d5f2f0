import { Context, Effect, Option } from "effect"
import { type Actor, CurrentActor } from "./Actor.ts"

/** The author of a proposed change or comment, as stored: `member:ACCOUNT_ID`, `key:KEY_ID`, or `token`. */
export type Author = `member:${string}` | `key:${string}` | "token"

/** The author that an actor is. */
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

/** The account of an author; undefined for keys and the admin token. */
export const accountOf = (author: string): string | undefined =>
  author.startsWith("member:") ? author.slice("member:".length) : undefined

/** The caller of the management request or the form that is being handled; undefined in jobs and in the service itself. */
export const currentActor: Effect.Effect<Actor | undefined> = Effect.contextWith((context) =>
  Effect.succeed(Option.getOrUndefined(Context.getOption(context as Context.Context<CurrentActor>, CurrentActor)))
)
