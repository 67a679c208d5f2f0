import { Clock, Effect, Record, Result } from "effect"
import type { Fault } from "../../../domain/Errors.ts"
import { resultsQuery } from "../../../api/results/ResultsQuery.ts"
import { ChangeHistory } from "../../../accounts/ChangeHistory.ts"
import { SessionCookie } from "../../../accounts/SessionCookie.ts"
import { english, t, translated } from "../../../languages/Language.ts"
import { Learning } from "../../../learning/Learning.ts"
import { KeptResults, type PageResults } from "../../../results/KeptResults.ts"
import { Results } from "../../../results/Results.ts"
import { nameIn, nothingWins } from "../../../results/SendNothingText.ts"
import { csvName, resultsCsv } from "../../../results/ResultsCsv.ts"
import { outlookOf } from "../../../results/Outlook.ts"
import { Templates } from "../../../templates/Templates.ts"
import { counted } from "../../Format.ts"
import { Card } from "../../components/Card.tsx"
import { Empty } from "../../components/Empty.tsx"
import { Fold } from "../../components/Fold.tsx"
import { ChartScript, Live, LiveScript } from "../../components/Live.tsx"
import { Form, Submit } from "../../components/Form.tsx"
import { ErrorSummary, Note } from "../../components/Note.tsx"
import { Time } from "../../components/Time.tsx"
import { download, type PageRequest, refused } from "../../RawRoutes.tsx"
import { pages } from "../../Pages.ts"
import { view } from "../../View.tsx"
import { type Fields, ownPath, type Visit } from "../../Routes.tsx"
import { ArchivedNote } from "../templates/ArchivedNote.tsx"
import { waitingNote } from "../templates/WaitingNote.tsx"
import { Choosing, pointed } from "./Choosing.tsx"
import { MoreOverTime, OverTime, shownOf } from "./OverTime.tsx"
import { Hours, Segments, type ShownResults } from "./Pictures.tsx"
import { Components } from "./Components.tsx"
import { Locales } from "./Locales.tsx"
import { Fatigue } from "./Fatigue.tsx"
import { HealthLine } from "./HealthLine.tsx"
import { Holdout } from "./Holdout.tsx"
import { Timing } from "./Timing.tsx"
import { choiceOf, chosenColumns, columnsCookie } from "./Columns.ts"
import { leadOf } from "./Lead.ts"
import { LeadCard } from "./LeadCard.tsx"
import { Period } from "./Period.tsx"
import { SwitchNote } from "./SwitchPages.tsx"
import { ColumnChoice, Variants } from "./Variants.tsx"
import { whatChanged } from "./WhatChanged.ts"
import { attributeText, list, segmentText, shipLabel, shownVerdict } from "./Words.ts"

/** The page shows the age of results only above this limit. Unit: milliseconds. */
const newFor = 60_000

const labels = { lookback_days: english("Days"), offset_days: english("Ended days ago"), segment: english("Segment") }

/** Attributes of segments, such as `plan` and `daypart`. Attributes with most decisions come first. */
const attributesIn = (segments: PageResults["found"]["segments"]): ReadonlyArray<string> => {
  const names = [...new Set(segments.flatMap(({ segment }) => Object.keys(segment).map(attributeText)))]
  return names.length > 4 ? [...names.slice(0, 3), t`others`] : names
}

/** The window and segment of a query, as another query. */
const windowIn = (given: URLSearchParams): string => {
  const some = [...given].filter(([name]) => name === "lookback_days" || name === "offset_days" || name === "segment")
  return some.length === 0 ? "" : `?${new URLSearchParams(some)}`
}

/** Says that learning has stopped and why. */
const StoppedNote = ({ org, path, stop, visit }: {
  readonly org: Visit["org"]
  readonly path: string
  readonly stop: Effect.Success<ReturnType<Learning["Service"]["stopped"]>>[number]
  readonly visit: Visit
}) => (
  <Note kind="bad">
    <p>
      {t`${<b>{t`Learning has stopped`}</b>} ${(
        <Time
          at={stop.stoppedAt.toISOString()}
          zone={org.time_zone}
        />
      )}: the model could not be updated in three attempts. Reason of the last
        failure: ${stop.reason}. The last model stays in use. Decisions and events are kept, and count once
        learning is resumed.`}
    </p>
    {visit.can("resumeLearning") && (
      <Form action={`${path}/resume-learning`}>
        <Submit>{t`Resume learning`}</Submit>
      </Form>
    )}
  </Note>
)

/** Says from when results are that are shown while newer ones are made. */
const OlderNote = ({ madeAt, zone }: { readonly madeAt: number; readonly zone: string }) => (
  <>
    {" "}
    <b>
      {t`As of ${<Time at={new Date(madeAt).toISOString()} zone={zone} />}; newer results are being computed.`}
    </b>
  </>
)

