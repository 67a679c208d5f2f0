// deno-lint-ignore-file jsx-key -- rendered once, on the server
/** @jsxImportSource preact */
import { Effect, Result } from "effect"
import { SecureRandom } from "effect/crypto"
import { isDeepStrictEqual } from "node:util"
import { HttpRouter } from "effect/http"
import { AttributeStatistics } from "../../../learning/AttributeStatistics.ts"
import { Memberships } from "../../../accounts/Memberships.ts"
import { TestMessages } from "../../../delivery/receivers/TestMessages.ts"
import { Connections } from "../../../delivery/Connections.ts"
import { type Fault, InvalidInput, VariantNotFound } from "../../../domain/Errors.ts"
import { decoder } from "../../../domain/Faults.ts"
import { type Template, type Variant, VariantInput } from "../../../domain/Template.ts"
import { lookedUp } from "../../../api/server/Requests.ts"
import { SourceCheck } from "../../../rendering/SourceCheck.ts"
import { Proposals } from "../../../templates/Proposals.ts"
import { Templates } from "../../../templates/Templates.ts"
import { assets } from "../../Assets.ts"
import { Badge } from "../../components/Badge.tsx"
import { Card } from "../../components/Card.tsx"
import { Confirm } from "../../components/Confirm.tsx"
import { Note } from "../../components/Note.tsx"
import { PageHead } from "../../components/PageHead.tsx"
import { Console, type Fields, type Visit } from "../../Routes.tsx"
import { type Draft, ofVariant, placed, read, sourcesOf } from "../../../templates/VariantForm.ts"
import { changed, conditionText, lookOf, ofFields, type PreviewLook, type Sample, sampleOf } from "./Draft.ts"
import { templatePath, variantPath } from "./Paths.ts"
import { blankOf, samplesOf } from "./NewDraft.ts"
import { sampleFields } from "./SampleFields.ts"
import { newIdOf } from "../../../templates/Drafts.ts"
import { DraftNote, draftWarning } from "./SendNote.tsx"
import { VariantEditor } from "./VariantEditor.tsx"
import { sendTest, TestNote, type TestSent, type TestServices } from "./VariantTest.tsx"
import { seasonText } from "./Words.ts"

const decodeInput = decoder(VariantInput)

/** Services of these pages. */
interface Services extends TestServices {
  readonly attributes: AttributeStatistics["Service"]
  readonly proposals: Proposals["Service"]
  readonly sources: SourceCheck["Service"]
  readonly templates: Templates["Service"]
}

const idOf = ({ params }: Visit, name: "template" | "variant") => lookedUp(params[name] ?? "")

/** The template as the visitor works on it: with the changes that wait for approval. */
const working = (services: Services, visit: Visit) =>
  services.proposals.working(visit.org.slug, idOf(visit, "template"))

const template = (services: Services, visit: Visit) => Effect.map(working(services, visit), ({ template }) => template)

const variant = Effect.fnUntraced(function* (services: Services, visit: Visit) {
  const id = idOf(visit, "variant")
  const { variants } = yield* template(services, visit)
  return variants.find((one) => one.id === id) ?? (yield* new VariantNotFound({ id }))
})

const home = (visit: Visit) => templatePath(visit.org.slug, idOf(visit, "template"))

const here = (visit: Visit) => variantPath(visit.org.slug, idOf(visit, "template"), idOf(visit, "variant"))

/** Names that the editor suggests. */
const hintsOf = Effect.fnUntraced(function* (services: Services, visit: Visit, of: Template) {
  const days = yield* Effect.orDie(services.attributes.read(visit.org.slug, of.id))
  const attributes = new Set([
    ...days.flatMap(({ keys }) => keys.map(([name]) => name)),
    ...of.variants.flatMap(({ targeting }) => targeting.map(({ attribute }) => attribute)),
  ])
  return {
    nonce: SecureRandom.uuidV7Unsafe(),
    fields: { unsubscribe_url: "", ...sampleFields(of.variants.map(({ vars }) => vars)) },
    attributes: [...attributes].sort(),
  }
})

