import type { AlertCondition } from "../../alerts/Conditions.ts"
import { type ConnectionSetup } from "../../delivery/Connections.ts"
import { type BulkAction, isStopped } from "../../delivery/BulkActions.ts"
import { type RecentEnds } from "../../delivery/Deliveries.ts"
import { formatBytes } from "../../text/Bytes.ts"
import { sourceTitle } from "../../domain/Source.ts"
import type { Usage } from "../../domain/Usage.ts"
import { type Arrival } from "../../journal/inbox/Arrivals.ts"
import { english, t, translated } from "../../languages/Language.ts"
import type { StoppedFold } from "../../learning/FoldAttempts.ts"
import type { MailBacklog } from "../../mail/MailQueue.ts"
import { Models } from "../../learning/Models.ts"
import { type TemplateView } from "../../templates/TemplateCache.ts"
import { count, counted, duration, percent } from "../Format.ts"

/** Unread bodies older than this cause a notice. Unit: seconds. */
const longLag = 60

/** Messages that are due for longer are worth a look. Unit: seconds. */
const longQueue = 300

/** Decisions of a template, in 14 days, from which on each of its variants should have had some. */
const enoughDecisions = 200

const troubleTitle = {
  "slow-down": english("is throttled by its platform"),
  failing: english("does not take messages"),
  broken: english("does not take messages"),
  refusing: english("refuses messages and is paused"),
} as const

/** A notice of the overview, with a link to the page where it can be resolved. */
export interface Trouble {
  readonly kind: "bad" | "warn"
  readonly what: string
  readonly href: string
  readonly title: string
  readonly detail: string
  /** The page that resolves it, if the visitor may. */
  readonly action?: { readonly href: string; readonly label: string }
}

/** Returns the name of a source for people. */
export const nameOf = (source: Arrival["source"]) => sourceTitle(source)

/** Active variants that get nothing although their template is used. */
const idleVariants = (
  models: Models["Service"],
  org: string,
  { id, variants }: TemplateView,
  now: number,
): ReadonlyArray<string> => {
  const model = models.latest(org, id)?.model
  if (model === undefined || model.traffic.reduce((sum, { sends }) => sum + sends, 0) < enoughDecisions) return []
  const served = new Set(model.variants.flatMap((variant) => variant.sends > 0 ? [variant.id] : []))
  return variants.filter((variant) => variant.active && variant.calendar.holds(now) && !served.has(variant.id))
    .map((variant) => variant.id)
}

/** Share of a quota from which on it is shown. */
const nearQuota = 0.8

/** A notice that messages are late. `oldestSeconds`: time for which the oldest message has been due. */
export const queueTroubles = (base: string, oldestSeconds: number): ReadonlyArray<Trouble> =>
  oldestSeconds > longQueue
    ? [{
      kind: "bad",
      what: english("delivery"),
      href: `${base}/deliveries?state=queued`,
      title: t`Messages are late`,
      detail: t`The oldest has been due for ${duration(oldestSeconds)}.`,
    }]
    : []

/** A notice that mails of Parlance itself could not be sent, such as invitations. */
export const mailTroubles = ({ failed, pending, reason }: MailBacklog): ReadonlyArray<Trouble> =>
  reason === null ? [] : [{
    kind: pending > 0 ? "bad" : "warn",
    what: english("mail"),
    href: "/console/accounts",
    title: t`Mails of Parlance could not be sent`,
    detail: t`${
      [
        ...(pending > 0 ? [counted(pending, "mail waits", "mails wait")] : []),
        ...(failed > 0
          ? [counted(failed, "mail was given up in the last 7 days", "mails were given up in the last 7 days")]
          : []),
      ].join(", ")
    }. The error: ${reason}. Check MAIL_URL, and give invitations and links to people
      yourself meanwhile.`,
  }]

/** Notices of templates that have stopped learning. */
export const learningTroubles = (
  base: string,
  stopped: ReadonlyArray<StoppedFold>,
  templateName: (id: string) => string,
): ReadonlyArray<Trouble> =>
  stopped.map(({ reason, templateId }) => ({
    kind: "bad",
    what: english("learning"),
    href: `${base}/templates/${encodeURIComponent(templateId)}/results`,
    title: t`${templateName(templateId)} has stopped learning`,
    detail: t`The model could not be updated in three attempts: ${reason}. The last model stays in use.`,
  }))

