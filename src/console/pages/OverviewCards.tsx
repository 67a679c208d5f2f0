import { overviewActions } from "../Commands.ts"
import { t, translated } from "../../languages/Language.ts"
import { dayMillis, keptMillis } from "../../bandit/Window.ts"
import { leastDecisions, type PageResults } from "../../results/KeptResults.ts"
import { unitName } from "../../results/ObjectiveText.ts"
import { trafficDays } from "../../results/Traffic.ts"
import { type TemplateView } from "../../templates/TemplateCache.ts"
import { count, counted, signedCount } from "../Format.ts"
import { Badge } from "../components/Badge.tsx"
import { Card } from "../components/Card.tsx"
import { Table } from "../components/Table.tsx"
import { type Visit } from "../Routes.tsx"
import { verdictOf } from "./results/Words.ts"
import { Sparkline } from "./templates/Sparkline.tsx"
import { type Trouble } from "./OverviewTroubles.ts"

/** Things to look after that are listed. */
const shownTroubles = 12

/** Links to the forms of frequent actions. Absent for a visitor who may use none. */
export const Actions = ({ base, can }: { readonly base: string; readonly can: Visit["can"] }) => {
  const actions = overviewActions(base, can)
  return actions.length === 0 ? null : (
    <nav class="buttons" aria-label={t`Frequent actions`}>
      {actions.map(({ href, label }) => <a class="button compact" href={href}>{label}</a>)}
    </nav>
  )
}

/** A line that says that nothing needs attention. */
export const AllClear = () => (
  <p>
    <Badge kind="good">{t`all clear`}</Badge> <span class="muted">{t`Nothing needs your attention.`}</span>
  </p>
)

/** Problems that need attention, the worst first. */
export const Attention = ({ troubles }: { readonly troubles: readonly Trouble[] }) => (
  <Card title={t`Needs attention`}>
    <ul class="attention">
      {troubles.slice(0, shownTroubles).map(({ action, detail, href, kind, title, what }) => (
        <li>
          <Badge kind={kind}>{translated(what)}</Badge>
          <a href={href}>{title}</a>
          <p>{detail}</p>
          {action !== undefined && <a class="button compact" href={action.href}>{action.label}</a>}
        </li>
      ))}
    </ul>
    {troubles.length > shownTroubles && (
      <p class="small muted">{t`And ${troubles.length - shownTroubles} more of the kind.`}</p>
    )}
  </Card>
)

/** A template of the overview with its last results; undefined where none are kept. */
export interface ShownTemplate {
  readonly name: string
  readonly template: TemplateView
  readonly results: PageResults | undefined
}

/** The days that a gain covers at most. */
const gainDays = keptMillis / dayMillis

/** The gain of a template over a random split so far. */
const gainOf = ({ results }: ShownTemplate) => results?.over.points.at(-1)?.gain ?? null

/** How long a verdict counts as new. Unit: milliseconds. */
const weekMillis = 7 * 86_400_000

/** The winners of the last seven days, and what Parlance has gained in the templates that are shown. */
export const Winners = ({ base, now, shown, zone }: {
  readonly base: string
  readonly now: number
  readonly zone: string
  readonly shown: ReadonlyArray<ShownTemplate>
}) => {
  const won = shown.flatMap((one) => {
    const { since = null, verdict } = one.results?.found.winner ?? {}
    const isNew = since !== null && Date.parse(since) >= now - weekMillis
    return isNew && (verdict === "winner" || verdict === "firm_winner") ? [{ ...one, found: one.results!.found }] : []
  })
  const gains = new Map<string, number>()
  for (const one of shown) {
    const gain = gainOf(one)
    if (gain === null) continue
    const unit = unitName(one.results!.found.objective)
    gains.set(unit, (gains.get(unit) ?? 0) + gain.gained)
  }
  return won.length + gains.size === 0 ? null : (
    <Card title={t`Winners and gains`}>
      <div data-live="winners" class="stack">
        {won.length === 0 ? <p class="muted">{t`No winner in the last 7 days.`}</p> : (
          <ul class="attention">
            {won.map(({ found, name, template }) => {
              const { badge, headline, kind } = verdictOf(found, zone)
              return (
                <li>
                  <Badge kind={kind}>{badge}</Badge>
                  <a href={`${base}/templates/${encodeURIComponent(template.id)}/results`} dir="auto">{name}</a>
                  <p>{headline}.</p>
                </li>
              )
            })}
          </ul>
        )}
        {gains.size > 0 && (
          <dl class="figures">
            {[...gains].map(([unit, gained]) => (
              <div>
                <dt>{t`additional ${unit} over a random split, last ${gainDays} days`}</dt>
                <dd>{signedCount(gained)}</dd>
              </div>
            ))}
          </dl>
        )}
      </div>
    </Card>
  )
}

