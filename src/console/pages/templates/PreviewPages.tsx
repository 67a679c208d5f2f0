import { Clock, Effect, Result, Schema } from "effect"
import { LocaleTag } from "../../../domain/Locale.ts"
import { type Preview, type PreviewRequest, Previews } from "../../../decide/Previews.ts"
import type { Attributes } from "../../../domain/Attributes.ts"
import { Connections } from "../../../delivery/Connections.ts"
import type { Message } from "../../../delivery/Connection.ts"
import { MailPreviews } from "../../../delivery/MailPreviews.ts"
import { type Fault, VariantNotFound } from "../../../domain/Errors.ts"
import * as Json from "../../../json/Json.ts"
import type { Organization } from "../../../domain/Organization.ts"
import { isHtml, renderedFormats, type VariantPatch } from "../../../domain/Template.ts"
import { t } from "../../../languages/Language.ts"
import * as LocalTime from "../../../templates/LocalTime.ts"
import * as Seasonality from "../../../templates/Seasonality.ts"
import { atVariables } from "../../../templates/ImportInput.ts"
import * as Targeting from "../../../templates/Targeting.ts"
import { Templates } from "../../../templates/Templates.ts"
import { TemplateCache } from "../../../templates/TemplateCache.ts"
import { Badge } from "../../components/Badge.tsx"
import { type Draft, ofVariant, placed, read, sourcesOf } from "../../../templates/VariantForm.ts"
import { conditionText, lookOf, ofFields, type PreviewLook, readSample, type Sample } from "./Draft.ts"
import { pages } from "../../Pages.ts"
import { framed, message, type PageRequest } from "../../RawRoutes.tsx"
import { opened } from "./EditorPage.tsx"
import { ChannelLengths, CompiledSizes, ContentWarnings, MailCard, NoMailNote, VariableTexts } from "./PreviewMail.tsx"
import { inTime, inWords, NotPreviewed, NotPreviewedNote, PagePatience } from "./PreviewInTime.tsx"
import { faultText } from "../../RetoldTexts.ts"
import { inputsOf, namesOf, SampleInputs, sampleOf } from "./SampleInputs.tsx"
import { matchesOf, VariantMatches } from "./PreviewVariants.tsx"
import { draftWarning } from "./SendNote.tsx"
import { seasonText } from "./Words.ts"
import { labelsOf } from "./VariantEditor.tsx"

// Previews of variants and their audience, shown in frames.

/** The JSON object in a query parameter, if it is one. */
const objectOf = (text: string | null): Readonly<Record<string, unknown>> => {
  try {
    const value: unknown = Json.parse(text ?? "{}")
    return value !== null && typeof value === "object" && !Array.isArray(value) ? value as Record<string, unknown> : {}
  } catch {
    return {}
  }
}

/** Whether a variant is for these attributes at this time, condition by condition. */
const Audience = ({ attrs, now, org, variant }: {
  readonly org: Organization
  readonly variant: Pick<Required<VariantPatch>, "targeting" | "seasons" | "active">
  readonly attrs: Attributes
  /** Unix milliseconds. */
  readonly now: number
}) => {
  const holds = (held: boolean) =>
    held ? <Badge kind="good">{t`match`}</Badge> : <Badge kind="bad">{t`no match`}</Badge>
  const eligible = variant.active && Targeting.compile(variant.targeting).holds(attrs) &&
    Seasonality.compile(variant.seasons, org.time_zone).holds(now)
  return (
    <section class="audience" aria-label={t`Who matches`}>
      <h2>
        {t`Who matches ${
          eligible ? <Badge kind="good">{t`gets this variant`}</Badge> : <Badge kind="warn">{t`does not get it`}</Badge>
        }`}
      </h2>
      {!variant.active && <p>{t`The variant is inactive, so it is not served.`}</p>}
      <h3>{t`Audience`}</h3>
      {variant.targeting.length === 0 ? <p class="muted">{t`No conditions: everyone matches.`}</p> : (
        <ul class="checks">
          {variant.targeting.map((condition) => (
            <li>
              {holds(Targeting.compile([condition]).holds(attrs))} <span>{conditionText(condition)}</span>
            </li>
          ))}
        </ul>
      )}
      <h3>{t`Schedule`}</h3>
      {variant.seasons.length === 0 ? <p class="muted">{t`No rules: always active.`}</p> : (
        <ul class="checks">
          {variant.seasons.map((season) => {
            const calendar = Seasonality.compile([season], org.time_zone)
            return (
              <li>
                {holds(calendar.holds(now))} <span>{seasonText(season)}</span>
              </li>
            )
          })}
        </ul>
      )}
    </section>
  )
}

const isLocale = Schema.is(LocaleTag)

/** A JSON text for the sample where nothing was given. */
const noSample: Sample = { fields: "{}", attrs: "{}", at: "" }

