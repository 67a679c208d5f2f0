import { Effect } from "effect"
import { Argument } from "effect/cli"
import type { DeliveryResource } from "../api/deliveries/DeliveryResource.ts"
import { call, commandGroup, steps } from "./ApiCommand.ts"
import { bulk, bulkFlags, filterFlags, membersGiven } from "./BulkDeliver.ts"
import { CommandFailed } from "./Connection.ts"
import { argument, text, whole } from "./Flags.ts"
import { organization } from "./Root.ts"
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

/** A command that changes deliveries: each of the ids, or in the background all that match the flags. */
const changing = (kind: "cancel" | "retry", description: string) =>
  steps(description, { ids, ...bulkFlags }, function* (client, { ids, ...flags }) {
    if (ids.length === 0) return yield* bulk(kind, flags)
    if (flags.all || Object.keys(membersGiven(flags)).length > 0) {
      return yield* new CommandFailed({
        message: "Use either ids of deliveries or flags that select them, not both.",
      })
    }
    const org = yield* organization
    const change = kind === "cancel" ? client.cancelDelivery : client.retryDelivery
    const shown = yield* Effect.forEach(ids, (delivery) => change({ params: { org, delivery } }))
    return { shown, text: tableOf(columns, shown) }
  })
    .result(({ shown }): unknown => shown)
    .text((_, __, { text }) => text)

const perMinute = (count: number, minutes: number) => Math.round(10 * count / minutes) / 10

/** `parlance deliver …` */
export const deliverCommand = commandGroup("deliver", "Show queued, running and finished deliveries", {
  list: call("listDeliveries", "List deliveries, newest first", {
    state: text("state", "queued, sending, sent, failed or cancelled"),
    ...filterFlags,
    limit: whole("limit", "1 to 500", 50),
  }).result(({ deliveries }) => deliveries).table(columns, "No matching deliveries"),

  show: call("getDelivery", "Show a delivery with its content", { delivery: argument("id", "Id of a delivery") })
    .text((delivery) =>
      [
        tableOf(columns, [delivery]),
        ...(delivery.expires_at === null ? [] : [`expires: ${delivery.expires_at}`]),
        ...Object.entries(delivery.vars ?? {}).map(([name, text]) => `${name}:\n${text}`),
      ].join("\n\n")
    ),
  cancel: changing("cancel", "Cancel queued messages: by their ids, or all that match the flags"),
  retry: changing("retry", "Queue failed messages again: by their ids, or all that match the flags"),

  status: call("deliverySummary", "Show counts by state, the age of the oldest due message, and the current rate")
    .table({
      queued: "queued",
      scheduled: "scheduled",
      sending: "sending",
      sent: "sent",
      failed: "failed",
      cancelled: "cancelled",
      "oldest due s": ({ oldest_due_seconds }) => Math.round(oldest_due_seconds),
      "sent per s": ({ sent_per_second }) => Math.round(sent_per_second * 10) / 10,
    }),

  rates: call("deliverySeries", "Show messages sent, failed and retried per minute, and the queue length, over time", {
    hours: whole("hours", "Length of the period, 1 to 840 hours", 1),
  }).text(({ points }) =>
    tableOf({
      from: ({ complete, start }) => `${start.slice(0, 16).replace("T", " ")}${complete ? "" : " *"}`,
      "sent per min": ({ minutes, sent }) => perMinute(sent, minutes),
      "failed per min": ({ failed, minutes }) => perMinute(failed, minutes),
      "retried per min": ({ minutes, retried }) => perMinute(retried, minutes),
      waiting: "queued",
      "oldest waits s": ({ oldest_due_seconds: age }) => age === null ? null : Math.round(age),
    }, points) + "\n\nUTC. * Not ended yet."
  ),
})
