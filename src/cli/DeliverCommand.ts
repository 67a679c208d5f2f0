import { Effect } from "effect"
import { Argument, Command } from "effect/cli"
import type { DeliveryResource } from "../api/deliveries/DeliveryResource.ts"
import { bulk, bulkFlags, filterFlags, membersGiven } from "./BulkDeliver.ts"
import { CommandFailed, ManagementClient } from "./Connection.ts"
import { argument, given, text, whole } from "./Flags.ts"
import { organizationCommand } from "./ManagementCommand.ts"
import { organization, print } from "./Root.ts"
import { type TableColumns, tableOf } from "./Table.ts"

const ids = Argument.String("id").pipe(
  Argument.withDescription("Ids of deliveries. Without ids, the flags select them"),
  Argument.variadic({ min: 0 }),
)

const columns: TableColumns<DeliveryResource> = {
  id: "id",
  state: "state",
  priority: "priority",
  to: "email",
  template: "template_id",
  variant: "copy_id",
  due: "due_at",
  attempts: "attempts",
  reason: ({ reason }) => reason?.slice(0, 120) ?? null,
}

const list = organizationCommand({
  name: "list",
  description: "List deliveries, newest first",
  flags: {
    state: text("state", "queued, sending, sent, failed or cancelled"),
    ...filterFlags,
    limit: whole("limit", "1 to 500", 50),
  },
  call: (client, { limit, org, state, ...filter }) =>
    client.delivery.listDeliveries({
      params: { org },
      query: { limit: String(limit), ...given({ state }), ...membersGiven(filter) },
    }),
  result: ({ deliveries }) => deliveries,
}).table(columns, "No matching deliveries")

const show = organizationCommand({
  name: "show",
  description: "Show a delivery with its content",
  flags: { id: argument("id", "Id of a delivery") },
  call: (client, { id, org }) => client.delivery.getDelivery({ params: { org, delivery: id } }),
}).text((delivery) =>
  [
    tableOf(columns, [delivery]),
    ...(delivery.expires_at === null ? [] : [`expires: ${delivery.expires_at}`]),
    ...Object.entries(delivery.vars ?? {}).map(([name, text]) => `${name}:\n${text}`),
  ].join("\n\n")
)

const each = (
  command: "cancelDelivery" | "retryDelivery",
  name: "cancel" | "retry",
  description: string,
) =>
  Command.make(
    name,
    { ids, ...bulkFlags },
    Effect.fnUntraced(function* ({ ids, ...flags }) {
      if (ids.length === 0) return yield* bulk(name, flags)
      if (flags.all || Object.keys(membersGiven(flags)).length > 0) {
        return yield* new CommandFailed({
          message: "Use either ids of deliveries or flags that select them, not both.",
        })
      }
      const client = yield* ManagementClient
      const org = yield* organization
      const changed: Array<DeliveryResource> = []
      for (const id of ids) changed.push(yield* client.delivery[command]({ params: { org, delivery: id } }))
      yield* print(changed, tableOf(columns, changed))
    }),
  ).pipe(Command.withDescription(description))

const status = organizationCommand({
  name: "status",
  description: "Show counts by state, the age of the oldest due message, and the current rate",
  call: (client, { org }) => client.delivery.deliverySummary({ params: { org } }),
}).table({
  queued: "queued",
  scheduled: "scheduled",
  sending: "sending",
  sent: "sent",
  failed: "failed",
  cancelled: "cancelled",
  "oldest due s": ({ oldest_due_seconds }) => Math.round(oldest_due_seconds),
  "sent per s": ({ sent_per_second }) => Math.round(sent_per_second * 10) / 10,
})

const perMinute = (count: number, minutes: number) => Math.round(10 * count / minutes) / 10

const rates = organizationCommand({
  name: "rates",
  description: "Show messages sent, failed and retried per minute, and the queue length, over time",
  flags: { hours: whole("hours", "Length of the period, 1 to 840 hours", 1) },
  call: (client, { hours, org }) =>
    client.delivery.deliverySeries({ params: { org }, query: { hours: String(hours) } }),
}).text(({ points }) =>
  tableOf({
    from: ({ complete, start }) => `${start.slice(0, 16).replace("T", " ")}${complete ? "" : " *"}`,
    "sent per min": ({ minutes, sent }) => perMinute(sent, minutes),
    "failed per min": ({ failed, minutes }) => perMinute(failed, minutes),
    "retried per min": ({ minutes, retried }) => perMinute(retried, minutes),
    waiting: "queued",
    "oldest waits s": ({ oldest_due_seconds: age }) => age === null ? null : Math.round(age),
  }, points) + "\n\nUTC. * Not ended yet."
)

/** `parlance deliver …` */
export const deliverCommand = Command.make("deliver").pipe(
  Command.withDescription("Show queued, running and finished deliveries"),
  Command.withSubcommands([
    list,
    show,
    each("cancelDelivery", "cancel", "Cancel queued messages: by their ids, or all that match the flags"),
    each("retryDelivery", "retry", "Queue failed messages again: by their ids, or all that match the flags"),
    status,
    rates,
  ]),
)
