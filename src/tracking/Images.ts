import { Context, DateTime, Effect, Layer, Option, Semaphore } from "effect"
import { SqlClient } from "effect/sql"
import { hash } from "node:crypto"
import { ImageInUse, ImageNotFound, InvalidInput, type OrganizationNotFound } from "../domain/Errors.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import { type Image, type ImageDetail, imageName, imagePath, maxImages } from "../domain/Image.ts"
import { readImageFile } from "../domain/ImageFile.ts"
import { LruMap } from "../json/LruMap.ts"
import { Changes } from "../organizations/Changes.ts"
import { existingOrganization } from "../organizations/Existing.ts"
import { lockContent } from "../organizations/OrganizationRows.ts"
import { Settings } from "../settings/Settings.ts"
import { tell } from "../store/ChangeTrail.ts"
import { findImageUses } from "../templates/ImageUses.ts"
import { Tracking } from "./Tracking.ts"

interface ImageRow extends Omit<Image, "created_at" | "url"> {
  readonly createdAt: Date
}

/** A file to upload. */
export interface ImageUpload {
  /** The name of the file, which may have a folder. */
  readonly name: string
  readonly bytes: Uint8Array
}

/** Memory for served files. Unit: bytes. */
const cachedBytes = 32 * 1024 * 1024

/** Maximum number of queries for files at once, so that requests for images leave connections to other requests. */
const maxQueries = 2

const shown = (text: string) => JSON.stringify(text)

const shortSize = (bytes: number) =>
  bytes < 1_000_000
    ? `${Number((bytes / 1024).toPrecision(3))} KiB`
    : `${Number((bytes / 1024 / 1024).toPrecision(3))} MiB`

const invalid = (detail: string) => new InvalidInput({ faults: [{ pointer: "", detail }] })

/** Returns the fields of an image in the audit log. */
const fieldsOf = ({ height, name, size, type, width }: ImageRow) => ({
  "/name": name,
  "/type": type,
  "/width": width,
  "/height": height,
  "/size": size,
})

/** Checks a file by its content and by the limits of one image. Fails with `InvalidInput`. */
const checkFile = Effect.fnUntraced(function* (
  { imageBytes, imagePixels }: Pick<Settings["Service"], "imageBytes" | "imagePixels">,
  { bytes, name }: ImageUpload,
) {
  if (bytes.length > imageBytes) {
    return yield* invalid(
      `The file has ${shortSize(bytes.length)}. At most ${
        shortSize(imageBytes)
      } are accepted (IMAGE_BYTES). Make the image ` +
        "smaller: mail programs show 600 to 700 pixels in width",
    )
  }
  const facts = readImageFile(bytes)
  if ("fault" in facts) return yield* invalid(`The file ${facts.fault}`)
  const { height, type, width } = facts
  if (width * height > imagePixels) {
    return yield* invalid(
      `The image has ${width} × ${height} pixels. At most ${imagePixels} pixels in total are accepted (IMAGE_PIXELS). ` +
        "Make the image smaller",
    )
  }
  return { id: hash("sha256", bytes, "hex"), name: imageName(name), type, width, height, size: bytes.length }
})

