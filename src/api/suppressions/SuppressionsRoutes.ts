import { Clock, Effect, Option, Result, Stream } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { note } from "../../accounts/Audit.ts"
import { isStorable } from "../../domain/Attributes.ts"
import { decoder } from "../../domain/Faults.ts"
import type { OrgSlug } from "../../domain/Ids.ts"
import { Organizations } from "../../organizations/Organizations.ts"
import { addressKey } from "../../suppressions/AddressKey.ts"
import type { SuppressionEntry } from "../../suppressions/Suppression.ts"
import { SuppressionReason } from "../../domain/SuppressionReason.ts"
import { csvHeader, csvLine } from "../../suppressions/SuppressionCsv.ts"
import { SuppressionImports } from "../../suppressions/SuppressionImports.ts"
import { Suppressions } from "../../suppressions/Suppressions.ts"
import { ServedApi } from "../Api.ts"
import { isObject } from "../generate/GenerateWire.ts"
import * as Body from "../server/Body.ts"
import { SuppressionNotFound } from "../Problems.ts"
import * as Parameters from "../server/Parameters.ts"
import { body, existing, lookedUp, toProblems } from "../server/Requests.ts"
import { SuppressionInput, type SuppressionResource } from "./SuppressionsApi.ts"

const decodeEmail = decoder(SuppressionInput)

/** Decodes an address to suppress, by its member `email` or by the earlier name `address`. */
const decodeInput: typeof decodeEmail = Object.assign(
  (input: unknown) => decodeEmail(withEmail(input)),
  { unknownMembers: (input: unknown) => decodeEmail.unknownMembers?.(withEmail(input)) ?? [] },
)

const withEmail = (input: unknown): unknown => {
  if (!isObject(input) || input["email"] !== undefined || input["address"] === undefined) return input
  const { address, ...others } = input
  return { ...others, email: address }
}

const utf8 = new TextDecoder()

/** Entries that are read at once while all are exported. */
const exportedAtOnce = 1_000

/** An entry as the API shows it. */
export const suppressionToWire = (
  { address, id, reason, source, suppressedAt }: SuppressionEntry,
): SuppressionResource => ({
  id,
  email: address,
  address,
  reason,
  source,
  suppressed_at: suppressedAt.toISOString(),
})

const reason = Parameters.oneOf(SuppressionReason.literals)

const email = Parameters.ofAddress((text): Result.Result<string, string> =>
  text === undefined
    ? Result.fail("is required")
    : isStorable(text) && addressKey(text) !== undefined
    ? Result.succeed(text)
    : Result.fail("must be an address with one @, such as ada@example.com")
)

/** The list as CSV, read in pages. `line` writes an entry: as it is for other programs, which must not miss an address. */
export const exported = (
  list: Suppressions["Service"],
  org: OrgSlug,
  line: (entry: SuppressionEntry) => string = csvLine,
): Stream.Stream<Uint8Array> =>
  Stream.paginate(
    undefined as number | undefined,
    (cursor) =>
      Effect.map(list.list(org, { cursor, limit: exportedAtOnce }), (entries) => {
        const text = (cursor === undefined ? csvHeader : "") + entries.map(line).join("")
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

    const find = (org: OrgSlug, address: string) =>
      Effect.map(list.find(org, address), (found) => ({
        suppressed: found.length > 0,
        suppressions: found.map(suppressionToWire),
      }))

    const remove = Effect.fnUntraced(function* (org: OrgSlug, address: string, reason: SuppressionReason | undefined) {
      const removed = yield* list.remove(org, address, reason)
      if (removed > 0) return
      return yield* new SuppressionNotFound({
        detail: `The address ${JSON.stringify(address.slice(0, 300))} is not on the list${
          reason === undefined ? "" : ` for the reason ${reason}`
        }.`,
      })
    })

    return handlers
      .handleRaw("listSuppressions", ({ params, request }) =>
        Effect.gen(function* () {
          const org = yield* existing(organizations, params)
          const asked = yield* Parameters.parameters(request, {
            limit: Parameters.limit(1000, 100),
            reason,
            cursor: Parameters.numericCursor(),
          })
          const found = yield* list.list(org, { reason: asked.reason, cursor: asked.cursor, limit: asked.limit + 1 })
          const page = found.slice(0, asked.limit)
          return {
            suppressions: page.map(suppressionToWire),
            next: found.length > page.length ? String(page.at(-1)!.id) : null,
          }
        }).pipe(toProblems))
      .handleRaw("findSuppression", ({ params, request }) =>
        Effect.gen(function* () {
          const org = yield* existing(organizations, params)
          return yield* find(org, (yield* Parameters.parameters(request, { email })).email)
        }).pipe(toProblems))
      .handle(
        "findSuppressionByPath",
        ({ params }) =>
          Effect.flatMap(existing(organizations, params), (org) => find(org, lookedUp(params.address))).pipe(
            toProblems,
          ),
      )
      .handleRaw("addSuppression", ({ params, request }) =>
        Effect.gen(function* () {
          const org = yield* existing(organizations, params)
          const { email, reason = "manual" } = yield* body(request, decodeInput)
          const at = yield* Clock.currentTimeMillis
          yield* Effect.orDie(list.add([{ org, address: email, reason, source: "api", at }]))
          return { suppressions: (yield* list.find(org, email)).map(suppressionToWire) }
        }).pipe(toProblems))
      .handleRaw("removeSuppression", ({ params, request }) =>
        Effect.gen(function* () {
          const org = yield* existing(organizations, params)
          const asked = yield* Parameters.parameters(request, { email, reason })
          yield* note({ email: asked.email, ...(asked.reason === undefined ? {} : { reason: asked.reason }) })
          yield* remove(org, asked.email, asked.reason)
        }).pipe(toProblems))
      .handleRaw("removeSuppressionByPath", ({ params, request }) =>
        Effect.gen(function* () {
          const org = yield* existing(organizations, params)
          const asked = yield* Parameters.parameters(request, { reason })
          yield* note(asked.reason === undefined ? {} : { reason: asked.reason })
          yield* remove(org, lookedUp(params.address), asked.reason)
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