/** A notice that the organization is near its daily quota of webhook bodies, or has reached it. */
export const quotaTroubles = (usage: Usage, href: string): ReadonlyArray<Trouble> => {
  const { webhook_bytes: used, webhook_daily_bytes: quota, webhook_refused: refused } = usage
  if (quota === null || used < nearQuota * quota) return []
  const figures = t`${formatBytes(used)} of ${formatBytes(quota)} stored today.`
  const ask = t`The quota resets at 00:00 UTC. An administrator of the installation can raise it.`
  return used < quota
    ? [{
      kind: "warn",
      what: english("quota"),
      href,
      title: t`Webhook quota: ${Math.floor(100 * used / quota)} % used`,
      detail: t`${figures} At 100 %, further webhooks are refused with status 429. ${ask}`,
    }]
    : [{
      kind: "bad",
      what: english("quota"),
      href,
      title: t`Webhook quota reached`,
      detail: t`${figures} ${
        counted(refused, "request was refused", "requests were refused")
      } with status 429, which platforms send again later. ${ask}`,
    }]
}

/** The failed share of the messages that ended in the last 24 hours from which on they are shown. */
const shownShare = 0.01

/** Failed messages from which on a share is bad: of a few messages one says little. */
const manyFailed = 10

/** A notice that many of the messages that ended in the last 24 hours have failed. From `threshold` on, a share is bad. */
export const failureTroubles = (
  { failed, sent, since }: RecentEnds,
  deliveries: string,
  threshold: number,
  canRetry = false,
): ReadonlyArray<Trouble> => {
  const share = failed / Math.max(1, failed + sent)
  if (failed === 0 || share < Math.min(shownShare, threshold)) return []
  return [{
    kind: share >= threshold && failed >= manyFailed ? "bad" : "warn",
    what: english("delivery"),
    href: `${deliveries}?state=failed&since=${since.toISOString()}`,
    title: t`${count(failed)} of ${count(failed + sent)} messages failed`,
    detail: t`That is ${percent(share)} of the messages sent or failed in the last 24 hours. The list of deliveries
      shows the reasons. Fix the cause, then retry the messages there.`,
    ...(canRetry
      ? { action: { href: `${deliveries}/-/retry?since=${since.toISOString()}`, label: t`See reasons and retry` } }
      : {}),
  }]
}

/** The notice about changes that need approval. Leads to the change itself if there is no other one. `newest`: at most one. */
export const reviewTroubles = (
  base: string,
  waiting: number,
  newest: ReadonlyArray<{ readonly id: number }>,
): ReadonlyArray<Trouble> =>
  waiting === 0 ? [] : [{
    kind: "warn",
    what: english("review"),
    href: waiting === 1 && newest[0] !== undefined ? `${base}/reviews/${newest[0].id}` : `${base}/reviews`,
    title: counted(waiting, "change waits for approval", "changes wait for approval"),
    detail: t`They go live once somebody other than their author has approved them.`,
  }]

/** A notice for each bulk action that has stopped in the last 24 hours. */
export const stoppedTroubles = (actions: ReadonlyArray<BulkAction>, now: number, pathOf: (id: string) => string) =>
  actions.filter((one) => isStopped(one, now))
    .map(({ changed, id, kind, matched, reason }): Trouble => ({
      kind: "bad",
      what: english("delivery"),
      href: pathOf(id),
      title: kind === "retry"
        ? t`Retrying ${count(matched)} messages has stopped`
        : t`Cancelling ${count(matched)} messages has stopped`,
      detail: t`It stopped after ${count(changed)}: ${reason ?? t`unknown`}.`,
    }))

const quoted = (ids: ReadonlyArray<string>) =>
  ids.length > 3 ? t`${ids.slice(0, 3).join(", ")} and ${ids.length - 3} more` : ids.join(", ")

/** Notices about connections that fail, refuse or are paused. */
export const connectionTroubles = (base: string, ways: ReadonlyArray<ConnectionSetup>): ReadonlyArray<Trouble> =>
  ways.flatMap(({ enabled, name, paused, trouble }): ReadonlyArray<Trouble> =>
    !enabled ? [] : trouble !== null
      ? [{
        kind: trouble.state === "slow-down" ? "warn" : "bad",
        what: english("connection"),
        href: `${base}/connections/${name}`,
        title: `${name} ${translated(troubleTitle[trouble.state])}`,
        detail: trouble.reason,
      }]
      : paused
      ? [{
        kind: "warn",
        what: english("connection"),
        href: `${base}/connections/${name}`,
        title: t`${name} is paused`,
        detail: t`Paused. Due messages wait until you resume.`,
      }]
      : []
  )

