import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { InvalidRequest, PayloadTooLarge } from "../Problems.ts"

const params = {
  token: Schema.String.annotate({
    description: "Signed token of at most 60 characters. Tokens that this service did not issue get 404",
  }),
}

const Html = Schema.String.pipe(HttpApiSchema.asText({ contentType: "text/html" }))
const Gif = Schema.Uint8Array.pipe(HttpApiSchema.asUint8Array({ contentType: "image/gif" }))

const pages = (...statuses: ReadonlyArray<number>) => statuses.map((code) => Html.pipe(HttpApiSchema.status(code)))

const describe = (summary: string, description: string) =>
  OpenApi.annotations({ summary, description, override: { security: [] } })

/** Addresses in messages. Plain routes serve them (TrackingRoutes.ts, ImageRoutes.ts). */
export class TrackingGroup extends HttpApiGroup.make("tracking")
  .add(
    HttpApiEndpoint.get("openPixel", "/o/:token", {
      params,
      success: Gif,
      error: [HttpApiSchema.Empty(404), ...pages(503)],
    })
      .annotateMerge(describe(
        "The pixel of a message",
        "Responds with a transparent GIF and reports an open. The address ends in .gif.",
      )),
    HttpApiEndpoint.get("clickLink", "/c/:token", { params, success: HttpApiSchema.Empty(302), error: pages(404, 503) })
      .annotateMerge(describe(
        "A tracked link of a message",
        "Redirects (302) to the link's target and reports a click. Does not wait for the database if the target is in memory.",
      )),
    HttpApiEndpoint.get("unsubscribePage", "/u/:token", { params, success: Html, error: pages(404, 503) })
      .annotateMerge(describe("Shows the unsubscribe page", "A page with a button. Changes nothing.")),
    HttpApiEndpoint.post("unsubscribe", "/u/:token", {
      params,
      success: Html,
      error: [InvalidRequest, PayloadTooLarge, ...pages(404, 503)],
    })
      .annotateMerge(describe(
        "Unsubscribes the recipient of a message",
        "One-click unsubscribe (RFC 8058), with the body `List-Unsubscribe=One-Click`; any other body works too. Needs no cookie and responds " +
          "without a redirect: 200 once the opt-out is stored and no message to the person begins on any node, or 503 while the " +
          "database does not respond.",
      )),
    HttpApiEndpoint.get("imageFile", "/i/:org/:file", {
      params: {
        org: Schema.String,
        file: Schema.String.annotate({ description: "The id of the image with .png, .jpg, .gif or .webp" }),
      },
      success: Schema.Uint8Array.pipe(HttpApiSchema.asUint8Array({ contentType: "image/*" })),
      error: [HttpApiSchema.Empty(404)],
    })
      .annotateMerge(describe(
        "An image of an organization",
        "The file as it was uploaded, with headers that let every cache keep it for good.",
      )),
  )
  .annotate(OpenApi.Description, "Addresses in messages: opens, clicks, unsubscribes and images") {}
