import { Schema } from "effect"
import { imageTypes } from "./ImageFile.ts"
import { SnippetUser } from "./Snippet.ts"

/** Maximum number of images of an organization. */
export const maxImages = 500

/** Maximum length of the name of an image. Unit: UTF-16 code units. */
const maxNameLength = 100

/** An image of an organization. */
export const Image = Schema.Struct({
  id: Schema.String.annotate({ description: "SHA-256 of the file, in hexadecimal digits" }),
  name: Schema.String.annotate({ description: "Name of the uploaded file" }),
  type: Schema.Literals(imageTypes),
  width: Schema.Int.annotate({ description: "Pixels" }),
  height: Schema.Int.annotate({ description: "Pixels" }),
  size: Schema.Int.annotate({ description: "Bytes" }),
  url: Schema.String.annotate({
    description: "Public address for `src`. It never changes, and its content is cached for good",
  }),
  created_at: Schema.String,
}).annotate({ identifier: "Image" })
export type Image = typeof Image.Type

/** An image with the places that show it. */
export const ImageDetail = Schema.Struct({
  ...Image.fields,
  templates: Schema.Array(SnippetUser).annotate({
    description: "Templates whose variants show it, also through snippets",
  }),
  snippets: Schema.Array(Schema.String).annotate({
    description: "Ids of the snippets that contain it, or whose proposed change contains it",
  }),
  proposals: Schema.Array(Schema.Int).annotate({
    description: "Ids of the proposed changes that wait and would show it",
  }),
  drafts: Schema.Array(Schema.Struct({ template_id: Schema.String, name: Schema.String })).annotate({
    description: "Templates with a draft of a variant that would show it",
  }),
}).annotate({ identifier: "ImageDetail" })
export type ImageDetail = typeof ImageDetail.Type

const extensions: { readonly [Type in Image["type"]]: string } = { png: "png", jpeg: "jpg", gif: "gif", webp: "webp" }

/** Returns the path of an image below the address of its organization's links. */
export const imagePath = (org: string, { id, type }: Pick<Image, "id" | "type">): string =>
  `/i/${org}/${id}.${extensions[type]}`

/** A pattern of the addresses of images in content, for PostgreSQL and JavaScript. Its first group is the id. */
export const imageIdPattern = "/([0-9a-f]{64})\\.(?:png|jpg|gif|webp)"

/** Returns the id and the type that a file name of `imagePath` has. Undefined for any other text. */
export const readImagePath = (file: string): Pick<Image, "id" | "type"> | undefined => {
  const [, id, extension] = /^([0-9a-f]{64})\.(png|jpg|gif|webp)$/.exec(file) ?? []
  const type = imageTypes.find((type) => extensions[type] === extension)
  return id === undefined || type === undefined ? undefined : { id, type }
}

/**
 * Returns the name of an image from the name of its file: the part after the last slash, without control characters and
 * marks of direction, which would reorder the text around it. `image` if nothing remains.
 */
export const imageName = (file: string): string =>
  file.toWellFormed().replace(/^.*[/\\]/s, "").replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "").trim().slice(
    0,
    maxNameLength,
  ).toWellFormed() || "image"
