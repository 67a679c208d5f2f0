import type { AddressedEntry } from "../../../accounts/Audit.ts"
import { platforms, sourceTitle } from "../../../domain/Source.ts"
import type { InboxEntry } from "../../../journal/inbox/Inbox.ts"
import { t, translated } from "../../../languages/Language.ts"
import { Badge } from "../../components/Badge.tsx"
import { Card } from "../../components/Card.tsx"
import { Facts } from "../../components/Facts.tsx"
import { Live } from "../../components/Live.tsx"
import { Note } from "../../components/Note.tsx"
import { Time } from "../../components/Time.tsx"
import { counted } from "../../Format.ts"
import { badgeOf } from "./InboxPages.tsx"
import { setupStepsOf } from "./SetupSteps.ts"
import { type SourceState, SourceUrl } from "./SourceViews.tsx"

/** The last body of a source, and the last refused requests. */
export interface Latest {
  readonly body: InboxEntry | undefined
  /** Refusals of a minute. Undefined if there are none in the last hour, or the member may not see them. */
  readonly refused: AddressedEntry | undefined
}

/** Counts of the events of a body, and reasons why items have none. */
const Understood = ({ entry }: { readonly entry: InboxEntry }) => {
  const { duplicates, events, faults, ignored, unused } = entry
  const reasons = [...faults ?? [], ...unused ?? []].slice(0, 3)
  return (
    <>
      <p>
        {events === null
          ? t`It is being read.`
          : t`${counted(events, "new event")}, ${counted(duplicates ?? 0, "duplicate")}, ${ignored ?? 0} ignored.`}
      </p>
      {reasons.length > 0 && (
        <ul class="reasons">
          {reasons.map(({ pointer, reason }) => <li>{pointer !== "" && <code>{pointer}</code>} {reason}</li>)}
        </ul>
      )}
    </>
  )
}

/** The last body or refusal of a source. Renews itself, so that a test event shows without a reload. */
const Arrived = ({ at, latest: { body, refused }, zone }: {
  readonly at: string
  readonly latest: Latest
  readonly zone: string
}) => (
  <div class="stack" data-live="latest">
    {refused !== undefined && (body === undefined || refused.at > body.receivedAt.toISOString()) && (
      <Note kind="bad">
        {t`A request was refused because of its signature or secret at ${(
          <Time at={refused.at} zone={zone} />
        )}. Compare the secret at the
          platform with the one entered here.`}
      </Note>
    )}
    {body === undefined
      ? <p class="muted">{t`Waiting for the first event. Keep this page open while you send it.`}</p>
      : (
        <>
          <div class="source-head">
            <Badge kind={badgeOf(body)[0]}>{badgeOf(body)[1]}</Badge>
            <span>
              {t`received ${<Time at={body.receivedAt.toISOString()} zone={zone} />}`}
            </span>
            <a href={`${at}/inbox?all=true`}>{t`Show the payload`}</a>
          </div>
          <Understood entry={body} />
        </>
      )}
  </div>
)

/** The steps of the set-up: the address, what to tick at the platform, and the last event, which proves the set-up. */
export const SetupCard = ({ at, latest, sourceId, url, zone }: Pick<SourceState, "sourceId"> & {
  readonly at: string
  readonly latest: Latest
  readonly url: string
  readonly zone: string
}) => {
  const title = sourceTitle(sourceId)
  const steps = setupStepsOf(platforms[sourceId])
  return (
    <Card stacked title={t`Connect ${title}`} actions={<Live />}>
      <SourceUrl sourceId={sourceId} url={url} label={t`Address for ${title}`} />
      {steps !== undefined && (
        <Facts
          rows={[
            [t`Where`, translated(steps.place)],
            [t`Events to tick`, translated(steps.tick)],
            [t`Test event`, translated(steps.test)],
          ]}
        />
      )}
      <h3>{t`Last received`}</h3>
      <Arrived at={at} latest={latest} zone={zone} />
    </Card>
  )
}
