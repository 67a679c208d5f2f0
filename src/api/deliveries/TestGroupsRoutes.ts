import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { note } from "../../accounts/Audit.ts"
import { Connections } from "../../delivery/Connections.ts"
import { sendToEach } from "../../delivery/receivers/GroupTest.ts"
import { TestGroups } from "../../delivery/receivers/TestGroups.ts"
import { TestMessages } from "../../delivery/receivers/TestMessages.ts"
import { InvalidInput } from "../../domain/Errors.ts"
import { decoder } from "../../domain/Faults.ts"
import { TestGroupInput } from "../../domain/TestGroup.ts"
import { Organizations } from "../../organizations/Organizations.ts"
import { ServedApi } from "../Api.ts"
import { body, existing, lookedUp, toProblems } from "../server/Requests.ts"
import { GroupTestRequest } from "./TestGroupsApi.ts"

const decodeGroup = decoder(TestGroupInput)
const decodeAsk = decoder(GroupTestRequest)

export const layer = HttpApiBuilder.group(
  ServedApi,
  "testGroups",
  Effect.fnUntraced(function* (handlers) {
    const connections = yield* Connections
    const groups = yield* TestGroups
    const organizations = yield* Organizations
    const tests = yield* TestMessages

    return handlers
      .handle("listTestGroups", ({ params }) =>
        Effect.gen(function* () {
          return { groups: yield* groups.list(yield* existing(organizations, params)) }
        }).pipe(toProblems))
      .handle("getTestGroup", ({ params }) =>
        Effect.gen(function* () {
          return yield* groups.get(yield* existing(organizations, params), lookedUp(params.group))
        }).pipe(toProblems))
      .handleRaw("putTestGroup", ({ params, request }) =>
        Effect.gen(function* () {
          const input = yield* body(request, decodeGroup)
          const org = yield* existing(organizations, params)
          return yield* groups.put(org, lookedUp(params.group), input)
        }).pipe(toProblems))
      .handle("deleteTestGroup", ({ params }) =>
        Effect.gen(function* () {
          yield* groups.remove(yield* existing(organizations, params), lookedUp(params.group))
        }).pipe(toProblems))
      .handleRaw("sendGroupTest", ({ params, request }) =>
        Effect.gen(function* () {
          const { connection, fields, ...ask } = yield* body(request, decodeAsk, ["fields"])
          const org = yield* existing(organizations, params)
          const group = yield* groups.get(org, lookedUp(params.group))
          // The fields may be about a person.
          yield* note({ ...ask, group: group.id, to: group.emails })
          const through = connection ?? connections.active(org)?.name
          if (through === undefined) {
            return yield* new InvalidInput({
              faults: [{ pointer: "/connection", detail: "is required: no enabled connection can send" }],
            })
          }
          const sent = yield* sendToEach(tests, org, through, group.emails, { ...ask, ...(fields && { fields }) })
          return { sent: sent.map(({ messageId, to, ...one }) => ({ email: to, ...one, message_id: messageId })) }
        }).pipe(toProblems))
  }),
)
