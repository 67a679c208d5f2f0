import { Effect } from "effect"
import { t } from "../../../languages/Language.ts"
import { KeptResults } from "../../../results/KeptResults.ts"
import { rateName } from "../../../results/ObjectiveText.ts"
import { type ComparedSegment, leastData, type SegmentQuestion } from "../../../results/SegmentComparison.ts"
import { comparedOutcome } from "../../../results/SegmentComparison.ts"
import { type Explored, SegmentExplorer } from "../../../results/SegmentExplorer.ts"
import { Templates } from "../../../templates/Templates.ts"
import { count, counted, percent, percentagePoints } from "../../Format.ts"
import { Badge } from "../../components/Badge.tsx"
import { Card } from "../../components/Card.tsx"
import { Empty } from "../../components/Empty.tsx"
import { SelectField } from "../../components/Field.tsx"
import { Table } from "../../components/Table.tsx"
import { Time } from "../../components/Time.tsx"
import { pages } from "../../Pages.ts"
import { view } from "../../View.tsx"
import type { Visit } from "../../Routes.tsx"
import { attributeText, segmentText } from "./Words.ts"

// One variant against another in the segments of two attributes.

/** The value of a parameter, if it is one of the choices. */
const chosenOf = (query: URLSearchParams, name: string, allowed: ReadonlyArray<string>): string | undefined =>
  allowed.find((one) => one === query.get(name))

const points = (share: number) => percentagePoints(share, 2)

const row = ({ against, comparison: compared, segment, variant }: ComparedSegment) => [
  segmentText(segment),
  ...[variant, against].map(({ decisions, outcomes }) => t`${count(outcomes)} of ${count(decisions)}`),
  ...(compared === null ? ["–", "–", "–", <span class="muted">{t`too little data`}</span>] : [
    percent(compared.rate),
    percent(compared.rate_against),
    <b class="number">{points(compared.difference)}</b>,
    <>
      {t`${points(compared.interval[0])} to ${points(compared.interval[1])}`}{" "}
      {compared.clear && <Badge kind="good">{t`clear`}</Badge>}
    </>,
  ]),
]

/** Explains the numbers, and the correction for the number of comparisons. */
const Notes = ({ comparisons, explored, outcome, zone }: {
  readonly comparisons: number
  readonly explored: Explored
  readonly outcome: string
  readonly zone: string
}) => (
  <div class="small muted notes">
    <p>
      {t`${outcome} of sends from ${<Time at={new Date(explored.from).toISOString()} zone={zone} />} to ${(
        <Time at={new Date(explored.to).toISOString()} zone={zone} />
      )}, as counted, without the model. The variants
        are compared within each day, and rates are averages over days on which both were sent. Differences
        are in percentage points.`}
    </p>
    <p>
      {t`These are ${
        counted(comparisons, "comparison")
      }. Each interval by itself holds the true difference in about 95 % of the
        cases, so that of 20 segments without a difference one may seem to have one. ${<b>{t`Clear`}</b>} differences
        are corrected for the number of comparisons of this table (Bonferroni). Looking through several
        tables finds differences by chance again. Segments with fewer than ${leastData.decisions} sends of either
        variant, or ${leastData.outcomes} outcomes of both, or ${leastData.days} days with both, are not compared.`}
    </p>
  </div>
)

