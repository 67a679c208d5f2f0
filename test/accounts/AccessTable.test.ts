import { assert, it } from "@effect/vitest"
import { policy, sandboxRefusal } from "../../src/accounts/Policy.ts"
import { accessTable } from "../../src/api/AccessTable.ts"

it("derives from the endpoints what the table of access said", () => {
  const derived = Object.fromEntries(
    [...accessTable].map(([name, { inSandbox = false, refuses, ...rule }]) => [
      name,
      { ...rule, inSandbox, refused: refuses?.({ segment: "provider_e" }) },
    ]),
  )
  const { getConnection: _, ...written } = policy
  const expected = Object.fromEntries(
    Object.entries(written).map(([name, { refuses, ...rule }]) => [
      name,
      {
        ...rule,
        inSandbox: sandboxRefusal(name, { org: "acme~test" }) === undefined,
        refused: refuses?.({ segment: "provider_e" }),
      },
    ]),
  )
  assert.deepStrictEqual(derived, expected)
})
