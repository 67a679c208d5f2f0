import { Effect } from "effect"
import type { ComponentChildren } from "preact"
import { type Fault, InvalidInput } from "../../../domain/Errors.ts"
import { eventKinds } from "../../../domain/EventKinds.ts"
import type { DryRun, Explained } from "../../../domain/DryRun.ts"
import { sourceTitle } from "../../../domain/Source.ts"
import { MappingTrials } from "../../../intake/mapping/MappingTrials.ts"
import { WebhookSources } from "../../../intake/WebhookSources.ts"
import { english, t, translated } from "../../../languages/Language.ts"
import { Badge } from "../../components/Badge.tsx"
import { Card } from "../../components/Card.tsx"
import { SessionFields, Submit } from "../../components/Form.tsx"
import { ErrorSummary, Note } from "../../components/Note.tsx"
import { Table } from "../../components/Table.tsx"
import { TextAreaField } from "../../components/TextAreaField.tsx"
import { Time } from "../../components/Time.tsx"
import { pages } from "../../Pages.ts"
import { view } from "../../View.tsx"
import type { Fields, Visit } from "../../Routes.tsx"
import { sourceOf, sourcesPath } from "./SourcePath.ts"

const labels = { mapping: english("Mapping"), body: english("Sample payload") }

/** Shown until a mapping is entered or stored. It reads the sample body on the page. */
const exampleMapping = {
  version: 1,
  items: "$.items[*]",
  event: { from: ["$.kind"], table: { MailRead: "open", MailClicked: "click", Ping: "ignore" } },
  tracking_id: { from: ["$.meta.tracking_id"], required: true },
  event_id: "$.id",
  occurred_at: "$.at",
}
const exampleBody = {
  items: [
    { id: "e1", kind: "MailRead", at: "2026-01-05T08:30:00Z", meta: { tracking_id: "order-1001" } },
    { id: "e2", kind: "Ping" },
    { id: "e3", kind: "MailClicked", meta: {} },
  ],
}

const jsonOf = (value: unknown) => JSON.stringify(value, null, 2)

/** Where values were found, or for a platform, the values of the event. */
const foundIn = ({ event, found }: Explained): Explained["found"] => {
  if (event === undefined || Object.keys(found).length > 0) return found
  const { email, group, link, messageKey, trackingId, user, value } = event
  return Object.fromEntries(
    Object.entries({
      "tracking id": trackingId ?? null,
      message: messageKey,
      user,
      address: email,
      link,
      value: value === undefined ? undefined : String(value),
      group,
    }).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value === null ? null : { from: "", value }] as const]
    ),
  )
}

const Explanation = ({ run, zone }: { readonly run: DryRun; readonly zone: string }) =>
  "reason" in run ? <Note kind="bad" live>{t`The body was not understood: ${run.reason}`}</Note> : (
    <Card
      kind="flush"
      title={`${run.items} ${run.items === 1 ? "item" : "items"}`}
      lead={run.items > run.explained.length
        ? t`The first ${run.explained.length} are explained.`
        : t`Nothing was stored.`}
    >
      {run.items === 0 ? <p class="pad muted">{t`The list of items is empty.`}</p> : (
        <Table
          cards="labelled"
          caption={t`Events by item`}
          headings={[t`Item`, t`Result`, t`Found`]}
          rows={run.explained.map((one) => [
            one.pointer === undefined
              ? <span class="muted">{t`event`}</span>
              : <code>{one.pointer === "" ? t`the body` : one.pointer}</code>,
            one.event !== undefined
              ? (
                <>
                  <Badge kind="good">{translated(eventKinds[one.event.event].words.one)}</Badge>
                  {one.event.automated && <span class="sub">{t`by a machine`}</span>}
                  <span class="sub">
                    <Time at={new Date(one.event.occurredAt).toISOString()} zone={zone} />
                  </span>
                </>
              )
              : (
                <>
                  <Badge kind={one.skipped!.expected ? "plain" : "bad"}>
                    {one.skipped!.expected ? t`ignored` : t`not understood`}
                  </Badge>
                  <span class="sub">{one.skipped!.reason}</span>
                </>
              ),
            <dl class="found">
              {Object.entries(foundIn(one)).map(([name, value]) => (
                <div>
                  <dt>{name}</dt>
                  <dd>
                    {value === null ? <span class="muted">{t`nothing`}</span> : (
                      <>
                        {value.value} {value.from !== "" && <span class="muted">{t`from ${value.from}`}</span>}
                      </>
                    )}
                  </dd>
                </div>
              ))}
            </dl>,
          ])}
        />
      )}
    </Card>
  )

