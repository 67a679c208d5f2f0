import { Clock, Effect } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { ChangeHistory } from "../../../accounts/ChangeHistory.ts"
import { AttemptWindows } from "../../../auth/AttemptWindows.ts"
import type { Organization } from "../../../domain/Organization.ts"
import { t } from "../../../languages/Language.ts"
import { Organizations } from "../../../organizations/Organizations.ts"
import { KeptResults } from "../../../results/KeptResults.ts"
import { nameIn } from "../../../results/SendNothingText.ts"
import { outlookOf } from "../../../results/Outlook.ts"
import { ResultShares } from "../../../results/ResultShares.ts"
import type { TemplateOutline } from "../../../templates/TemplateContent.ts"
import { Templates } from "../../../templates/Templates.ts"
import { date } from "../../Format.ts"
import { Note } from "../../components/Note.tsx"
import { ChartScript } from "../../components/Live.tsx"
import { Time } from "../../components/Time.tsx"
import { alone, problem, shared } from "../../Routes.tsx"
import { archivedText } from "../templates/ArchivedNote.tsx"
import { type PageHttpRequest, queryOf, signedOutPages } from "../SignedOut.tsx"
import { chosenColumns } from "./Columns.ts"
import { Components } from "./Components.tsx"
import { Holdout } from "./Holdout.tsx"
import { leadOf } from "./Lead.ts"
import { LeadCard } from "./LeadCard.tsx"
import { MoreOverTime, OverTime, shownOf } from "./OverTime.tsx"
import { Period } from "./Period.tsx"
import { Variants } from "./Variants.tsx"
import { whatChanged } from "./WhatChanged.ts"

// The page that a link to results opens: the verdict, the variants and the charts of all decisions. It has no segments, because these
// name values of people's attributes.

/** Views that one network has in a minute, with right and wrong links. */
const mostViews = 120
const windowMillis = 60_000
const mostNetworks = 10_000

interface Services {
  readonly history: ChangeHistory["Service"]
  readonly kept: KeptResults["Service"]
  readonly organizations: Organizations["Service"]
  readonly shares: ResultShares["Service"]
  readonly templates: Templates["Service"]
}

const dead = () =>
  problem(
    404,
    t`This link no longer works`,
    t`It has expired or was revoked. Ask the person who sent it for a new one.`,
  )

const tooMany = () => problem(429, t`Too many views`, t`Wait a minute, then open the link again.`)

const viewOf = Effect.fnUntraced(function* (
  { history, kept }: Services,
  org: Organization,
  template: TemplateOutline,
  expiresAt: Date,
  query: URLSearchParams,
) {
  const { found, madeAt, over } = yield* kept.newest(org.slug, template, {})
  const now = yield* Clock.currentTimeMillis
  const outlook = outlookOf({ ...found, points: over.points, runnerUpFloor: template.runner_up_floor, now })
  const marks = yield* whatChanged(history, org, template, over)
  const zone = org.time_zone
  const shown = shownOf({ found, over }, zone, marks)
  const lead = leadOf(found, over.points, outlook, zone)
  return {
    title: t`${template.name} · Results`,
    date: date(new Date(madeAt), zone),
    body: (
      <>
        <div class="page-head">
          <div>
            <h1 dir="auto">{t`${template.name} · Results`}</h1>
            <p class="lead">
              <Period results={found} zone={zone} />{" "}
              {t`Results as of ${<Time at={new Date(madeAt).toISOString()} zone={zone} />}. This link expires ${(
                <Time at={expiresAt.toISOString()} zone={zone} />
              )}.`}
            </p>
          </div>
        </div>
        {template.archived_at !== null && <Note>{archivedText(template.archived_at, zone)}</Note>}
        <LeadCard lead={{ ...lead, preferences: [], ...(template.archived_at === null ? {} : { advice: "" }) }} />
        {found.variants.length !== 0 && (
          <div class="card flush">
            <div class="standings">
              <Variants
                columns={chosenColumns(undefined)}
                results={found}
                series={shown.places}
                place={{ path: "/console/shared-results", query }}
              />
            </div>
          </div>
        )}
        {found.decisions !== 0 && over.points.length !== 0 && (
          <>
            <OverTime {...shown} />
            <MoreOverTime {...shown} />
          </>
        )}
        <Components components={found.components} />
        <Holdout holdout={found.holdout} nameOf={(id) => nameIn(found, id)} />
        <ChartScript />
      </>
    ),
  }
})

/** The page of shared results. */
export const layer = HttpRouter.use(Effect.fnUntraced(function* (router) {
  const { get, refusals } = yield* Effect.provideService(signedOutPages, HttpRouter.HttpRouter, router)
  const services: Services = {
    history: yield* ChangeHistory,
    kept: yield* KeptResults,
    organizations: yield* Organizations,
    shares: yield* ResultShares,
    templates: yield* Templates,
  }
  const views = new AttemptWindows(windowMillis, mostNetworks)

  const open = Effect.fnUntraced(function* (request: PageHttpRequest) {
    const query = queryOf(request)
    const { expiresAt, org: slug, template: id } = yield* services.shares.find(query.get("token") ?? "")
    const org = yield* services.organizations.get(slug)
    const template = yield* services.templates.outline(slug, id)
    const { date, ...view } = yield* viewOf(services, org, template, expiresAt, query)
    return shared(request, view, { name: org.name, date })
  })

  yield* get("/console/shared-results", (request) =>
    Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const network = refusals.networkOf(request)
      if (views.add(network, 1, now) > mostViews) {
        const seconds = Math.max(1, Math.ceil(views.remainingMillis(network, now) / 1000))
        return HttpServerResponse.setHeader(alone(request, tooMany()), "retry-after", String(seconds))
      }
      return yield* Effect.catch(open(request), () => {
        refusals.count(request, "bad_link", { subject: "Shared results" })
        return Effect.succeed(alone(request, dead()))
      })
    }))
}))
