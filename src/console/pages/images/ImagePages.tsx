import { Effect } from "effect"
import { type Fault, InvalidInput } from "../../../domain/Errors.ts"
import { type Image, imageName, imagePath, maxImages } from "../../../domain/Image.ts"
import { currentLanguage, t } from "../../../languages/Language.ts"
import { Settings } from "../../../settings/Settings.ts"
import { Images } from "../../../tracking/Images.ts"
import { askFirst } from "../../components/AskFirst.tsx"
import { Card } from "../../components/Card.tsx"
import { Empty } from "../../components/Empty.tsx"
import { Facts } from "../../components/Facts.tsx"
import { SessionFields, Submit } from "../../components/Form.tsx"
import { ErrorSummary, Note } from "../../components/Note.tsx"
import { RowMenu } from "../../components/RowMenu.tsx"
import { Time } from "../../components/Time.tsx"
import { counted } from "../../Format.ts"
import { pages } from "../../Pages.ts"
import type { Fields, Visit } from "../../Routes.tsx"
import { view } from "../../View.tsx"
import { SnippetUsers } from "../snippets/SnippetUsers.tsx"

const base = ({ org }: Visit) => `/console/o/${org.slug}/images`
const idOf = ({ params }: Visit) => params["image"] ?? ""
const at = (visit: Visit) => `${base(visit)}/${encodeURIComponent(idOf(visit))}`

/** The width that most messages have. Unit: pixels. */
const messageWidth = 600

/** The tag of an image in HTML. It shrinks on narrow screens. */
const htmlTag = ({ url, width }: Image) =>
  `<img src="${url}" width="${Math.min(width, messageWidth)}" alt="" style="max-width:100%;height:auto">`

/** The tag of an image in MJML. */
const mjmlTag = ({ url, width }: Image) => `<mj-image src="${url}" width="${Math.min(width, messageWidth)}px" alt="" />`

/** The size of a file in words. */
const sizeText = (bytes: number) =>
  bytes < 1024 * 1024
    ? `${Math.max(1, Math.round(bytes / 1024))} kB`
    : `${(bytes / 1024 / 1024).toLocaleString(currentLanguage().locale, { maximumFractionDigits: 1 })} MB`

const factsOf = ({ height, size, width }: Image) => `${width} × ${height} px, ${sizeText(size)}`

const UploadForm = ({ maxBytes, to }: { readonly maxBytes: number; readonly to: string }) => (
  <form method="post" action={to} encType="multipart/form-data" class="image-upload">
    <SessionFields />
    <div class="field">
      <label for="image-file">{t`Image files`}</label>
      <p class="hint" id="image-file-hint">
        {t`PNG, JPEG, GIF or WebP, at most ${sizeText(maxBytes)} each. Outlook for Windows does not show WebP.`}
      </p>
      <input
        type="file"
        id="image-file"
        name="image"
        multiple
        required
        accept="image/png,image/jpeg,image/gif,image/webp"
        aria-describedby="image-file-hint"
      />
    </div>
    <Submit>{t`Upload`}</Submit>
  </form>
)

const ImageCard = ({ image, visit }: { readonly image: Image; readonly visit: Visit }) => (
  <li>
    <a href={`${base(visit)}/${image.id}`} class="image-thumb">
      <img src={imagePath(visit.org.slug, image)} alt="" loading="lazy" />
      <span class="image-name">
        <bdi>{image.name}</bdi>
      </span>
    </a>
    <span class="small muted">{factsOf(image)}</span>
    <button
      type="button"
      class="button compact"
      hidden
      data-in-dialog
      data-html={htmlTag(image)}
      data-mjml={mjmlTag(image)}
      aria-label={t`Insert ${image.name}`}
    >
      {t`Insert`}
    </button>
  </li>
)

/** The images, with the form to upload more. The editor shows the part `data-images` in a dialog. */
const list = Effect.fnUntraced(function* (visit: Visit, _?: Fields, faults: ReadonlyArray<Fault> = []) {
  const all = yield* (yield* Images).list(visit.org.slug)
  const { imageBytes } = yield* Settings
  return view(
    { title: t`Images`, lead: t`Images for your messages. Everybody who has the address of an image can see it.` },
    <div class="stack" data-images>
      <form method="dialog" class="image-dialog-head" hidden data-in-dialog>
        <h2>{t`Insert an image`}</h2>
        <button class="button compact" type="submit">{t`Close`}</button>
      </form>
      <ErrorSummary faults={faults} />
      {visit.can("uploadImage") && (
        <Card>
          <UploadForm maxBytes={imageBytes} to={base(visit)} />
        </Card>
      )}
      <Card>
        {all.length === 0
          ? <Empty title={t`No images yet`}>{t`Upload a logo or a photo, and insert it in variants.`}</Empty>
          : (
            <>
              <ul class="image-grid">{all.map((image) => <ImageCard image={image} visit={visit} />)}</ul>
              <p class="small muted">{t`${counted(all.length, "image")} of ${maxImages}`}</p>
            </>
          )}
      </Card>
    </div>,
  )
})

