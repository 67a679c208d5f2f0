import { call, commandGroup } from "./ApiCommand.ts"
import { argument } from "./Flags.ts"

const columns = { id: "id", created: "created_at", state: "state" } as const

/** `parlance tracking-key …` */
export const trackingKeyCommand = commandGroup("tracking-key", "Keys that sign links in messages", {
  list: call("listTrackingKeys", "List the keys, newest first").result(({ keys }) => keys).table(columns),
  rotate: call("rotateTrackingKey", "Create a key that signs new links after 5 minutes; earlier links keep working")
    .table(columns),
  remove: call("removeTrackingKey", "Remove a leaked key: all links that it signed end", {
    key: argument("key", "The id of the key"),
  }).result((_, { key }) => ({ removed: key })).text(({ removed }) => `Removed the tracking key ${removed}`),
})
