import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiSchema, OpenApi } from "effect/http-api"
import { reads, writes } from "../../accounts/Access.ts"
import { managementGroup } from "../admission/ManagementGroup.ts"
import * as Problems from "../Problems.ts"

const TrackingKeyResource = Schema.Struct({
  id: Schema.String,
  created_at: Schema.String,
  state: Schema.Literals(["waiting", "signing", "accepted"]).annotate({
    description:
      "`waiting`: signs new links 5 minutes after it was made. `signing`: signs new links. `accepted`: links of " +
      "earlier messages work",
  }),
}).annotate({ identifier: "TrackingKey" })

/** Endpoints of the keys that sign links in messages. */
export class TrackingKeysGroup extends managementGroup(
  "tracking-keys",
  "Keys that sign links in messages",
  {
    listTrackingKeys: reads("administrator"),
    rotateTrackingKey: writes("administrator", "tracking key replaced"),
    removeTrackingKey: writes("administrator", "tracking key removed"),
  },
  HttpApiEndpoint.get("listTrackingKeys", "/tracking-keys", {
    success: Schema.Struct({ keys: Schema.Array(TrackingKeyResource) }),
  }).annotate(OpenApi.Summary, "The keys that sign links in messages, newest first"),
  HttpApiEndpoint.post("rotateTrackingKey", "/tracking-keys", {
    success: TrackingKeyResource.pipe(HttpApiSchema.status(201)),
    error: Problems.Conflict,
  }).annotate(OpenApi.Summary, "Creates a key for new links").annotate(
    OpenApi.Description,
    "After 5 minutes the key signs new links, pixels, unsubscribe links and return paths. Links of earlier messages keep " +
      "working.",
  ),
  HttpApiEndpoint.delete("removeTrackingKey", "/tracking-keys/:key", {
    params: { key: Schema.String },
    success: HttpApiSchema.NoContent,
    error: [Problems.TrackingKeyNotFound, Problems.Conflict],
  }).annotate(OpenApi.Summary, "Removes an earlier key").annotate(
    OpenApi.Description,
    "All links that the key signed end within a minute, also unsubscribe links. Remove a key only if it leaked.",
  ),
) {}
