import { Clock, Context, Duration, Effect, Fiber, Layer, Schedule, Semaphore } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { People } from "../sendtime/People.ts"
import { Inflow } from "../journal/Inflow.ts"
import { Profiles } from "../profiles/Profiles.ts"
import { isByCircumstance, isSpent, reasonOf, unfinishedReason } from "../store/Attempts.ts"
import { bounded } from "../store/bounded.ts"
import { AddressKeys } from "../suppressions/AddressKeys.ts"
import { eraseKeptResults } from "../results/ErasedResults.ts"
import { eraseAttributeCounts } from "../learning/ErasedAttributes.ts"
import { eraseBodies } from "../journal/erasure/Bodies.ts"
import { findKept } from "../accounts/ErasedMembers.ts"
import { eraseDecisions, eraseEvents, learnDecisionNames } from "../journal/erasure/Messages.ts"
import {
  type Erasure,
  type ErasureQueue,
  type ErasureRow,
  makeErasureQueue,
  type PersonOf,
} from "../erasure/ErasureQueue.ts"
import { Names } from "../erasure/Names.ts"
import { eraseDeliveries, learnDeliveryNames } from "../delivery/ErasedDeliveries.ts"
import { eraseNotifications } from "../accounts/notifications/ErasedNotifications.ts"
import { eraseProfiles } from "../profiles/ErasedProfiles.ts"
import { eraseStickyChoices } from "../decide/ErasedChoices.ts"
import { eraseOwners } from "../templates/ErasedOwners.ts"
import { eraseAuthors, eraseSamplePeople } from "../templates/ErasedTexts.ts"
import { eraseSendTimes, learnSendTimeNames } from "../sendtime/ErasedSendTimes.ts"
import { eraseTestGroups } from "../delivery/receivers/ErasedTestGroups.ts"
import { eraseSinkMessages } from "../delivery/sandbox/ErasedSinkMessages.ts"
import { eraseSavedViews } from "../team/ErasedViews.ts"
import { countComments } from "../team/KeptComments.ts"
import { eraseSuppressedAddresses } from "../suppressions/ErasedAddresses.ts"
import { type ErasedCounts, type KeptKind, keptOf, noCounts } from "../erasure/Report.ts"
import { stepSizes, type Work } from "../erasure/Work.ts"
import { lockEvents } from "../journal/events/EventLock.ts"

/** Timeout of a caller, after which the response reports the erasure as running. */
const patience = Duration.seconds(10)

/** Maximum time that an erasure waits for bodies received before it. */
const intakePatience = Duration.seconds(5)

/** Finds every spelling of the addresses in decisions, messages and send times. Ids have one spelling. */
const findSpellings = Effect.fnUntraced(function* (work: Work): Effect.fn.Return<void, SqlError> {
  if (work.names.addresses().length === 0) return
  yield* learnDeliveryNames(work)
  yield* learnDecisionNames(work)
  yield* learnSendTimeNames(work)
})

/** Erases all people in some rows of one organization, in one pass over its data, and stores the report in each row. */
const makePass = ({ addressKeys, clock, inflow, people, profiles, queue, sql }: {
  readonly addressKeys: AddressKeys["Service"]
  readonly clock: Clock.Clock
  readonly inflow: Inflow["Service"]
  readonly people: People["Service"]
  readonly profiles: Profiles["Service"]
  readonly queue: ErasureQueue
  readonly sql: SqlClient.SqlClient
}) =>
  Effect.fnUntraced(function* (rows: ReadonlyArray<ErasureRow>) {
    const org = rows[0]!.orgSlug
    const requested = rows.flatMap(({ people }) => people ?? [])
    const names = new Names(requested)
    const counts: { -readonly [kind in keyof ErasedCounts]: number } = { ...noCounts }
    const kept: { [kind in KeptKind]?: number } = {}
    const work: Work = {
      sql,
      org,
      names,
      sizes: stepSizes,
      now: clock.currentTimeMillisUnsafe(),
      isReported: rows[0]!.origin === "management",
      step: (step) => sql.withTransaction(Effect.andThen(lockEvents(sql, [org]), step)),
      count: (kind, rows) => void (counts[kind] += rows),
      keep: (kind, rows) => void (kept[kind] = (kept[kind] ?? 0) + rows),
    }
    yield* Effect.ignore(bounded(intakePatience)(inflow.drain))
    yield* eraseProfiles(work)
    yield* findSpellings(work)
    // Erases queued messages first, then the rows that name more identifiers of the person.
    yield* eraseDeliveries(work)
    yield* eraseSinkMessages(work)
    yield* eraseDecisions(work)
    yield* eraseEvents(work)
    yield* eraseStickyChoices(work)
    yield* eraseSendTimes(work)
    yield* eraseAttributeCounts(work)
    yield* eraseKeptResults(work)
    yield* eraseBodies(work)
    yield* eraseOwners(work)
    yield* eraseSamplePeople(work)
    yield* eraseTestGroups(work)
    yield* eraseSavedViews(work)
    yield* eraseAuthors(work)
    yield* eraseSuppressedAddresses(work, addressKeys)
    yield* countComments(work)
    yield* eraseNotifications(work)
    yield* findKept(work)
    for (const name of names.spellings()) profiles.forget(org, name)
    people.forget(org, names.spellings())
    yield* queue.finish(rows, counts, keptOf(kept))
  })

