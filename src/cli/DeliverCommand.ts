import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { DeliveryResource } from "../api/deliveries/DeliveryResource.ts"
import { bulk, bulkFlags, filterFlags, membersGiven } from "./BulkDeliver.ts"
import { CommandFailed, ManagementClient } from "./Connection.ts"
import { organization, print } from "./Root.ts"
import { table } from "./Table.ts"

const ids = Argument.String("id").pipe(
  Argument.withDescription("Ids of deliveries. Without ids, the flags select them"),
  Argument.variadic({ min: 0 }),
)

const describe = (deliveries: ReadonlyArray<DeliveryResource>) =>
  table(
    ["id", "state", "priority", "to", "template", "variant", "due", "attempts", "reason"],
    deliveries.map((one) => [
      one.id,
      one.state,
      one.priority,
      one.email,
      one.template_id,
      one.copy_id,
      one.due_at,
      one.attempts,
      one.reason?.slice(0, 120) ?? null,
    ]),
  )

const list = Command.make(
  "list",
  {
    state: Flag.String("state").pipe(Flag.withDescription("queued, sending, sent, failed or cancelled"), Flag.optional),
    ...filterFlags,
    limit: Flag.Int("limit").pipe(Flag.withDescription("1 to 500"), Flag.withDefault(50)),
  },
  Effect.fnUntraced(function* ({ limit, state, ...given }) {
    const client = yield* ManagementClient
    const { deliveries } = yield* client.delivery.listDeliveries({
      params: { org: yield* organization },
      query: {
        limit: String(limit),
        ...(Option.isSome(state) ? { state: state.value } : {}),
        ...membersGiven(given),
      },
    })
    yield* print(deliveries, deliveries.length === 0 ? "No matching deliveries" : describe(deliveries))
  }),
).pipe(Command.withDescription("List deliveries, newest first"))

const show = Command.make(
  "show",
  { id: Argument.String("id").pipe(Argument.withDescription("Id of a delivery")) },
  Effect.fnUntraced(function* ({ id }) {
    const client = yield* ManagementClient
    const delivery = yield* client.delivery.getDelivery({ params: { org: yield* organization, delivery: id } })
    const words = Object.entries(delivery.vars ?? {}).map(([name, text]) => `${name}:\n${text}`)
    const expiry = delivery.expires_at === null ? [] : [`expires: ${delivery.expires_at}`]
    yield* print(delivery, [describe([delivery]), ...expiry, ...words].join("\n\n"))
  }),
).pipe(Command.withDescription("Show a delivery with its content"))

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
      yield* print(changed, describe(changed))
    }),
  ).pipe(Command.withDescription(description))

const status = Command.make(
  "status",
  {},
  Effect.fnUntraced(function* () {
    const client = yield* ManagementClient
    const summary = yield* client.delivery.deliverySummary({ params: { org: yield* organization } })
    yield* print(
      summary,
      table(["queued", "scheduled", "sending", "sent", "failed", "cancelled", "oldest due s", "sent per s"], [[
        summary.queued,
        summary.scheduled,
        summary.sending,
        summary.sent,
        summary.failed,
        summary.cancelled,
        Math.round(summary.oldest_due_seconds),
        Math.round(summary.sent_per_second * 10) / 10,
      ]]),
    )
  }),
).pipe(Command.withDescription("Show counts by state, the age of the oldest due message, and the current rate"))

const perMinute = (count: number, minutes: number) => Math.round(10 * count / minutes) / 10

const rates = Command.make(
  "rates",
  {
    hours: Flag.Int("hours").pipe(Flag.withDescription("Length of the period, 1 to 840 hours"), Flag.withDefault(1)),
  },
  Effect.fnUntraced(function* ({ hours }) {
    const client = yield* ManagementClient
    const series = yield* client.delivery.deliverySeries({
      params: { org: yield* organization },
      query: { hours: String(hours) },
    })
    yield* print(
      series,
      table(
        ["from", "sent per min", "failed per min", "retried per min", "waiting", "oldest waits s"],
        series.points.map(({ complete, failed, minutes, oldest_due_seconds, queued, retried, sent, start }) => [
          `${start.slice(0, 16).replace("T", " ")}${complete ? "" : " *"}`,
          perMinute(sent, minutes),
          perMinute(failed, minutes),
          perMinute(retried, minutes),
          queued,
          oldest_due_seconds === null ? null : Math.round(oldest_due_seconds),
        ]),
      ) + "\n\nUTC. * Not ended yet.",
    )
  }),
).pipe(Command.withDescription("Show messages sent, failed and retried per minute, and the queue length, over time"))

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
