import { Clock, Context, Duration, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { LruMap } from "../json/LruMap.ts"
import { SeededMap } from "../json/SeededMap.ts"
import { bounded } from "../store/bounded.ts"
import { type PersonHistory, type PersonQuery, readPeople } from "./Histories.ts"

/** Maximum number of people in memory. The least recently used are dropped first. */
const remembered = 100_000

/** Cache time of a person's data. Unit: milliseconds. */
const freshMillis = 60_000

/** Maximum number of people read by one statement, and of concurrent statements. */
const batch = 250
const atOnce = 2

/** Timeout of a statement, and maximum time that a request may wait in the queue. The queue has no timer of its own. */
const patience = Duration.seconds(1)

interface Remembered {
  readonly known: PersonHistory
  /** The address supplied together with a user id. */
  readonly email: string | undefined
  readonly readAt: number
}

interface Waiting {
  readonly query: PersonQuery
  readonly key: string
  readonly queuedAt: number
  readonly resumes: Array<(known: PersonHistory | undefined) => void>
}

const userKey = (org: string, user: string) => `${org}\0${user}`
const emailKey = (org: string, email: string) => `${org}\0\0${email}`
const keyOf = ({ email, org, user }: PersonQuery) =>
  user === undefined ? emailKey(org, email ?? "") : userKey(org, user)

/** A cache of recently requested histories. One statement reads all missing people of concurrent requests. */
export class People extends Context.Service<People, {
  /** Returns a person's history. Undefined if the database does not respond in time. */
  readonly find: (query: PersonQuery) => Effect.Effect<PersonHistory | undefined>
  /** Returns the cached history. Undefined if it must be read from the database. */
  readonly peek: (query: PersonQuery) => PersonHistory | undefined
  /** Drops the cached data of these identifiers. Other nodes drop it within a minute. */
  readonly forget: (org: string, names: Iterable<string>) => void
}>()("parlance/sendtime/People") {
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

      const remember = (key: string, { email }: PersonQuery, known: PersonHistory) => {
        memory.set(key, { known, email, readAt: clock.currentTimeMillisUnsafe() })
      }

      const answer = ({ resumes }: Waiting, known: PersonHistory | undefined) => {
        for (const resume of resumes) resume(known)
      }

      /** Takes the people of the next statement from the queue. Requests that have waited too long get no history. */
      const takeGroup = (): ReadonlyArray<Waiting> => {
        const oldest = clock.currentTimeMillisUnsafe() - Duration.toMillis(patience)
        const group: Array<Waiting> = []
        for (const [key, one] of waiting) {
          waiting.delete(key)
          if (one.queuedAt < oldest) answer(one, undefined)
          else group.push(one)
          if (group.length === batch) break
        }
        return group
      }

      const readBatch = Effect.suspend(() => {
        const group = takeGroup()
        if (group.length === 0) return Effect.void
        return bounded(patience)(readPeople(sql, group.map(({ query }) => query))).pipe(
          Effect.map((people) => {
            group.forEach((one, place) => {
              const known = people[place]!
              remember(one.key, one.query, known)
              answer(one, known)
            })
          }),
          Effect.catchCause((cause) => {
            for (const one of group) answer(one, undefined)
            return Effect.logDebug("Histories of people could not be read", cause)
          }),
        )
      })

      const reader = readBatch.pipe(
        Effect.repeat({ while: () => waiting.size > 0 }),
        Effect.ensuring(Effect.sync(() => void running--)),
      )
      const run = Effect.runForkWith(context)

      const peek = (query: PersonQuery): PersonHistory | undefined => {
        const key = keyOf(query)
        const found = memory.get(key)
        if (found === undefined || found.email !== query.email) return undefined
        if (clock.currentTimeMillisUnsafe() - found.readAt >= freshMillis) return undefined
        return found.known
      }

      const find = (query: PersonQuery): Effect.Effect<PersonHistory | undefined> => {
        const known = peek(query)
        if (known !== undefined) return Effect.succeed(known)
        return Effect.callback<PersonHistory | undefined>((resume) => {
          // If a person is requested under another address at the same time, both requests read the person.
          const key = `${keyOf(query)}\0${query.email}`
          let one = waiting.get(key)
          if (one === undefined) {
            waiting.set(key, one = { query, key: keyOf(query), queuedAt: clock.currentTimeMillisUnsafe(), resumes: [] })
          }
          one.resumes.push((known) => resume(Effect.succeed(known)))
          if (running < atOnce) {
            running++
            run(Effect.forkIn(reader, scope))
          }
        })
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
