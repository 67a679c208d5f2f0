// deno-lint-ignore-file jsx-key -- rendered once, on the server
/** @jsxImportSource preact */
import { Effect, Layer } from "effect"
import { HttpRouter } from "effect/http"
import { isStorable } from "../../../domain/Attributes.ts"
import { isEmpty, parseStoryCursor, Stories, type Story } from "../../../people/Stories.ts"
import { Card } from "../../components/Card.tsx"
import { Empty } from "../../components/Empty.tsx"
import { PageHead } from "../../components/PageHead.tsx"
import { Pagination } from "../../components/Pagination.tsx"
import { Console, type Visit } from "../../Routes.tsx"
import * as ErasePages from "./ErasePages.tsx"
import { DecisionCard, OtherCards, ProfileCard } from "./StoryViews.tsx"

const pageSize = 10

/** Search criteria by query parameter; `q` says nothing about what it is. */
const asks = ["q", "tracking_id", "user_id", "email"] as const

/** Services of these pages. */
interface Services {
  readonly stories: Stories["Service"]
}

const found = Effect.fnUntraced(
  function* (services: Services, { org }: Visit, name: (typeof asks)[number], text: string, after: string | undefined) {
    const asked = { after, limit: pageSize }
    if (name === "q") return yield* services.stories.search(org.slug, text, asked)
    if (name === "tracking_id") {
      return { as: "tracking_id" as const, story: yield* services.stories.find(org.slug, { trackingId: text }, asked) }
    }
    const ask = name === "user_id" ? { userId: text } : { email: text }
    return { as: "person" as const, story: yield* services.stories.find(org.slug, ask, asked) }
  },
)

const Found = ({ as, at, name, story, text, visit, after }: {
  readonly visit: Visit
  readonly at: string
  readonly name: string
  readonly text: string
  readonly as: "tracking_id" | "person"
  readonly story: Story
  readonly after: string | undefined
}) => {
  if (isEmpty(story) && after === undefined) {
    return (
      <Card kind="flush">
        <Empty title="Nothing is known by that name">
          Check how your system writes it: names are compared as they are. A message is known once its content has been
          asked for, a person once content was asked for with a user id, or a platform reported a profile.
        </Empty>
      </Card>
    )
  }
  const { org } = visit
  const here = `${at}?${new URLSearchParams({ [name]: text })}`
  const isPerson = as === "person"
  const [user] = story.profiles
  const profiles = story.profiles.map((profile) => <ProfileCard profile={profile} zone={org.time_zone} />)
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
          {isPerson ? "Person" : "Message"} <span class="wrap">{text}</span>
        </h2>
        {isPerson && visit.can("erasePerson")
          ? <a class="button danger" href={`${at}/erase?${erase}`}>Erase this person</a>
          : null}
      </div>
      {isPerson ? profiles : null}
      {story.decisions.length === 0
        ? (
          <Card>
            <p class="muted">No content has been asked for under this name.</p>
          </Card>
        )
        : story.decisions.map((decision) => <DecisionCard decision={decision} org={org} withLink={isPerson} />)}
      <OtherCards org={org} story={story} />
      {isPerson ? null : profiles}
      <Pagination
        label="Pages of the story"
        first={after === undefined ? undefined : here}
        next={story.next === null ? undefined : `${here}&after=${story.next}`}
      />
    </>
  )
}

const show = Effect.fnUntraced(function* (services: Services, visit: Visit) {
  const at = `/console/o/${visit.org.slug}/people`
  const name = asks.find((one) => (visit.query.get(one) ?? "").trim() !== "") ?? "q"
  const text = (visit.query.get(name) ?? "").trim().slice(0, 400)
  const given = visit.query.get("after") ?? undefined
  const after = given === undefined || parseStoryCursor(given) === undefined ? undefined : given
  const result = text === "" || !isStorable(text) ? undefined : yield* found(services, visit, name, text, after)
  return {
    title: "People and messages",
    body: (
      <>
        <PageHead
          title="People and messages"
          lead="The whole story of a person or a message: each decision with its reason, deliveries, events and their effect on results."
          actions={result === undefined && visit.can("erasePerson")
            ? <a class="button" href={`${at}/erase`}>Erase a person</a>
            : undefined}
        />
        <Card>
          <form method="get" action={at} class="lookup" role="search">
            <label for="q">User id, e-mail address or tracking id</label>
            <div class="secret">
              <input
                type="search"
                id="q"
                name="q"
                value={text}
                autocomplete="off"
                spellcheck={false}
                maxLength={400}
              />
              <button type="submit" class="button primary">Find</button>
            </div>
          </form>
        </Card>
        {result === undefined
          ? null
          : <Found visit={visit} at={at} name={name} text={text} as={result.as} story={result.story} after={after} />}
      </>
    ),
  }
})

/** People and messages: the whole story of a user or a tracking id. */
const pages = HttpRouter.use(Effect.fnUntraced(function* (router) {
  const { page } = yield* Console
  const services: Services = {
    stories: yield* Stories,
  }

  yield* router.addAll([page("/console/o/:org/people", "findStory", (visit) => show(services, visit))])
}))

export const layer = Layer.mergeAll(pages, ErasePages.layer)