/** Parts that few readers need each time: closed at first, so that the page stays short. */
const Folds = ({ base, hasDecisions, shown }: {
  /** The path of the template. */
  readonly base: string
  readonly hasDecisions: boolean
  readonly shown: ShownResults
}) => {
  const { results: { components, fatigue, locales = [], segments, timing }, series: { hours } } = shown
  return (
    <div class="folds">
      {hasDecisions && <MoreOverTime {...shown} />}
      {hasDecisions && segments.length > 0 && (
        <Fold title={t`Segments`} hint={t`Rates by ${list(attributesIn(segments))}`}>
          <Segments {...shown} />
          <p>
            <a href={`${base}/results/explore`}>{t`Compare two variants by two attributes`}</a>
          </p>
        </Fold>
      )}
      {hasDecisions && hours.length > 0 && (
        <Fold title={t`When people engage`} hint={t`Opens, clicks and conversions by hour of the week`}>
          <Hours {...shown} />
        </Fold>
      )}
      {locales.length !== 0 && (
        <Fold title={t`Locales`} hint={t`Counts in ${counted(locales.length, "locale")}`}>
          <Locales locales={locales} />
        </Fold>
      )}
      {components.length !== 0 && (
        <Fold title={t`Components`} hint={t`Effects of ${counted(components.length, "component")}`}>
          <div data-live="components">
            <Components components={components} />
          </div>
        </Fold>
      )}
      {fatigue.length !== 0 && (
        <Fold title={t`Fatigue`} hint={t`Rates when people see a variant again`}>
          <div data-live="fatigue">
            <Fatigue fatigue={fatigue} />
          </div>
        </Fold>
      )}
      <Fold title={t`Send times`} hint={t`Lift of recommended times`}>
        <div data-live="timing">
          <Timing timing={timing} more={`${base}/send-times`} />
        </div>
      </Fold>
    </div>
  )
}

/** Buttons to end the experiment or to stop losers. The first one is advised. */
const LeadActions = ({ losers, path, results, visit }: {
  readonly losers: number
  readonly path: string
  readonly results: PageResults["found"]
  readonly visit: Visit
}) => {
  const active = results.variants.filter(({ status }) => status === "active").length
  if (!visit.can("switchVariants") || active < 2 || results.winner.leader === null) return null
  const shown = shownVerdict(results)
  const isDone = shown.verdict !== "undecided"
  return (
    <>
      {!nothingWins(results) && (
        <a class={isDone ? "button primary" : "button"} href={`${path}/ship`}>{shipLabel(shown)}</a>
      )}
      {losers !== 0 && <a class="button" href={`${path}/stop`}>{t`Stop ${counted(losers, "loser")}`}</a>}
    </>
  )
}

const columnsAction = Effect.fnUntraced(function* (visit: Visit, fields: Fields) {
  const { org, params } = visit
  const path = `/console/o/${org.slug}/templates/${encodeURIComponent(params["template"] ?? "")}/results`
  const choice = fields["reset"] === "true" ? undefined : choiceOf(fields["columns"])
  const kept = choice === undefined ? "Max-Age=0" : "Max-Age=31536000"
  return yield* Effect.succeed({
    to: ownPath(fields["back"]) ?? path,
    cookies: [`${columnsCookie}=${choice ?? ""}; ${(yield* SessionCookie).attributes}; ${kept}`],
  })
})

/** The reason why a page has no charts: no send yet, or no sends in the window or in the segment. */
const NoCharts = ({ isStarted, path, segment }: {
  readonly isStarted: boolean
  readonly path: string
  readonly segment: string | undefined
}) => {
  if (!isStarted) {
    return (
      <Empty
        title={t`Charts appear with the first sends`}
        action={<a class="button primary" href="/docs/guide/api#before-you-start">{t`How to request content`}</a>}
      >
        {t`Your systems request content from this template with an API key, and report opens and clicks.`}
      </Empty>
    )
  }
  return segment === undefined
    ? (
      <Empty title={t`No sends in this window yet`} action={<a class="button" href={path}>{t`Show all days`}</a>}>
        {t`Charts appear here as soon as content is requested and events are reported.`}
      </Empty>
    )
    : (
      <Empty title={t`No sends in this segment`} action={<a class="button" href={path}>{t`Show everyone`}</a>}>
        {t`No sends to people with these attributes in this window.`}
      </Empty>
    )
}

