import { Effect } from "effect"
import { type Bucket, BucketInput, streams } from "../../buckets/Bucket.ts"
import { Buckets } from "../../buckets/Buckets.ts"
import type { Fault } from "../../domain/Errors.ts"
import { english, t, translated } from "../../languages/Language.ts"
import { askFirst } from "../components/AskFirst.tsx"
import { Card } from "../components/Card.tsx"
import { Facts } from "../components/Facts.tsx"
import { Form, Submit } from "../components/Form.tsx"
import { inputForm } from "../components/InputForm.tsx"
import { Note } from "../components/Note.tsx"
import { Time } from "../components/Time.tsx"
import { counted } from "../Format.ts"
import { ifFilled, orNull, text, typed } from "../FormReaders.ts"
import { pages } from "../Pages.ts"
import type { Fields, Visit } from "../Routes.tsx"
import { view } from "../View.tsx"

const path = "/console/o/:org/settings/bucket"
const base = ({ org }: Visit) => `/console/o/${org.slug}/settings/bucket`

const form = inputForm(BucketInput, {
  endpoint: {
    label: english("URL of the service"),
    required: false,
    read: orNull(text),
    hint: english(
      "Empty: Amazon S3. Otherwise such as https://minio.example.com. The operator must allow private addresses.",
    ),
  },
  region: { label: english("Region"), hint: english("For example eu-central-1, or auto for Cloudflare R2.") },
  name: { label: english("Name of the bucket") },
  folder: {
    label: english("Folder of the exports"),
    required: false,
    hint: english("For example parlance/shop. Empty: the bucket itself."),
  },
  access_key_id: { label: english("Id of the access key") },
  secret_access_key: {
    label: english("Secret of the access key"),
    as: "password",
    required: false,
    read: ifFilled(typed),
    hint: english("Stored encrypted and never shown. Empty: stays as it is, for the same key and bucket."),
  },
  is_active: {
    label: english("Exports"),
    as: "radio",
    initial: "true",
    read: (sent) => typed(sent) === "true",
    options: [["true", english("Each hour")], ["false", english("Paused")]],
    short: true,
  },
  attributes_folder: {
    label: english("Folder of attributes"),
    required: false,
    read: orNull(text),
    hint: english("CSV or NDJSON files with a column user_id, which are read each hour. Empty: none are read."),
  },
})

const titles = {
  decisions: english("Decisions"),
  events: english("Events"),
  deliveries: english("Deliveries"),
} as const

const State = ({ bucket, visit }: { readonly bucket: Bucket; readonly visit: Visit }) => {
  const zone = visit.org.time_zone
  return (
    <Card title={t`State`} stacked>
      {bucket.problem !== null && <Note kind="bad">{t`The last run failed: ${bucket.problem}`}</Note>}
      <Facts
        rows={[
          ...streams.map((stream) => {
            const { complete_until: until, objects, rows } = bucket.streams[stream]
            return [
              translated(titles[stream]),
              until === null ? t`Not complete yet` : (
                <>
                  {t`Complete until ${<Time at={until} zone={zone} />}, ${counted(rows, "row")} in ${
                    counted(objects, "object")
                  }`}
                </>
              ),
            ] as const
          }),
          [t`Last complete run`, <Time at={bucket.last_success_at} zone={zone} />],
          [t`Next run`, bucket.is_active ? <Time at={bucket.next_run_at} zone={zone} /> : t`Paused`],
        ]}
      />
      <div class="buttons">
        <Form action={`${base(visit)}/check`}>
          <Submit kind="plain">{t`Try the access`}</Submit>
        </Form>
        {bucket.is_active && (
          <Form action={`${base(visit)}/run`}>
            <Submit kind="plain">{t`Run now`}</Submit>
          </Form>
        )}
        <a class="button danger" href={`${base(visit)}/remove`}>{t`Remove`}</a>
      </div>
    </Card>
  )
}

const Files = ({ bucket, zone }: { readonly bucket: Bucket; readonly zone: string }) => (
  <Card title={t`Files with attributes`}>
    <Facts
      rows={bucket.attribute_objects.map(({ faults, faulty, key, people, read_at: at }) =>
        [
          key,
          <>
            {counted(people, "person", "people")}, <Time at={at} zone={zone} />
            {faulty > 0 && <>{t`, ${counted(faulty, "line")} not taken`}</>}
            {faults.length > 0 && <ul class="plain">{faults.map((fault) => <li>{fault}</li>)}</ul>}
          </>,
        ] as const
      )}
    />
  </Card>
)

const valuesOf = (bucket: Bucket | undefined): Fields =>
  bucket === undefined ? {} : {
    endpoint: bucket.endpoint ?? "",
    region: bucket.region,
    name: bucket.name,
    folder: bucket.folder,
    access_key_id: bucket.access_key_id,
    is_active: String(bucket.is_active),
    attributes_folder: bucket.attributes_folder ?? "",
  }

const show = Effect.fnUntraced(function* (visit: Visit, fields?: Fields, faults: ReadonlyArray<Fault> = []) {
  const bucket = yield* (yield* Buckets).get(visit.org.slug)
  const general = faults.filter(({ pointer }) => pointer === "")
  return view(
    {
      title: t`Warehouse bucket`,
      lead: t`An S3-compatible bucket receives decisions, events and deliveries each hour, for a warehouse to
        load.`,
    },
    general.map(({ detail }) => <Note kind="bad">{detail}</Note>),
    bucket !== undefined && <State bucket={bucket} visit={visit} />,
    bucket !== undefined && bucket.attribute_objects.length > 0 && <Files bucket={bucket} zone={visit.org.time_zone} />,
    <form.Card
      action={base(visit)}
      submit={t`Save`}
      values={fields ?? valuesOf(bucket)}
      faults={form.placed(faults)}
    />,
  )
})

const save = Effect.fnUntraced(function* (visit: Visit, fields: Fields) {
  yield* (yield* Buckets).set(visit.org.slug, yield* form.decode(fields))
  return { to: base(visit), done: "settings-saved" }
})

const run = Effect.fnUntraced(function* (visit: Visit) {
  yield* (yield* Buckets).run(visit.org.slug)
  return { to: base(visit), done: "bucket-running" }
})

const check = Effect.fnUntraced(function* (visit: Visit) {
  yield* (yield* Buckets).check(visit.org.slug)
  return { to: base(visit), done: "bucket-checked" }
})

const ask = (visit: Visit) =>
  Effect.succeed(askFirst({
    question: t`Remove the bucket?`,
    back: { href: base(visit), label: t`Warehouse bucket` },
    button: t`Remove`,
    text: <p>{t`Exports end, and the stored secret is deleted. Objects in the bucket stay.`}</p>,
  }))

const remove = Effect.fnUntraced(function* (visit: Visit) {
  yield* (yield* Buckets).remove(visit.org.slug)
  return { to: base(visit), done: "bucket-removed" }
})

/** The bucket that receives exports, and holds attributes of people. */
export const layer = pages(({ action, page }) => [
  page(path, "getBucket", (visit) => show(visit)),
  action(path, "setBucket", save, show),
  action(`${path}/run`, "runBucket", run, (visit, _, faults) => show(visit, undefined, faults)),
  action(`${path}/check`, "checkBucket", check, (visit, _, faults) => show(visit, undefined, faults)),
  page(`${path}/remove`, "removeBucket", ask),
  action(`${path}/remove`, "removeBucket", remove, (visit, _, faults) => show(visit, undefined, faults)),
])
