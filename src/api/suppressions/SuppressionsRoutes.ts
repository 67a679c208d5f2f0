import { Clock, Effect, Option, Result, Stream } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { note } from "../../accounts/Audit.ts"
import type { Fault } from "../../domain/Errors.ts"
import { decoder } from "../../domain/Faults.ts"
import type { OrgSlug } from "../../domain/Ids.ts"
import { Organizations } from "../../organizations/Organizations.ts"
import { type SuppressionEntry, SuppressionReason } from "../../suppressions/Suppression.ts"
import { csvHeader, csvLine } from "../../suppressions/SuppressionCsv.ts"
import { SuppressionImports } from "../../suppressions/SuppressionImports.ts"
import { Suppressions } from "../../suppressions/Suppressions.ts"
import { ServedApi } from "../Api.ts"
import * as Body from "../server/Body.ts"
import { SuppressionNotFound } from "../Problems.ts"
import { body, existing, invalid, limitOf, lookedUp, query, toProblems } from "../server/Requests.ts"
import { type Suppression, SuppressionInput } from "./SuppressionsApi.ts"

const decodeInput = decoder(SuppressionInput)

const utf8 = new TextDecoder()

/** Entries that are read at once while all are exported. */
const exportedAtOnce = 1_000

/** An entry as the API shows it. */
export const suppressionToWire = ({ suppressedAt, ...entry }: SuppressionEntry): Suppression => ({
  ...entry,
  suppressed_at: suppressedAt.toISOString(),
})

const failureOf = (read: Result.Result<unknown, Fault>): ReadonlyArray<Fault> =>
  Result.isFailure(read) ? [read.failure] : []

/** The query's `reason`; undefined where it is not given. */
const reasonOf = (asked: URLSearchParams): Result.Result<SuppressionReason | undefined, Fault> => {
  const text = asked.get("reason")
  const reason = SuppressionReason.literals.find((one) => one === text)
  return text === null || reason !== undefined
    ? Result.succeed(reason)
    : Result.fail({ pointer: "reason", detail: `must be one of ${SuppressionReason.literals.join(", ")}` })
}

/** The query's `cursor`, the id of an entry; undefined where it is not given. */
const cursorOf = (asked: URLSearchParams): Result.Result<number | undefined, Fault> => {
  const text = asked.get("cursor")
  return text === null || /^\d{1,15}$/.test(text)
    ? Result.succeed(text === null ? undefined : Number(text))
    : Result.fail({ pointer: "cursor", detail: "must be the `next` of a page" })
}

/** The list as CSV, read in pages. */
export const exported = (list: Suppressions["Service"], org: OrgSlug): Stream.Stream<Uint8Array> =>
  Stream.paginate(
    undefined as number | undefined,
    (before) =>
      Effect.map(list.list(org, { before, limit: exportedAtOnce }), (entries) => {
        const text = (before === undefined ? csvHeader : "") + entries.map(csvLine).join("")
        const next = entries.length === exportedAtOnce ? Option.some(entries.at(-1)!.id) : Option.none()
        return [[new TextEncoder().encode(text)], next] as const
      }),
  )

export const layer = HttpApiBuilder.group(
  ServedApi,
  "suppressions",
  Effect.fnUntraced(function* (handlers) {
    const organizations = yield* Organizations
    const list = yield* Suppressions
    const imports = yield* SuppressionImports

    return handlers
      .handleRaw("listSuppressions", ({ params, request }) =>
        Effect.gen(function* () {
          const org = yield* existing(organizations, params)
          const asked = query(request)
          const limit = limitOf(asked, 1000, 100)
          const reason = reasonOf(asked)
          const before = cursorOf(asked)
          if (Result.isFailure(limit) || Result.isFailure(reason) || Result.isFailure(before)) {
            return yield* invalid([limit, reason, before].flatMap(failureOf))
          }
          const found = yield* list.list(org, {
            reason: reason.success,
            before: before.success,
            limit: limit.success + 1,
          })
          const page = found.slice(0, limit.success)
          return {
            suppressions: page.map(suppressionToWire),
            next: found.length > page.length ? String(page.at(-1)!.id) : null,
          }
        }).pipe(toProblems))
      .handle("findSuppression", ({ params }) =>
        Effect.gen(function* () {
          const org = yield* existing(organizations, params)
          const found = yield* list.find(org, lookedUp(params.address))
          return { suppressed: found.length > 0, suppressions: found.map(suppressionToWire) }
        }).pipe(toProblems))
      .handleRaw("addSuppression", ({ params, request }) =>
        Effect.gen(function* () {
          const org = yield* existing(organizations, params)
          const { address, reason = "manual" } = yield* body(request, decodeInput)
          const at = yield* Clock.currentTimeMillis
          yield* Effect.orDie(list.add([{ org, address, reason, source: "api", at }]))
          return { suppressions: (yield* list.find(org, address)).map(suppressionToWire) }
        }).pipe(toProblems))
      .handleRaw("removeSuppression", ({ params, request }) =>
        Effect.gen(function* () {
          const org = yield* existing(organizations, params)
          const reason = reasonOf(query(request))
          if (Result.isFailure(reason)) return yield* invalid([reason.failure])
          yield* note(reason.success === undefined ? {} : { reason: reason.success })
          const removed = yield* list.remove(org, lookedUp(params.address), reason.success)
          if (removed === 0) {
            return yield* new SuppressionNotFound({
              detail: `The address ${JSON.stringify(params.address.slice(0, 300))} is not on the list${
                reason.success === undefined ? "" : ` for the reason ${reason.success}`
              }.`,
            })
          }
        }).pipe(toProblems))
      .handleRaw("importSuppressions", ({ params, request }) =>
        Effect.gen(function* () {
          const org = yield* existing(organizations, params)
          const bytes = yield* Body.raw(request, Body.maxBodyBytes)
          const done = yield* imports.importCsv(org, utf8.decode(bytes))
          yield* note(done)
          return done
        }).pipe(toProblems))
      .handleRaw(
        "exportSuppressions",
        ({ params }) =>
          Effect.map(existing(organizations, params), (org) =>
            HttpServerResponse.stream(exported(list, org), {
              contentType: "text/csv; charset=utf-8",
              headers: { "content-disposition": `attachment; filename="${org}-suppressions.csv"` },
            })).pipe(toProblems),
      )
  }),
)
