import { Clock, Effect, Layer } from "effect"
import { Audit } from "../../../accounts/Audit.ts"
import { actionOf } from "../../../accounts/SecurityTally.ts"
import { hourMillis } from "../../../bandit/Window.ts"
import { SessionCookie } from "../../../accounts/SessionCookie.ts"
import { type Fault, InvalidInput, SourceNotFound } from "../../../domain/Errors.ts"
import * as Json from "../../../json/Json.ts"
import type { SourceId } from "../../../domain/Source.ts"
import { EventHistory } from "../../../journal/events/EventHistory.ts"
import { mailSource } from "../../../domain/Source.ts"
import { Inbox } from "../../../journal/inbox/Inbox.ts"
import { Timelines } from "../../../people/Timelines.ts"
import { type SourceInput, WebhookSources } from "../../../intake/WebhookSources.ts"
import { t, translated } from "../../../languages/Language.ts"
import { TemplateIndex } from "../../../templates/TemplateIndex.ts"
import { Card } from "../../components/Card.tsx"
import { askFirst } from "../../components/AskFirst.tsx"
import { Field } from "../../components/Field.tsx"
import { Form, PostButton, Submit } from "../../components/Form.tsx"
import { ErrorSummary, Note } from "../../components/Note.tsx"
import { TextAreaField } from "../../components/TextAreaField.tsx"
import { Time } from "../../components/Time.tsx"
import { MenuLink, MenuPost, RowMenu } from "../../components/RowMenu.tsx"
import { pages } from "../../Pages.ts"
import { view } from "../../View.tsx"
import type { Fields, Visit } from "../../Routes.tsx"
import { namesFor } from "../delivery/DeliveryTable.tsx"
import * as DryRunPages from "./DryRunPages.tsx"
import { LiveScript } from "../../components/Live.tsx"
import { SetupCard } from "./FirstEvent.tsx"
import * as InboxPages from "./InboxPages.tsx"
import { mailTitle } from "./InboxPages.tsx"
import { RecentEvents } from "./RecentEvents.tsx"
import { conversionsWords, mappingWords, sourceForms } from "./SourceForms.ts"
import { sourceOf, sourcesPath } from "./SourcePath.ts"
import { SourceBadge, sourceIds, type SourceState, SourceStats, SourceUrl } from "./SourceViews.tsx"

const shownEvents = 15

const linesOf = (text: string): ReadonlyArray<string> =>
  text.split("\n").map((line) => line.trim()).filter((line) => line !== "")

/** The input in the form of a source. Fails with `InvalidInput` when the mapping is not JSON. */
const inputOf = (sourceId: SourceId, sent: Fields): Effect.Effect<SourceInput, InvalidInput> =>
  Effect.gen(function* () {
    const form = sourceForms[sourceId]
    const settings: Record<string, unknown> = {
      ...form.settings.read(sent)["settings"] as object | undefined,
    }
    const conversions = linesOf(sent["conversions"] ?? "")
    if (conversions.length > 0) settings["conversions"] = conversions
    const mapping = sent["mapping"] ?? ""
    if (mapping.trim() !== "") {
      settings["mapping"] = yield* Effect.try({
        try: (): unknown => Json.parse(mapping),
        catch: (cause) => new InvalidInput({ faults: [{ pointer: "/settings/mapping", detail: Json.explain(cause) }] }),
      })
    }
    const secret = (sent["secret"] ?? "").trim()
    return { settings, enabled: true, ...(secret === "" ? {} : { secret }) }
  })

const labels = (sourceId: SourceId) => ({
  secret: sourceForms[sourceId].secret.label,
  conversions: conversionsWords.label,
  mapping: mappingWords.label,
  ...sourceForms[sourceId].settings.labels,
})

/** Faults at the fields of the form. */
const placed = (sourceId: SourceId, faults: ReadonlyArray<Fault>): ReadonlyArray<Fault> =>
  sourceForms[sourceId].settings.placed(faults).map((fault) => {
    const [, own, ...inside] = /^\/settings\/(conversions|mapping)(.*)$/.exec(fault.pointer) ?? []
    return own === undefined
      ? fault
      : { pointer: `/${own}`, detail: `${inside.join("") === "" ? "" : t`at ${inside.join("")} `}${fault.detail}` }
  })

/** The address of a source, by its id. */
const addresses = ({ org, request }: Visit) =>
  SessionCookie.useSync((cookie) => (sourceId: SourceId) =>
    `${cookie.originOf(request)}/api/webhook/${sourceId}/${org.slug}`
  )

