import { Effect } from "effect"
import { decoder } from "../../../domain/Faults.ts"
import type { OrgSlug } from "../../../domain/Ids.ts"
import { nothing } from "../../../domain/SendNothing.ts"
import type { Variant } from "../../../domain/Template.ts"
import { VariantSwitch } from "../../../domain/TemplateSwitches.ts"
import { KeptResults } from "../../../results/KeptResults.ts"
import type { TemplateResults } from "../../../results/TemplateResults.ts"
import type { TemplateOutline } from "../../../templates/TemplateContent.ts"
import { Templates } from "../../../templates/Templates.ts"
import { loserRule } from "../../../results/Losers.ts"
import { rateName } from "../../../results/ObjectiveText.ts"
import { stoppingRule } from "../../../bandit/Verdict.ts"
import { t } from "../../../languages/Language.ts"
import { count, counted, percent, rateFormat } from "../../Format.ts"
import { Card } from "../../components/Card.tsx"
import { Empty } from "../../components/Empty.tsx"
import { Form, Submit } from "../../components/Form.tsx"
import { Note } from "../../components/Note.tsx"
import { Table } from "../../components/Table.tsx"
import { Time } from "../../components/Time.tsx"
import { pages } from "../../Pages.ts"
import { view } from "../../View.tsx"
import { decoded, type Fields, type Goto, type Visit } from "../../Routes.tsx"
import { sortedVariants } from "./Variants.tsx"
import { isPersonal, list, preferenceTexts, shipLabel, shippingText, shownVerdict, waitText } from "./Words.ts"

// Giving all traffic to one variant and stopping losers: each asks once, says what will happen, and can be undone on the results page.

/** Most characters of the ids that the link back to the results carries, so that the page names the variants. */
const mostNamed = 1_500

const pathsOf = (org: string, template: string) => {
  const base = `/console/o/${org}/templates/${encodeURIComponent(template)}`
  return { base, results: `${base}/results` }
}

const read = ({ org, params }: Visit) =>
  Templates.use((templates) => templates.outline(org.slug, params["template"] ?? ""))

/** The results page with the change, which its message can undo. */
const backTo = (
  path: string,
  done: string,
  changed: { readonly activated: ReadonlyArray<string>; readonly deactivated: ReadonlyArray<string> },
): Goto => {
  const query = new URLSearchParams([
    ...changed.deactivated.map((id) => ["activate", id]),
    ...changed.activated.map((id) => ["deactivate", id]),
  ])
  return {
    to: query.size === 0 || `${query}`.length > mostNamed ? path : `${path}?${query}`,
    done,
    undo: { to: `${path}/undo`, fields: { activate: changed.deactivated, deactivate: changed.activated } },
  }
}

/** The change made a moment ago. Empty for other visits. */
export const SwitchNote = ({ template, visit }: {
  readonly template: { readonly variants: ReadonlyArray<Pick<Variant, "active" | "id" | "name">> }
  readonly visit: Visit
}) => {
  const { can, query } = visit
  const known = new Map(template.variants.map((variant) => [variant.id as string, variant]))
  // Variants that somebody has switched since are not named.
  const activate = query.getAll("activate").filter((id) => known.get(id)?.active === false)
  const deactivate = query.getAll("deactivate").filter((id) => known.get(id)?.active === true)
  if (!can("switchVariants") || activate.length + deactivate.length === 0) return null
  const names = (ids: ReadonlyArray<string>) =>
    ids.length > 5 ? counted(ids.length, "variant") : list(ids.map((id) => known.get(id)!.name))
  return (
    <Note>
      <p dir="auto">
        {[
          ...(activate.length === 0 ? [] : [t`Now inactive: ${names(activate)}.`]),
          ...(deactivate.length === 0 ? [] : [t`Now active: ${names(deactivate)}.`]),
          t`The history of the template has this change.`,
        ].join(" ")}
      </p>
    </Note>
  )
}

const decodeSwitch = decoder(VariantSwitch)

