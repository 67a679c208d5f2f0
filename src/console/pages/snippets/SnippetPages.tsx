import { Effect } from "effect"
import { difference } from "../../../domain/Difference.ts"
import { type Fault, InvalidInput } from "../../../domain/Errors.ts"
import { decoder } from "../../../domain/Faults.ts"
import { maxSnippets, type SnippetDetail, SnippetInput } from "../../../domain/Snippet.ts"
import { english, t, translated } from "../../../languages/Language.ts"
import { SourceCheck } from "../../../rendering/SourceCheck.ts"
import { fieldsOfSnippet, Snippets } from "../../../templates/Snippets.ts"
import { freeId, idOfName } from "../../../templates/SuggestedId.ts"
import { askFirst } from "../../components/AskFirst.tsx"
import { Card } from "../../components/Card.tsx"
import { Empty } from "../../components/Empty.tsx"
import { Field, SelectField } from "../../components/Field.tsx"
import { Form, PostButton, Submit } from "../../components/Form.tsx"
import { ErrorSummary, Note } from "../../components/Note.tsx"
import { MenuLink, RowMenu } from "../../components/RowMenu.tsx"
import { Table } from "../../components/Table.tsx"
import { TextAreaField } from "../../components/TextAreaField.tsx"
import { Time } from "../../components/Time.tsx"
import { copyName, counted } from "../../Format.ts"
import { formFields, lines, text, typed } from "../../FormReaders.ts"
import { pages } from "../../Pages.ts"
import { decoded, type Fields, type Visit } from "../../Routes.tsx"
import { view } from "../../View.tsx"
import { DifferenceView } from "../history/ChangeList.tsx"
import { sampleFields } from "../templates/SampleFields.ts"
import { bodyOf } from "./BlockHtml.ts"
import { argumentFields } from "./SnippetPreview.tsx"
import { SnippetUsers } from "./SnippetUsers.tsx"

const base = ({ org }: Pick<Visit, "org">) => `/console/o/${org.slug}/snippets`
const idOf = ({ params }: Visit) => params["snippet"] ?? ""
const at = (visit: Visit) => `${base(visit)}/${encodeURIComponent(idOf(visit))}`

const formats = [["text", english("Text")], ["html", "HTML"]] as const
const labels = { id: english("Id"), name: english("Name"), format: english("Format"), text: english("Text") }

const readFields = formFields({ base: text, format: typed, id: text, name: text, text: lines })
const decode = decoder(SnippetInput)

/** The input of a sent form. */
const inputOf = (fields: Fields) => {
  const { format, name, text } = readFields(fields)
  return decoded(decode({ text, ...(name === "" ? {} : { name }), ...(format === "" ? {} : { format }) }))
}

/** Returns the tag that renders a snippet, with every value that the snippet uses. */
const tagOf = (id: string, text: string): string => {
  const names = Object.keys(sampleFields([{ text }])).filter((name) => /^[A-Za-z_]\w*$/.test(name))
  return `{% render '${id}'${names.map((name) => `, ${name}: ${name}`).join("")} %}`
}