const states = Effect.fnUntraced(function* ({ org }: Visit) {
  const setups = yield* (yield* WebhookSources).list(org.slug)
  const activities = yield* (yield* EventHistory).activity(org.slug)
  return sourceIds.map((sourceId): SourceState => ({
    sourceId,
    setup: setups.find((one) => one.sourceId === sourceId),
    activity: activities.find(({ source }) => source === sourceId),
  }))
})

const stateOf = (visit: Visit, sourceId: SourceId) =>
  Effect.map(states(visit), (all) => all.find((one) => one.sourceId === sourceId)!)

const isInUse = ({ activity, setup }: SourceState) => setup !== undefined || activity !== undefined

const list = Effect.fnUntraced(function* (visit: Visit) {
  const at = sourcesPath(visit)
  const all = yield* states(visit)
  const urlOf = yield* addresses(visit)
  return view(
    {
      title: t`Webhook sources`,
      lead: t`Platforms and your own code report opens, clicks and conversions here. Parlance learns from them
        which variant works best.`,
      actions: <a class="button" href={`${at}/events/dry-run`}>{t`Try a mapping`}</a>,
    },
    <div class="source-list">
      {all.toSorted((a, b) => Number(isInUse(b)) - Number(isInUse(a))).map((state) => {
        const { sourceId } = state
        const { title } = sourceForms[sourceId]
        return (
          <Card stacked>
            <div class="source-head">
              <h2>
                <a href={`${at}/${sourceId}`}>{title}</a>
              </h2>
              <SourceBadge {...state} />
              <span class="buttons push">
                <a class="button compact" href={`${at}/${sourceId}/inbox`} aria-label={t`Inbox of ${title}`}>
                  {t`Inbox`}
                </a>
                <a class="button compact" href={`${at}/${sourceId}`}>
                  {state.setup === undefined && visit.can("putSource") && sourceId !== "provider_e"
                    ? t`Set up`
                    : t`Open`}
                  <span class="visually-hidden">{` ${title}`}</span>
                </a>
                {state.setup !== undefined && visit.can("putSource") && (
                  <RowMenu label={t`Actions for ${title}`}>
                    {state.setup.enabled
                      ? <MenuPost to={`${at}/${sourceId}/disable`}>{t`Disable`}</MenuPost>
                      : <MenuPost to={`${at}/${sourceId}/enable`}>{t`Enable`}</MenuPost>}
                    <MenuLink href={`${at}/${sourceId}/remove`} danger>{t`Delete`}</MenuLink>
                  </RowMenu>
                )}
              </span>
            </div>
            <div class="source-body">
              <SourceUrl sourceId={sourceId} url={urlOf(sourceId)} label={t`Address for ${title}`} />
              {state.setup === undefined && state.activity === undefined
                ? (
                  <p class="muted small">
                    {sourceId === "events"
                      ? t`Nothing in the last 24 hours. Send an event with an API key with the scope events.`
                      : sourceId === "provider_e"
                      ? t`Set up on the command line.`
                      : t`Not set up: requests to this address are refused.`}
                  </p>
                )
                : (
                  <div>
                    <SourceStats activity={state.activity} zone={visit.org.time_zone} />
                  </div>
                )}
            </div>
          </Card>
        )
      })}
      <Card stacked>
        <div class="source-head">
          <h2>{translated(mailTitle)}</h2>
          <span class="buttons push">
            <a
              class="button compact"
              href={`${at}/${mailSource}/inbox`}
              aria-label={t`Inbox of ${translated(mailTitle)}`}
            >
              {t`Inbox`}
            </a>
          </span>
        </div>
        <p class="muted small">
          {t`Reports from mail servers about messages of SMTP connections with a domain for bounces.`}
        </p>
      </Card>
    </div>,
  )
})

const valuesOf = ({ sourceId, setup }: SourceState): Fields => {
  const settings = setup?.settings ?? {}
  const { conversions, mapping } = settings as { readonly conversions?: unknown; readonly mapping?: unknown }
  return {
    ...sourceForms[sourceId].settings.valuesOf({ settings }),
    conversions: Array.isArray(conversions) ? conversions.join("\n") : "",
    mapping: mapping === undefined ? "" : JSON.stringify(mapping, null, 2),
  }
}