/** The form for a body, and for custom events a mapping. */
const TrialForm = ({ at, children }: { readonly at: string; readonly children: ComponentChildren }) => (
  <Card>
    <form class="dry-run" method="post" action={`${at}/dry-run`} noValidate>
      <SessionFields />
      {children}
      <div>
        <Submit>{t`Try it`}</Submit>
      </div>
    </form>
  </Card>
)

const show = Effect.fnUntraced(
  function* (visit: Visit, sent?: Fields, faults: ReadonlyArray<Fault> = [], run?: DryRun) {
    const { org } = visit
    const sourceId = yield* sourceOf(visit)
    const isCustom = sourceId === "events"
    const at = `${sourcesPath(visit)}/${sourceId}`
    const setup = (yield* (yield* WebhookSources).list(org.slug)).find((one) => one.sourceId === sourceId)
    const values = sent ?? (isCustom
      ? {
        mapping: jsonOf(setup?.settings["mapping"] ?? exampleMapping),
        body: setup?.settings["mapping"] === undefined ? jsonOf(exampleBody) : "",
      }
      : {})
    const area = { rows: 18, code: true, faults }
    return view(
      {
        title: isCustom ? t`Try a mapping` : t`Try a payload`,
        back: { href: at, label: sourceTitle(sourceId) },
        lead: isCustom
          ? t`Shows the events that a mapping produces from a payload: the event of each item and where its values
            were found, or the reason why it has none. Nothing is stored.`
          : t`Shows the events of a payload, or the reason why it has none. Signatures are not checked, and
            nothing is stored.`,
      },
      <ErrorSummary faults={faults} labels={labels} />,
      run !== undefined && <Explanation run={run} zone={org.time_zone} />,
      <TrialForm at={at}>
        {isCustom && (
          <TextAreaField
            {...area}
            name="mapping"
            label={translated(labels.mapping)}
            hint={t`As JSON.`}
            value={values["mapping"] ?? ""}
          />
        )}
        <TextAreaField
          {...area}
          name="body"
          label={translated(labels.body)}
          hint={isCustom
            ? t`As your code would send it.`
            : t`As ${sourceTitle(sourceId)} sends it, from its documentation or its log.`}
          value={values["body"] ?? ""}
        />
      </TrialForm>,
    )
  },
)

const dryRunAction = Effect.fnUntraced(function* (visit: Visit, sent: Fields) {
  const trials = yield* MappingTrials
  const sourceId = yield* sourceOf(visit)
  const body = sent["body"] ?? ""
  if (sourceId !== "events") return yield* show(visit, sent, [], yield* trials.read(visit.org.slug, sourceId, body))
  const tried = yield* trials.run(visit.org.slug, sent["mapping"] ?? "", body)
  if ("faults" in tried) {
    return yield* new InvalidInput({
      faults: tried.faults.map(({ detail, pointer }) => ({
        pointer: "/mapping",
        detail: pointer === "" ? detail : t`at ${pointer} ${detail}`,
      })),
    })
  }
  return yield* show(visit, sent, [], tried.run)
})

/** Tries a body of a source, and for custom events a mapping. */
export const layer = pages(({ form }) => [
  ...form("/console/o/:org/sources/:segment/dry-run", "dryRun", show, dryRunAction),
])
