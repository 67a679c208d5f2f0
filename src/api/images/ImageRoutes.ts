import { Effect } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { readImagePath } from "../../domain/Image.ts"
import type { OrgSlug } from "../../domain/Ids.ts"
import { Images } from "../../tracking/Images.ts"
import * as Body from "../http/Body.ts"
import { managed } from "../http/Managed.ts"
import { lookedUp } from "../http/Requests.ts"
import { matchesTag } from "../http/StaticDocument.ts"

/** Serves `ImagesGroup`. */
export const layer = managed(
  "images",
  Effect.gen(function* () {
    const images = yield* Images
    return {
      listImages: ({ org }) => Effect.map(images.list(org), (all) => ({ images: all })),
      getImage: ({ org, params }) => images.get(org, params.image),
      uploadImage: {
        inSteps: Effect.fnUntraced(function* ({ org: organization, query, request }) {
          const org = yield* organization
          const { name = "" } = yield* query
          const bytes = yield* Body.raw(request, Body.maxLargeBytes)
          const { image, isNew } = yield* images.upload(org, { name, bytes })
          return isNew ? image : HttpServerResponse.jsonUnsafe(image)
        }),
      },
      deleteImage: ({ org, params, query }) => images.remove(org, params.image, query),
    }
  }),
)

const headers = {
  "cache-control": "public, max-age=31536000, immutable",
  "x-content-type-options": "nosniff",
  // Webmail shows images of other sites.
  "cross-origin-resource-policy": "cross-origin",
  "content-security-policy": "default-src 'none'; sandbox",
}

const unknown = HttpServerResponse.empty({ status: 404, headers: { "content-length": "0" } })

/** Serves the files of images to everybody. Unknown organizations and images have the same response. */
export const layerFiles = HttpRouter.use(Effect.fnUntraced(function* (router) {
  const images = yield* Images
  yield* router.add(
    "GET",
    "/i/:org/:file",
    Effect.gen(function* () {
      const { file = "", org = "" } = yield* HttpRouter.params
      const named = readImagePath(file)
      const bytes = named && (yield* images.file(lookedUp(org) as OrgSlug, named))
      if (named === undefined || bytes === undefined) return unknown
      const request = yield* HttpServerRequest.HttpServerRequest
      const all = { ...headers, etag: `"${named.id}"` }
      return matchesTag(request.headers["if-none-match"], all.etag)
        ? HttpServerResponse.empty({ status: 304, headers: all })
        : HttpServerResponse.uint8Array(bytes, { contentType: `image/${named.type}`, headers: all })
    }),
  )
}))