/** How to set up a source whose key the platform issues only after the first request. */
const CommandLineSetup = ({ at, org }: { readonly at: string; readonly org: Visit["org"] }) => (
  <Card stacked title={t`Set up on the command line`}>
    <p>
      {t`An operator of this installation sets up this source in two steps, because Salesforce issues the key
        only after it has called the address. First:`}
    </p>
    <pre tabIndex={0} aria-label={t`First command`}>{`parlance --org ${org.slug} webhook set provider_e`}</pre>
    <p>
      {t`Then create the callback in Salesforce with the address above. Its handshake appears in the ${(
        <a href={`${at}/inbox?all=true`}>{t`inbox`}</a>
      )}.
        Check that its ${<code>callbackId</code>} is the one that Salesforce showed, and verify the callback in
        Salesforce with its ${(
        <code>verificationKey</code>
      )}. Finally, enter the signature key that Salesforce shows once:`}
    </p>
    <pre tabIndex={0} aria-label={t`Second command`}>
                    {`parlance --org ${org.slug} webhook set provider_e --secret-stdin < signature-key.txt`}
    </pre>
    <p class="muted small">
      {t`${<code>parlance webhook disable provider_e</code>} refuses its webhooks, ${(
        <code>parlance webhook remove provider_e</code>
      )} deletes its settings.`}
    </p>
  </Card>
)

const SetupForm = ({ at, faults, form, hasSecret, setup, values }: {
  readonly at: string
  readonly faults: ReadonlyArray<Fault>
  readonly form: (typeof sourceForms)[SourceId]
  readonly hasSecret: boolean
  readonly setup: SourceState["setup"]
  readonly values: Fields
}) => (
  <Card title={setup === undefined ? t`Set up` : t`Change`}>
    <Form action={at}>
      <Field
        name="secret"
        type="password"
        autocomplete="new-password"
        label={translated(form.secret.label)}
        required={!hasSecret && !form.isSecretOptional}
        faults={faults}
        hint={hasSecret
          ? t`Set, and never shown again. Leave empty to keep it. If you enter a new one, the old one stays valid
            for 24 hours.`
          : form.secret.hint === undefined
          ? t`It is stored encrypted and never shown again.`
          : translated(form.secret.hint)}
      />
      <form.settings.Fields values={values} faults={faults} />
      {form.conversions && (
        <TextAreaField
          name="conversions"
          label={translated(conversionsWords.label)}
          hint={translated(conversionsWords.hint)}
          rows={3}
          required={false}
          value={values["conversions"] ?? ""}
          faults={faults}
        />
      )}
      {form.mapping && (
        <TextAreaField
          name="mapping"
          label={translated(mappingWords.label)}
          hint={
            <>
              {t`${translated(mappingWords.hint)} ${<a href={`${at}/dry-run`}>{t`Try it on a sample`}</a>} first.`}
            </>
          }
          rows={10}
          required={false}
          code
          value={values["mapping"] ?? ""}
          faults={faults}
        />
      )}
      <div>
        <Submit>{setup === undefined ? t`Set up` : setup.enabled ? t`Save` : t`Save and enable`}</Submit>
      </div>
    </Form>
  </Card>
)

const StopCard = ({ at, setup }: { readonly at: string; readonly setup: NonNullable<SourceState["setup"]> }) => (
  <Card stacked title={t`Stop`}>
    <div class="buttons">
      {setup.enabled
        ? <PostButton to={`${at}/disable`}>{t`Disable`}</PostButton>
        : <PostButton to={`${at}/enable`}>{t`Enable`}</PostButton>}
      <a class="button danger" href={`${at}/remove`}>{t`Delete`}</a>
    </div>
    <p class="muted small">
      {t`A disabled source keeps its secrets and settings. Its webhooks are refused, and most platforms retry
        them later.`}
    </p>
  </Card>
)

const show = Effect.fnUntraced(function* (visit: Visit, sent?: Fields, found: ReadonlyArray<Fault> = []) {
  const { can, org } = visit
  const sourceId = yield* sourceOf(visit)
  const at = `${sourcesPath(visit)}/${sourceId}`
  const form = sourceForms[sourceId]
  const state = yield* stateOf(visit, sourceId)
  const { activity, setup } = state
  const events = yield* (yield* Timelines).recent(org.slug, sourceId, shownEvents)
  const served = events.flatMap(({ copyId, templateId }) =>
    templateId === null || copyId === null ? [] : [{ templateId, copyId }]
  )
  const names = yield* namesFor(yield* TemplateIndex, org, served)
  const faults = placed(sourceId, found)
  const values = sent ?? valuesOf(state)
  const old = setup?.secrets.find(({ acceptedUntil }) => acceptedUntil !== null)
  const hasSecret = (setup?.secrets.length ?? 0) > 0
  const mayChange = can("putSource")
  return view(
    {
      title: form.title,
      live: true,
      back: { href: sourcesPath(visit), label: t`Webhook sources` },
      lead: translated(form.about),
      actions: (
        <>
          <a class="button" href={`${at}/inbox`}>{t`Inbox`}</a>
          <a class="button" href={`${at}/dry-run`}>{sourceId === "events" ? t`Try a mapping` : t`Try a payload`}</a>
        </>
      ),
    },
    <ErrorSummary faults={faults} labels={labels(sourceId)} />,
    <Card stacked>
      <div class="source-head">
        <h2>{t`State`}</h2>
        <SourceBadge {...state} />
      </div>
      <div class="stack" data-live="stats">
        <SourceStats activity={activity} zone={org.time_zone} />
      </div>
      {old !== undefined && (
        <Note>
          {t`The secret was changed. The previous one is accepted until ${(
            <Time at={old.acceptedUntil!.toISOString()} zone={org.time_zone} />
          )}.`}
        </Note>
      )}
    </Card>,
    <SetupCard
      at={at}
      latest={yield* latestOf(visit, sourceId)}
      sourceId={sourceId}
      url={(yield* addresses(visit))(sourceId)}
      zone={org.time_zone}
    />,
    sourceId === "provider_e" ? <CommandLineSetup at={at} org={org} /> : mayChange
      ? (
        <SetupForm
          at={at}
          faults={faults}
          form={form}
          hasSecret={hasSecret}
          setup={setup}
          values={values}
        />
      )
      : setup === undefined
      ? <Note>{t`An admin of the organization can set this source up.`}</Note>
      : null,
    <Card kind="flush">
      <div data-live="events">
        <RecentEvents events={events} names={names} org={org} />
      </div>
    </Card>,
    setup !== undefined && sourceId !== "provider_e" && (can("putSource") || can("deleteSource")) && (
      <StopCard at={at} setup={setup} />
    ),
    <LiveScript />,
  )
})