/** Stores the files of the form. A file that is refused does not stop the others. */
const upload = Effect.fnUntraced(function* (visit: Visit) {
  const images = yield* Images
  const { files } = visit
  if (files.length === 0) {
    return yield* new InvalidInput({ faults: [{ pointer: "", detail: t`Choose a file to upload` }] })
  }
  const results = yield* Effect.forEach(
    files,
    (file) =>
      Effect.flatMap(
        Effect.promise(() => file.bytes()),
        (bytes) => images.upload(visit.org.slug, { name: file.name, bytes }),
      ).pipe(
        Effect.as([]),
        Effect.catchTag(
          "InvalidInput",
          ({ faults }) =>
            Effect.succeed(faults.map(({ detail }) => ({ pointer: "", detail: `${imageName(file.name)}: ${detail}` }))),
        ),
      ),
  )
  const faults = results.flat()
  if (faults.length > 0) return yield* new InvalidInput({ faults })
  return { to: base(visit), done: "image-uploaded" }
})

const show = Effect.fnUntraced(function* (visit: Visit) {
  const image = yield* (yield* Images).get(visit.org.slug, idOf(visit))
  return view(
    {
      title: image.name,
      back: { href: base(visit), label: t`Images` },
      actions: !visit.can("deleteImage") ? undefined : (
        <RowMenu label={t`More for ${image.name}`}>
          <li>
            <a href={`${at(visit)}/delete`}>{t`Delete`}</a>
          </li>
        </RowMenu>
      ),
    },
    <Card stacked>
      <div class="image-shown">
        <img src={imagePath(visit.org.slug, image)} alt="" width={image.width} height={image.height} />
      </div>
      <Facts
        rows={[
          [t`Size`, factsOf(image)],
          [t`Uploaded`, <Time at={image.created_at} zone={visit.org.time_zone} />],
          [t`Address`, <code class="image-tag">{image.url}</code>],
          ["HTML", <code class="image-tag">{htmlTag(image)}</code>],
          ["MJML", <code class="image-tag">{mjmlTag(image)}</code>],
        ]}
      />
      <p class="small muted">
        {t`Describe the image in alt. Many readers see this text, because their program blocks images.`}
      </p>
    </Card>,
    <SnippetUsers
      base={`/console/o/${visit.org.slug}`}
      snippet={image}
      proposals={image.proposals}
      drafts={image.drafts}
    />,
  )
})

const removePage = Effect.fnUntraced(function* (visit: Visit) {
  const { drafts, name, proposals, snippets, templates } = yield* (yield* Images).get(visit.org.slug, idOf(visit))
  const uses = templates.length + snippets.length + proposals.length + drafts.length
  return askFirst({
    title: t`Delete ${name}`,
    question: t`Delete ${name}?`,
    back: { href: at(visit), label: name },
    button: t`Delete the image`,
    text: (
      <>
        <p>{t`Messages that were sent with it show a gap from then on. This cannot be undone.`}</p>
        {uses > 0 && (
          <Note kind="warn">
            <p>{t`It is used in ${counted(uses, "place")}. Replace it there first.`}</p>
            <ul>
              {templates.map(({ name, served }) => <li>{served ? t`${name} (live)` : name}</li>)}
              {snippets.map((id) => <li>{t`Snippet ${id}`}</li>)}
              {proposals.map((id) => (
                <li>
                  <a href={`/console/o/${visit.org.slug}/reviews/${id}`}>{t`Change ${id} that waits for approval`}</a>
                </li>
              ))}
              {drafts.map(({ name }) => <li>{t`A draft of ${<bdi>{name}</bdi>}`}</li>)}
            </ul>
          </Note>
        )}
      </>
    ),
  })
})

const remove = (visit: Visit) =>
  Images.use((images) => images.remove(visit.org.slug, idOf(visit), { force: false })).pipe(
    Effect.as({ to: base(visit), done: "image-deleted" }),
    Effect.catchTag("ImageInUse", ({ message }) => new InvalidInput({ faults: [{ pointer: "", detail: message }] })),
  )

/** Images. */
export const layer = pages(({ action, asks, page }) => {
  const path = "/console/o/:org/images" as const
  return [
    page(path, "listImages", (visit) => list(visit)),
    action(path, "uploadImage", upload, list),
    page(`${path}/:image`, "getImage", show),
    ...asks(`${path}/:image/delete`, "deleteImage", removePage, remove),
  ]
})
