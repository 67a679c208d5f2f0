import { layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { assert, describe, it } from "vitest"
import { Accounts } from "../../src/accounts/Accounts.ts"
import { changesOf, GroupRoles, highest } from "../../src/accounts/GroupRoles.ts"
import { groupsIn } from "../../src/accounts/GroupsClaim.ts"
import type { OrgSlug } from "../../src/domain/Ids.ts"
import { layerMigrated, temporaryEnvironment } from "../support/stores.ts"
import { layerAccounts } from "./layerAccounts.ts"

const org = "acme" as OrgSlug
const other = "pier" as OrgSlug
const grant = (role: "viewer" | "editor" | "admin", group: string, of = org) => ({ org: of, role, group })

describe("groupsIn", () => {
  it("reads a list of texts or one text, each group once", () => {
    assert.deepStrictEqual(groupsIn({ groups: ["b", "a", "b", ""] }, "groups"), { kind: "known", groups: ["b", "a"] })
    assert.deepStrictEqual(groupsIn({ groups: "a, b" }, "groups"), { kind: "known", groups: ["a, b"] })
    const claim = "https://crm.example.com/groups"
    assert.deepStrictEqual(groupsIn({ [claim]: [] }, claim), { kind: "known", groups: [] })
  })

  it("returns undefined without the claim", () => {
    assert.isUndefined(groupsIn({}, "groups"))
    assert.isUndefined(groupsIn({ groups: null }, "groups"))
    assert.isUndefined(groupsIn({ _claim_names: { roles: "src1" } }, "groups"))
  })

  it("reports groups that the provider left out or that cannot be read", () => {
    for (
      const claims of [
        { _claim_names: { groups: "src1" } },
        { hasgroups: true },
        { hasgroups: "true" },
        { groups: { a: true } },
        { groups: [["a"]] },
        { groups: 7 },
      ]
    ) assert.strictEqual(groupsIn(claims, "groups")?.kind, "unknown", JSON.stringify(claims))
  })
})

describe("highest", () => {
  it("selects the highest role of each organization, then the first group by name", () => {
    const grants = [grant("viewer", "a"), grant("editor", "c"), grant("editor", "b"), grant("viewer", "a", other)]
    assert.deepStrictEqual([...highest(grants).values()], [grant("editor", "b"), grant("viewer", "a", other)])
  })
})

describe("changesOf", () => {
  const held = (role: "viewer" | "editor" | "admin", fromGroup: string | null) => ({ org, role, fromGroup })
  const none = new Set<OrgSlug>()

  it("adds, changes and removes memberships that follow groups", () => {
    const wanted = highest([grant("editor", "a")])
    assert.deepStrictEqual(changesOf([], wanted, none), [{ kind: "added", ...grant("editor", "a") }])
    assert.deepStrictEqual(changesOf([held("editor", "a")], wanted, none), [])
    assert.deepStrictEqual(changesOf([held("admin", "b")], wanted, none), [{
      kind: "changed",
      ...grant("editor", "a"),
    }])
    assert.deepStrictEqual(changesOf([held("viewer", "b")], new Map(), none), [
      { kind: "removed", ...grant("viewer", "b") },
    ])
  })

  it("leaves memberships that a person made", () => {
    assert.deepStrictEqual(changesOf([held("viewer", null)], highest([grant("admin", "a")]), none), [])
    assert.deepStrictEqual(changesOf([held("admin", null)], new Map(), none), [])
  })

  it("keeps the only admin", () => {
    const kept = [{ kind: "kept" as const, ...grant("admin", "b") }]
    assert.deepStrictEqual(changesOf([held("admin", "b")], new Map(), new Set([org])), kept)
    assert.deepStrictEqual(changesOf([held("admin", "b")], highest([grant("viewer", "a")]), new Set([org])), kept)
    assert.deepStrictEqual(changesOf([held("admin", "b")], highest([grant("admin", "a")]), new Set([org])), [
      { kind: "changed", ...grant("admin", "a") },
    ])
  })
})

layer(layerAccounts.pipe(Layer.provideMerge(layerMigrated(temporaryEnvironment))), { excludeTestServices: true })(
  "GroupRoles",
  (it) => {
    it.effect("keep a group from removal until its members have the role", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const roles = yield* GroupRoles
        const { id } = yield* (yield* Accounts).create({ email: "race@example.com", name: "Ada" })
        yield* sql`INSERT INTO organizations (slug, name, created_at, updated_at) VALUES (${org}, 'Acme', now(), now())`
        yield* roles.put(org, { group: "crm", role: "viewer" })
        const outside = yield* Effect.context<never>()
        const removable = sql`SELECT g.id FROM group_roles g WHERE g.group_name = 'crm' FOR UPDATE SKIP LOCKED`
        yield* sql.withTransaction(Effect.gen(function* () {
          yield* roles.follow(id, ["crm"])
          assert.deepStrictEqual(yield* Effect.promise(() => Effect.runPromiseWith(outside)(removable)), [])
        }))
        assert.lengthOf(yield* removable, 1)
        assert.strictEqual((yield* roles.list(org))[0]?.members, 1)
      }))
  },
)
