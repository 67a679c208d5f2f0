import { Clock, Effect, Option, type Scope } from "effect"
import { Command } from "effect/cli"
import { domainToASCII } from "node:url"
import type { DkimKeyResource } from "../api/deliveries/DeliverabilityApi.ts"
import type { ConnectionResource } from "../api/deliveries/DeliveryApi.ts"
import type { ProblemKind } from "../api/templates/TemplateListShape.ts"
import { lookUpAt, lookUpPolicy, type LookUpTxt } from "../delivery/receivers/DnsRecords.ts"
import { recordFindings } from "../delivery/receivers/Findings.ts"
import { keyFindingOf } from "../delivery/receivers/KeyRecord.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import { dnsServers } from "../settings/Settings.ts"
import { ManagementClient } from "./Client.ts"
import * as Connection from "./Connection.ts"
import {
  about,
  clockDiagnosis,
  connectionDiagnoses,
  type Diagnosis,
  placeholderDiagnoses,
  recordDiagnosis,
  refusedBySource,
  sourceDiagnoses,
  trackingIdDiagnoses,
} from "./DoctorChecks.ts"
import { type RemoteService, remoteService } from "./Remote.ts"
import { orFault } from "./Report.ts"
import { print } from "./Root.ts"
import { root } from "./RootCommand.ts"
import * as Json from "../json/Json.ts"

/** Sources are judged by requests of this period. Unit: milliseconds. */
const dayMillis = 86_400_000

/** Number of pages of the audit log that are read, each with 200 entries. */
const auditPages = 5

/** Checks whether a service elsewhere is ready. */
export const checkService = ({ url }: RemoteService) =>
  orFault(
    Effect.gen(function* () {
      const before = yield* Clock.currentTimeMillis
      const { date, reasons, status } = yield* Effect.tryPromise(async () => {
        const response = await fetch(`${url}/readyz`)
        const body = Json.parse(await response.text()) as { readonly reasons?: ReadonlyArray<string> }
        return { date: response.headers.get("date"), reasons: body.reasons ?? [], status: response.status }
      })
      const after = yield* Clock.currentTimeMillis
      // The header is truncated to seconds, so the real time is half a second later on average.
      const difference = date === null ? undefined : Date.parse(date) + 500 - (before + after) / 2
      return [
        status === 200 && reasons.length === 0
          ? about("service").ok(`The service at ${url} is ready.`)
          : about("service").fault(
            `The service at ${url} is not ready: ${reasons.join(". ") || `status ${status}`}.`,
            "Read its logs. docs/operations/runbook.md lists the causes.",
          ),
        ...(difference === undefined ? [] : [clockDiagnosis("the service", difference)]),
      ]
    }),
    (text) =>
      about("service").fault(`The service at ${url} did not respond: ${text}`, "Check its address and that it runs."),
  )

const checkSources = Effect.fnUntraced(function* (org: OrgSlug) {
  const client = yield* ManagementClient
  const { webhooks } = yield* client.listSources({ params: { org } })
  const entries = []
  let cursor: string | undefined
  const since = (yield* Clock.currentTimeMillis) - dayMillis
  for (let page = 0; page < auditPages; page++) {
    const { entries: some, next_cursor } = yield* client.listAudit({
      params: { org },
      query: { limit: "200", ...(cursor === undefined ? {} : { cursor }) },
    })
    entries.push(...some)
    if (next_cursor === null || Date.parse(some.at(-1)?.at ?? "") < since) break
    cursor = next_cursor
  }
  const refused = refusedBySource(entries, since)
  return webhooks.flatMap((source) => sourceDiagnoses(org, source, refused.get(source.segment) ?? 0))
})

/** Checks the templates of an organization: up to 200 with each fault. */
const checkTemplates = Effect.fnUntraced(function* (org: OrgSlug) {
  const client = yield* ManagementClient
  const failing = (kind: ProblemKind) =>
    client.findTemplates({ params: { org }, query: { failing: kind, archived: "all", limit: "200" } })
  return [
    ...trackingIdDiagnoses(org, (yield* failing("tracking-ids")).templates),
    ...placeholderDiagnoses(org, (yield* failing("placeholders")).templates),
  ]
})

const domainOf = (address: unknown) =>
  typeof address === "string" ? domainToASCII(address.slice(address.lastIndexOf("@") + 1)) : ""

const keyOf = ({ bits, domain, record, selector }: DkimKeyResource) => ({ bits, domain, record, selector })