/** The ids of a field that a form sends several times. */
const idsOf = (text: string | undefined): ReadonlyArray<string> => (text ?? "").split("\n").filter((id) => id !== "")

/** Switches variants by ids as a form sends them. Fails with `InvalidInput` for ids that no variant can have. */
const switchTo = Effect.fnUntraced(function* (
  org: OrgSlug,
  template: string,
  ids: { readonly activate?: ReadonlyArray<string>; readonly deactivate?: ReadonlyArray<string> },
) {
  return yield* (yield* Templates).switchVariants(org, template, yield* decoded(decodeSwitch(ids)))
})

/** How sure it is that a variant is the best, and the days and decisions that a winner still requires. */
export const sureText = (results: Pick<TemplateResults, "answer" | "variants" | "winner">, id: string): string => {
  const { variants, winner } = results
  const wait = waitText(results)
  const early = wait === "" ? [] : [t`It is too early to name one: ${wait}.`]
  const one = variants.find(({ copy_id }) => copy_id === id)
  if (one === undefined || one.p_best === null) {
    return [t`There are no results of it yet, so it may do worse than the others.`, ...early].join(" ")
  }
  // The expected loss compares single variants alone. The present choices are better than each of them.
  if (isPersonal(results)) {
    return t`Different people prefer different variants. Its chance to be the best single variant is ${
      percent(one.p_best)
    }.`
  }
  const sure = one.expected_loss === null
    ? t`Its chance to be best is ${percent(one.p_best)}, and on average it costs more than it brings.`
    : t`Its chance to be best is ${percent(one.p_best)}, and you risk ${
      percent(one.expected_loss)
    } of the rate on average.`
  return (winner.copy_id === id ? [t`It is the winner.`, sure] : [t`No verdict names it the winner.`, ...early, sure])
    .join(" ")
}

/** When requests follow, and how the change can be reversed. `effect` is what happens then. */
const Timing = ({ effect, org }: { readonly effect: string; readonly org: Visit["org"] }) =>
  org.template_approval === "none"
    ? (
      <>
        <li>{t`Requests follow within 5 seconds.`} {effect}</li>
        <li>{t`You can undo this on the results page. The history of the template records it.`}</li>
      </>
    )
    : (
      <>
        <li>
          <b>{t`This change goes live once it is approved.`}</b> {t`Until then, requests get the same variants as now.`}
        </li>
        <li>{t`Requests follow within 5 seconds of the approval.`} {effect}</li>
      </>
    )

/** Everything that happens when this variant is shipped. */
const Consequences = ({ id, org, results, template }: {
  readonly org: Visit["org"]
  readonly id: string
  readonly results: TemplateResults
  readonly template: TemplateOutline
}) => {
  const variant = template.variants.find((one) => one.id === id)!
  const others = template.variants.filter((one) => one.active && one.id !== id)
  return (
    <ul>
      <li>{sureText(results, id)}</li>
      {shippingText(results, id) !== "" && <li>{shippingText(results, id)}</li>}
      {preferenceTexts(results, id).map((text) => <li dir="auto">{text}</li>)}
      <li dir="auto">
        {others.length === 0
          ? t`No other variant is active.`
          : others.length > 10
          ? t`The ${others.length} other active variants become inactive.`
          : t`These become inactive: ${list(others.map(({ name }) => name))}.`}
      </li>
      {variant.targeting.length + variant.seasons.length !== 0 && (
        <li>
          <b>{t`This variant has an audience or a schedule.`}</b>{" "}
          {t`Requests for other people, or at other times, return no content.`}
        </li>
      )}
      <Timing
        effect={template.send_nothing
          ? t`Sending nothing stays a candidate, so people get this variant or nothing, and learning goes on.`
          : t`Learning stops until a second variant is active again.`}
        org={org}
      />
    </ul>
  )
}

