import { Effect, Layer } from "effect"
import { isStorable } from "../../../domain/Attributes.ts"
import { t } from "../../../languages/Language.ts"
import { isEmpty, parseTimelineCursor, type Timeline, Timelines } from "../../../people/Timelines.ts"
import { Card } from "../../components/Card.tsx"
import { Empty } from "../../components/Empty.tsx"
import { Pagination } from "../../components/Pagination.tsx"
import { TemplateIndex } from "../../../templates/TemplateIndex.ts"
import { type DeliveryNames, namesFor } from "../delivery/DeliveryTable.tsx"
import { pages } from "../../Pages.ts"
import { view } from "../../View.tsx"
import type { Visit } from "../../Routes.tsx"
import * as ErasePages from "./ErasePages.tsx"
import { DecisionCard, OtherCards, ProfileCard } from "./TimelineViews.tsx"

const pageSize = 10

/** Search criteria by query parameter; `q` says nothing about what it is. */
const asks = ["q", "tracking_id", "user_id", "email"] as const

const found = Effect.fnUntraced(
  function* (
    { org }: Visit,
    name: (typeof asks)[number],
    text: string,
    cursor: string | undefined,
  ) {
    const timelines = yield* Timelines
    const page = { cursor, limit: pageSize }
    if (name === "q") return yield* timelines.search(org.slug, text, page)
    if (name === "tracking_id") {
      return {
        as: "tracking_id" as const,
        timeline: yield* timelines.find(org.slug, { trackingId: text }, page),
      }
    }
    const ask = name === "user_id" ? { userId: text } : { email: text }
    return { as: "person" as const, timeline: yield* timelines.find(org.slug, ask, page) }
  },
)

const Found = ({ as, at, name, timeline, text, visit, cursor, names }: {
  readonly visit: Visit
  readonly at: string
  readonly name: string
  readonly text: string
  readonly as: "tracking_id" | "person"
  readonly timeline: Timeline
  readonly names: DeliveryNames
  readonly cursor: string | undefined
}) => {
  if (isEmpty(timeline) && cursor === undefined) {
    return (
      <Card kind="flush">
        <Empty title={t`Nothing found`}>
          {t`Check the exact spelling, including upper and lower case. A message appears once its content was
            requested, a person once content was requested with their user id or a platform reported their
            profile.`}
        </Empty>
      </Card>
    )
  }
  const { org } = visit
  const here = `${at}?${new URLSearchParams({ [name]: text })}`
  const isPerson = as === "person"
  const [user] = timeline.profiles
  const profiles = timeline.profiles.map((profile) => <ProfileCard profile={profile} zone={org.time_zone} />)
  const erase = new URLSearchParams(
    user !== undefined
      ? { user_id: user.userId, ...(user.email === null ? {} : { email: user.email }) }
      : name === "email" || text.includes("@")
      ? { email: text }
      : { user_id: text },
  )
  return (
    <>
      <div class="found-head">
        <h2>
          {isPerson ? t`Person` : t`Message`} <span class="wrap">{text}</span>
        </h2>
        {isPerson && visit.can("erasePerson") && (
          <a class="button danger" href={`${at}/erase?${erase}`}>{t`Erase this person`}</a>
        )}
      </div>
      {isPerson && profiles}
      {timeline.decisions.length === 0
        ? (
          <Card>
            <p class="muted">{t`No content has been requested for this person.`}</p>
          </Card>
        )
        : timeline.decisions.map((decision) => (
          <DecisionCard decision={decision} names={names} org={org} withLink={isPerson} />
        ))}
      <OtherCards org={org} timeline={timeline} />
      {!isPerson && profiles}
      <Pagination
        label={t`Pages of the history`}
        at={here}
        cursor={cursor}
        next={timeline.next}
      />
    </>
  )
}

const show = Effect.fnUntraced(function* (visit: Visit) {
  const at = `/console/o/${visit.org.slug}/people`
  const name = asks.find((one) => (visit.query.get(one) ?? "").trim() !== "") ?? "q"
  const text = (visit.query.get(name) ?? "").trim().slice(0, 400)
  const given = visit.query.get("cursor") ?? undefined
  const cursor = given === undefined || parseTimelineCursor(given) === undefined ? undefined : given
  const result = text === "" || !isStorable(text) ? undefined : yield* found(visit, name, text, cursor)
  return view(
    {
      title: t`People and messages`,
      lead: t`The full history of a person or a message: each send with its reason, deliveries, events and their
        effect on results.`,
      actions: result === undefined && visit.can("erasePerson")
        ? <a class="button" href={`${at}/erase`}>{t`Erase a person`}</a>
        : undefined,
    },
    <Card>
      <form method="get" action={at} class="lookup" role="search">
        <label for="q">{t`User id, e-mail address or tracking id`}</label>
        <div class="secret">
          <input type="search" id="q" name="q" value={text} autocomplete="off" spellcheck={false} maxLength={400} />
          <button type="submit" class="button primary">{t`Find`}</button>
        </div>
      </form>
    </Card>,
    result !== undefined && (
      <Found
        visit={visit}
        at={at}
        name={name}
        text={text}
        as={result.as}
        timeline={result.timeline}
        names={yield* namesFor(yield* TemplateIndex, visit.org, result.timeline.decisions)}
        cursor={cursor}
      />
    ),
  )
})

/** People and messages: the whole story of a user or a tracking id. */
const own = pages(({ page }) => [page("/console/o/:org/people", "findStory", show)]).pipe(
  Layer.provide(TemplateIndex.layer),
)

/** All pages of people. */
export const layer = Layer.mergeAll(own, ErasePages.layer)