const list = Effect.fnUntraced(function* (visit: Visit) {
  const all = yield* (yield* Snippets).list(visit.org.slug)
  const create = visit.can("saveSnippet")
    ? <a class="button primary" href={`${base(visit)}/-/new`}>{t`Create snippet`}</a>
    : null
  return view(
    {
      title: t`Snippets`,
      lead: t`Blocks that variants share, such as a footer. A change takes effect in all of them at once.`,
      actions: all.length === 0 ? undefined : create,
    },
    <template data-snippets>
      <form method="dialog" class="image-dialog-head">
        <h2>{t`Insert a snippet`}</h2>
        <button class="button compact" type="submit">{t`Close`}</button>
      </form>
      {all.length === 0 && <p class="muted">{t`No snippets yet`}</p>}
      <ul class="finding-list">
        {all.map(({ id, name, text }) => (
          <li>
            <button
              type="button"
              class="button compact"
              data-in-dialog
              data-tag={tagOf(id, text)}
              aria-label={t`Insert ${name}`}
            >
              {t`Insert`}
            </button>{" "}
            <b dir="auto">{name}</b> <code>{id}</code>
          </li>
        ))}
      </ul>
    </template>,
    <Card kind="flush">
      {all.length === 0
        ? (
          <Empty title={t`No snippets yet`} action={create}>
            {t`Save a footer or a legal text once, and insert it in variants.`}
          </Empty>
        )
        : (
          <Table
            cards="labelled"
            caption={t`${counted(all.length, "snippet")} of ${maxSnippets}`}
            headings={[t`Name`, t`Tag`, t`Format`, t`Changed`, `[${t`Actions`}]`]}
            rows={all.map(({ format, id, name, updated_at }) => [
              <a href={`${base(visit)}/${id}`} dir="auto">{name}</a>,
              <code>{`{% render '${id}' %}`}</code>,
              format === "html" ? "HTML" : t`Text`,
              <Time at={updated_at} zone={visit.org.time_zone} />,
              { kind: "actions", content: <SnippetMenu id={id} name={name} visit={visit} /> },
            ])}
          />
        )}
    </Card>,
  )
})

const SnippetMenu = ({ id, name, visit }: {
  readonly id: string
  readonly name: string
  readonly visit: Visit
}) => (
  <RowMenu label={t`Actions for ${name}`}>
    <MenuLink href={`${base(visit)}/${id}`}>{visit.can("saveSnippet") ? t`Edit` : t`Open`}</MenuLink>
    {visit.can("saveSnippet") && <MenuLink href={`${base(visit)}/${id}#name`}>{t`Rename`}</MenuLink>}
    {visit.can("saveSnippet") && <MenuLink href={`${base(visit)}/-/new?from=${id}`}>{t`Duplicate`}</MenuLink>}
    <MenuLink href={`${base(visit)}/${id}/versions`}>{t`Versions`}</MenuLink>
    {visit.can("deleteSnippet") && <MenuLink href={`${base(visit)}/${id}/delete`} danger>{t`Delete`}</MenuLink>}
  </RowMenu>
)

/** The fields of a snippet. `stored`: the snippet that is edited; undefined for a new one. */
const SnippetFields = ({ faults, fields, stored }: {
  readonly stored: SnippetDetail | undefined
  readonly fields: Fields | undefined
  readonly faults: ReadonlyArray<Fault>
}) => {
  const { format = "text", name = "", text = "" } = fields ?? stored ?? {}
  const isUsed = stored !== undefined && stored.templates.length + stored.snippets.length > 0
  return (
    <>
      <Field name="name" label={t`Name`} value={name} faults={faults} hint={t`Such as “Footer”. For your team only.`} />
      {stored === undefined && (
        <Field
          name="id"
          label={t`Id`}
          required={false}
          value={fields?.["id"] ?? ""}
          faults={faults}
          hint={t`For the tag, such as footer. Lowercase letters, digits, hyphens and underscores. Default: from the
            name.`}
        />
      )}
      {isUsed ? <input type="hidden" name="format" value={format} /> : (
        <SelectField
          name="format"
          label={t`Format`}
          value={format}
          options={formats.map(([value, label]) => [value, translated(label)] as const)}
          faults={faults}
          hint={t`HTML for a part of an e-mail. Text for subjects, SMS and legal texts.`}
        />
      )}
      <TextAreaField
        name="text"
        label={t`Text`}
        code
        rows={14}
        value={text}
        faults={faults}
        hint={
          <>
            {t`Liquid. It sees only the values that the tag passes, as in ${(
              <code>{`{% render '${stored?.id ?? "footer"}', year: 2026 %}`}</code>
            )}.`}
          </>
        }
      />
    </>
  )
}

