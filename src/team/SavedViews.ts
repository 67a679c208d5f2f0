import { Context, DateTime, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { InvalidInput, NotAllowed, ViewNotFound } from "../domain/Errors.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import type { ListName, SavedView, SavedViewInput } from "../domain/SavedView.ts"
import { isPlainId } from "../domain/TestGroup.ts"
import { lockOrganization } from "../organizations/Existing.ts"
import { tellSubject } from "../store/ChangeTrail.ts"
import { freeId, idOfName } from "../templates/SuggestedId.ts"

/** Maximum number of shared views of a list, and of own views of a member for it. */
const maxViews = 30

/** Names a view in the audit log, unless only one member sees it: its id comes from its name. */
const tellView = (id: string, shared: boolean) => tellSubject(shared ? id : "")

/** Whose views are read or changed. */
export interface ViewUser {
  /** Undefined for a caller without an account, who sees shared views only. */
  readonly account: string | undefined
  /** Whether the caller may create, change and delete shared views. */
  readonly mayShare: boolean
}

interface Row extends Omit<SavedView, "shared"> {
  readonly accountId: string | null
}

const fault = (pointer: string, detail: string) => new InvalidInput({ faults: [{ pointer, detail }] })

/** Named filters of lists in the console, own or shared in the organization. A database failure is a defect. */
export class SavedViews extends Context.Service<SavedViews, {
  /** Returns the shared views and the account's own views by name, of one list or of all. */
  readonly list: (
    org: OrgSlug,
    account: string | undefined,
    list?: ListName,
  ) => Effect.Effect<ReadonlyArray<SavedView>>
  /** Fails with `ViewNotFound` for an unknown view, and for an own view of another member. */
  readonly get: (org: OrgSlug, account: string | undefined, id: string) => Effect.Effect<SavedView, ViewNotFound>
  /**
   * Creates or replaces a view. If `id` is undefined, replaces the view of this name that is shared or own alike, or
   * derives a new id from the name. Fails with `InvalidInput` for an invalid or taken id, an own view without an
   * account, and the 31st view of a list, and with `NotAllowed` if the caller may not change shared views.
   */
  readonly put: (
    org: OrgSlug,
    user: ViewUser,
    id: string | undefined,
    view: SavedViewInput,
  ) => Effect.Effect<SavedView, InvalidInput | NotAllowed>
  /** Fails with `ViewNotFound`, and with `NotAllowed` for a shared view that the caller may not change. */
  readonly remove: (org: OrgSlug, user: ViewUser, id: string) => Effect.Effect<void, ViewNotFound | NotAllowed>
  /** Sets the view with which a list opens for a member. Null: all rows. Fails with `ViewNotFound`. */
  readonly start: (
    org: OrgSlug,
    account: string,
    list: ListName,
    id: string | null,
  ) => Effect.Effect<void, ViewNotFound>
}>()("parlance/team/SavedViews") {
  static readonly layer = Layer.effect(
    SavedViews,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      /** Reads the views of an organization that the account sees. */
      const seen = (org: OrgSlug, account: string | undefined) =>
        Effect.map(
          Effect.orDie(sql<Row>`
            SELECT v.id, v.list, v.name, v.query, v.account_id, s.view_id IS NOT NULL AS start
            FROM saved_views v
            LEFT JOIN start_views s
              ON s.org_slug = v.org_slug AND s.view_id = v.id AND s.account_id = ${account ?? null}
            WHERE v.org_slug = ${org} AND (v.account_id IS NULL OR v.account_id = ${account ?? null})
            ORDER BY lower(v.name), v.id`),
          (rows) => rows.map(({ accountId, ...row }): SavedView => ({ ...row, shared: accountId === null })),
        )

      const list = Effect.fn("SavedViews.list")((org: OrgSlug, account: string | undefined, list?: ListName) =>
        Effect.map(seen(org, account), (views) => views.filter((view) => list === undefined || view.list === list))
      )

      const get = Effect.fn("SavedViews.get")(function* (org: OrgSlug, account: string | undefined, id: string) {
        const view = (yield* seen(org, account)).find((one) => one.id === id)
        return view ?? (yield* new ViewNotFound({ id }))
      })

      const checkShare = ({ mayShare }: ViewUser, shared: boolean) =>
        shared && !mayShare
          ? new NotAllowed({ detail: "Only editors and admins share views, and change or delete shared views" })
          : Effect.void

      const put = Effect.fn("SavedViews.put")(
        function* (org: OrgSlug, user: ViewUser, wanted: string | undefined, input: SavedViewInput) {
          const { shared = false, ...view } = input
          if (wanted !== undefined && !isPlainId(wanted)) {
            return yield* fault("view", "must be 1 to 64 lowercase letters, digits, hyphens or underscores")
          }
          if (!shared && user.account === undefined) {
            return yield* fault("/shared", "must be true if no member is named")
          }
          yield* checkShare(user, shared)
          const now = yield* DateTime.nowAsDate
          return yield* sql.withTransaction(Effect.gen(function* () {
            // Serializes concurrent saves, which could choose one id twice.
            yield* lockOrganization(sql, org)
            const all = yield* seen(org, user.account)
            const taken = new Set(
              (yield* sql<{ id: string }>`SELECT v.id FROM saved_views v WHERE v.org_slug = ${org}`).map(({ id }) =>
                id
              ),
            )
            const alike = all.filter((one) => one.list === view.list && one.shared === shared)
            const id = wanted ?? alike.find(({ name }) => name === view.name)?.id ??
              freeId(idOfName(view.name) || "view", (one) => taken.has(one))
            const before = all.find((one) => one.id === id)
            if (before === undefined && taken.has(id)) {
              return yield* fault("view", "is the id of another member's view: choose another one")
            }
            if (before !== undefined) yield* checkShare(user, before.shared)
            if (!alike.some((one) => one.id === id) && alike.length >= maxViews) {
              return yield* fault("/name", `is one too many: delete one of ${maxViews} views first`)
            }
            yield* sql`
              INSERT INTO saved_views AS v (org_slug, id, list, name, query, account_id, updated_at)
              VALUES (${org}, ${id}, ${view.list}, ${view.name}, ${view.query}, ${
              shared ? null : user.account!
            }, ${now})
              ON CONFLICT (org_slug, id) DO UPDATE SET list = excluded.list, name = excluded.name,
                query = excluded.query, account_id = excluded.account_id, updated_at = excluded.updated_at`
            // Others no longer see the view, and a view of another list cannot open this list.
            yield* sql`
              DELETE FROM start_views s WHERE s.org_slug = ${org} AND s.view_id = ${id}
                AND (s.list <> ${view.list} OR (NOT ${shared}::boolean AND s.account_id <> ${user.account ?? ""}))`
            yield* tellView(id, shared || before?.shared === true)
            return { ...view, id, shared, start: before?.start === true && before.list === view.list }
          }))
        },
        Effect.catchTag("SqlError", Effect.die),
      )

      const remove = Effect.fn("SavedViews.remove")(function* (org: OrgSlug, user: ViewUser, id: string) {
        const { shared } = yield* get(org, user.account, id)
        yield* checkShare(user, shared)
        yield* tellView(id, shared)
        yield* Effect.orDie(sql`DELETE FROM saved_views v WHERE v.org_slug = ${org} AND v.id = ${id}`)
      })

      const start = Effect.fn("SavedViews.start")(
        function* (org: OrgSlug, account: string, list: ListName, id: string | null) {
          if (id === null) {
            return void (yield* Effect.orDie(sql`
              DELETE FROM start_views s
              WHERE s.org_slug = ${org} AND s.list = ${list} AND s.account_id = ${account}`))
          }
          const view = yield* get(org, account, id)
          if (view.list !== list) return yield* new ViewNotFound({ id })
          yield* Effect.orDie(sql`
            INSERT INTO start_views AS s (org_slug, list, account_id, view_id)
            VALUES (${org}, ${list}, ${account}, ${id})
            ON CONFLICT (org_slug, list, account_id) DO UPDATE SET view_id = excluded.view_id`)
        },
      )

      return SavedViews.of({ list, get, put, remove, start })
    }),
  )
}