/** Says where changes go that need approval. */
const ApprovalNote = ({ proposal, visit: { org } }: {
  readonly proposal: number | undefined
  readonly visit: Visit
}) =>
  proposal !== undefined
    ? (
      <Note>
        You edit <a href={`/console/o/${org.slug}/reviews/${proposal}`}>your change that waits for approval</a>.
      </Note>
    )
    : org.template_approval === "none"
    ? null
    : <Note>A change of an active variant goes live once it is approved.</Note>

const editor = Effect.fnUntraced(function* (
  services: Services,
  visit: Visit,
  of: Template,
  stored: Variant | undefined,
  { draft, faults = [], look = lookOf(() => undefined), sample, test, unsaved = false }: {
    readonly draft: Draft
    /** The recipients of a test message, and its results once it was sent. */
    readonly test?: { readonly to: string; readonly sent: ReadonlyArray<TestSent> }
    readonly sample?: Sample
    readonly look?: PreviewLook
    readonly faults?: ReadonlyArray<Fault>
    readonly unsaved?: boolean
  },
) {
  const hints = yield* hintsOf(services, visit, of)
  const used = sample ?? samplesOf(of)
  const path = stored === undefined ? `${home(visit)}/new-variant` : here(visit)
  const title = stored === undefined ? "New variant" : stored.name
  const query = new URLSearchParams({ ...used })
  return {
    title,
    styleNonce: hints.nonce,
    body: (
      <>
        <PageHead
          title={title}
          back={{ href: home(visit), label: of.name }}
          lead={stored === undefined ? `A variant of ${of.name}.` : (
            <>
              Variant <code>{stored.id}</code> of {of.name}.
            </>
          )}
        />
        {unsaved ? <Note kind="warn">Not saved yet.</Note> : null}
        <ApprovalNote proposal={(yield* working(services, visit)).proposal} visit={visit} />
        {test === undefined ? null : <TestNote sent={test.sent} />}
        <DraftNote warning={draftWarning(services.connections, visit.org.slug, draft)} />
        <VariantEditor
          draft={draft}
          faults={faults}
          sample={used}
          look={look}
          hints={hints}
          csrf={visit.session.csrfToken}
          isNew={stored === undefined}
          save={path}
          again={`${path}/draft`}
          preview={`${home(visit)}/preview`}
          back={home(visit)}
          testTo={visit.can("sendVariantTest") ? test?.to ?? visit.session.account.email : undefined}
          timeZone={visit.org.time_zone}
          {...(stored !== undefined && !unsaved && faults.length === 0
            ? { stored: `${here(visit)}/preview?${query}` }
            : {})}
        />
        <script type="module" src={assets.editor}></script>
        <script type="module" src={assets.templates}></script>
      </>
    ),
  }
})

/** The variant as it is, for those who may not change it. */
const shown = (visit: Visit, of: Template, stored: Variant) => ({
  title: stored.name,
  body: (
    <>
      <PageHead
        title={stored.name}
        back={{ href: home(visit), label: of.name }}
        lead={`Read-only: your role (${visit.role}) cannot change variants.`}
      />
      <Card title="Content">
        <div class="stack">
          {Object.entries(stored.vars).map(([name, source]) => (
            <div class="stack tight">
              <h3>
                {name} <Badge>{stored.formats[name] ?? "text"}</Badge>
              </h3>
              <pre tabIndex={0}>{source}</pre>
            </div>
          ))}
        </div>
      </Card>
      <Card title="Audience and schedule">
        <ul class="plain-list">
          <li>{stored.active ? "Active." : "Inactive."}</li>
          {stored.targeting.length === 0 ? <li>For everyone.</li> : null}
          {stored.targeting.map((condition) => <li>{conditionText(condition)}</li>)}
          {stored.seasons.length === 0 ? <li>Always.</li> : null}
          {stored.seasons.map((season) => <li>{seasonText(season)}</li>)}
          {Object.entries(stored.components).map(([kind, value]) => <li>Made of {kind}: {value}</li>)}
        </ul>
      </Card>
      <Card title="Preview">
        <div class="frame-holder">
          <iframe
            title="Preview"
            sandbox="allow-same-origin"
            src={`${here(visit)}/preview?${new URLSearchParams({ ...samplesOf(of) })}`}
          >
          </iframe>
        </div>
      </Card>
    </>
  ),
})

