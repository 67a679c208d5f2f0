import type { AuditEntry } from "../accounts/Audit.ts"
import type { ConnectionResource } from "../api/deliveries/DeliveryApi.ts"
import type { FoundTemplate } from "../api/templates/TemplateIndexApi.ts"
import type { WebhookSource } from "../api/webhooks/WebhooksApi.ts"
import type { TestResult } from "../delivery/Connection.ts"
import type { Finding as RecordFinding } from "../delivery/receivers/Findings.ts"
import type { MailBacklog } from "../mail/MailQueue.ts"

// The conclusions of `parlance doctor` from its observations. Pure.

/** A conclusion of a check. */
export interface Diagnosis {
  readonly check:
    | "configuration"
    | "service"
    | "store"
    | "replica"
    | "clock"
    | "source"
    | "connection"
    | "dns"
    | "mail"
    | "template"
  /** The organization and the source, connection or template, such as `acme / braze`. Empty for the installation. */
  readonly subject: string
  /** `fault`: something does not work. `warning`: something may not work as intended. */
  readonly status: "ok" | "warning" | "fault"
  /** The observation, in sentences. */
  readonly detail: string
  /** The next step. Null if nothing has to be done. */
  readonly remedy: string | null
}

/** Makes the conclusions of a check about a subject. Default: about the installation. */
export const about = (check: Diagnosis["check"], subject = "") => {
  const made = (status: Diagnosis["status"]) => (detail: string, remedy: string | null = null): Diagnosis => ({
    check,
    subject,
    status,
    detail,
    remedy,
  })
  return {
    /** A finding that needs no action. */
    ok: made("ok"),
    /** A finding that something may not work as intended. */
    warning: made("warning"),
    /** A finding that something does not work. */
    fault: made("fault"),
  }
}

const clock = about("clock")
const store = about("store")
const replica = about("replica")
const mail = about("mail")

/** The differences between two clocks at which a warning and a fault begin. Unit: milliseconds. */
const clockLimits = { warning: 2_000, fault: 60_000 }

/** Judges the difference between the clocks of this machine and of the service or database. */
export const clockDiagnosis = (other: string, differenceMillis: number): Diagnosis => {
  const size = Math.abs(differenceMillis)
  if (size < clockLimits.warning) return clock.ok(`The clocks of this machine and ${other} agree.`)
  const detail = `The clock of ${other} is ${Math.round(size / 1000)} s ${
    differenceMillis > 0 ? "ahead of" : "behind"
  } this machine's.`
  return (size < clockLimits.fault ? clock.warning : clock.fault)(
    detail,
    "Synchronize both clocks by NTP. Signatures of webhooks are valid for 300 s, and seasons and send times follow the clock.",
  )
}

/** Judges the schema version of a database. */
export const schemaDiagnosis = (
  address: string,
  { known, latest }: { readonly known: number; readonly latest: number },
) => {
  if (latest === known) return store.ok(`The database at ${address} has schema version ${latest}.`)
  return latest < known
    ? store.warning(
      `The database at ${address} has schema version ${latest}, and this release has ${known}.`,
      "Start the service or run `parlance migrate`, which apply the pending migrations.",
    )
    : store.warning(
      `The database at ${address} has schema version ${latest}, and this release knows versions up to ${known}.`,
      "Use the release that migrated the database.",
    )
}

/** Judges the replica of `DATABASE_READ_URL`: the time until it shows a commit, or the reason why it cannot be read. */
export const replicaDiagnosis = (address: string, lag: number | { readonly reason: string }): Diagnosis =>
  typeof lag === "number"
    ? replica.ok(`The replica at ${address} shows a commit after ${Math.round(lag)} ms.`)
    : replica.warning(
      `The primary answers in place of the replica at ${address}: ${lag.reason}.`,
      "Check DATABASE_READ_URL and the replication. docs/operations/database.md describes when the replica answers.",
    )

/** A warning begins at this age of the oldest queued mail of the service. Unit: seconds. */
const longMailWait = 300

/** Judges the mail server of the service by a test of its settings. */
export const mailServerDiagnosis = (test: TestResult): Diagnosis =>
  test.ok ? mail.ok(`Mail of the service: ${test.detail}`) : mail.fault(
    `Mail of the service: ${test.detail}`,
    "Correct MAIL_URL or MAIL_CA, then start the service again.",
  )

/** Judges the mails of the service that are queued or have failed. */
export const mailBacklogDiagnoses = (
  { failed, oldestSeconds, pending, reason }: MailBacklog,
): ReadonlyArray<Diagnosis> => {
  const why = reason === null ? "" : ` The oldest failed: ${reason}`
  return [
    ...(pending > 0 && oldestSeconds > longMailWait
      ? [mail.fault(
        `${pending} mails of the service wait to be sent, the oldest for ${Math.round(oldestSeconds / 60)} min.${why}`,
        "Check that a node with MAIL_URL runs, and its logs.",
      )]
      : []),
    ...(failed > 0
      ? [mail.warning(
        `${failed} mails of the service were given up in the last 7 days.${why}`,
        "Send links of invitations and passwords by other means: the console shows them when they are made.",
      )]
      : []),
  ]
}

/** Refused webhooks of each source in entries of the audit log. */
export const refusedBySource = (
  entries: ReadonlyArray<AuditEntry>,
  sinceMillis: number,
): ReadonlyMap<string, number> => {
  const refused = new Map<string, number>()
  for (const { action, at, details, subject } of entries) {
    if (action !== "webhook refused" || Date.parse(at) < sinceMillis) continue
    refused.set(subject, (refused.get(subject) ?? 0) + Number(details["count"] ?? 1))
  }
  return refused
}

