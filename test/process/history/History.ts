// The history of a storm, as clients, the mail server and the database saw it, and the rules that it must keep. Pure.

/** One answered Generate or batch item. Times are Unix milliseconds of one machine's clock that does not jump. */
export interface Answered {
  readonly template: string
  readonly trackingId: string
  /** Which start of which node answered. */
  readonly process: string
  readonly began: number
  readonly ended: number
  /** How many outages of the database had ended for the process when the request began. */
  readonly outages: number
  readonly copyId: string
  /** The rendered subject. */
  readonly subject: string
  /** False if the answer says that its decision waits in the memory of the node. */
  readonly isDurable: boolean
  /** True if no model takes part in the choice: then every process chooses alike. */
  readonly isModelFree: boolean
}

/** A message as the mail server saw it. */
export interface Arrived {
  readonly deliveryId: string
  readonly email: string
  /** When the server read MAIL FROM: sending began no later. */
  readonly began: number
  readonly subject: string
}

/** An opt-out that was answered with success. */
export interface OptedOut {
  readonly email: string
  readonly way: string
  /** When the client had the answer. */
  readonly acknowledged: number
}

/** A stored decision. */
export interface Stored {
  readonly template: string
  readonly trackingId: string
  readonly copyId: string
}

export interface History {
  readonly answers: ReadonlyArray<Answered>
  readonly arrivals: ReadonlyArray<Arrived>
  readonly optOuts: ReadonlyArray<OptedOut>
  /** Delivery ids that Deliver acknowledged, with their addresses. */
  readonly accepted: ReadonlyMap<string, string>
  /** Ids of events that were acknowledged. */
  readonly reported: ReadonlySet<string>
  /** What the database has once the storm is over. */
  readonly decisions: ReadonlyArray<Stored>
  /** Ids of stored events. */
  readonly events: ReadonlyArray<string>
  readonly suppressed: ReadonlySet<string>
  /** The subject of each variant by `template copy`. */
  readonly subjects: ReadonlyMap<string, string>
}

/** An answer as a violation names it. */
const said = ({ copyId, ended, isDurable, isModelFree, process }: Answered): string =>
  `${process} answered ${copyId} at ${ended.toFixed(0)}${isDurable ? "" : " from memory"}${
    isModelFree ? " without a model" : ""
  }`

const keyOf = ({ template, trackingId }: { readonly template: string; readonly trackingId: string }): string =>
  `${template} ${trackingId}`

/**
 * The answers to one tracking id that have to agree. A choice without a model always does. A stored decision does,
 * whoever answers. From memory, a process repeats what it keeps until the database accepts its writes again; other
 * processes may have another model meanwhile.
 */
const agreeing = (same: ReadonlyArray<Answered>): ReadonlyArray<ReadonlyArray<Answered>> => {
  if (same.every(({ isModelFree }) => isModelFree)) return [same]
  const ordered = same.toSorted((a, b) => a.ended - b.ended)
  const durable = ordered.filter(({ isDurable }) => isDurable)
  const fromMemory = Map.groupBy(
    ordered.filter(({ isDurable }) => !isDurable),
    ({ outages, process }) => `${process} ${outages}`,
  )
  return [durable, ...fromMemory.values()]
}

/** Answers for one tracking id that name another variant than one with which they have to agree. */
const differingRepeats = ({ answers }: History): ReadonlyArray<string> =>
  [...Map.groupBy(answers, keyOf)].flatMap(([key, same]) =>
    agreeing(same).flatMap(([first, ...others]) =>
      others.filter(({ copyId }) => copyId !== first!.copyId).map((other) => `${key}: ${said(first!)}, ${said(other)}`)
    )
  )

/** Repeats from memory that name another variant than the stored decision: a model had changed before the outage. */
export const changedInOutage = ({ answers, decisions }: History): number => {
  const stored = new Map(decisions.map((decision) => [keyOf(decision), decision.copyId]))
  return answers.filter((answer) => {
    const copyId = stored.get(keyOf(answer))
    return !answer.isDurable && copyId !== undefined && copyId !== answer.copyId
  }).length
}

