import { Effect } from "effect"
import { Argument } from "effect/cli"
import { basename } from "node:path"
import { call, commandGroup, steps } from "./ApiCommand.ts"
import { CommandFailed } from "./Connection.ts"
import { argument, text, toggle } from "./Flags.ts"
import { readBytes } from "./Inputs.ts"
import { faultText } from "./Report.ts"
import { organization } from "./Root.ts"
import { tableOf } from "./Table.ts"

const image = argument("image", "The image's id, as `image list` shows it")

/** `parlance image …` */
export const imageCommand = commandGroup("image", "Images that messages show", {
  list: call("listImages", "List the images, newest first")
    .result(({ images }) => images)
    .table({
      id: "id",
      name: "name",
      pixels: ({ height, width }) => `${width} × ${height}`,
      bytes: "size",
      url: "url",
    }, "No images"),

  show: call("getImage", "Show an image and where it is used", { image }).text((
    { drafts, height, name, proposals, size, snippets, templates, type, url, width },
  ) =>
    [
      `${name}, ${type}, ${width} × ${height} pixels, ${size} bytes`,
      url,
      templates.length === 0 ? "No template shows it" : tableOf(
        { template: "template_id", variants: ({ copy_ids }) => copy_ids.join(" "), served: "served" },
        templates,
      ),
      ...(snippets.length === 0 ? [] : [`Snippets that contain it: ${snippets.join(" ")}`]),
      ...(proposals.length === 0 ? [] : [`Proposed changes that would show it: ${proposals.join(" ")}`]),
      ...(drafts.length === 0
        ? []
        : [`Templates with a draft that would show it: ${drafts.map(({ template_id }) => template_id).join(" ")}`]),
    ].join("\n")
  ),

  upload: steps(
    "Upload PNG, JPEG, GIF or WebP files, and print their addresses",
    {
      files: Argument.String("file").pipe(
        Argument.withDescription("Image files. - is standard input"),
        Argument.atLeast(1),
      ),
      name: text("name", "Name of the image. Default: the name of the file"),
    },
    function* (client, { files, name }) {
      const params = { org: yield* organization }
      return yield* Effect.forEach(files, (file) =>
        Effect.flatMap(readBytes(file), (payload) =>
          client.uploadImage({
            params,
            query: { name: name ?? (file === "-" ? "image" : basename(file)) },
            payload,
          })).pipe(Effect.mapError((error) =>
            error._tag === "InvalidRequest" ? new CommandFailed({ message: `${file}: ${faultText(error)}` }) : error
          )))
    },
  )
    .examples("parlance image upload banner.png", "parlance image upload photos/*.jpg")
    .text((images) => images.map(({ url }) => url).join("\n")),

  delete: call("deleteImage", "Delete an image. Messages that were sent show a gap from then on", {
    image,
    force: toggle("force", "Delete it although templates show it"),
  }).result((_, { image }) => ({ id: image, deleted: true })).text(({ id }) => `Deleted ${id}`),
})
