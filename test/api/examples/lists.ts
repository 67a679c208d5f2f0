import { assert } from "@effect/vitest"
import type { OpenApi } from "effect/http-api"
import { cursorOf } from "../../../src/api/http/Cursors.ts"
import { adminToken, type Service } from "../../support/service.ts"
import type { Example } from "./Recorder.ts"

type Operation = {
  readonly operationId: string
  readonly parameters: ReadonlyArray<{ name: string; deprecated?: true }>
}

/** Reads two pages of each list in both forms, and sends it faulty cursors. */
export const walkLists = async (
  service: Service,
  document: OpenApi.OpenAPISpec,
  examples: ReadonlyMap<string, Example>,
) => {
  const lists = Object.entries(document.paths).flatMap(([path, item]) => {
    const operation = item.get as unknown as Operation | undefined
    return operation?.parameters.some(({ name }) => name === "cursor") ? [{ path, ...operation }] : []
  })
  assert.lengthOf(lists, 22)
  const scopes = ["deliver"]
  const { key } = (await service.manage("POST", "/organizations/acme/keys", {
    name: "Lists",
    scopes,
  })).body
  const longLists: Array<string> = []
  for (const { operationId, parameters, path } of lists) {
    const given = examples.get(operationId)!.parameters ?? {}
    const at = path.replace(
      /\{(\w+)\}/g,
      (_, name) => encodeURIComponent(given[name]!),
    )
    const asked = Object.entries(given).filter(([name]) => !path.includes(`{${name}}`))
    const get = async (query: Readonly<Record<string, string>>) => {
      const response = await service.request(
        `${at}?${new URLSearchParams({
          ...Object.fromEntries(asked),
          ...query,
        })}`,
        {
          headers: operationId === "listOwnDeliveries"
            ? { "x-api-key": key }
            : { authorization: `Bearer ${adminToken}` },
        },
      )
      return { response, body: await response.text() }
    }
    const earlier = parameters.filter(({ deprecated }) => deprecated).map((
      { name },
    ) => name)
    assert.lengthOf(
      earlier,
      /Deliveries$|Suppressions$/.test(operationId) &&
        !operationId.startsWith("export")
        ? 0
        : 1,
      operationId,
    )
    const old = earlier[0] ?? "cursor"
    for (const name of ["cursor", old]) {
      const refused = JSON.parse((await get({ [name]: "MTIz\u0000" })).body)
      assert.deepStrictEqual(
        refused.errors?.map(({ pointer }: { pointer: string }) => pointer),
        [name],
        operationId,
      )
    }
    if (operationId.startsWith("export")) continue
    const foreign = JSON.parse(
      (await get({ cursor: cursorOf("another list", 1) })).body,
    )
    assert.match(
      foreign.errors[0].detail,
      /next_cursor.*Leave it out/,
      operationId,
    )
    const first = await get({ limit: "1" })
    // The story ends by removing some of what it made.
    if (first.response.status === 404) continue
    const { next, next_cursor } = JSON.parse(first.body)
    assert.strictEqual(next === null, next_cursor === null, operationId)
    if (next === null) continue
    longLists.push(operationId)
    const second = await get({ limit: "1", cursor: next_cursor })
    assert.strictEqual(
      second.body,
      (await get({ limit: "1", [old]: String(next) })).body,
      operationId,
    )
    if (old !== "cursor") {
      assert.strictEqual(
        (await get({ cursor: next_cursor, [old]: String(next) })).response
          .status,
        400,
      )
    }
  }
  assert.isAtLeast(longLists.length, 6, longLists.join())
}
