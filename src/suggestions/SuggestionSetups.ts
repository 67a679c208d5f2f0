import { Context, DateTime, Duration, Effect, Layer, Option, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { HttpUrl, PlatformId, Token } from "../delivery/connections/Entry.ts"
import { AddressGuard, requireAllowed } from "../settings/AddressGuard.ts"
import { described } from "../domain/described.ts"
import { secretIs } from "../domain/Blanked.ts"
import { InvalidInput } from "../domain/Errors.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import { BrandRules, noRules } from "../domain/Suggestion.ts"
import type { TokenPrice } from "../settings/SuggestionSettings.ts"
import { Settings } from "../settings/Settings.ts"
import { tell } from "../store/ChangeTrail.ts"
import { type NoSecretKey, SecretBox, type SecretFileFaulty, type SecretUnreadable } from "../store/SecretBox.ts"
import type { SealedColumn } from "../store/SecretKeys.ts"
import { type ChatEndpoint, chatUrl } from "./ChatEndpoint.ts"
import { SuggestionsBusy } from "./SuggestionErrors.ts"

const Source = Schema.Literals(["default", "own", "off"]).annotate({
  description:
    "`default`: the model of the installation, if it has one. `own`: the model of `url` and `model`. `off`: no " +
    "suggestions",
})

/** How variants of an organization are suggested. */
export const SuggestionSetup = Schema.Struct({
  endpoint: Source,
  url: described(
    Schema.NullOr(Schema.String),
    "The organization's own chat completions endpoint. A query, which may contain a secret, is shown as `?…`",
  ),
  model: described(Schema.NullOr(Schema.String), "The name of the model at `url`"),
  has_key: described(Schema.Boolean, "Whether requests to `url` carry an API key, which is never shown"),
  ...BrandRules.fields,
  used: described(
    Schema.NullOr(Schema.Struct({ host: Schema.String, model: Schema.String })),
    "The model that is asked, with its host. Null: no model is configured",
  ),
  daily_limit: described(Schema.Int, "Number of requests for suggestions in a day (UTC)"),
  requests_today: Schema.Int,
}).annotate({ identifier: "SuggestionSetup" })
export type SuggestionSetup = typeof SuggestionSetup.Type

const optional = Schema.optionalKey

/** A change of the setup. Absent members stay unchanged. */
export const SuggestionSetupPatch = Schema.Struct({
  endpoint: optional(Source),
  url: optional(described(
    Schema.NullOr(HttpUrl),
    "For example `https://api.openai.com/v1`. Private addresses only if `OUTBOUND_ALLOW` lists them. Another URL forgets the " +
      "key. The URL as it is shown stays unchanged",
  )),
  model: optional(described(Schema.NullOr(PlatformId), "Such as `gpt-5-mini`")),
  key: optional(described(Schema.NullOr(Token), "API key for `url`. Null: requests carry no key")),
  tone: optional(BrandRules.fields.tone),
  forbidden_words: optional(BrandRules.fields.forbidden_words),
  required_phrases: optional(BrandRules.fields.required_phrases),
  max_lengths: optional(BrandRules.fields.max_lengths),
}).annotate({ identifier: "SuggestionSetupPatch" })
export type SuggestionSetupPatch = typeof SuggestionSetupPatch.Type

/** A model with the price of its tokens, if the operator has set one. */
export interface UsedEndpoint extends ChatEndpoint {
  readonly price: TokenPrice | undefined
}

interface Row {
  readonly endpoint: typeof Source.Type
  readonly url: string | null
  readonly model: string | null
  readonly sealed: string | null
  readonly rules: Partial<BrandRules>
  readonly calls: number
}

const emptyRow: Row = { endpoint: "default", url: null, model: null, sealed: null, rules: {}, calls: 0 }

const purposeOf = (org: string): string => `suggestions ${org}`

/** Keys of language models. */
export const sealedSuggestionSetups: SealedColumn = {
  table: "suggestion_setups",
  column: "sealed",
  type: "text",
  key: ["org_slug"],
  purposeOf: ([org]) => purposeOf(org!),
}

const hiddenQuery = "?…"

/** Returns a URL without its query, which may contain a secret. */
const shownUrl = (url: string | null): string | null =>
  url?.includes("?") ? url.slice(0, url.indexOf("?")) + hiddenQuery : url

const fieldsOf = ({ endpoint, model, rules, sealed, url }: Row) => ({
  "/suggestions": endpoint,
  "/suggestions_url": shownUrl(url),
  "/suggestions_model": model,
  ...(sealed === null ? {} : { "/suggestions_key": secretIs.set }),
  ...Object.fromEntries(Object.entries({ ...noRules, ...rules }).map(([name, value]) => [`/${name}`, value])),
})

/** Returns the row after a change. `sealed` is the new key, if the change has one. */
const changedRow = (before: Row, patch: SuggestionSetupPatch, sealed: string | undefined): Row => {
  const { endpoint = before.endpoint, key, model = before.model, url: given = before.url, ...rules } = patch
  const url = given === shownUrl(before.url) ? before.url : given
  // A key is only for the server that it was entered for.
  const kept = key === null || url !== before.url ? null : before.sealed
  return { ...before, endpoint, url, model, sealed: sealed ?? kept, rules: { ...before.rules, ...rules } }
}

const fault = (pointer: string, detail: string) => new InvalidInput({ faults: [{ pointer, detail }] })

/** The model and the rules of each organization, and its use of the model. A broken store is a defect. */
export class SuggestionSetups extends Context.Service<SuggestionSetups, {
  readonly get: (org: OrgSlug) => Effect.Effect<SuggestionSetup>
  /**
   * Changes the setup. Fails with `InvalidInput` if an own endpoint lacks its URL or model, or is at a forbidden address,
   * and with `NoSecretKey` or `SecretFileFaulty` if the key cannot be encrypted.
   */
  readonly update: (
    org: OrgSlug,
    patch: SuggestionSetupPatch,
  ) => Effect.Effect<SuggestionSetup, InvalidInput | NoSecretKey | SecretFileFaulty>
  /** Returns the model to ask, or undefined. Fails if the stored key cannot be decrypted. */
  readonly endpoint: (org: OrgSlug) => Effect.Effect<UsedEndpoint | undefined, SecretUnreadable | SecretFileFaulty>
  /**
   * Runs `ask` as the only request of the organization, and counts it. Fails with `SuggestionsBusy` if another one is in
   * progress on any node, or if the daily limit is reached.
   */
  readonly asOnly: <A, E>(org: OrgSlug, ask: Effect.Effect<A, E>) => Effect.Effect<A, E | SuggestionsBusy>
}>()("parlance/suggestions/SuggestionSetups") {
  static readonly layer = Layer.effect(
    SuggestionSetups,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const box = yield* SecretBox
      const guard = yield* AddressGuard
      const settings = yield* Settings

      const today = Effect.map(DateTime.now, DateTime.formatIsoDateUtc)

      const read = Effect.fnUntraced(function* (org: OrgSlug) {
        const [row] = yield* sql<Row>`
          SELECT s.endpoint, s.url, s.model, s.sealed, s.rules,
            CASE WHEN s.day = ${yield* today}::date THEN s.calls ELSE 0 END AS calls
          FROM suggestion_setups s WHERE s.org_slug = ${org}`
        return row ?? emptyRow
      }, Effect.orDie)

      /** The model that is asked, without its key. */
      const usedOf = ({ endpoint, model, url }: Row) =>
        endpoint === "own" && url !== null && model !== null
          ? { url: chatUrl(url), model }
          : endpoint === "default" && settings.suggestionsUrl !== ""
          ? { url: chatUrl(settings.suggestionsUrl), model: settings.suggestionsModel }
          : undefined

      const setupOf = (row: Row): SuggestionSetup => {
        const used = usedOf(row)
        return {
          endpoint: row.endpoint,
          url: shownUrl(row.url),
          model: row.model,
          has_key: row.sealed !== null,
          ...noRules,
          ...row.rules,
          used: used === undefined ? null : { host: used.url.host, model: used.model },
          daily_limit: settings.suggestionsDailyLimit,
          requests_today: row.calls,
        }
      }

      const get = Effect.fn("SuggestionSetups.get")((org: OrgSlug) => Effect.map(read(org), setupOf))

      const update = Effect.fn("SuggestionSetups.update")(function* (org: OrgSlug, patch: SuggestionSetupPatch) {
        const { key } = patch
        const sealed = key === undefined || key === null
          ? undefined
          : yield* box.seal(purposeOf(org), Redacted.make(key))
        const before = yield* read(org)
        const after = changedRow(before, patch, sealed)
        if (after.endpoint === "own" && after.url === null) {
          return yield* fault("/url", "is required for an own endpoint")
        }
        if (after.url?.endsWith(hiddenQuery)) {
          return yield* fault("/url", `has ${hiddenQuery} in the place of its query: enter the whole URL`)
        }
        if (after.endpoint === "own" && after.model === null) {
          return yield* fault("/model", "is required for an own endpoint")
        }
        yield* requireAllowed(guard, "/url", after.url)
        yield* Effect.orDie(sql`
          INSERT INTO suggestion_setups AS s (org_slug, endpoint, url, model, sealed, rules)
          VALUES (${org}, ${after.endpoint}, ${after.url}, ${after.model}, ${after.sealed},
            ${JSON.stringify(after.rules)}::text::json)
          ON CONFLICT (org_slug) DO UPDATE SET endpoint = excluded.endpoint, url = excluded.url, model = excluded.model,
            sealed = excluded.sealed, rules = excluded.rules`)
        const told = fieldsOf(after)
        yield* tell("organization", org, fieldsOf(before), {
          ...told,
          ...(sealed !== undefined && before.sealed !== null ? { "/suggestions_key": secretIs.replaced } : {}),
        })
        return setupOf(after)
      })

      const endpoint = Effect.fn("SuggestionSetups.endpoint")(function* (org: OrgSlug) {
        const row = yield* read(org)
        const used = usedOf(row)
        if (used === undefined) return undefined
        const isOwn = row.endpoint === "own"
        const own = isOwn && row.sealed !== null ? yield* box.open(purposeOf(org), row.sealed) : undefined
        return {
          ...used,
          key: isOwn ? own : Option.getOrUndefined(settings.suggestionsKey),
          price: isOwn ? undefined : Option.getOrUndefined(settings.suggestionsPrice),
        }
      })

      const begin = Effect.fnUntraced(function* (org: OrgSlug) {
        const day = yield* today
        const limit = settings.suggestionsDailyLimit
        // Ends by itself if the node dies: two requests, and time for the checks of their drafts.
        const lease = 2 * Duration.toSeconds(settings.suggestionsTimeout) + 60
        const rows = yield* Effect.orDie(sql`
          INSERT INTO suggestion_setups AS s (org_slug, day, calls, busy_until)
          VALUES (${org}, ${day}::date, 1, now() + ${lease} * interval '1 second')
          ON CONFLICT (org_slug) DO UPDATE SET day = excluded.day, busy_until = excluded.busy_until,
            calls = CASE WHEN s.day = excluded.day THEN s.calls + 1 ELSE 1 END
          WHERE (s.busy_until IS NULL OR s.busy_until < now())
            AND (s.day IS DISTINCT FROM excluded.day OR s.calls < ${limit})
          RETURNING s.org_slug`)
        if (rows.length > 0) return
        const { calls } = yield* read(org)
        if (calls < limit) return yield* new SuggestionsBusy({ retryAfterSeconds: 10 })
        const now = (yield* DateTime.now).epochMilliseconds
        return yield* new SuggestionsBusy({
          limit,
          retryAfterSeconds: Math.ceil((Date.parse(`${day}T24:00:00Z`) - now) / 1_000),
        })
      })

      const asOnly = <A, E>(org: OrgSlug, ask: Effect.Effect<A, E>) =>
        Effect.acquireUseRelease(
          begin(org),
          () => ask,
          () => Effect.orDie(sql`UPDATE suggestion_setups s SET busy_until = NULL WHERE s.org_slug = ${org}`),
        )

      return SuggestionSetups.of({ get, update, endpoint, asOnly })
    }),
  )
}
