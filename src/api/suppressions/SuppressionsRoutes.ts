import { Clock, Effect, Option, Stream } from "effect"
import { HttpServerResponse } from "effect/http"
import { note } from "../../accounts/Audit.ts"
import { decoder } from "../../domain/Faults.ts"
import type { OrgSlug } from "../../domain/Ids.ts"
import type { SuppressionReason } from "../../domain/SuppressionReason.ts"
import type { SuppressionEntry } from "../../suppressions/Suppression.ts"
import { csvHeader, csvLine } from "../../suppressions/SuppressionCsv.ts"
import { SuppressionImports } from "../../suppressions/SuppressionImports.ts"
import { Suppressions } from "../../suppressions/Suppressions.ts"
import { isObject } from "../generate/GenerateWire.ts"
import * as Body from "../http/Body.ts"
import { SuppressionNotFound } from "../Problems.ts"
import { managed } from "../http/Managed.ts"
import { pageBy } from "../http/Paging.ts"
import { body } from "../http/Requests.ts"
import { SuppressionInput } from "./SuppressionsApi.ts"

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

/** Number of entries that an export reads with one query. */
const exportedAtOnce = 1_000

/** Returns an entry with the address under both of its names. */
export const withBothNames = (entry: SuppressionEntry) => ({ ...entry, email: entry.address })

/**
 * Returns the suppression list as CSV, read in pages. `line` formats an entry. By default, entries are unchanged,
 * because other programs must recognize every address.
 */
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

/** Serves `SuppressionsGroup`. */
export const layer = managed(
  "suppressions",
  Effect.gen(function* () {
    const list = yield* Suppressions
    const imports = yield* SuppressionImports

    const find = (org: OrgSlug, address: string) =>
      Effect.map(list.find(org, address), (found) => ({
        suppressed: found.length > 0,
        suppressions: found.map(withBothNames),
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

    return {
      listSuppressions: Effect.fnUntraced(function* ({ org, query: { cursor, limit, reason } }) {
        const { next, page } = yield* pageBy(
          limit,
          (limit) => list.list(org, { reason, cursor, limit }),
          ({ id }) => String(id),
        )
        return { suppressions: page.map(withBothNames), next }
      }),
      findSuppression: ({ org, query }) => find(org, query.email),
      findSuppressionByPath: ({ org, params }) => find(org, params.address),
      addSuppression: {
        inSteps: Effect.fnUntraced(function* ({ org: organization, request }) {
          const org = yield* organization
          const { email, reason = "manual" } = yield* body(request, decodeInput)
          const at = yield* Clock.currentTimeMillis
          yield* Effect.orDie(list.add([{ org, address: email, reason, source: "api", at }]))
          return { suppressions: (yield* list.find(org, email)).map(withBothNames) }
        }),
      },
      removeSuppression: Effect.fnUntraced(function* ({ org, query: { email, reason } }) {
        yield* note({ email, ...(reason === undefined ? {} : { reason }) })
        yield* remove(org, email, reason)
      }),
      removeSuppressionByPath: Effect.fnUntraced(function* ({ org, params, query: { reason } }) {
        yield* note(reason === undefined ? {} : { reason })
        yield* remove(org, params.address, reason)
      }),
      importSuppressions: {
        inSteps: Effect.fnUntraced(function* ({ org, request }) {
          const slug = yield* org
          const done = yield* imports.importCsv(slug, yield* Body.text(request))
          yield* note(done)
          return done
        }),
      },
      exportSuppressions: ({ org }) =>
        Effect.succeed(HttpServerResponse.stream(exported(list, org), {
          contentType: "text/csv; charset=utf-8",
          headers: { "content-disposition": `attachment; filename="${org}-suppressions.csv"` },
        })),
    }
  }),
)
