import { Effect } from "effect"
import type { Delivery } from "../../../delivery/Delivery.ts"
import { liveOf } from "../../../domain/Sandbox.ts"
import { t } from "../../../languages/Language.ts"
import { TemplateIndex, variantKey } from "../../../templates/TemplateIndex.ts"
import { MenuLink, MenuPost, RowMenu } from "../../components/RowMenu.tsx"
import type { FirstRows } from "../../components/MoreRows.tsx"
import { type SortHeading, Table } from "../../components/Table.tsx"
import { Time } from "../../components/Time.tsx"
import { count, reasonText } from "../../Format.ts"
import type { Visit } from "../../Routes.tsx"
import { DeliveryBadge, isCancellable, isRetriable } from "./DeliveryViews.tsx"

/** The names of templates, and of variants by `variantKey`. */
export interface DeliveryNames {
  readonly templates: ReadonlyMap<string, string>
  readonly variants: ReadonlyMap<string, string>
}

/** The template and variant of a delivery, or of a message in a sink. */
type Sent = { readonly templateId: string; readonly copyId: string }

/** The names for these deliveries. */
export const namesFor = Effect.fnUntraced(function* (
  index: TemplateIndex["Service"],
  org: Visit["org"],
  shown: ReadonlyArray<Sent>,
) {
  const of = liveOf(org.slug)
  const names: DeliveryNames = {
    templates: yield* index.names(of, [...new Set(shown.map(({ templateId }) => templateId))]),
    variants: yield* index.variantNames(
      of,
      shown.map(({ copyId, templateId }) => ({ template: templateId, variant: copyId })),
    ),
  }
  return names
})

/** The name of the template of a delivery; its id once the template is gone. */
export const templateName = ({ templates }: DeliveryNames, { templateId }: Pick<Sent, "templateId">): string =>
  templates.get(templateId) ?? templateId

/** The name of the variant of a delivery; its id once the variant is gone. */
export const variantName = ({ variants }: DeliveryNames, { copyId, templateId }: Sent): string =>
  variants.get(variantKey(templateId, copyId)) ?? copyId

const Menu = ({ at, delivery, now, visit: { can, org } }: {
  readonly at: string
  readonly delivery: Delivery
  readonly now: number
  readonly visit: Visit
}) => (
  <RowMenu label={t`Actions for the message to ${delivery.email ?? t`an erased person`}`}>
    <MenuLink href={`/console/o/${org.slug}/people?q=${encodeURIComponent(delivery.id)}`}>{t`Full history`}</MenuLink>
    {isRetriable(delivery, now) && can("retryDelivery") && (
      <MenuPost to={`${at}/${delivery.id}/retry`}>{t`Retry`}</MenuPost>
    )}
    {isCancellable(delivery) && can("cancelDelivery") && (
      <MenuLink href={`${at}/${delivery.id}/cancel`} danger>{t`Cancel…`}</MenuLink>
    )}
  </RowMenu>
)

/** Deliveries with their actions. */
export const DeliveryTable = ({ at, caption, first, names, now, queued, shown, visit }: {
  readonly at: string
  readonly caption: string
  /** Rows that narrow screens show at first. */
  readonly first: FirstRows
  readonly names: DeliveryNames
  readonly now: number
  readonly queued: SortHeading
  readonly shown: ReadonlyArray<Delivery>
  readonly visit: Visit
}) => {
  const zone = visit.org.time_zone
  return (
    <Table
      cards="labelled"
      first={first}
      caption={caption}
      headings={[t`To`, t`State`, t`Template and variant`, queued, t`Due`, t`Attempts`, t`[Actions]`]}
      rows={shown.map((delivery) => [
        <>
          <a href={`${at}/${delivery.id}`}>{delivery.email ?? t`(erased)`}</a>
          {delivery.reason !== null && <span class="sub clamp">{reasonText(delivery.reason, zone)}</span>}
        </>,
        <DeliveryBadge state={delivery.state} />,
        <>
          <bdi>{templateName(names, delivery)}</bdi>
          <span class="sub" dir="auto">{variantName(names, delivery)}</span>
        </>,
        { kind: "nowrap", content: <Time at={delivery.queuedAt.toISOString()} zone={zone} /> },
        {
          kind: delivery.finishedAt === null ? "nowrap" : "nowrap wide",
          content: delivery.finishedAt === null
            ? <Time at={delivery.dueAt.toISOString()} zone={zone} />
            : <span class="muted">{t`done`}</span>,
        },
        { kind: "wide", content: count(delivery.attempts) },
        { kind: "actions", content: <Menu at={at} delivery={delivery} now={now} visit={visit} /> },
      ])}
    />
  )
}
