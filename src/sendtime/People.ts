import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { LruMap } from "../domain/LruMap.ts"
import { SeededMap } from "../domain/SeededMap.ts"
import { type AskedPerson, type PersonHistory, readPeople } from "./Histories.ts"

/** Most people kept in memory; the least recently used are dropped first. */
const remembered = 100_000

/** Cache time of a person's data. Unit: milliseconds. */
const freshMillis = 60_000

/** Most people read by one statement, and most concurrent statements. */
const batch = 250
const atOnce = 2

/** Longest wait of a request for the database. */
const patience = "1 second"

interface Remembered {
  readonly known: PersonHistory
  /** The address given together with a user id. */
  readonly email: string | undefined
  readonly readAt: number
}

interface Waiting {
  readonly asked: AskedPerson
  readonly key: string
  readonly resumes: Array<(known: PersonHistory | undefined) => void>
}

const userKey = (org: string, user: string) => `${org}\0${user}`
const emailKey = (org: string, email: string) => `${org}\0\0${email}`
const keyOf = ({ email, org, user }: AskedPerson) =>
  user === undefined ? emailKey(org, email ?? "") : userKey(org, user)

/**
 * A cache of recently requested histories. People missing from it are read in one statement with other concurrent
 * requests.
 */
export class People extends Context.Service<People, {
  /** Undefined if the database does not respond in time. */
  readonly find: (asked: AskedPerson) => Effect.Effect<PersonHistory | undefined>
  /** The cached history; undefined if it must be read from the database. */
  readonly peek: (asked: AskedPerson) => PersonHistory | undefined
  /** Drops the cached data of these identifiers. Other nodes drop it within a minute. */
  readonly forget: (org: string, names: Iterable<string>) => void
}>()("parlance/delay/People") {
  static readonly layer = Layer.effect(
    People,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      const scope = yield* Effect.scope
      const context = yield* Effect.context()
      const memory = new LruMap<Remembered>(remembered)
      const waiting = new SeededMap<string, Waiting>()
      let running = 0

      const remember = (key: string, { email }: AskedPerson, known: PersonHistory) => {
        memory.set(key, { known, email, readAt: clock.currentTimeMillisUnsafe() })
      }

      const readBatch = Effect.suspend(() => {
        const group: Array<Waiting> = []
        for (const [key, one] of waiting) {
          group.push(one)
          waiting.delete(key)
          if (group.length === batch) break
        }
        return readPeople(sql, group.map(({ asked }) => asked)).pipe(
          Effect.map((people) => {
            group.forEach(({ asked, key, resumes }, place) => {
              const known = people[place]!
              remember(key, asked, known)
              for (const resume of resumes) resume(known)
            })
          }),
          Effect.catchCause((cause) => {
            for (const { resumes } of group) for (const resume of resumes) resume(undefined)
            return Effect.logDebug("Histories of people could not be read", cause)
          }),
        )
      })

      const reader = readBatch.pipe(
        Effect.repeat({ while: () => waiting.size > 0 }),
        Effect.ensuring(Effect.sync(() => void running--)),
      )
      const run = Effect.runForkWith(context)

      const peek = (asked: AskedPerson): PersonHistory | undefined => {
        const key = keyOf(asked)
        const found = memory.get(key)
        if (found === undefined || found.email !== asked.email) return undefined
        if (clock.currentTimeMillisUnsafe() - found.readAt >= freshMillis) return undefined
        return found.known
      }

      const find = (asked: AskedPerson): Effect.Effect<PersonHistory | undefined> => {
        const known = peek(asked)
        if (known !== undefined) return Effect.succeed(known)
        return Effect.callback<PersonHistory | undefined>((resume) => {
          // A person who is requested under another address at the same time is read by both requests.
          const key = `${keyOf(asked)}\0${asked.email}`
          let one = waiting.get(key)
          if (one === undefined) waiting.set(key, one = { asked, key: keyOf(asked), resumes: [] })
          one.resumes.push((known) => resume(Effect.succeed(known)))
          if (running < atOnce) {
            running++
            run(Effect.forkIn(reader, scope))
          }
        }).pipe(
          Effect.timeoutOption(patience),
          Effect.map((answer) => answer._tag === "Some" ? answer.value : undefined),
        )
      }

      const forget = (org: string, names: Iterable<string>) => {
        for (const name of names) {
          memory.delete(userKey(org, name))
          memory.delete(emailKey(org, name))
        }
      }

      return People.of({ find, peek, forget })
    }),
  )
}