/** A warning begins at this age of the oldest unread body. Unit: seconds. */
const longLag = 60

/**
 * Judges a source by its last 24 hours, and by its last body before them. `refused` is the number of requests with a
 * wrong signature.
 */
export const sourceDiagnoses = (
  org: string,
  source: WebhookSource,
  refused: number,
): ReadonlyArray<Diagnosis> => {
  const { fault, ok, warning } = about("source", `${org} / ${source.platform}`)
  if (!source.enabled) return []
  const last = source.last_received_at
  const isSilent = last === null || source.bodies === 0
  const findings: Array<Diagnosis> = []
  if (refused > 0) {
    // Anyone can send such requests, so they are a fault only if the source sends no valid request.
    findings.push((isSilent ? fault : warning)(
      `Webhooks with a wrong signature that were refused in the last 24 hours: ${refused}.`,
      `Compare the secret on the platform with the one set here. \`parlance webhook set ${source.platform} --secret-stdin\` ` +
        "replaces it.",
    ))
  }
  if (source.lag_seconds > longLag) {
    findings.push(fault(
      `${source.pending} bodies wait to be read, the oldest for ${Math.round(source.lag_seconds)} s.`,
      "Check that a node of the service runs, and its logs.",
    ))
  }
  if (source.not_understood > 0) {
    findings.push(warning(
      `${source.not_understood} bodies of the last 24 hours could not be read, in whole or in part.`,
      `\`parlance inbox list ${source.platform}\` shows the reasons. Fix the source, then replay them.`,
    ))
  }
  if (isSilent && (source.set_up || last !== null)) {
    findings.push(warning(
      last === null ? "No webhook was received yet." : `Nothing was received since ${last}.`,
      `Check that the platform sends to ${source.path}. \`parlance webhook trigger ${source.platform} click\` sends a trial.`,
    ))
  }
  if (findings.length > 0) return findings
  return isSilent ? [] : [ok(
    `${source.events} events in the last 24 hours, the last body at ${last}.`,
  )]
}

/** Judges the tracking ids in the requests for a template of the last 24 hours. */
export const trackingIdDiagnoses = (
  org: string,
  templates: ReadonlyArray<Pick<FoundTemplate, "id" | "repeated_tracking_ids">>,
): ReadonlyArray<Diagnosis> =>
  templates.flatMap(({ id, repeated_tracking_ids: requests }) =>
    requests === 0 ? [] : [
      about("template", `${org} / ${id}`).warning(
        `${requests} requests of the last 24 hours repeated a tracking id for another person or message, and got the variant ` +
          "that was decided first.",
        "Send a tracking id of its own for each message to each person, or leave tracking_id out. The header Parlance-Warnings of " +
          "such responses names what differs.",
      ),
    ]
  )

/** Judges unfilled placeholders in the requests for a template of the last 24 hours. */
export const placeholderDiagnoses = (
  org: string,
  templates: ReadonlyArray<Pick<FoundTemplate, "id" | "unfilled_requests">>,
): ReadonlyArray<Diagnosis> =>
  templates.flatMap(({ id, unfilled_requests: requests }) =>
    requests === 0 ? [] : [
      about("template", `${org} / ${id}`).warning(
        `${requests} requests of the last 24 hours had a placeholder that nobody filled in, such as {{customer.tier}} or null.`,
        "Let the system that sends them fill the value in, or leave the member out. The template's page in the console and the " +
          "header Parlance-Warnings of such responses name the member.",
      ),
    ]
  )

/** Judges a connection by its state and a test of its settings. */
export const connectionDiagnoses = (
  org: string,
  { enabled, name, paused, trouble }: Pick<ConnectionResource, "enabled" | "name" | "paused" | "trouble">,
  test: { readonly ok: boolean; readonly detail: string; readonly warnings: ReadonlyArray<string> },
): ReadonlyArray<Diagnosis> => {
  const { fault, ok, warning } = about("connection", `${org} / ${name}`)
  if (!enabled) return []
  return [
    test.ok ? ok(test.detail) : fault(
      test.detail,
      `Correct the settings or secrets with \`parlance connection set ${name}\`, then run \`parlance connection test ${name}\`.`,
    ),
    ...(trouble === null ? [] : [
      (trouble.state === "slow-down" ? warning : fault)(
        `It sends no messages since ${trouble.since}: ${trouble.reason}`,
        trouble.until === null
          ? `Fix the cause, then run \`parlance connection resume ${name}\`.`
          : `It tries again at ${trouble.until}. Fix the cause if it persists.`,
      ),
    ]),
    ...(trouble === null && paused
      ? [
        warning(
          "It is paused, so due messages wait.",
          `Run \`parlance connection resume ${name}\`.`,
        ),
      ]
      : []),
    ...test.warnings.map((text) => warning(text, "Change the variant or the settings.")),
  ]
}

/** The diagnosis of a DNS record. Its remedy is the record to publish, if the finding has one. */
export const recordDiagnosis = (org: string, connection: string, { check, detail, record, status }: RecordFinding) =>
  about("dns", `${org} / ${connection} / ${check}`)
    [status === "ok" ? "ok" : status === "unknown" ? "warning" : "fault"](
      detail,
      status === "ok" || record === null ? null : `Publish the record: ${record.name} ${record.type} "${record.value}"`,
    )