/** Durable answers without a stored decision, or with another one. */
const lostDecisions = ({ answers, decisions }: History): ReadonlyArray<string> => {
  const stored = new Map(decisions.map((decision) => [keyOf(decision), decision.copyId]))
  return answers
    .filter((answer) => answer.isDurable && stored.get(keyOf(answer)) !== answer.copyId)
    .map((answer) => `${keyOf(answer)}: answered ${answer.copyId}, stored ${stored.get(keyOf(answer)) ?? "nothing"}`)
}

/** Decisions that are stored twice. */
const doubleDecisions = ({ decisions }: History): ReadonlyArray<string> =>
  [...Map.groupBy(decisions, keyOf)].flatMap(([key, same]) => same.length > 1 ? [`${key}: ${same.length} rows`] : [])

/** Answers whose text is not the variant's. */
const falseTexts = ({ answers, subjects }: History): ReadonlyArray<string> =>
  answers
    .filter((answer) => answer.subject !== subjects.get(`${answer.template} ${answer.copyId}`))
    .map((answer) => `${keyOf(answer)}: ${answer.copyId} was answered with "${answer.subject}"`)

/** Messages whose text differs from the text of their stored variant. */
const falseMessages = ({ arrivals, decisions, subjects }: History): ReadonlyArray<string> => {
  const stored = new Map(decisions.map((decision) => [decision.trackingId, decision]))
  return arrivals.flatMap(({ deliveryId, subject }) => {
    const decision = stored.get(deliveryId)
    if (decision === undefined) return [`${deliveryId}: sent without a decision`]
    const right = subjects.get(`${decision.template} ${decision.copyId}`)
    return subject === right ? [] : [`${deliveryId}: "${subject}" was sent, ${decision.copyId} is stored`]
  })
}

/**
 * Longest time between writing `MAIL FROM` and the time at which the mail server reads it. The processes of the storm
 * share few cores, so the server can read a message after the acknowledgement although it began before. Unit:
 * milliseconds.
 */
const readMillis = 200

/** Messages that began after an opt-out of their recipient was acknowledged. */
const sentAfterOptOut = ({ arrivals, optOuts }: History): ReadonlyArray<string> => {
  const first = new Map<string, OptedOut>()
  for (const optOut of optOuts) {
    const earlier = first.get(optOut.email)
    if (earlier === undefined || optOut.acknowledged < earlier.acknowledged) first.set(optOut.email, optOut)
  }
  return arrivals.flatMap(({ began, deliveryId, email }) => {
    const optOut = first.get(email)
    return optOut === undefined || began <= optOut.acknowledged + readMillis
      ? []
      : [`${deliveryId} to ${email} began ${(began - optOut.acknowledged).toFixed(0)} ms after its ${optOut.way}`]
  })
}

/** Acknowledged opt-outs that are not on the list. */
const lostOptOuts = ({ optOuts, suppressed }: History): ReadonlyArray<string> =>
  optOuts.filter(({ email }) => !suppressed.has(email)).map(({ email, way }) => `${email}: ${way}`)

/** Accepted messages that neither arrived nor belong to somebody who opted out. */
const lostMessages = ({ accepted, arrivals, suppressed }: History): ReadonlyArray<string> => {
  const arrived = new Set(arrivals.map(({ deliveryId }) => deliveryId))
  return [...accepted].flatMap(([id, email]) => arrived.has(id) || suppressed.has(email) ? [] : [`${id} to ${email}`])
}

/** Acknowledged events that are not stored, or stored twice. */
const lostEvents = ({ events, reported }: History): ReadonlyArray<string> => {
  const stored = Map.groupBy(events, (id) => id)
  return [...reported].flatMap((id) => {
    const rows = stored.get(id)?.length ?? 0
    return rows === 1 ? [] : [`${id}: ${rows} rows`]
  })
}

/** The rules by name, with the places that break them. */
export const violationsOf = (history: History): Readonly<Record<string, ReadonlyArray<string>>> => ({
  "one tracking id gets one variant": differingRepeats(history),
  "a durable answer is stored as it was given": lostDecisions(history),
  "a decision is stored once": doubleDecisions(history),
  "an answer has the text of its variant": falseTexts(history),
  "a message has the text of the stored variant": falseMessages(history),
  "nothing is sent after an acknowledged opt-out": sentAfterOptOut(history),
  "an acknowledged event is stored once": lostEvents(history),
  "an acknowledged opt-out stays": lostOptOuts(history),
  "an accepted message is sent": lostMessages(history),
})