const sent = (
  services: Services,
  visit: Visit,
  of: Template,
  stored: Variant | undefined,
  fields: Fields,
  faults: ReadonlyArray<Fault>,
) =>
  editor(services, visit, of, stored, {
    // After the warning about a concurrent save, the next save overwrites.
    draft: faults.some(({ pointer }) => pointer === "")
      ? { ...ofFields(fields), base: stored?.updated_at ?? "" }
      : ofFields(fields),
    sample: sampleOf((name) => fields[name], samplesOf(of)),
    look: lookOf((name) => fields[name]),
    ...(fields["test_to"] === undefined ? {} : { test: { to: fields["test_to"], sent: [] } }),
    faults,
    unsaved: true,
  })

/** Faults of the form's shape with those of its Liquid, so that all are seen at once. */
const allFaults = Effect.fnUntraced(
  function* (services: Services, org: string, draft: Draft, faults: ReadonlyArray<Fault>) {
    const { formats, vars } = sourcesOf(draft)
    const liquid = yield* services.sources.check(org, { vars, formats }).pipe(
      Effect.as([]),
      Effect.catchTag(
        "LiquidFaults",
        (error) =>
          Effect.succeed(error.faults.map(({ column, line, message, variable }) => ({
            pointer: `/vars/${variable.replaceAll("~", "~0").replaceAll("/", "~1")}`,
            detail: `line ${line}, column ${column}: ${message}`,
          }))),
      ),
    )
    return new InvalidInput({ faults: [...faults, ...placed(draft, liquid)] })
  },
)

/** The draft to create: with an id made from its name where none is written, and active if the button says so. */
const toCreate = Effect.fnUntraced(function* (services: Services, visit: Visit, fields: Fields) {
  const draft = ofFields(fields)
  const active = draft.active || fields["do"] === "activate"
  return { ...draft, active, id: newIdOf(draft, yield* template(services, visit)) ?? "" }
})

const add = Effect.fnUntraced(function* (services: Services, visit: Visit, fields: Fields) {
  const draft = yield* toCreate(services, visit, fields)
  const shaped = read(draft)
  const input = Result.flatMap(
    shaped,
    (patch) => decodeInput({ ...patch, ...(draft.id === "" ? {} : { id: draft.id }) }),
  )
  if (Result.isFailure(input)) return yield* yield* allFaults(services, visit.org.slug, draft, input.failure)
  const made = yield* services.templates.createVariant(visit.org.slug, idOf(visit, "template"), input.success).pipe(
    Effect.catchTags({
      AlreadyExists: () => new InvalidInput({ faults: [{ pointer: "/id", detail: "is taken: choose another" }] }),
      InvalidInput: ({ faults }) => new InvalidInput({ faults: placed(draft, faults) }),
    }),
  )
  return { to: `${home(visit)}?at=${encodeURIComponent(made.id)}`, done: "variant-created" }
})

