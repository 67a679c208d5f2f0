import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { Accounts } from "../../../src/accounts/Accounts.ts"
import { Memberships } from "../../../src/accounts/Memberships.ts"
import { OrgSlug } from "../../../src/domain/Ids.ts"
import type { NewNotification } from "../../../src/accounts/notifications/Kinds.ts"
import { Notifications } from "../../../src/accounts/notifications/Notifications.ts"
import { notify } from "../../../src/accounts/notifications/Notify.ts"
import { Organizations } from "../../../src/organizations/Organizations.ts"
import { AddressGuard } from "../../../src/settings/AddressGuard.ts"
import { WebhookEndpoints } from "../../../src/webhooks/WebhookEndpoints.ts"
import { layerAccounts } from "../layerAccounts.ts"
import { layerMigrated, temporaryEnvironment } from "../../support/stores.ts"

const token = { kind: "token" } as const
const slugOf = Schema.decodeSync(OrgSlug)

describe("notifications", () => {
  const environment = Effect.map(temporaryEnvironment, (one) => ({ ...one, SECRET_KEY: "5e".repeat(32) }))
  layer(
    Layer.mergeAll(Notifications.layer, WebhookEndpoints.layer.pipe(Layer.provide(AddressGuard.layer()))).pipe(
      Layer.provideMerge(layerAccounts),
      Layer.provideMerge(layerMigrated(environment)),
    ),
    { excludeTestServices: true },
  )((it) => {
    let made = 0

    /** An organization with an account of each role, and one who is a member elsewhere only. */
    const furnish = Effect.gen(function* () {
      const org = slugOf(`org-${made++}`)
      yield* (yield* Organizations).create({ slug: org, name: "Shop" })
      const accounts = yield* Accounts
      const memberships = yield* Memberships
      const join = (role: "viewer" | "editor" | "admin") =>
        Effect.gen(function* () {
          const { id } = yield* accounts.create({ email: `${role}@${org}.example`, name: role })
          yield* memberships.put(org, id, role, token)
          return id
        })
      const stranger = yield* accounts.create({ email: `stranger@${org}.example`, name: "stranger" })
      return {
        org,
        viewer: yield* join("viewer"),
        editor: yield* join("editor"),
        admin: yield* join("admin"),
        stranger: stranger.id,
      }
    })

    const winner = (org: string, to: NewNotification["to"]): NewNotification => ({
      kind: "winner.found",
      data: {
        org,
        template_id: "t",
        copy_id: "b",
        verdict: "winner",
        compared: ["a", "b"],
        found_at: "2026-05-04T09:30:00.000Z",
      },
      to,
    })

    const tell = (...notifications: ReadonlyArray<NewNotification>) =>
      Effect.flatMap(SqlClient.SqlClient, (sql) => sql.withTransaction(notify(sql, notifications)))

    const unread = (org: OrgSlug, accounts: ReadonlyArray<string>) =>
      Effect.flatMap(Notifications, ({ unread }) => Effect.forEach(accounts, (account) => unread(org, account)))

    it.effect("are sent to members with the role and to named accounts with access, but not to the author", () =>
      Effect.gen(function* () {
        const { admin, editor, org, stranger, viewer } = yield* furnish
        const all = [viewer, editor, admin, stranger]
        yield* tell(winner(org, { role: "editor" }))
        assert.deepStrictEqual(yield* unread(org, all), [0, 1, 1, 0])
        yield* tell({ ...winner(org, { role: "viewer" }), except: [admin] })
        assert.deepStrictEqual(yield* unread(org, all), [1, 2, 1, 0])
        yield* tell(winner(org, { accounts: [viewer, stranger, "nobody"] }))
        assert.deepStrictEqual(yield* unread(org, all), [2, 2, 1, 0])
      }))

    it.effect("are sent to the installation's administrators if no member has the role", () =>
      Effect.gen(function* () {
        const org = slugOf("alone")
        yield* (yield* Organizations).create({ slug: org, name: "Alone" })
        const accounts = yield* Accounts
        const { id: administrator } = yield* accounts.create({
          email: "root@example.com",
          name: "Root",
          administrator: true,
        })
        const { id: viewer } = yield* accounts.create({ email: "viewer@alone.example", name: "Viewer" })
        yield* (yield* Memberships).put(org, viewer, "viewer", token)
        yield* tell(winner(org, { role: "editor" }), winner(org, { role: "viewer" }))
        assert.deepStrictEqual(yield* unread(org, [administrator, viewer]), [1, 1])
        yield* tell(winner(org, { accounts: [administrator] }))
        assert.deepStrictEqual(yield* unread(org, [administrator, viewer]), [2, 1])
        yield* tell(winner("alone~sandbox", { role: "viewer" }))
        assert.deepStrictEqual(yield* unread(slugOf("alone"), [administrator, viewer]), [2, 1])
      }))

    it.effect("are rolled back with the transaction, and reach webhook endpoints under the name of their event", () =>
      Effect.gen(function* () {
        const { org, viewer } = yield* furnish
        const endpoints = yield* WebhookEndpoints
        const { endpoint } = yield* endpoints.create(org, {
          url: "https://example.com/hook",
          description: "",
          events: [],
          enabled: true,
        })
        const sql = yield* SqlClient.SqlClient
        const comment = {
          org,
          template_id: "t",
          copy_id: null,
          comment_id: "1",
          by: "ann@example.com",
          text: "Hello @viewer",
          added_at: "2026-05-04T09:30:00.000Z",
        }
        const told: ReadonlyArray<NewNotification> = [
          { kind: "comment.mention", data: comment, to: { accounts: [viewer] } },
          { kind: "comment.added", data: comment, to: { accounts: [] } },
        ]
        yield* Effect.flip(sql.withTransaction(Effect.andThen(notify(sql, told), Effect.fail("over"))))
        assert.deepStrictEqual(yield* unread(org, [viewer]), [0])
        yield* tell(...told)
        const [notification, ...more] = yield* (yield* Notifications).list(org, viewer, { limit: 10 })
        assert.deepStrictEqual(more, [])
        assert.deepInclude(notification, { kind: "comment.mention", data: comment, readAt: null })
        const sent = yield* endpoints.messages(org, endpoint.id, { before: undefined, limit: 10 })
        assert.deepStrictEqual(sent.map(({ body }) => JSON.parse(body!).type), ["comment.added"])
      }))

    it.effect("are paged, filtered and read", () =>
      Effect.gen(function* () {
        const { org, viewer } = yield* furnish
        const notifications = yield* Notifications
        for (let n = 0; n < 3; n++) yield* tell(winner(org, { role: "viewer" }))
        yield* tell({
          kind: "source.silent",
          data: {
            org,
            source: "provider_a",
            platform: "braze",
            last_received_hour: "2026-05-03T21:00:00.000Z",
            longest_pause_hours: 7,
            noticed_at: "2026-05-04T09:30:00.000Z",
          },
          to: { role: "viewer" },
        })
        const [newest, second] = yield* notifications.list(org, viewer, { limit: 2 })
        assert.deepStrictEqual([newest!.kind, second!.kind], ["source.silent", "winner.found"])
        assert.lengthOf(yield* notifications.list(org, viewer, { limit: 10, cursor: second!.id }), 2)
        assert.strictEqual(yield* notifications.count(org, viewer, { kind: "winner.found" }), 3)
        assert.strictEqual(yield* notifications.read(org, viewer, [newest!.id]), 1)
        assert.strictEqual(yield* notifications.read(org, viewer, [newest!.id]), 0)
        assert.lengthOf(yield* notifications.list(org, viewer, { limit: 10, unread: true }), 3)
        assert.strictEqual(yield* notifications.read(org, viewer, undefined), 3)
        assert.strictEqual(yield* notifications.unread(org, viewer), 0)
        assert.strictEqual(yield* notifications.count(org, viewer, {}), 4)
      }))

    it.effect("are queued for mail according to the person's preference", () =>
      Effect.gen(function* () {
        const { admin, editor, org, viewer } = yield* furnish
        const notifications = yield* Notifications
        assert.deepInclude(yield* notifications.preferences(org, viewer), {
          "winner.found": "immediate",
          "comment.added": "digest",
        })
        yield* notifications.prefer(org, viewer, { "winner.found": "off" })
        yield* notifications.prefer(org, viewer, { "source.silent": "digest" })
        yield* notifications.prefer(org, editor, { "winner.found": "digest" })
        assert.deepInclude(yield* notifications.preferences(org, viewer), {
          "winner.found": "off",
          "source.silent": "digest",
          "variant.failing": "immediate",
        })
        yield* tell(winner(org, { role: "viewer" }))
        const sql = yield* SqlClient.SqlClient
        const rows = yield* sql<{ accountId: string; mail: string | null }>`
          SELECT n.account_id, n.mail FROM notifications n WHERE n.org_slug = ${org}`
        assert.deepStrictEqual(
          new Map(rows.map(({ accountId, mail }) => [accountId, mail])),
          new Map([[viewer, null], [editor, "digest"], [admin, "immediate"]]),
        )
      }))

    it.effect("are deleted with their account, with the membership, and after 90 days", () =>
      Effect.gen(function* () {
        const { admin, editor, org, viewer } = yield* furnish
        yield* (yield* Notifications).prefer(org, editor, { "winner.found": "off" })
        yield* tell(winner(org, { role: "viewer" }))
        yield* (yield* Accounts).remove(viewer)
        assert.deepStrictEqual(yield* unread(org, [viewer]), [0])
        yield* (yield* Memberships).remove(org, editor, token)
        const { preferences, prune } = yield* Notifications
        yield* prune
        assert.deepStrictEqual(yield* unread(org, [editor, admin]), [0, 1])
        assert.deepInclude(yield* preferences(org, editor), { "winner.found": "immediate" })
        yield* Effect.provide(
          Effect.gen(function* () {
            yield* TestClock.setTime(Date.now() + 91 * 86_400_000)
            yield* prune
          }),
          TestClock.layer(),
        )
        assert.deepStrictEqual(yield* unread(org, [admin]), [0])
      }))
  })
})