/** Checks the DNS records of an SMTP connection's domains by the name servers of this machine. */
const checkRecords = Effect.fnUntraced(
  function* (txt: LookUpTxt, org: OrgSlug, { name, settings }: ConnectionResource) {
    const client = yield* ManagementClient
    const fromDomain = domainOf(settings["from"])
    if (fromDomain === "") return []
    const returnDomain = typeof settings["bounce_domain"] === "string"
      ? domainToASCII(settings["bounce_domain"])
      : fromDomain
    const { keys } = yield* client.listDkimKeys({ params: { org, connection: name } })
    const signingKey = keys.find(({ signing }) => signing)
    const idle = keys.find(({ signing }) => !signing)
    const { dmarc, published, spf } = yield* Effect.all({
      spf: txt(returnDomain),
      dmarc: lookUpPolicy(txt, fromDomain),
      published: signingKey === undefined
        ? Effect.succeed(undefined)
        : Effect.map(txt(signingKey.record.name), (answer) => keyFindingOf(signingKey.record, answer)),
    }, { concurrency: "unbounded" })
    return recordFindings({
      fromDomain,
      returnDomain,
      spf,
      dmarc,
      signing: signingKey === undefined || published === undefined ? undefined : { key: keyOf(signingKey), published },
      idle: idle === undefined ? undefined : keyOf(idle),
    }).map((finding) => recordDiagnosis(org, name, finding))
  },
)

const checkConnections = Effect.fnUntraced(function* (txt: LookUpTxt, org: OrgSlug) {
  const client = yield* ManagementClient
  const { connections } = yield* client.listConnections({ params: { org } })
  const each = yield* Effect.forEach(
    connections.filter(({ enabled }) => enabled),
    Effect.fnUntraced(function* (connection) {
      const test = yield* client.testConnection({ params: { org, connection: connection.name } })
      const records = connection.platform === "smtp" ? yield* checkRecords(txt, org, connection) : []
      return [...connectionDiagnoses(org, connection, test), ...records]
    }),
    { concurrency: 4 },
  )
  return each.flat()
})

/** Checks the sources and connections of one organization, or of all organizations. */
const checkOrganizations = Effect.fnUntraced(function* (txt: LookUpTxt, only: Option.Option<string>) {
  const client = yield* ManagementClient
  const { organizations } = yield* client.listOrganizations()
  const slugs = organizations.map(({ slug }) => slug).filter((slug) => Option.isNone(only) || slug === only.value)
  if (slugs.length === 0) {
    return [
      Option.isSome(only)
        ? about("configuration", only.value).fault(
          "There is no such organization, or the token has no access to it.",
          "Check --org.",
        )
        : about("configuration").warning(
          "There is no organization yet.",
          "Create one with `parlance org create SLUG --name NAME`.",
        ),
    ]
  }
  const each = yield* Effect.forEach(slugs, (org) =>
    Effect.all([
      orFault(checkSources(org), (text) => about("source", org).fault(text, "The token needs the scope admin.")),
      orFault(checkTemplates(org), (text) =>
        about("template", org).fault(text, "The token needs the scope templates:read.")),
      orFault(checkConnections(txt, org), (text) =>
        about("connection", org).fault(text, "The token needs the scope admin.")),
    ]))
  return each.flat(2)
})

const diagnose: Effect.Effect<ReadonlyArray<Diagnosis>, unknown, Scope.Scope | Command.CommandContext<"parlance">> =
  Effect.gen(function* () {
    const { org, profile } = yield* root
    const remote = yield* remoteService(profile)
    const { dnsServers: servers, found } = Option.isSome(remote)
      ? { found: yield* checkService(remote.value), dnsServers: undefined }
      : yield* (yield* Effect.promise(() => import("./DoctorLocal.ts"))).checkHere
    // Commands in this process would migrate the database. They and the service cannot run without it.
    if (
      found.some(({ check, status }) =>
        (check !== "mail" && status === "fault") || (check === "store" && status !== "ok")
      )
    ) return found
    // Only the name servers of this machine matter for a service elsewhere, and this machine may have no database.
    const txt = lookUpAt(servers ?? (yield* dnsServers))
    const more = yield* checkOrganizations(txt, org).pipe(
      Effect.provide(Connection.layerOf(profile)),
      (checks) => orFault(checks, (text) => about("service").fault(text, "Check the token of the service.")),
    )
    return [...found, ...more]
  })

const marks = { ok: "ok     ", warning: "warning", fault: "fault  " } as const

const textOf = ({ check, detail, remedy, status, subject }: Diagnosis) =>
  [
    `${marks[status]}  ${subject === "" ? check : `${check} ${subject}`}: ${detail}`,
    ...(remedy === null ? [] : [`         ${remedy}`]),
  ].join("\n")

/** `parlance doctor` */
export const doctorCommand = Command.make(
  "doctor",
  {},
  Effect.fnUntraced(function* () {
    const diagnoses = yield* Effect.scoped(diagnose)
    const count = (status: Diagnosis["status"]) => diagnoses.filter((one) => one.status === status).length
    const summary = { faults: count("fault"), warnings: count("warning"), ok: count("ok") }
    yield* print(
      { ...summary, diagnoses },
      [
        ...diagnoses.map(textOf),
        "",
        `${summary.faults} faults, ${summary.warnings} warnings, ${summary.ok} checks in order`,
      ]
        .join("\n"),
    )
    if (summary.faults > 0) process.exitCode = 1
  }),
).pipe(
  Command.withDescription(
    "Check settings, the database and its replica, or the service, clocks, mail, sources, connections and DNS records, and say what to do. Exits " +
      "with 1 if there are faults",
  ),
)