const save = Effect.fnUntraced(function* (services: Services, visit: Visit, fields: Fields) {
  const draft = ofFields(fields)
  const patch = read(draft)
  if (Result.isFailure(patch)) return yield* yield* allFaults(services, visit.org.slug, draft, patch.failure)
  const before = yield* variant(services, visit)
  if (draft.base !== before.updated_at) {
    return yield* new InvalidInput({
      faults: [{
        pointer: "",
        detail:
          "Someone else saved this variant after you opened it. This form shows your version: save again to overwrite " +
          "theirs, or reopen the variant to see theirs.",
      }],
    })
  }
  yield* services.templates.updateVariant(visit.org.slug, idOf(visit, "template"), before.id, patch.success).pipe(
    Effect.catchTag("InvalidInput", ({ faults }) => new InvalidInput({ faults: placed(draft, faults) })),
  )
  return { to: here(visit), done: "variant-saved" }
})

const change = Effect.fnUntraced(function* (services: Services, visit: Visit) {
  const of = yield* template(services, visit)
  const stored = yield* variant(services, visit)
  return visit.can("updateVariant")
    ? yield* editor(services, visit, of, stored, { draft: ofVariant(stored) })
    : shown(visit, of, stored)
})

const draftAction = (services: Services, visit: Visit, fields: Fields) =>
  Effect.flatMap(template(services, visit), (of) =>
    editor(services, visit, of, undefined, {
      draft: changed(ofFields(fields), fields["do"] ?? ""),
      look: lookOf((name) => fields[name]),
      sample: sampleOf((name) => fields[name], samplesOf(of)),
      unsaved: true,
    }))

const variantsDraftAction = Effect.fnUntraced(function* (services: Services, visit: Visit, fields: Fields) {
  const draft = ofFields(fields)
  return yield* editor(services, visit, yield* template(services, visit), yield* variant(services, visit), {
    draft: changed(draft, fields["do"] ?? ""),
    look: lookOf((name) => fields[name]),
    sample: sampleOf((name) => fields[name], { fields: "{}", attrs: "{}", at: "" }),
    unsaved: true,
  })
})

/** Sends the text of the form as a test, and shows the form again as it is. */
const testAction = Effect.fnUntraced(function* (
  services: Services,
  visit: Visit,
  stored: Variant | undefined,
  fields: Fields,
) {
  const of = yield* template(services, visit)
  const draft = ofFields(fields)
  const sample = sampleOf((name) => fields[name], samplesOf(of))
  const to = fields["test_to"] ?? ""
  const sent = yield* sendTest(services, visit, of.id, { ...draft, id: stored?.id ?? "" }, sample, to)
  return yield* editor(services, visit, of, stored, {
    draft,
    sample,
    look: lookOf((name) => fields[name]),
    test: { to, sent },
    unsaved: stored === undefined || !isDeepStrictEqual({ ...ofVariant(stored), id: "" }, { ...draft, id: "" }),
  })
})

const stateAction = Effect.fnUntraced(function* (services: Services, visit: Visit, fields: Fields) {
  const active = fields["active"] === "true"
  const { id } = yield* services.templates.updateVariant(
    visit.org.slug,
    idOf(visit, "template"),
    idOf(visit, "variant"),
    {
      active,
    },
  )
  return {
    to: `${home(visit)}?at=${encodeURIComponent(id)}`,
    done: active ? "variant-on" : "variant-off",
  }
})

const duplicateAction = Effect.fnUntraced(function* (services: Services, visit: Visit) {
  const { components, formats, name, seasons, targeting, vars } = yield* variant(services, visit)
  const made = yield* services.templates.createVariant(visit.org.slug, idOf(visit, "template"), {
    name: `Copy of ${name}`.slice(0, 200),
    vars,
    formats,
    targeting,
    seasons,
    components,
    active: false,
  })
  return { to: variantPath(visit.org.slug, idOf(visit, "template"), made.id), done: "variant-duplicated" }
})

const deletePage = Effect.fnUntraced(function* (services: Services, visit: Visit) {
  const of = yield* template(services, visit)
  const { active, name } = yield* variant(services, visit)
  return {
    title: "Delete a variant",
    body: (
      <>
        <PageHead title={`Delete ${name}?`} back={{ href: home(visit), label: of.name }} />
        <Confirm
          action={`${here(visit)}/delete`}
          csrf={visit.session.csrfToken}
          back={home(visit)}
          button="Delete the variant"
        >
          <p>
            Its content cannot be restored. Past decisions and its results are kept.{" "}
            {active ? " It is active: its audience will get the other variants." : ""}
          </p>
          <p class="muted">To keep it for later, deactivate it instead.</p>
        </Confirm>
      </>
    ),
  }
})

