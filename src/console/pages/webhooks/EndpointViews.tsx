import { PostButton } from "../../components/Form.tsx"
import type { OutgoingWebhook, StoredEndpoint } from "../../../webhooks/WebhookEndpoints.ts"
import { Badge } from "../../components/Badge.tsx"
import { Empty } from "../../components/Empty.tsx"
import { Table } from "../../components/Table.tsx"
import { Time } from "../../components/Time.tsx"
import * as Json from "../../../json/Json.ts"
import { english, t, translated } from "../../../languages/Language.ts"

/** The state of an endpoint. */
export const EndpointBadge = ({ endpoint: { disabledReason, enabled, failingSince }, zone }: {
  readonly endpoint: StoredEndpoint
  readonly zone: string
}) =>
  !enabled
    ? <Badge kind={disabledReason === null ? "plain" : "bad"}>{t`disabled`}</Badge>
    : failingSince === null
    ? <Badge kind="good">{t`enabled`}</Badge>
    : (
      <>
        <Badge kind="warn">{t`failing`}</Badge>{" "}
        <span class="sub">
          {t`since ${<Time at={failingSince.toISOString()} zone={zone} />}`}
        </span>
      </>
    )

const states = {
  pending: ["warn", english("pending")],
  delivered: ["good", english("delivered")],
  failed: ["bad", english("failed")],
} as const

/** The attempts to send an event, the latest first, with the response to each. */
const Attempts = ({ log, zone }: { readonly log: OutgoingWebhook["log"]; readonly zone: string }) =>
  log.length === 0 ? <span class="muted">{t`none yet`}</span> : (
    <ul class="plain-list small">
      {log.toReversed().map(({ at, milliseconds, reason, status }) => (
        <li>
          {status === null
            ? t`no response after ${Math.round(milliseconds)} ms`
            : t`status ${status} after ${Math.round(milliseconds)} ms`}
          <span class="sub">
            <Time at={at} zone={zone} />
          </span>
          {reason !== null && <span class="sub">{reason}</span>}
        </li>
      ))}
    </ul>
  )

/** Events of an endpoint with their attempts. `replay`: where to ask for an event to be sent again. */
export const SentEvents = ({ events, replay, zone }: {
  readonly events: ReadonlyArray<OutgoingWebhook>
  readonly zone: string
  readonly replay: string | undefined
}) =>
  events.length === 0
    ? (
      <Empty title={t`No events yet`}>
        {t`Events appear here when they are sent. Send a test event to try the endpoint.`}
      </Empty>
    )
    : (
      <Table
        cards="labelled"
        caption={t`Events of the last 30 days`}
        headings={[t`Event`, t`State`, t`Attempts`, t`Content`, t`[Actions]`]}
        rows={events.map(({ batch, body, createdAt, dueAt, id, log, state, type }) => [
          <>
            {type.split(".").map((part, index) =>
              index === 0 ? part : (
                <>
                  .<wbr />
                  {part}
                </>
              )
            )}
            <span class="sub">
              <Time at={createdAt.toISOString()} zone={zone} />
            </span>
            <span class="sub mono">{id}</span>
          </>,
          <>
            <Badge kind={states[state][0]}>{translated(states[state][1])}</Badge>
            {state === "pending" && (
              <span class="sub">
                {t`next at ${<Time at={dueAt.toISOString()} zone={zone} />}`}
              </span>
            )}
          </>,
          <Attempts log={log} zone={zone} />,
          body === null ? t`batch of ${batch?.count ?? 0}` : (
            <details>
              <summary>
                JSON<span class="visually-hidden">{t` of ${id}`}</span>
              </summary>
              <pre
                class="source"
                tabIndex={0}
                aria-label={t`JSON of ${id}`}
              >{JSON.stringify(Json.parseStored(body), null, 2)}</pre>
            </details>
          ),
          {
            kind: "actions",
            content: replay === undefined || state === "pending"
              ? null
              : (
                <PostButton to={replay} fields={{ event_id: id }} kind="compact" label={t`Replay ${id}`}>
                  {t`Replay`}
                </PostButton>
              ),
          },
        ])}
      />
    )