/** The templates with the most traffic, and their results so far. */
export const TemplatesInUse = ({ base, daily, shown, total, zone }: {
  readonly base: string
  readonly daily: ReadonlyMap<string, ReadonlyArray<number>>
  readonly shown: ReadonlyArray<ShownTemplate>
  /** Number of all templates in use. */
  readonly total: number
  readonly zone: string
}) => (
  <div class="card flush">
    <div data-live="templates">
      <Table
        cards="labelled"
        first={3}
        caption={t`Templates in use`}
        headings={[
          t`Template`,
          t`Sends today (UTC)`,
          t`Last ${trafficDays} days`,
          t`Result`,
          t`Gain in ${gainDays} days`,
          t`[Results]`,
        ]}
        rows={shown.map((one) => {
          const { name, results, template: { id, variants } } = one
          const href = `${base}/templates/${encodeURIComponent(id)}`
          const verdict = results === undefined ? undefined : verdictOf(results.found, zone)
          const gain = gainOf(one)
          return [
            <span>
              <a href={href}>{name}</a>
              <span class="sub">
                {t`${variants.filter(({ active }) => active).length} of ${counted(variants.length, "variant")} active`}
              </span>
            </span>,
            { content: <b class="number">{count(daily.get(id)?.at(-1) ?? 0)}</b>, kind: "nowrap" as const },
            <Sparkline days={daily.get(id) ?? []} />,
            verdict === undefined
              ? (
                <span class="muted">
                  {(daily.get(id) ?? []).reduce((sum, sends) => sum + sends, 0) < leastDecisions
                    ? t`too few sends`
                    : t`being calculated`}
                </span>
              )
              : (
                <>
                  <Badge kind={verdict.kind}>{verdict.badge}</Badge>
                  <span class="sub" dir="auto">{verdict.headline}</span>
                </>
              ),
            gain === null ? "–" : {
              content: `${signedCount(gain.gained)} ${unitName(results!.found.objective)}`,
              kind: "nowrap" as const,
            },
            {
              content: <a href={`${href}/results`} aria-label={t`${name} · Results`}>{t`Results`}</a>,
              kind: "actions" as const,
            },
          ]
        })}
      />
      {total > shown.length && (
        <p class="notes small">
          {t`The busiest templates of the last ${trafficDays} days.`}{" "}
          <a href={`${base}/templates`}>{t`All ${count(total)} templates`}</a>
        </p>
      )}
    </div>
  </div>
)

/** Which of the first steps an organization has taken. */
export interface StartSteps {
  /** A key that works. */
  readonly hasKey: boolean
  readonly hasTemplate: boolean
  /** A template with two active variants or more. */
  readonly hasVariants: boolean
  /** A source that is set up or has sent events. */
  readonly hasSource: boolean
  /** Decisions of the last days. */
  readonly hasTraffic: boolean
}

const stepsOf = (base: string, can: Visit["can"], steps: StartSteps) => [
  {
    done: steps.hasTemplate,
    title: t`Write a template`,
    text: t`One message, with the words that change for each reader.`,
    button: t`Create a template`,
    href: `${base}/templates/-/new`,
    may: can("createTemplate"),
  },
  {
    done: steps.hasVariants,
    title: t`Activate two variants`,
    text: t`Two versions of a template or more, so that there is something to learn.`,
    button: t`See templates`,
    href: `${base}/templates`,
    may: can("updateVariant"),
  },
  {
    done: steps.hasKey,
    title: t`Create an API key`,
    text: can("createInvitation")
      ? t`Your systems request content with it. ${(
        <a href={`${base}/settings/members/invite`}>{t`Invite a developer`}</a>
      )} if somebody else connects them.`
      : t`Your systems request content with it.`,
    button: t`Create New API Key`,
    href: `${base}/settings/keys/new`,
    may: can("createKey"),
  },
  {
    done: steps.hasSource,
    title: t`Receive events`,
    text: t`Connect your messaging platform, or post events yourself: opens and clicks decide which variant is
      shown.`,
    button: t`Connect a source`,
    href: `${base}/sources`,
    may: can("putSource"),
  },
  {
    done: steps.hasTraffic,
    title: t`Request content`,
    text: t`Ask for content with the key from your systems. The results of the template follow within seconds.`,
    button: t`How to request content`,
    href: "/docs/guide/api#before-you-start",
    may: true,
  },
]

/** Setup steps of a new organization with their progress; absent once all are done. */
export const Start = ({ base, can, steps }: {
  readonly base: string
  readonly can: Visit["can"]
  readonly steps: StartSteps
}) => {
  const all = stepsOf(base, can, steps)
  const next = all.findIndex(({ done }) => !done)
  const finished = all.filter(({ done }) => done).length
  return next < 0 ? null : (
    <Card title={t`Next steps`} lead={t`${finished} of ${all.length} done`}>
      <ol class="start">
        {all.map(({ button, done, href, may, text, title }, at) => (
          <li>
            <b>{title}</b> {done ? <Badge kind="good">{t`done`}</Badge> : <p>{text}</p>}
            {!done && may && <a class={at === next ? "button primary" : "button compact"} href={href}>{button}</a>}
          </li>
        ))}
      </ol>
    </Card>
  )
}