/** The last body of a source, and refused requests of the last hour, which only admins see. */
const latestOf = Effect.fnUntraced(function* ({ can, org }: Visit, sourceId: SourceId) {
  const [body] = yield* (yield* Inbox).list(org.slug, sourceId, { cursor: undefined, limit: 1, all: true })
  const since = new Date((yield* Clock.currentTimeMillis) - hourMillis)
  const filter = { action: actionOf.bad_signature, subject: sourceId, since, limit: 1 }
  const [refused] = can("listAudit") ? yield* (yield* Audit).list(org.slug, filter) : []
  return { body, refused }
})

const switched = (enabled: boolean) =>
  Effect.fnUntraced(function* (visit: Visit) {
    const sourceId = yield* sourceOf(visit)
    // `put` would set up a source that is not set up, so only sources with a setup can be switched.
    if ((yield* stateOf(visit, sourceId)).setup === undefined) {
      return yield* new SourceNotFound({ id: sourceId })
    }
    yield* (yield* WebhookSources).put(visit.org.slug, sourceId, { enabled })
    const at = `${sourcesPath(visit)}/${sourceId}`
    const [done, reverse] = enabled ? ["source-enabled", "disable"] : ["source-disabled", "enable"]
    return { to: at, done, undo: { to: `${at}/${reverse}` } }
  })

const sourceAction = Effect.fnUntraced(function* (visit: Visit, sent: Fields) {
  const sourceId = yield* sourceOf(visit)
  yield* (yield* WebhookSources).put(visit.org.slug, sourceId, yield* inputOf(sourceId, sent))
  return { to: `${sourcesPath(visit)}/${sourceId}`, done: "source-saved" }
})

const removePage = Effect.fnUntraced(function* (visit: Visit) {
  const sourceId = yield* sourceOf(visit)
  if ((yield* stateOf(visit, sourceId)).setup === undefined) {
    return yield* new SourceNotFound({ id: sourceId })
  }
  const at = `${sourcesPath(visit)}/${sourceId}`
  const { title } = sourceForms[sourceId]
  return askFirst({
    title: t`Delete ${title}`,
    question: t`Delete ${title}?`,
    back: { href: at, label: title },
    button: t`Delete the source`,
    text: (
      <p>
        {t`Its secrets and settings are deleted, and its webhooks are refused from now on. Received events are
          kept and stay in results.`}
      </p>
    ),
  })
})

/** Webhook sources: where events come from. */
const own = pages(({ action, asks, page }) => [
  page("/console/o/:org/sources", "listSources", list),
  page("/console/o/:org/sources/:segment", "listSources", show),
  action("/console/o/:org/sources/:segment", "putSource", sourceAction, show),
  action("/console/o/:org/sources/:segment/disable", "putSource", switched(false)),
  action("/console/o/:org/sources/:segment/enable", "putSource", switched(true)),
  ...asks(
    "/console/o/:org/sources/:segment/remove",
    "deleteSource",
    removePage,
    Effect.fnUntraced(function* (visit) {
      yield* (yield* WebhookSources).remove(visit.org.slug, yield* sourceOf(visit))
      return { to: sourcesPath(visit), done: "source-removed" }
    }),
  ),
])

/** All pages of webhook sources. */
export const layer = Layer.mergeAll(own, InboxPages.layer, DryRunPages.layer)