/** Notices about events that wait too long or cannot be read. */
export const eventTroubles = (base: string, arriving: ReadonlyArray<Arrival>): ReadonlyArray<Trouble> =>
  arriving.flatMap(({ lagSeconds, notUnderstood, pending, source }): ReadonlyArray<Trouble> => [
    ...(lagSeconds > longLag
      ? [{
        kind: "bad" as const,
        what: english("events"),
        href: `${base}/sources/${source}`,
        title: t`${nameOf(source)}: events are waiting`,
        detail: t`${count(pending)} payloads are waiting, the oldest for ${duration(lagSeconds)}.`,
      }]
      : []),
    ...(notUnderstood > 0
      ? [{
        kind: "warn" as const,
        what: english("events"),
        href: `${base}/sources/${source}/inbox`,
        title: t`${nameOf(source)}: ${count(notUnderstood)} not understood`,
        detail: t`Some recent payloads could not be read. They are kept: fix the source, then replay them.`,
      }]
      : []),
  ])

/** Notices about variants that cannot be rendered, and sources that have fallen silent. */
export const conditionTroubles = (
  base: string,
  conditions: ReadonlyArray<AlertCondition>,
  now: number,
  templateName: (id: string) => string,
): ReadonlyArray<Trouble> =>
  conditions.flatMap((condition): ReadonlyArray<Trouble> => {
    // The share of the last 24 hours has a notice of its own: `failureTroubles`.
    if (condition.type === "deliveries.failing") return []
    if (condition.type === "source.silent") {
      const { lastHour, longestPauseHours, source } = condition
      return [{
        kind: "bad",
        what: english("events"),
        href: `${base}/sources/${source}`,
        title: t`${nameOf(source)} has gone silent`,
        detail: t`Nothing was received for ${
          duration((now - lastHour.getTime()) / 1000)
        }. The longest pause of the last 14 days was ${duration(longestPauseHours * 3600)}. Check
          the webhook on the platform and its secret.`,
      }]
    }
    const { copyId, failed, requests, templateId, variable } = condition
    return [{
      kind: "bad",
      what: english("template"),
      href: `${base}/templates/${encodeURIComponent(templateId)}`,
      title: t`${templateName(templateId)} / ${copyId} cannot be rendered`,
      detail: t`${count(failed)} of ${
        count(requests)
      } recent requests failed, the latest in "${variable}". Check the fields
        that your systems send, or correct the Liquid.`,
    }]
  })

/** Templates that nobody receives, and active variants that get nothing although their template is used. */
interface UnservedTemplates {
  readonly inactive: ReadonlyArray<string>
  readonly idle: ReadonlyArray<{ readonly template: string; readonly variants: ReadonlyArray<string> }>
}

/** Finds templates and variants that nobody receives. */
export const unservedTemplates = (
  models: Models["Service"],
  org: string,
  templates: ReadonlyArray<TemplateView>,
  now: number,
): UnservedTemplates => ({
  inactive: templates.filter(({ variants }) => !variants.some(({ active }) => active)).map(({ id }) => id),
  idle: templates.map((template) => ({ template: template.id, variants: idleVariants(models, org, template, now) }))
    .filter(({ variants }) => variants.length > 0),
})

/** Up to so many templates with the same trouble have a notice each; more have one together. */
export const shownAlone = 3

/** Notices about templates and variants that nobody receives. `templateName` returns the name of a template. */
export const templateTroubles = (
  base: string,
  { idle, inactive }: UnservedTemplates,
  templateName: (id: string) => string,
): ReadonlyArray<Trouble> => {
  const pathOf = (id: string) => `${base}/templates/${encodeURIComponent(id)}`
  const common = { kind: "warn" as const, what: english("template") }
  return [
    ...(inactive.length > shownAlone
      ? [{
        ...common,
        href: `${base}/templates?state=inactive`,
        title: t`${count(inactive.length)} templates have no active variant`,
        detail: t`${quoted(inactive.map(templateName))}. Requests for them return no content.`,
      }]
      : inactive.map((id) => ({
        ...common,
        href: pathOf(id),
        title: t`${templateName(id)} has no active variant`,
        detail: t`No active variant: requests return no content.`,
      }))),
    ...(idle.length > shownAlone
      ? [{
        ...common,
        href: `${base}/templates`,
        title: t`${count(idle.length)} templates have active variants without traffic`,
        detail: t`${
          quoted(idle.map(({ template }) => templateName(template)))
        }. Check the audience of these variants: no recent user may match it.`,
      }]
      : idle.map(({ template, variants }) => ({
        ...common,
        href: pathOf(template),
        title: t`${templateName(template)}: active variants without traffic`,
        detail: t`${quoted(variants)}. Check their audience: no recent user may match it.`,
      }))),
  ]
}