const show = Effect.fnUntraced(function* (visit: Visit) {
  const { org, params, query } = visit
  const template = yield* (yield* Templates).outline(org.slug, params["template"] ?? "")
  const base = `/console/o/${org.slug}/templates/${encodeURIComponent(template.id)}`
  const path = `${base}/results`
  // An empty field of the form asks for nothing.
  const given = new URLSearchParams([...query].filter(([, value]) => value !== ""))
  const options = resultsQuery(given)
  const faults: ReadonlyArray<Fault> = Result.isFailure(options) ? pointed(options.failure) : []
  const chosen = Result.isSuccess(options)
    ? options.success
    : { lookbackDays: undefined, offsetDays: undefined, segment: new Map<string, string>() }
  const { found, madeAt, over } = yield* (yield* KeptResults).of(org.slug, template, chosen)
  const isWhole = found.window.mode === "adaptive" && Object.keys(found.segment).length === 0
  const now = yield* Clock.currentTimeMillis
  const outlook = isWhole
    ? outlookOf({ ...found, points: over.points, runnerUpFloor: template.runner_up_floor, now })
    : undefined
  const columns = chosenColumns(visit.request.cookies[columnsCookie])
  const stop = (yield* (yield* Learning).stopped(org.slug)).find(({ templateId }) => templateId === template.id)
  const marks = yield* whatChanged(yield* ChangeHistory, org, template, over)
  const shown = shownOf({ found, over }, org.time_zone, marks)
  const segment = Object.keys(found.segment).length > 0 ? segmentText(found.segment) : undefined
  const lead = leadOf(found, over.points, outlook, org.time_zone)
  const anything = found.decisions > 0
  const isStarted = anything || !isWhole
  return view(
    {
      title: t`${template.name} · Results`,
      ...(faults.length > 0 ? { status: 400 } : {}),
      live: true,
      back: { href: base, label: template.name },
      lead: (
        <span data-live="window">
          <Period segment={segment} results={found} zone={org.time_zone} />
          {now - madeAt >= newFor && <OlderNote madeAt={madeAt} zone={org.time_zone} />}
        </span>
      ),
      actions: (
        <>
          <a class="button" href={`${path}/export${faults.length > 0 ? "" : windowIn(given)}`} download>
            {t`Export CSV`}
          </a>
          {visit.can("listReports") && <a class="button" href={`${path}/report`}>{t`Monday report`}</a>}
          {visit.can("createResultShare") && <a class="button" href={`${path}/share`}>{t`Share`}</a>}
          <Live />
        </>
      ),
    },
    <ErrorSummary faults={faults} labels={Record.map(labels, translated)} />,
    stop !== undefined && <StoppedNote org={org} path={path} stop={stop} visit={visit} />,
    template.archived_at !== null && <ArchivedNote archivedAt={template.archived_at} id={template.id} visit={visit} />,
    yield* waitingNote(visit, template.id),
    <SwitchNote template={template} visit={visit} />,
    <LeadCard
      lead={template.archived_at === null ? lead : { ...lead, advice: "" }}
      actions={template.archived_at === null && (
        <LeadActions losers={found.winner.losers.length} path={path} results={found} visit={visit} />
      )}
      health={isStarted && (
        <HealthLine
          health={found.health}
          variants={new Map(found.variants.map(({ copy_id }) => [copy_id, nameIn(found, copy_id)]))}
          zone={org.time_zone}
        />
      )}
    />,
    isStarted && <Choosing path={path} query={query} faults={faults} segments={found.segments} />,
    found.variants.length === 0
      ? (
        <Card kind="flush">
          <Empty
            title={t`This template has no variants yet`}
            action={visit.can("createVariant")
              ? <a class="button primary" href={`${base}/new-variant`}>{t`Write a variant`}</a>
              : undefined}
          >
            {t`With two variants, the better one gets more traffic, and results appear here.`}
          </Empty>
        </Card>
      )
      : (
        <div class="card flush">
          <div class="standings" data-live="variants">
            <Variants columns={columns} results={found} series={shown.places} place={{ path, query: given }} />
          </div>
          <ColumnChoice action={`${path}/columns`} back={visit.request.url} columns={columns} />
        </div>
      ),
    !anything || over.points.length === 0
      ? (
        <Card kind="flush">
          <NoCharts isStarted={isStarted} path={path} segment={segment} />
        </Card>
      )
      : <OverTime {...shown} />,
    <div data-live="holdout">
      <Holdout holdout={found.holdout} nameOf={(id) => nameIn(found, id)} />
    </div>,
    isStarted && <Folds base={base} hasDecisions={anything && over.points.length > 0} shown={shown} />,
    <ChartScript />,
    <LiveScript />,
  )
})

const resumeLearningAction = Effect.fnUntraced(function* ({ org, params }: Visit) {
  const template = yield* (yield* Templates).outline(org.slug, params["template"] ?? "")
  yield* (yield* Learning).resume(org.slug, template.id)
  return { to: `/console/o/${org.slug}/templates/${encodeURIComponent(template.id)}/results`, done: "learning-resumed" }
})

/** The table of variants as a file, of the window and segment that the page shows. */
const exported = Effect.fnUntraced(function* ({ org, params, query, request }: PageRequest) {
  const options = resultsQuery(new URLSearchParams([...query].filter(([, value]) => value !== "")))
  if (Result.isFailure(options)) {
    return refused(request, 400, options.failure.map(({ detail, pointer }) => `${pointer} ${detail}.`).join(" "))
  }
  const found = yield* (yield* Results).results(org.slug, params["template"] ?? "", options.success)
  return download(resultsCsv(found), csvName(found), "text/csv; charset=utf-8")
})

/** How the variants of a template do. */
export const layer = pages(({ action, page, route }) => {
  const base = "/console/o/:org/templates/:template/results" as const
  return [
    route("GET", `${base}/export`, "exportResults", exported),
    page(base, "templateResults", show),
    action(`${base}/resume-learning`, "resumeLearning", resumeLearningAction),
    action(`${base}/columns`, "templateResults", columnsAction),
  ]
})