/**
 * Erases people. An erasure is stored first, and carried out in small steps by the node that claims it, so that it
 * neither delays other work nor is lost with a process. Deletes profiles, sticky choices and send times. Removes the
 * names from decisions, events and deliveries. Cancels queued messages. Empties received bodies with a name. Keeps a
 * digest of the address in the suppression list. Counts, which contain no names, stay. The sandbox of the organization
 * is erased soon after.
 */
export class Erasures extends Context.Service<Erasures, {
  /** Erases a person now. Returns after at most 10 seconds. If the erasure is not done by then, it continues. */
  readonly eraseNow: (person: PersonOf) => Effect.Effect<Erasure>
  /**
   * Returns the report of an erasure of the last 30 days. Undefined for an unknown id and for requests of platforms.
   */
  readonly find: (org: string, id: number) => Effect.Effect<Erasure | undefined>
  /** Carries out pending erasures. Fails with `SqlError` if the database does not respond. */
  readonly drain: Effect.Effect<void, SqlError>
}>()("parlance/people/Erasures") {
  static readonly layer = Layer.effect(
    Erasures,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const profiles = yield* Profiles
      const people = yield* People
      const inflow = yield* Inflow
      const addressKeys = yield* AddressKeys
      const clock = yield* Clock.Clock
      const scope = yield* Effect.scope
      // One pass at a time for platforms, and one for people who are waiting.
      const turn = { management: yield* Semaphore.make(1), webhook: yield* Semaphore.make(1) }
      const queue = makeErasureQueue(sql, clock)
      const pass = makePass({ addressKeys, clock, inflow, people, profiles, queue, sql })

      /** Makes one attempt, which is counted already. */
      const attempt = (rows: ReadonlyArray<ErasureRow>) =>
        turn[rows[0]!.origin].withPermits(1)(pass(rows)).pipe(
          queue.renewing(rows),
          Effect.onError((cause) =>
            Effect.ignore(isByCircumstance(cause) ? queue.release(rows) : queue.fail(rows, reasonOf(cause)))
          ),
          Effect.withSpan("Erasures.pass"),
        )

      const drain = Effect.gen(function* () {
        yield* queue.removeOld
        while (true) {
          const rows = yield* queue.claim
          if (rows.length === 0) return
          const spent = rows.filter(({ attempts }) => isSpent(attempts - 1))
          if (spent.length > 0) yield* queue.fail(spent, spent[0]!.reason ?? unfinishedReason)
          const due = rows.filter(({ attempts }) => !isSpent(attempts - 1))
          if (due.length > 0) yield* attempt(due)
        }
      })

      const eraseNow = Effect.fn("Erasures.eraseNow")(function* (person: PersonOf) {
        const row = yield* queue.insertNow(person)
        const fiber = yield* Effect.forkIn(attempt([row]), scope)
        // A failed attempt is stored with its reason and retried later.
        yield* Effect.timeoutOption(Fiber.await(fiber), patience)
        return (yield* queue.read(row.orgSlug, row.id))!
      }, Effect.catch((error: SqlError) => Effect.die(error)))

      return Erasures.of({ eraseNow, drain, find: (org, id) => Effect.orDie(queue.read(org, id)) })
    }),
  ).pipe(Layer.provide(Inflow.layer))

  /** Carries out erasures as they arrive. */
  static readonly layerRunning = Layer.effectDiscard(
    Effect.flatMap(Erasures, ({ drain }) =>
      drain.pipe(
        Effect.catchCause((cause) => Effect.logWarning("Erasures could not be carried out and will be retried", cause)),
        Effect.repeat(Schedule.spaced("2 seconds")),
        Effect.forkScoped,
      )),
  )
}
