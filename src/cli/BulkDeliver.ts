import { Effect } from "effect"
import { filterDescriptions, type FilterMembers } from "../delivery/DeliveryFilter.ts"
import type { BulkActionResource, BulkResult } from "../api/deliveries/BulkActionsApi.ts"
import { CommandFailed, ManagementClient } from "./Connection.ts"
import { given, text, toggle } from "./Flags.ts"
import { organization } from "./Root.ts"
import { table } from "./Table.ts"

const filter = (name: string, description: string) => text(name, description.replaceAll("`", ""))

/** The flags that select deliveries by properties other than their state. */
export const filterFlags = {
  since: filter("since", filterDescriptions.since),
  until: filter("until", filterDescriptions.until),
  reason: filter("reason", filterDescriptions.reason),
  template_id: filter("template", filterDescriptions.template_id),
  connection: filter("connection", filterDescriptions.connection),
  email: filter("email", filterDescriptions.email),
}

type Given = { readonly [name in keyof typeof filterFlags]: string | undefined }

/** The members of a filter, for the flags that are present. */
export const membersGiven = ({ connection, email, reason, since, template_id, until }: Given): FilterMembers =>
  given({ since, until, reason, template_id, connection, email })

/** The flags of a command that changes many deliveries. */
export const bulkFlags = {
  ...filterFlags,
  all: toggle("all", "All deliveries that match the other flags"),
  yes: toggle("yes", "Carry it out; without this the command shows a preview"),
}

const words = {
  retry: { does: "would be queued again", done: "Queued again" },
  cancel: { does: "would be cancelled", done: "Cancelled" },
} as const

const shares = (heading: string, values: ReadonlyArray<{ readonly value: string | null; readonly count: number }>) =>
  values.length === 0 ? [] : [table([heading, "messages"], values.map(({ count, value }) => [value, count]))]

const messages = (count: number) => `${count} ${count === 1 ? "message" : "messages"}`

const describePreview = (kind: keyof typeof words, { matched, preview, until }: BulkResult) => {
  const { connections, erased, expired, reasons, sampled, suppressed, templates } = preview!
  return [
    `${messages(matched)} ${words[kind].does}.`,
    ...(erased === 0 ? [] : [`${messages(erased)} to erased people are left unchanged.`]),
    ...(expired === 0 ? [] : [`${messages(expired)} that expired are left unchanged.`]),
    ...(suppressed === 0
      ? []
      : [`${messages(suppressed)} will be cancelled instead of sent, as the recipient is suppressed.`]),
    ...(sampled < matched ? [`The tables cover the latest ${sampled}.`] : []),
    ...(kind === "retry" ? shares("reason", reasons) : []),
    ...shares("template", templates),
    ...(kind === "retry" ? shares("connection", connections) : []),
    `Nothing was changed. To carry it out, repeat the command with --until ${until} --yes`,
  ].join("\n\n")
}

const describeAction = ({ changed, id, kind, matched }: BulkActionResource) =>
  `${words[kind].done}: ${changed} of ${messages(matched)} (bulk action ${id})` +
  (changed < matched ? "\n\nThe rest had already been sent or changed." : "")

/** Makes a preview of a bulk action, or carries the action out and waits until it ends. Returns the shown value and text. */
export const bulk = Effect.fnUntraced(function* (
  kind: keyof typeof words,
  { all, yes, ...filters }: Given & { readonly all: boolean; readonly yes: boolean },
) {
  const members = membersGiven(filters)
  if (!all && Object.keys(members).length === 0) {
    return yield* new CommandFailed({
      message: `Select deliveries with ids, with flags such as --reason and --since, or with --all for ` +
        `${kind === "retry" ? "all that failed" : "all that are queued"}.`,
    })
  }
  const client = yield* ManagementClient
  const org = yield* organization
  const { action, ...preview } = yield* client[kind === "retry" ? "retryDeliveries" : "cancelDeliveries"]({
    params: { org },
    headers: {},
    payload: { ...members, dry_run: !yes },
  })
  if (action === null) return { shown: preview, text: describePreview(kind, { action, ...preview }) }
  let current = action
  while (current.state === "running") {
    yield* Effect.sleep("1 second")
    current = yield* client.getBulkAction({ params: { org, action: current.id } })
  }
  if (current.state === "failed") {
    return yield* new CommandFailed({
      message: `Stopped after ${current.changed} of ${messages(current.matched)}: ${current.reason ?? "unknown"}. ` +
        "Repeat the command to continue.",
    })
  }
  return { shown: current, text: describeAction(current) }
})