/** Writing, copying, switching and removing variants. */
export const layer = HttpRouter.use(Effect.fnUntraced(function* (router) {
  const { action, page } = yield* Console
  const services: Services = {
    attributes: yield* AttributeStatistics,
    connections: yield* Connections,
    memberships: yield* Memberships,
    tests: yield* TestMessages,
    sources: yield* SourceCheck,
    proposals: yield* Proposals,
    templates: yield* Templates,
  }

  yield* router.addAll([
    page(
      "/console/o/:org/templates/:template/new-variant",
      "createVariant",
      (visit) =>
        Effect.flatMap(
          template(services, visit),
          (of) => editor(services, visit, of, undefined, { draft: blankOf(of) }),
        ),
    ),
    action(
      "/console/o/:org/templates/:template/new-variant",
      "createVariant",
      (visit, fields) => add(services, visit, fields),
      (visit, fields, faults) =>
        Effect.flatMap(template(services, visit), (of) => sent(services, visit, of, undefined, fields, faults)),
    ),
    // Shows the form again with a row more or less; nothing is changed, hence the rule of the preview.
    action(
      "/console/o/:org/templates/:template/new-variant/draft",
      "preview",
      (visit, fields) => draftAction(services, visit, fields),
    ),
    page("/console/o/:org/templates/:template/variants/:variant", "getVariant", (visit) => change(services, visit)),
    action(
      "/console/o/:org/templates/:template/variants/:variant",
      "updateVariant",
      (visit, fields) => save(services, visit, fields),
      (visit, fields, faults) =>
        Effect.gen(function* () {
          return yield* sent(
            services,
            visit,
            yield* template(services, visit),
            yield* variant(services, visit),
            fields,
            faults,
          )
        }),
    ),
    action(
      "/console/o/:org/templates/:template/variants/:variant/draft",
      "preview",
      (visit, fields) => variantsDraftAction(services, visit, fields),
    ),
    action(
      "/console/o/:org/templates/:template/new-variant/test",
      "sendVariantTest",
      (visit, fields) => testAction(services, visit, undefined, fields),
      (visit, fields, faults) =>
        Effect.flatMap(template(services, visit), (of) => sent(services, visit, of, undefined, fields, faults)),
    ),
    action(
      "/console/o/:org/templates/:template/variants/:variant/test",
      "sendVariantTest",
      (visit, fields) =>
        Effect.flatMap(variant(services, visit), (stored) => testAction(services, visit, stored, fields)),
      (visit, fields, faults) =>
        Effect.flatMap(
          Effect.all([template(services, visit), variant(services, visit)]),
          ([of, stored]) => sent(services, visit, of, stored, fields, faults),
        ),
    ),
    action(
      "/console/o/:org/templates/:template/variants/:variant/state",
      "updateVariant",
      (visit, fields) => stateAction(services, visit, fields),
    ),
    action(
      "/console/o/:org/templates/:template/variants/:variant/duplicate",
      "createVariant",
      (visit) => duplicateAction(services, visit),
    ),
    page(
      "/console/o/:org/templates/:template/variants/:variant/delete",
      "deleteVariant",
      (visit) => deletePage(services, visit),
    ),
    action(
      "/console/o/:org/templates/:template/variants/:variant/delete",
      "deleteVariant",
      Effect.fnUntraced(function* (visit) {
        yield* services.templates.removeVariant(visit.org.slug, idOf(visit, "template"), idOf(visit, "variant"))
        return { to: home(visit), done: "variant-deleted" }
      }),
    ),
  ])
}))