/** Leads to the change that awaits approval. */
const Proposed = ({ stored: { id, proposal }, visit }: { readonly stored: SnippetDetail; readonly visit: Visit }) =>
  proposal === null ? null : (
    <Note kind="warn">
      <div class="note-row">
        <p>
          {t`${<b>{t`A change waits for approval.`}</b>} ${<bdi>{proposal.author}</bdi>} proposed it.`}
        </p>
        <a class="button" href={`/console/o/${visit.org.slug}/reviews/-/snippets/${id}`}>{t`Review the change`}</a>
      </div>
    </Note>
  )

const edit = Effect.fnUntraced(function* (visit: Visit, fields?: Fields, faults: ReadonlyArray<Fault> = []) {
  const stored = idOf(visit) === "" ? undefined : yield* (yield* Snippets).get(visit.org.slug, idOf(visit))
  const mayChange = visit.can("saveSnippet")
  const from = visit.query.get("from")
  if (stored === undefined && fields === undefined && from !== null) {
    const { format, name, text } = yield* (yield* Snippets).get(visit.org.slug, from)
    fields = { format, name: copyName(name), text }
  }
  const source = fields?.["text"] ?? stored?.text ?? ""
  const action = stored === undefined ? `${base(visit)}/-/new` : at(visit)
  const preview = `${base(visit)}/-/preview${stored === undefined ? "" : `?snippet=${stored.id}`}`
  return view(
    {
      title: stored === undefined ? t`Create snippet` : stored.name,
      back: { href: base(visit), label: t`Snippets` },
      ...(stored === undefined ? {} : {
        actions: (
          <>
            <a class="button" href={`${action}/versions`}>{t`Versions`}</a>
            {visit.can("deleteSnippet") && (
              <RowMenu label={t`More for ${stored.name}`}>
                {mayChange && <MenuLink href={`${base(visit)}/-/new?from=${stored.id}`}>{t`Duplicate`}</MenuLink>}
                <MenuLink href={`${action}/delete`} danger>{t`Delete`}</MenuLink>
              </RowMenu>
            )}
          </>
        ),
      }),
    },
    <ErrorSummary faults={faults} labels={labels} />,
    stored !== undefined && <Proposed stored={stored} visit={visit} />,
    <Form action={mayChange ? action : preview}>
      <Card stacked>
        <SnippetFields stored={stored} fields={fields} faults={faults} />
        {stored !== undefined && <input type="hidden" name="base" value={fields?.["base"] ?? stored.updated_at} />}
        <div class="buttons">
          {mayChange && <Submit>{stored === undefined ? t`Create snippet` : t`Save snippet`}</Submit>}
          <button
            class="button"
            type="submit"
            formaction={preview}
            formtarget="snippet-preview"
          >
            {t`Check and preview`}
          </button>
        </div>
      </Card>
      <Card stacked title={t`Preview`} lead={t`With these values for what the tag passes.`}>
        {argumentFields(source, fields)}
        <div class="frame-holder">
          <iframe
            name="snippet-preview"
            title={t`Preview of the snippet`}
            sandbox="allow-same-origin"
            src={preview}
          >
          </iframe>
        </div>
      </Card>
    </Form>,
    stored !== undefined && <SnippetUsers base={`/console/o/${visit.org.slug}`} snippet={stored} />,
  )
})

/** A refusal that shows the form with its text again. */
const asFault = ({ message }: { readonly message: string }) =>
  new InvalidInput({ faults: [{ pointer: "", detail: message }] })

/** The form of a new snippet with the HTML of a block. The field `text` is a message in MJML that has only this block. */
const fromBlock = Effect.fnUntraced(function* (visit: Visit, fields: Fields) {
  const vars = { text: readFields(fields).text }
  const check = (yield* SourceCheck).checkAll(visit.org.slug, [{ vars, formats: { text: "mjml" } }])
  const [checked] = yield* check.pipe(Effect.catchTag("ChecksBusy", asFault))
  const [compiled] = checked!.compiled
  if (compiled === undefined) {
    const faults = checked!.faults.map(({ message }): Fault => ({ pointer: "/text", detail: message }))
    return yield* new InvalidInput({ faults })
  }
  return yield* edit(visit, { format: "html", text: bodyOf(compiled.html) })
})