/** The rendered variables with warnings, and faults of the others, at their controls. */
const rendered = Effect.fnUntraced(
  function* (
    org: Organization,
    template: string,
    draft: Draft,
    sample: Pick<PreviewRequest, "attrs" | "fields" | "locale">,
  ) {
    const previews = yield* Previews
    const { formats, locales, vars } = sourcesOf(draft)
    const show = (ask: PreviewRequest) =>
      Effect.map(
        previews.preview(org.slug, template, ask),
        (preview): { readonly preview: Preview | undefined; readonly faults: ReadonlyArray<Fault> } => ({
          preview,
          faults: [],
        }),
      ).pipe(
        Effect.catchTags({
          InvalidInput: ({ faults }) => Effect.succeed({ preview: undefined, faults }),
          NotRendered: ({ faults }) =>
            Effect.succeed({
              preview: undefined,
              faults: faults.map(({ detail, variable }): Fault => ({
                pointer: `/vars/${variable.replaceAll("~", "~0").replaceAll("/", "~1")}`,
                detail,
              })),
            }),
        }),
      )
    const ask: PreviewRequest = { vars, formats, locales, copyId: undefined, showsBlocks: true, ...sample }
    const first = yield* show(ask)
    const shownOf = ({ preview }: { readonly preview: Preview | undefined }) => ({
      vars: preview?.vars ?? {},
      dir: preview?.dir ?? "ltr",
      checks: preview?.checks ?? [],
      compiled: preview?.compiled ?? {},
      marked: { ...preview?.vars, ...preview?.marked },
      missing: preview?.missing ?? [],
      warnings: placed(draft, atVariables(preview?.warnings ?? [])),
    })
    if (first.faults.length === 0) return { ...shownOf(first), faults: [] }
    // The variables without a fault are shown.
    const faulty = new Set(
      first.faults.map(({ pointer }) =>
        pointer.replace(/^\/(?:vars|locales\/[^/]*)\//, "").replaceAll("~1", "/").replaceAll("~0", "~")
      ),
    )
    const rest = Object.fromEntries(Object.entries(vars).filter(([name]) => !faulty.has(name)))
    const kept = Object.fromEntries(Object.entries(formats).filter(([name]) => !faulty.has(name)))
    const translated = Object.entries(locales).map(([tag, texts]) =>
      [tag, Object.fromEntries(Object.entries(texts).filter(([name]) => !faulty.has(name)))] as const
    )
    const second = yield* show({ ...ask, vars: rest, formats: kept, locales: Object.fromEntries(translated) })
    return { ...shownOf(second), faults: placed(draft, first.faults) }
  },
)

/** A message in place of one that was not rendered. */
const notRendered = (reason: string): string =>
  `<p style="font:14px sans-serif">${t`Not rendered: ${reason.replaceAll("&", "&amp;").replaceAll("<", "&lt;")}`}</p>`

/** The e-mail made of the variables, or the reason why it cannot be shown. */
const mailOf = (org: Organization, template: string, content: Pick<Message, "formats" | "vars">) =>
  Effect.flatMap(
    PagePatience,
    (patience) =>
      MailPreviews.use((mails) => mails.preview(org.slug, template, content)).pipe(
        Effect.timeoutOrElse({
          duration: patience,
          orElse: () =>
            Effect.succeed({ reason: t`The message was not composed within ${inWords(patience)}. Preview it again.` }),
        }),
      ),
  )

const preview = Effect.fnUntraced(
  function* (
    { org, request }: Pick<PageRequest, "org" | "request">,
    template: string,
    draft: Draft,
    sample: Sample,
    look: PreviewLook,
  ) {
    const connections = yield* Connections
    const given = readSample(sample)
    const { attrs, at, fields } = Result.isSuccess(given)
      ? given.success
      : { attrs: new Map<string, ReadonlyArray<string>>(), at: undefined, fields: {} }
    const shown = yield* inTime(rendered(org, template, draft, {
      fields,
      attrs,
      locale: isLocale(look.locale) ? look.locale : undefined,
    }))
    const isMissing = shown instanceof NotPreviewed
    const { checks, compiled, dir, faults, marked, missing, warnings } = isMissing
      ? { checks: [], compiled: {}, dir: "ltr" as const, faults: [], marked: {}, missing: [], warnings: [] }
      : shown
    const inputs = inputsOf(draft, sample, missing)
    const formats = renderedFormats(sourcesOf(draft).formats)
    const mail = isMissing ? undefined : yield* mailOf(org, template, { vars: marked, formats })
    // The name does not change the preview.
    const variant = read({ ...draft, name: "preview" })
    const shaped = Result.isFailure(variant) ? variant.failure : []
    const all = [...(Result.isFailure(given) ? given.failure : []), ...faults, ...shaped]
    const clock = yield* Clock.currentTimeMillis
    const now = at === undefined ? clock : Seasonality.instantOf(at, LocalTime.of(org.time_zone))
    const view = (yield* TemplateCache).template(org.slug, template)
    const subject = isMissing ? undefined : connections.active(org.slug)?.variables?.subject ?? "subject"
    const matches = view === undefined ? [] : yield* matchesOf(yield* Previews, view, subject, { attrs, fields, now })
    const labels: Readonly<Record<string, string>> = {
      ...labelsOf(draft, connections.active(org.slug)?.variables ?? {}),
      fields: t`Sample fields`,
      attrs: t`Sample attributes`,
      at: t`Sample time`,
    }
    return (
      <main class="preview" data-warning={draftWarning(connections, org.slug, draft)}>
        <h1 class="visually-hidden">{t`Preview`}</h1>
        {all.length !== 0 && (
          <div class="note bad">
            <ul>
              {all.map((fault) => (
                <li data-fault={fault.pointer.slice(1)} data-detail={faultText(fault.detail)}>
                  {labels[fault.pointer.slice(1)] ?? t`This variant`}: {faultText(fault.detail)}
                </li>
              ))}
            </ul>
          </div>
        )}
        <ContentWarnings labels={labels} warnings={warnings} />
        <ChannelLengths checks={checks} />
        <CompiledSizes compiled={compiled} />
        {isMissing && <NotPreviewedNote {...shown} retry={request.method === "GET" ? request.url : undefined} />}
        {mail !== undefined &&
          ("reason" in mail ? <NoMailNote reason={mail.reason} /> : (
            <MailCard
              mail={mail}
              look={look}
              dir={dir}
              missing={missing}
              blocksOf={mail.variables.find((name) => Object.hasOwn(compiled, name))}
            />
          ))}
        <VariableTexts
          vars={marked}
          formats={formats}
          dir={dir}
          isShown={(name) => mail === undefined || "reason" in mail || !mail.variables.includes(name)}
        />
        {Result.isSuccess(variant)
          ? <Audience org={org} variant={variant.success} attrs={attrs} now={now} />
          : <p class="muted">{t`Fix the form to see who matches.`}</p>}
        {matches.length !== 0 && <VariantMatches matches={matches} />}
        <template data-samples={namesOf(inputs)}>
          <SampleInputs inputs={inputs} sample={sample} />
        </template>
      </main>
    )
  },
)

const stored = Effect.fnUntraced(function* (org: Organization, params: Readonly<Record<string, string | undefined>>) {
  return yield* (yield* Templates).getVariant(
    org.slug,
    params["template"] ?? "",
    params["variant"] ?? "",
  )
})

/** The previews of variants. */
export const layer = pages(({ route }) => [
  route(
    "GET",
    "/console/o/:org/templates/:template/variants/:variant/preview",
    "preview",
    (ask) =>
      Effect.gen(function* () {
        const { params, query, request } = ask
        const { stored: shown } = yield* opened(ask)
        if (shown === undefined) return yield* new VariantNotFound({ id: "" })
        const draft = ofVariant(shown)
        const sample = sampleOf((name) => query.get(name), noSample)
        return framed(
          request,
          t`Preview`,
          yield* preview(ask, params["template"] ?? "", draft, sample, lookOf((name) => query.get(name))),
        )
      }),
  ),
  route("POST", "/console/o/:org/templates/:template/preview", "preview", (ask) =>
    Effect.gen(function* () {
      const { fields, params, request } = ask
      const sample = sampleOf((name) => fields[name], noSample)
      const look = lookOf((name) => fields[name])
      const body = yield* preview(ask, params["template"] ?? "", ofFields(fields), sample, look)
      return framed(request, t`Preview`, body)
    })),
  // One html variable of a stored variant, as a recipient sees it.
  route(
    "GET",
    "/console/o/:org/templates/:template/variants/:variant/message",
    "preview",
    (ask) =>
      Effect.gen(function* () {
        const { org, params, query } = ask
        const { formats, id, vars } = yield* stored(org, params)
        const name = query.get("name") ?? ""
        if (!Object.hasOwn(vars, name) || !isHtml(formats, name)) return yield* new VariantNotFound({ id })
        const rendered = yield* inTime(
          (yield* Previews).render(org.slug, [{ vars: { [name]: vars[name]! }, formats }], {
            fields: JSON.stringify(objectOf(query.get("fields"))),
            strict: (yield* TemplateCache).template(org.slug, params["template"] ?? "")?.strict ?? false,
            timeZone: org.time_zone,
          }),
        )
        if (rendered instanceof NotPreviewed) {
          const retry = `<p style="font:14px sans-serif"><a href="">${t`Try again`}</a></p>`
          return message(notRendered(rendered.reason) + retry)
        }
        const [shown] = rendered
        return message(
          "vars" in shown! ? shown.vars[name]! : notRendered(shown!.faults.map(({ message }) => message).join("; ")),
        )
      }),
  ),
])