/** The purpose of the page, and the time of its results. */
const Lead = ({ children, madeAt, visit }: {
  readonly children: string
  readonly madeAt: number
  readonly visit: Visit
}) => (
  <>
    {children} {t`Results as of ${<Time at={new Date(madeAt).toISOString()} zone={visit.org.time_zone} />}.`}
  </>
)

/** Takes the place of a change of an archived template, which would have no effect. */
const ArchivedCard = ({ base }: { readonly base: string }) => (
  <Card kind="flush">
    <Empty
      title={t`This template is archived`}
      action={<a class="button" href={base}>{t`Open the template`}</a>}
    >
      {t`It is not served, whichever variants are active. Restore it first.`}
    </Empty>
  </Card>
)

const shipView = Effect.fnUntraced(function* (visit: Visit) {
  const template = yield* read(visit)
  const { base, results: path } = pathsOf(visit.org.slug, template.id)
  const { found: results, madeAt } = yield* (yield* KeptResults).newest(visit.org.slug, template, {})
  const candidates = sortedVariants(results.variants).filter(({ copy_id, status }) =>
    status !== "removed" && copy_id !== nothing
  )
  const wanted = visit.query.get("variant") ?? results.winner.copy_id ?? results.winner.leader ?? ""
  const chosen = candidates.find(({ copy_id }) => copy_id === wanted) ?? candidates[0]
  const title = `${template.name} · ${shipLabel(shownVerdict(results))}`
  return view(
    {
      title,
      back: { href: base, label: template.name },
      lead: <Lead madeAt={madeAt} visit={visit}>{t`Give all traffic to one variant.`}</Lead>,
    },
    template.archived_at !== null ? <ArchivedCard base={base} /> : chosen === undefined
      ? (
        <Card kind="flush">
          <Empty title={t`This template has no variants yet`}>{t`Add a variant first.`}</Empty>
        </Card>
      )
      : (
        <>
          <Card title={t`Variant`}>
            <form method="get" action={`${path}/ship`} class="ship-choice">
              <label for="variant">{t`Variant that gets all traffic`}</label>
              <select id="variant" name="variant">
                {candidates.map(({ copy_id, name, rate }) => (
                  <option value={copy_id} selected={copy_id === chosen.copy_id}>
                    {rate === null ? t`${name} (no data)` : name}
                  </option>
                ))}
              </select>
              <button type="submit" class="button">{t`Choose`}</button>
            </form>
          </Card>
          <Card stacked>
            <h2>
              {template.send_nothing
                ? t`${<bdi>{chosen.name}</bdi>} will get all messages`
                : t`${<bdi>{chosen.name}</bdi>} will get all traffic`}
            </h2>
            <Consequences id={chosen.copy_id} org={visit.org} results={results} template={template} />
            <Form action={`${path}/ship`}>
              <input type="hidden" name="variant" value={chosen.copy_id} />
              <div class="buttons">
                <Submit>{t`Ship ${chosen.name}`}</Submit>
                <a class="button" href={path}>{t`Go back`}</a>
              </div>
            </Form>
          </Card>
        </>
      ),
  )
})

const shipAction = Effect.fnUntraced(function* (visit: Visit, fields: Fields) {
  const template = yield* read(visit)
  const [id] = idsOf(fields["variant"])
  const activated = template.variants.filter((one) => one.id === id && !one.active).map((one) => one.id)
  const deactivated = template.variants.filter((one) => one.active && one.id !== id).map((one) => one.id)
  yield* switchTo(visit.org.slug, template.id, {
    activate: id === undefined ? [] : [id],
    deactivate: id === undefined ? [] : deactivated,
  })
  return backTo(pathsOf(visit.org.slug, template.id).results, "winner-shipped", { activated, deactivated })
})

