import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiSchema, OpenApi } from "effect/http-api"
import { reads, writes } from "../../accounts/Access.ts"
import { Image, ImageDetail } from "../../domain/Image.ts"
import { managementGroup } from "../admission/ManagementGroup.ts"
import * as Parameters from "../http/Parameters.ts"
import * as Problems from "../Problems.ts"

const path = { org: Schema.String }
const params = { ...path, image: Schema.String }
const at = "/organizations/:org/images" as const
const notFound = [Problems.OrganizationNotFound, Problems.ImageNotFound] as const

const File = Schema.Uint8Array.pipe(HttpApiSchema.asUint8Array({ contentType: "application/octet-stream" }))

/** Endpoints of images. */
export class ImagesGroup extends managementGroup(
  "images",
  "Images that messages show",
  {
    listImages: reads("viewer", "templates:read"),
    uploadImage: writes("editor", "image uploaded", "templates:write"),
    getImage: reads("viewer", "templates:read"),
    deleteImage: writes("editor", "image deleted", "templates:write"),
  },
  HttpApiEndpoint.get("listImages", at, {
    params: path,
    success: Schema.Struct({ images: Schema.Array(Image) }),
    error: [Problems.OrganizationNotFound],
  }).annotate(OpenApi.Summary, "The images of an organization, the newest first"),
  HttpApiEndpoint.post("uploadImage", at, {
    params: path,
    query: {
      name: Parameters.described(
        "Name of the file, such as banner.png. Default: image",
        Parameters.text("must have no NUL character and no lone surrogate"),
      ),
    },
    payload: File,
    success: [Image.pipe(HttpApiSchema.status(201)), Image],
    error: [Problems.InvalidRequest, Problems.PayloadTooLarge, Problems.Unavailable, Problems.OrganizationNotFound],
  }).annotate(OpenApi.Summary, "Uploads an image").annotate(
    OpenApi.Description,
    "The body is the file: PNG, JPEG, GIF or WebP, by its content, whatever its name or `Content-Type` says. Files that are " +
      "not whole, or have bytes after the image, are refused, as is SVG. Limits: `IMAGE_BYTES` (2 MiB), `IMAGE_PIXELS` " +
      "(16,000,000), `IMAGE_TOTAL_BYTES` of an organization (200 MiB), and 500 images. A file that is stored already gets " +
      "200 with its image.",
  ),
  HttpApiEndpoint.get("getImage", `${at}/:image`, {
    params,
    success: ImageDetail,
    error: [...notFound],
  }).annotate(OpenApi.Summary, "An image with the templates, snippets and proposed changes that show it"),
  HttpApiEndpoint.delete("deleteImage", `${at}/:image`, {
    params,
    query: { force: Parameters.described("true: deletes the image although content shows it", Parameters.flag) },
    success: HttpApiSchema.NoContent,
    error: [Problems.InvalidRequest, ...notFound, Problems.Conflict],
  }).annotate(OpenApi.Summary, "Deletes an image").annotate(
    OpenApi.Description,
    "Responds with 409 and the places if variants, snippets or proposed changes show it, unless `force` is true. Messages " +
      "that were sent show a gap from then on, unless the mail program has a copy.",
  ),
) {}
