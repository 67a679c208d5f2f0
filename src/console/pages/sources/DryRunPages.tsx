import { Effect } from "effect"
import { type Fault, InvalidInput } from "../../../domain/Errors.ts"
import { eventKinds } from "../../../domain/EventKinds.ts"
import type { DryRun } from "../../../domain/DryRun.ts"
import { sourceTitle } from "../../../domain/Source.ts"
import { MappingTrials } from "../../../intake/mapping/MappingTrials.ts"
import { WebhookSources } from "../../../intake/WebhookSources.ts"
import { Badge } from "../../components/Badge.tsx"
import { Card } from "../../components/Card.tsx"
import { CsrfField, Submit } from "../../components/Form.tsx"
import { ErrorSummary, Note } from "../../components/Note.tsx"
import { Table } from "../../components/Table.tsx"
import { TextAreaField } from "../../components/TextAreaField.tsx"
import { Time } from "../../components/Time.tsx"
import { pages } from "../../Pages.ts"
import { view } from "../../View.tsx"
import type { Fields, Visit } from "../../Routes.tsx"

const labels = { mapping: "Mapping", body: "Sample body" }

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

const Explained = ({ run, zone }: { readonly run: DryRun; readonly zone: string }) =>
  "reason" in run ? <Note kind="bad" live>The body was not understood: {run.reason}</Note> : (
    <Card
      kind="flush"
      title={`${run.items} ${run.items === 1 ? "item" : "items"}`}
      lead={run.items > run.explained.length
        ? `The first ${run.explained.length} are explained.`
        : "Nothing was stored."}
    >
      {run.items === 0 ? <p class="pad muted">The list of items is empty.</p> : (
        <Table
          cards="labelled"
          caption="Events by item"
          headings={["Item", "Result", "Found"]}
          rows={run.explained.map((one) => [
            <code>{one.pointer === "" ? "the body" : one.pointer}</code>,
            one.event !== undefined
              ? (
                <>
                  <Badge kind="good">{eventKinds[one.event.event].words.one}</Badge>
                  {one.event.automated && <span class="sub">by a machine</span>}
                  <span class="sub">
                    <Time at={new Date(one.event.occurredAt).toISOString()} zone={zone} />
                  </span>
                </>
              )
              : (
                <>
                  <Badge kind={one.skipped!.expected ? "plain" : "bad"}>
                    {one.skipped!.expected ? "ignored" : "not understood"}
                  </Badge>
                  <span class="sub">{one.skipped!.reason}</span>
                </>
              ),
            <dl class="found">
              {Object.entries(one.found).map(([name, value]) => (
                <div>
                  <dt>{name}</dt>
                  <dd>
                    {value === null ? <span class="muted">nothing</span> : (
                      <>
                        {value.value} <span class="muted">from {value.from}</span>
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

const show = Effect.fnUntraced(
  function* (visit: Visit, sent?: Fields, faults: ReadonlyArray<Fault> = [], run?: DryRun) {
    const { org } = visit
    const at = `/console/o/${org.slug}/sources/events`
    const setup = (yield* (yield* WebhookSources).list(org.slug)).find(({ sourceId }) => sourceId === "events")
    const values = sent ?? {
      mapping: jsonOf(setup?.settings["mapping"] ?? exampleMapping),
      body: setup?.settings["mapping"] === undefined ? jsonOf(exampleBody) : "",
    }
    return view(
      {
        title: "Try a mapping",
        back: { href: at, label: sourceTitle("events") },
        lead:
          "Shows the events that a mapping produces from a payload: the event of each item and where its values were found, or the reason why it has none. Nothing is stored.",
      },
      <ErrorSummary faults={faults} labels={labels} />,
      run !== undefined && <Explained run={run} zone={org.time_zone} />,
      <Card>
        <form class="dry-run" method="post" action={`${at}/dry-run`} noValidate>
          <CsrfField />
          <TextAreaField
            name="mapping"
            label={labels.mapping}
            hint="As JSON."
            rows={18}
            code
            value={values["mapping"] ?? ""}
            faults={faults}
          />
          <TextAreaField
            name="body"
            label={labels.body}
            hint="As your code would send it."
            rows={18}
            code
            value={values["body"] ?? ""}
            faults={faults}
          />
          <div>
            <Submit>Try it</Submit>
          </div>
        </form>
      </Card>,
    )
  },
)

const dryRunAction = Effect.fnUntraced(function* (visit: Visit, sent: Fields) {
  const tried = yield* (yield* MappingTrials).run(visit.org.slug, sent["mapping"] ?? "", sent["body"] ?? "")
  if ("faults" in tried) {
    return yield* new InvalidInput({
      faults: tried.faults.map(({ detail, pointer }) => ({
        pointer: "/mapping",
        detail: pointer === "" ? detail : `at ${pointer} ${detail}`,
      })),
    })
  }
  return yield* show(visit, sent, [], tried.run)
})

/** Tries a mapping of custom events on a sample. */
export const layer = pages(({ form }) => [
  ...form("/console/o/:org/sources/events/dry-run", "dryRun", show, dryRunAction),
])