const save = Effect.fnUntraced(function* (visit: Visit, fields: Fields) {
  const snippets = yield* Snippets
  const { base: seen, id: written, name } = readFields(fields)
  const input = yield* inputOf(fields)
  const taken = new Set((yield* snippets.list(visit.org.slug)).map(({ id }) => id))
  const isNew = idOf(visit) === ""
  const id = isNew ? written || freeId(idOfName(name) || "snippet", (one) => taken.has(one)) : idOf(visit)
  if (isNew && taken.has(id)) {
    return yield* new InvalidInput({ faults: [{ pointer: "/id", detail: t`is the id of another snippet` }] })
  }
  const { isProposed } = yield* snippets.save(visit.org.slug, id, input, seen === "" ? {} : { base: seen }).pipe(
    Effect.catchTags({ SnippetChanged: asFault, ProposalConflict: asFault, ChecksBusy: asFault }),
    Effect.catchTag(
      "InvalidInput",
      ({ faults }) =>
        new InvalidInput({ faults: faults.map((one) => one.pointer === "snippet" ? { ...one, pointer: "/id" } : one) }),
    ),
  )
  return { to: `${base(visit)}/${id}`, done: isProposed ? "snippet-proposed" : "snippet-saved" }
})

const versions = Effect.fnUntraced(function* (visit: Visit) {
  const snippets = yield* Snippets
  const stored = yield* snippets.get(visit.org.slug, idOf(visit))
  const all = yield* snippets.versions(visit.org.slug, stored.id)
  return view(
    {
      title: t`${stored.name} · Versions`,
      back: { href: at(visit), label: stored.name },
      lead: t`The text after each change, the latest 200.`,
    },
    ...all.map((version, index) => (
      <Card
        stacked
        title={index === 0 ? t`Newest version` : t`Version ${version.id}`}
        lead={
          <>
            <Time at={version.saved_at} zone={visit.org.time_zone} />
            {version.author !== null && ` ${t`by ${version.author}`}`}
          </>
        }
      >
        {index === 0
          ? <pre class="text-part" dir="auto">{version.text}</pre>
          : <DifferenceView changes={difference(fieldsOfSnippet(stored), fieldsOfSnippet(version))} />}
        {index !== 0 && visit.can("saveSnippet") && (
          <PostButton to={at(visit)} fields={{ name: version.name, format: version.format, text: version.text }}>
            {t`Restore this version`}
          </PostButton>
        )}
      </Card>
    )),
  )
})

const removePage = Effect.fnUntraced(function* (visit: Visit) {
  const { name, snippets, templates } = yield* (yield* Snippets).get(visit.org.slug, idOf(visit))
  const uses = templates.length + snippets.length
  return askFirst({
    title: t`Delete ${name}`,
    question: t`Delete ${name}?`,
    back: { href: at(visit), label: name },
    button: t`Delete the snippet`,
    text: uses === 0
      ? <p>{t`Nothing uses it. Its versions are deleted as well.`}</p>
      : <Note kind="warn">{t`It is used in ${counted(uses, "place")}. Remove its tags there first.`}</Note>,
  })
})

const remove = Effect.fnUntraced(function* (visit: Visit) {
  yield* (yield* Snippets).remove(visit.org.slug, idOf(visit)).pipe(Effect.catchTag("SnippetInUse", asFault))
  return { to: base(visit), done: "snippet-deleted" }
})

/** Snippets. */
export const layer = pages(({ action, asks, form, page }) => {
  const path = "/console/o/:org/snippets" as const
  const one = `${path}/:snippet` as const
  return [
    page(path, "listSnippets", list),
    ...form(`${path}/-/new`, "saveSnippet", edit, save),
    action(`${path}/-/from-block`, "checkSnippet", fromBlock, edit),
    page(one, "getSnippet", (visit) => edit(visit)),
    action(one, "saveSnippet", save, edit),
    page(`${one}/versions`, "listSnippetVersions", versions),
    ...asks(`${one}/delete`, "deleteSnippet", removePage, remove),
  ]
})