/** Images of organizations, which messages show by an address of the service. A broken store is a defect in all methods. */
export class Images extends Context.Service<Images, {
  /** Returns all images, the newest first. At most `maxImages`. */
  readonly list: (org: OrgSlug) => Effect.Effect<ReadonlyArray<Image>>
  /** Returns an image with its uses. Fails with `ImageNotFound` for an unknown id. */
  readonly get: (org: OrgSlug, id: string) => Effect.Effect<ImageDetail, ImageNotFound>
  /**
   * Stores an image. A file that is stored already keeps its name and its time. Fails with `InvalidInput` for a file that
   * is no whole PNG, JPEG, GIF or WebP image, or exceeds a limit.
   */
  readonly upload: (
    org: OrgSlug,
    file: ImageUpload,
  ) => Effect.Effect<{ readonly image: Image; readonly isNew: boolean }, InvalidInput | OrganizationNotFound>
  /**
   * Deletes an image on all nodes within 5 seconds. Fails with `ImageNotFound`, and unless `force` with `ImageInUse` if
   * content shows it.
   */
  readonly remove: (
    org: OrgSlug,
    id: string,
    options: { readonly force: boolean },
  ) => Effect.Effect<void, ImageNotFound | ImageInUse>
  /** Returns the content of an image. Undefined for an unknown image. */
  readonly file: (org: OrgSlug, image: Pick<Image, "id" | "type">) => Effect.Effect<Uint8Array | undefined>
}>()("parlance/tracking/Images") {
  static readonly layer = Layer.effect(
    Images,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const changes = yield* Changes
      const settings = yield* Settings
      const { baseOf } = yield* Tracking
      const queries = yield* Semaphore.make(maxQueries)
      const cache = new LruMap<Uint8Array>(cachedBytes)
      // Files never change. After a change of an organization, its images are read again, because one may be deleted.
      const generations = new Map<OrgSlug, number>()
      yield* changes.subscribe((org) =>
        Effect.sync(() => {
          generations.set(org, (generations.get(org) ?? 0) + 1)
        })
      )

      const imageOf = (org: OrgSlug, { createdAt, height, id, name, size, type, width }: ImageRow): Image => ({
        id,
        name,
        type,
        width,
        height,
        size,
        url: baseOf(org) + imagePath(org, { id, type }),
        created_at: createdAt.toISOString(),
      })

      const rows = (org: OrgSlug) =>
        sql<ImageRow>`
          SELECT i.id, i.name, i.type, i.width, i.height, i.size, i.created_at FROM images i
          WHERE i.org_slug = ${org} ORDER BY i.created_at DESC, i.id`

      const one = Effect.fnUntraced(function* (org: OrgSlug, id: string) {
        const row = (yield* rows(org)).find((row) => row.id === id)
        return row ?? (yield* new ImageNotFound({ id: id.slice(0, 100) }))
      })

      const get = Effect.fn("Images.get")(
        function* (org: OrgSlug, id: string) {
          const row = yield* one(org, id)
          return { ...imageOf(org, row), ...(yield* findImageUses(sql, org, id)) }
        },
        Effect.catchTag("SqlError", Effect.die),
      )

      const upload = Effect.fn("Images.upload")(
        function* (org: OrgSlug, file: ImageUpload) {
          const row = { ...(yield* checkFile(settings, file)), createdAt: yield* DateTime.nowAsDate }
          return yield* sql.withTransaction(Effect.gen(function* () {
            yield* existingOrganization(sql, org)
            // Uploads of an organization follow each other, so that together they stay below the limits.
            yield* lockContent(sql, org)
            const stored = yield* rows(org)
            const same = stored.find(({ id }) => id === row.id)
            if (same !== undefined) return { image: imageOf(org, same), isNew: false }
            if (stored.length >= maxImages) {
              return yield* invalid(`The organization has ${maxImages} images, the maximum. Delete unused images first`)
            }
            const total = stored.reduce((sum, { size }) => sum + size, row.size)
            const limit = Option.getOrElse(settings.imageTotalBytes, () => Infinity)
            if (total > limit) {
              return yield* invalid(
                `The images of the organization would have ${shortSize(total)}. At most ${
                  shortSize(limit)
                } are accepted (IMAGE_TOTAL_BYTES). Delete unused images first`,
              )
            }
            yield* sql`
              INSERT INTO images (org_slug, id, name, type, width, height, size, file, created_at)
              VALUES (${org}, ${row.id}, ${row.name}, ${row.type}, ${row.width}, ${row.height}, ${row.size}, ${file.bytes},
                ${row.createdAt})`
            yield* tell("image", row.id, undefined, fieldsOf(row))
            return { image: imageOf(org, row), isNew: true }
          }))
        },
        Effect.catchTag("SqlError", Effect.die),
      )

      const remove = Effect.fn("Images.remove")(
        function* (org: OrgSlug, id: string, { force }: { readonly force: boolean }) {
          yield* sql.withTransaction(Effect.gen(function* () {
            // No content begins to show the image between the check and the deletion.
            yield* lockContent(sql, org)
            const row = yield* one(org, id)
            const { drafts, proposals, snippets, templates } = yield* findImageUses(sql, org, id)
            const places = [
              ...templates.flatMap(({ copy_ids, template_id }) =>
                copy_ids.map((copy) => `the variant ${shown(copy)} of the template ${shown(template_id)}`)
              ),
              ...snippets.map((snippet) => `the snippet ${shown(snippet)}`),
              ...proposals.map((proposal) => `the proposed change ${proposal}`),
              ...drafts.map(({ template_id }) => `a draft of the template ${shown(template_id)}`),
            ]
            if (places.length > 0 && !force) return yield* new ImageInUse({ name: row.name, places })
            yield* sql`DELETE FROM images i WHERE i.org_slug = ${org} AND i.id = ${id}`
            yield* changes.bump(org)
            yield* tell("image", id, fieldsOf(row), undefined)
          }))
          yield* changes.refresh
        },
        Effect.catchTag("SqlError", Effect.die),
      )

      const read = (org: OrgSlug, { id, type }: Pick<Image, "id" | "type">) =>
        queries.withPermits(1)(
          sql<{ file: Uint8Array }>`
            SELECT i.file FROM images i WHERE i.org_slug = ${org} AND i.id = ${id} AND i.type = ${type}`,
        )

      const file = Effect.fn("Images.file")(
        function* (org: OrgSlug, image: Pick<Image, "id" | "type">) {
          const key = `${generations.get(org)} ${imagePath(org, image)}`
          const known = cache.get(key)
          if (known !== undefined) return known
          const [row] = yield* read(org, image)
          if (row !== undefined) cache.set(key, row.file, row.file.length)
          return row?.file
        },
        Effect.catchTag("SqlError", Effect.die),
      )

      return Images.of({
        list: (org) => rows(org).pipe(Effect.map((all) => all.map((row) => imageOf(org, row))), Effect.orDie),
        get,
        upload,
        remove,
        file,
      })
    }),
  )
}
