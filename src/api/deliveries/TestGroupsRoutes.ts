import { Effect } from "effect"
import { note } from "../../accounts/Audit.ts"
import { Connections } from "../../delivery/Connections.ts"
import { sendToEach } from "../../delivery/receivers/GroupTest.ts"
import { TestGroups } from "../../delivery/receivers/TestGroups.ts"
import { TestMessages } from "../../delivery/receivers/TestMessages.ts"
import { InvalidInput } from "../../domain/Errors.ts"
import { decoder } from "../../domain/Faults.ts"
import { managed } from "../http/Managed.ts"
import { body } from "../http/Requests.ts"
import { GroupTestRequest } from "./TestGroupsApi.ts"

const decodeAsk = decoder(GroupTestRequest)

/** Serves `TestGroupsGroup`. */
export const layer = managed(
  "testGroups",
  Effect.gen(function* () {
    const connections = yield* Connections
    const groups = yield* TestGroups
    const tests = yield* TestMessages

    return {
      listTestGroups: ({ org }) => Effect.map(groups.list(org), (all) => ({ groups: all })),
      getTestGroup: ({ org, params }) => groups.get(org, params.group),
      putTestGroup: ({ body, org, params }) => groups.put(org, params.group, body),
      deleteTestGroup: ({ org, params }) => groups.remove(org, params.group),
      sendGroupTest: {
        inSteps: Effect.fnUntraced(function* ({ org: organization, params, request }) {
          const { connection, fields, ...ask } = yield* body(request, decodeAsk, ["fields"])
          const org = yield* organization
          const group = yield* groups.get(org, params.group)
          // The audit log omits the fields, which may be personal data.
          yield* note({ ...ask, group: group.id, to: group.emails })
          const through = connection ?? connections.active(org)?.name
          if (through === undefined) {
            return yield* new InvalidInput({
              faults: [{ pointer: "/connection", detail: "is required: no enabled connection can send" }],
            })
          }
          const sent = yield* sendToEach(tests, org, through, group.emails, { ...ask, ...(fields && { fields }) })
          return { sent: sent.map((one) => ({ ...one, email: one.to })) }
        }),
      },
    }
  }),
  "after the body",
)