const stopView = Effect.fnUntraced(function* (visit: Visit) {
  const template = yield* read(visit)
  const { base, results: path } = pathsOf(visit.org.slug, template.id)
  const { found: { objective, variants, winner }, madeAt } = yield* (yield* KeptResults).newest(
    visit.org.slug,
    template,
    {},
  )
  const rate = rateFormat(typeof objective === "string", Math.max(0, ...variants.map((one) => Math.abs(one.rate ?? 0))))
  const first = variants.find(({ copy_id }) => copy_id === winner.leader)
  const losers = winner.losers.flatMap((id) => variants.filter(({ copy_id }) => copy_id === id))
  return view(
    {
      title: t`${template.name} · Stop losers`,
      back: { href: base, label: template.name },
      lead: (
        <Lead madeAt={madeAt} visit={visit}>{t`Deactivate the variants that are surely worse than the leader.`}</Lead>
      ),
    },
    template.archived_at !== null ? <ArchivedCard base={base} /> : losers.length === 0
      ? (
        <Card kind="flush">
          <Empty
            title={t`No variant is surely worse`}
            action={<a class="button" href={path}>{t`Go back to results`}</a>}
          >
            {t`A variant is surely worse once its chance to be best is below ${
              percent(loserRule.probability)
            }, and below ${percent(loserRule.inSegments)} in
              every segment, after ${stoppingRule.days} days of data and ${loserRule.maturedSends} decisions that had time to show an
              effect.`}
          </Empty>
        </Card>
      )
      : (
        <Form action={`${path}/stop`}>
          <Card kind="flush">
            <Table
              cards="tiles"
              caption={first === undefined || first.rate === null
                ? t`Surely worse than the leader`
                : t`Surely worse than ${first.name} (${rateName(objective)} ${rate(first.rate)})`}
              headings={[t`Variant`, rateName(objective), t`95 % interval`, t`Sends`, t`Deactivate`]}
              rows={losers.map(({ copy_id, decisions, interval, name, rate: own }) => [
                <bdi>{name}</bdi>,
                own === null ? "–" : rate(own),
                interval === null ? "–" : t`${rate(interval[0])} to ${rate(interval[1])}`,
                count(decisions),
                <input type="checkbox" name="variant" value={copy_id} checked aria-label={t`Deactivate ${name}`} />,
              ])}
            />
          </Card>
          <Card stacked>
            <ul>
              <li>
                {t`The best variant is among the others with a chance of ${
                  percent(1 - loserRule.probability)
                }. In every segment, the chance of
                  each of these is below ${percent(loserRule.inSegments)}. Their results are kept.`}
              </li>
              <Timing effect={t`Their traffic goes to the remaining variants.`} org={visit.org} />
            </ul>
            <div class="buttons">
              <Submit>{t`Stop losers`}</Submit>
              <a class="button" href={path}>{t`Go back`}</a>
            </div>
          </Card>
        </Form>
      ),
  )
})

const stopAction = Effect.fnUntraced(function* (visit: Visit, fields: Fields) {
  const template = yield* read(visit)
  const wanted = idsOf(fields["variant"])
  const deactivated = template.variants.filter(({ active, id }) => active && wanted.includes(id)).map(({ id }) => id)
  yield* switchTo(visit.org.slug, template.id, { deactivate: wanted })
  return backTo(pathsOf(visit.org.slug, template.id).results, "losers-stopped", { activated: [], deactivated })
})

const undoAction = Effect.fnUntraced(function* (visit: Visit, fields: Fields) {
  const template = yield* read(visit)
  yield* switchTo(visit.org.slug, template.id, {
    activate: idsOf(fields["activate"]),
    deactivate: idsOf(fields["deactivate"]),
  })
  return { to: pathsOf(visit.org.slug, template.id).results, done: "variants-restored" }
})

/** Pages that send all traffic to one variant, and that stop variants that are very likely worse. */
export const layer = pages(({ action, asks }) => {
  const path = "/console/o/:org/templates/:template/results" as const
  return [
    ...asks(`${path}/ship`, "switchVariants", shipView, shipAction),
    ...asks(`${path}/stop`, "switchVariants", stopView, stopAction),
    action(`${path}/undo`, "switchVariants", undoAction),
  ]
})
