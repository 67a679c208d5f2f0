import { english } from "../languages/Language.ts"
/**
 * Reasons of refused requests: the label `reason` of `parlance_refused_total`, and the reason in entries of the audit
 * log.
 */
export const reasons = [
  "no_key",
  "bad_key",
  "other_organization",
  "missing_scope",
  "rate_limit",
  "bad_signature",
  "bad_password",
  "bad_code",
  "bad_passkey",
  "locked_out",
  "sign_in_overload",
  "bad_openid",
  "bad_link",
  "csrf",
  "bad_admin_token",
  "admin_token_limit",
] as const
/** A reason of a refused request. */
export type Reason = typeof reasons[number]

/**
 * The name of each refusal in the audit log. A missing key is counted only in the metric, because any stranger can send
 * such requests.
 */
export const actionOf: Readonly<Record<Exclude<Reason, "no_key">, string>> = {
  bad_key: english("API key refused"),
  other_organization: english("API key refused at another organization"),
  missing_scope: english("API key refused for a missing scope"),
  rate_limit: english("API key over its limit"),
  bad_signature: english("webhook refused"),
  bad_password: english("sign-in refused"),
  bad_code: english("second factor refused"),
  bad_passkey: english("passkey refused"),
  locked_out: english("sign-in locked out"),
  sign_in_overload: english("sign-in refused under overload"),
  bad_openid: english("OpenID sign-in refused"),
  bad_link: english("link refused"),
  csrf: english("forged form refused"),
  bad_admin_token: english("admin token refused"),
  admin_token_limit: english("admin token locked out"),
}

/** The name of a sign-in in the audit log. */
export const signedInAction = english("signed in")

/** The subject of refusals beyond `maxSubjects`. */
export const otherSubjects = "others"

/**
 * Maximum number of subjects with separate entries, per action and minute: of refusals, which any stranger can cause,
 * and of sign-ins.
 */
export const maxSubjects = { refusals: 20, signIns: 500 }

/** Maximum number of addresses in an entry. */
const maxAddresses = 5

/** Maximum number of entries in memory, over all minutes that could not be written. */
const maxEntries = 4000

const minuteMillis = 60_000

/** The members by which events of a minute are counted together. */
export interface Occurrence {
  readonly action: string
  readonly reason: Reason | undefined
  readonly org: string | undefined
  readonly subject: string
  readonly actor: string
  readonly actorId: string | undefined
  readonly details: Readonly<Record<string, unknown>>
}

/** Equal events within a minute, and their number. */
export interface Tallied extends Occurrence {
  readonly minuteMillis: number
  count: number
  readonly addresses: Set<string>
  /** Number of occurrences from addresses beyond `maxAddresses`. */
  fromOthers: number
  /** Id of its row. Undefined until it is written. */
  rowId: number | undefined
  isChanged: boolean
}

const addTo = (entry: Tallied, address: string | undefined, count: number): void => {
  entry.count += count
  entry.isChanged = true
  if (address === undefined || entry.addresses.has(address)) return
  if (entry.addresses.size < maxAddresses) entry.addresses.add(address)
  else entry.fromOthers += count
}

/** Counts sign-ins and refusals by minute, action and subject, in bounded memory. */
export class SecurityTally {
  readonly #entries = new Map<string, Tallied>()
  /** Number of subjects of each action in `#minute`. */
  readonly #subjects = new Map<string, number>()
  #minute = 0

  #keyOf(minute: number, { action, org, subject }: Occurrence): string {
    return JSON.stringify([minute, action, org ?? null, subject])
  }

  add(occurrence: Occurrence, address: string | undefined, nowMillis: number): void {
    const minute = Math.floor(nowMillis / minuteMillis) * minuteMillis
    if (minute !== this.#minute) {
      this.#minute = minute
      this.#subjects.clear()
    }
    const known = this.#entries.get(this.#keyOf(minute, occurrence))
    if (known !== undefined) return addTo(known, address, 1)
    const subjects = this.#subjects.get(occurrence.action) ?? 0
    const isOwn = subjects < (occurrence.reason === undefined ? maxSubjects.signIns : maxSubjects.refusals)
    const counted = isOwn ? occurrence : { ...occurrence, org: undefined, subject: otherSubjects, actorId: undefined }
    if (isOwn) this.#subjects.set(occurrence.action, subjects + 1)
    const key = this.#keyOf(minute, counted)
    const entry = this.#entries.get(key) ?? this.#open(key, counted, minute)
    if (entry !== undefined) addTo(entry, address, 1)
  }

  #open(key: string, occurrence: Occurrence, minute: number): Tallied | undefined {
    if (this.#entries.size >= maxEntries) return undefined
    const entry: Tallied = {
      ...occurrence,
      minuteMillis: minute,
      count: 0,
      addresses: new Set(),
      fromOthers: 0,
      rowId: undefined,
      isChanged: true,
    }
    this.#entries.set(key, entry)
    return entry
  }

  /** Counts an unwritten entry under another subject. */
  rename(entry: Tallied, subject: string): void {
    this.#entries.delete(this.#keyOf(entry.minuteMillis, entry))
    const key = this.#keyOf(entry.minuteMillis, { ...entry, subject })
    const target = this.#entries.get(key) ?? this.#open(key, { ...entry, subject }, entry.minuteMillis)
    if (target === undefined) return
    target.count += entry.count
    target.fromOthers += entry.fromOthers
    target.isChanged = true
    for (const address of entry.addresses) addTo(target, address, 0)
  }

  /** Returns the counts to be written, without marking them. */
  changed(): ReadonlyArray<Tallied> {
    return [...this.#entries.values()].filter(({ isChanged }) => isChanged)
  }

  /** Returns the counts to be written and marks them as written. `restore` reverts the mark. */
  takeChanged(): ReadonlyArray<Tallied> {
    const changed = this.changed()
    for (const entry of changed) entry.isChanged = false
    return changed
  }

  /** Marks entries that the store did not accept as unwritten again. */
  restore(entries: ReadonlyArray<Tallied>): void {
    for (const entry of entries) entry.isChanged = true
  }

  /** Drops written counts that can no longer change. */
  forgetWritten(nowMillis: number): void {
    for (const [key, entry] of this.#entries) {
      if (!entry.isChanged && entry.minuteMillis + minuteMillis <= nowMillis) this.#entries.delete(key)
    }
  }

  /** Drops entries of minutes that began before `millis`, written or not. */
  forgetBefore(millis: number): void {
    for (const [key, entry] of this.#entries) if (entry.minuteMillis < millis) this.#entries.delete(key)
  }

  /** Number of entries in memory. */
  get size(): number {
    return this.#entries.size
  }
}