/** The compared segments, or why there are none. */
const Found = ({ against, explored, outcome, variant, zone }: {
  readonly against: string
  readonly explored: Explored
  /** Name of the compared rate, capitalized. */
  readonly outcome: string
  readonly variant: string
  readonly zone: string
}) =>
  explored.segments === null || explored.segments.length === 0
    ? (
      <Card kind="flush">
        <Empty
          title={explored.segments === null ? t`There is too much to compare` : t`No sends of both variants yet`}
        >
          {explored.segments === null
            ? t`The template has more combinations of attribute values and days than can be read at once.`
            : t`Sends count here once they are four days old, so that most of their outcomes have arrived.`}
        </Empty>
      </Card>
    )
    : (
      <div class="card flush">
        <Table
          cards="tiles"
          caption={t`${variant} against ${against}`}
          headings={[
            t`Segment`,
            variant,
            against,
            `${outcome}, ${variant}`,
            `${outcome}, ${against}`,
            t`Difference`,
            t`95 % interval`,
          ]}
          rows={explored.segments.map(row)}
        />
        <Notes
          comparisons={explored.segments.filter(({ comparison }) => comparison !== null).length}
          explored={explored}
          outcome={outcome}
          zone={zone}
        />
      </div>
    )

const show = Effect.fnUntraced(function* (visit: Visit) {
  const explorer = yield* SegmentExplorer
  const { org, query } = visit
  const template = yield* (yield* Templates).outline(org.slug, visit.params["template"] ?? "")
  const base = `/console/o/${org.slug}/templates/${encodeURIComponent(template.id)}`
  const attributes = yield* explorer.attributes(org.slug, template.id)
  const { found: { winner } } = yield* (yield* KeptResults).of(org.slug, template, {})
  const ids = template.variants.map(({ id }) => id as string)
  const variant = chosenOf(query, "variant", ids) ?? winner.leader ?? ids[0]
  const against = chosenOf(query, "against", ids) ??
    (winner.lift?.baseline !== variant ? winner.lift?.baseline : undefined) ?? ids.find((id) => id !== variant)
  const first = chosenOf(query, "first", attributes) ?? attributes[0]
  const second = query.get("second") === ""
    ? undefined
    : chosenOf(query, "second", attributes) ?? attributes.find((name) => name !== first)
  const canCompare = variant !== undefined && against !== undefined && variant !== against && first !== undefined
  const question: SegmentQuestion | undefined = canCompare
    ? { attributes: second === undefined || second === first ? [first] : [first, second], variant, against }
    : undefined
  const explored = question === undefined ? undefined : yield* explorer.explore(org.slug, template.id, question)
  const nameOf = (id: string | undefined) => template.variants.find((one) => one.id === id)?.name ?? ""
  const outcome = rateName(comparedOutcome(template.objective))
  const capitalized = outcome[0]!.toUpperCase() + outcome.slice(1)
  const variants = template.variants.map(({ id, name }) => [id as string, name] as const)
  const named = attributes.map((name) => [name, attributeText(name)] as const)
  return view(
    {
      title: t`${template.name} · Segments`,
      back: { href: base, label: template.name },
      lead: t`One variant against another in the segments of two attributes.`,
      actions: <a class="button" href={`${base}/results`}>{t`Back to results`}</a>,
    },
    ids.length < 2
      ? (
        <Card kind="flush">
          <Empty title={t`Two variants are needed`}>{t`Add a second variant to compare.`}</Empty>
        </Card>
      )
      : (
        <Card>
          <form method="get" action={`${base}/results/explore`} class="filter four">
            <SelectField name="variant" label={t`Variant`} options={variants} value={variant ?? ""} />
            <SelectField name="against" label={t`Against`} options={variants} value={against ?? ""} />
            <SelectField name="first" label={t`First attribute`} options={named} value={first ?? ""} />
            <SelectField
              name="second"
              label={t`Second attribute`}
              options={[["", t`None`], ...named]}
              value={second ?? ""}
            />
            <button type="submit" class="button primary">{t`Compare`}</button>
          </form>
        </Card>
      ),
    explored !== undefined && (
      <Found
        explored={explored}
        outcome={capitalized}
        against={nameOf(against)}
        variant={nameOf(variant)}
        zone={org.time_zone}
      />
    ),
  )
})

/** The segment explorer. */
export const layer = pages(({ page }) => [
  page("/console/o/:org/templates/:template/results/explore", "templateResults", show),
])
