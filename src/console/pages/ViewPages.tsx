import { Effect, Schema } from "effect"
import { may } from "../../accounts/Actor.ts"
import { type Fault, InvalidInput } from "../../domain/Errors.ts"
import { isSandbox } from "../../domain/Sandbox.ts"
import { ListName, type SavedView, SavedViewInput } from "../../domain/SavedView.ts"
import { english, t, translated } from "../../languages/Language.ts"
import { SavedViews } from "../../team/SavedViews.ts"
import { askFirst } from "../components/AskFirst.tsx"
import { Card } from "../components/Card.tsx"
import { Form, Submit } from "../components/Form.tsx"
import { inputForm } from "../components/InputForm.tsx"
import { ErrorSummary } from "../components/Note.tsx"
import { Pills } from "../components/Pills.tsx"
import { pages } from "../Pages.ts"
import type { Fields, View, Visit } from "../Routes.tsx"
import { view } from "../View.tsx"

// Saved views: named filters above the lists of the console.

const pathOf = ({ org }: Visit) => `/console/o/${org.slug}/views`

/** The page of each list, below the organization, and its title. */
const lists: { readonly [list in ListName]: { readonly path: string; readonly title: string } } = {
  templates: { path: "templates", title: english("Templates") },
  deliveries: { path: "deliveries", title: english("Deliveries") },
  audit: { path: "settings/audit", title: english("Audit log") },
  keys: { path: "settings/keys", title: english("API Keys") },
  members: { path: "settings/members", title: english("Members") },
}

const listPath = ({ org }: Visit, list: ListName) => `/console/o/${org.slug}/${lists[list].path}`

/** The views of a list for its page. */
export interface ListViews {
  readonly list: ListName
  readonly views: ReadonlyArray<SavedView>
  /** The address of all rows. Without a start view, the address of the page. */
  readonly all: string
  /** The start view of the visitor. */
  readonly start: SavedView | undefined
}

const accountOf = ({ session }: Visit) => session.account.id

const mayShare = ({ actor, org }: Visit) => may(actor, org.slug, "editor")

/** Reads the views of a list that the visitor sees. A sandbox has none. */
export const viewsOf = Effect.fnUntraced(function* (visit: Visit, list: ListName) {
  const at = listPath(visit, list)
  const views = isSandbox(visit.org.slug) ? [] : yield* (yield* SavedViews).list(visit.org.slug, accountOf(visit), list)
  const start = views.find(({ start }) => start)
  return { list, views, all: start === undefined ? at : `${at}?view=all`, start } satisfies ListViews
})

/** Shows a list. A visit without a query leads to the start view of the visitor. */
export const withStartView = <E, R>(list: ListName, show: (visit: Visit) => Effect.Effect<View, E, R>) =>
  Effect.fnUntraced(function* (visit: Visit) {
    const start = visit.query.size > 0 ? undefined : (yield* viewsOf(visit, list)).start
    return start === undefined ? yield* show(visit) : { to: `${listPath(visit, list)}?${start.query}` }
  })

const sorted = (query: string): string => {
  const members = new URLSearchParams(query)
  members.sort()
  return String(members)
}

const choices = (isEditor: boolean) =>
  [
    ...(isEditor ? [["shared", t`Share with all members`] as const] : []),
    ["start", t`Open the list with this view, for me`] as const,
  ] as const

/** The saved views of a list, and the form that saves the filter in use. `query`: the filter, with or without `?`. */
export const ViewsBar = ({ query, views: { all, list, views }, visit }: {
  readonly views: ListViews
  readonly query: string
  readonly visit: Visit
}) => {
  const current = sorted(query)
  const shown = views.find((one) => sorted(one.query) === current)
  if (isSandbox(visit.org.slug) || (views.length === 0 && current === "")) return null
  const at = listPath(visit, list)
  return (
    <div class="views">
      {views.length > 0 && (
        <Pills
          label={t`Saved views`}
          links={[
            { href: all, label: t`All`, isCurrent: current === "" },
            ...views.map((one) => ({
              href: `${at}?${one.query}`,
              label: <bdi>{one.name}</bdi>,
              isCurrent: one === shown,
            })),
          ]}
        />
      )}
      {shown !== undefined && (!shown.shared || mayShare(visit) || !shown.start) && (
        <a class="button compact" href={`${pathOf(visit)}/${shown.id}`}>{t`Edit view`}</a>
      )}
      {shown === undefined && current !== "" && (
        <details class="batch-more">
          <summary class="button compact">{t`Save view`}</summary>
          <Form action={pathOf(visit)} inline>
            <div class="list-form">
              <input type="hidden" name="list" value={list} />
              <input type="hidden" name="query" value={current} />
              <div class="field">
                <label for="view-name">{t`Name of the view`}</label>
                <input
                  type="text"
                  id="view-name"
                  name="name"
                  required
                  maxLength={200}
                  list="view-names"
                  autocomplete="off"
                />
                <datalist id="view-names">{views.map(({ name }) => <option value={name} />)}</datalist>
              </div>
              {choices(mayShare(visit)).map(([name, label]) => (
                <label class="check">
                  <input type="checkbox" name={name} value="true" />
                  {label}
                </label>
              ))}
              <div class="buttons">
                <Submit>{t`Save`}</Submit>
              </div>
            </div>
          </Form>
        </details>
      )}
    </div>
  )
}

const form = inputForm(Schema.Struct({ name: SavedViewInput.fields.name }), { name: { label: english("Name") } })

/** Saves the fields of a view: its name, for whom it is, and whether its list opens with it. */
const saved = Effect.fnUntraced(function* (
  visit: Visit,
  { shared, start }: Fields,
  id: string | undefined,
  input: Omit<SavedViewInput, "shared">,
  wasStart: boolean,
) {
  const { org } = visit
  const views = yield* SavedViews
  const user = { account: accountOf(visit), mayShare: mayShare(visit) }
  const view = yield* views.put(org.slug, user, id, { ...input, shared: shared === "true" })
  if (start === "true") yield* views.start(org.slug, user.account, view.list, view.id)
  else if (wasStart) yield* views.start(org.slug, user.account, view.list, null)
  return { to: `${listPath(visit, view.list)}?${view.query}`, done: "view-saved" }
})

const decodeInput = Schema.decodeUnknownEffect(SavedViewInput)

const create = Effect.fnUntraced(function* (visit: Visit, fields: Fields) {
  const { list, name = "", query } = fields
  const input = yield* decodeInput({ list, name: name.trim(), query }).pipe(
    Effect.mapError(() =>
      new InvalidInput({
        faults: [{ pointer: "/name", detail: t`The view needs a name of 1 to 200 characters, and a filter` }],
      })
    ),
  )
  return yield* saved(visit, fields, undefined, input, false)
})

const existing = (visit: Visit) =>
  SavedViews.use((views) => views.get(visit.org.slug, accountOf(visit), visit.params["view"] ?? ""))

const edit = Effect.fnUntraced(function* (visit: Visit, fields?: Fields, faults: ReadonlyArray<Fault> = []) {
  const one = yield* existing(visit)
  const isEditable = !one.shared || mayShare(visit)
  const isTicked = (name: "shared" | "start") => fields === undefined ? one[name] : fields[name] === "true"
  const path = `${pathOf(visit)}/${one.id}`
  return view(
    {
      title: one.name,
      back: { href: `${listPath(visit, one.list)}?${one.query}`, label: lists[one.list].title },
      lead: one.shared ? t`A view of all members.` : t`A view that only you see.`,
      actions: isEditable ? <a class="button danger" href={`${path}/delete`}>{t`Delete`}</a> : undefined,
    },
    <ErrorSummary faults={faults} labels={form.labels} />,
    <Card>
      <Form action={path} submit={t`Save view`}>
        {isEditable
          ? <form.Fields values={fields ?? { name: one.name }} faults={faults} />
          : <input type="hidden" name="name" value={one.name} />}
        {choices(isEditable && mayShare(visit)).map(([name, label]) => (
          <label class="check">
            <input type="checkbox" name={name} value="true" checked={isTicked(name)} />
            {label}
          </label>
        ))}
      </Form>
    </Card>,
  )
})

const change = Effect.fnUntraced(function* (visit: Visit, fields: Fields) {
  const { id, list, query, shared, start } = yield* existing(visit)
  if (shared && !mayShare(visit)) {
    const to = `${listPath(visit, list)}?${query}`
    yield* (yield* SavedViews).start(visit.org.slug, accountOf(visit), list, fields["start"] === "true" ? id : null)
    return { to, done: "view-saved" }
  }
  const { name } = yield* form.decode(fields)
  return yield* saved(visit, fields, id, { list, name, query }, start)
})

const removePage = Effect.fnUntraced(function* (visit: Visit) {
  const { id, list, name, shared } = yield* existing(visit)
  return askFirst({
    title: t`Delete ${name}`,
    question: t`Delete ${name}?`,
    back: { href: `${pathOf(visit)}/${id}`, label: name },
    button: t`Delete the view`,
    text: (
      <p>
        {shared
          ? t`No member finds the view above the list ${
            translated(lists[list].title)
          } any more. The list keeps its rows.`
          : t`You no longer find the view above the list ${translated(lists[list].title)}. The list keeps its rows.`}
      </p>
    ),
  })
})

const remove = Effect.fnUntraced(function* (visit: Visit) {
  const { id, list } = yield* existing(visit)
  yield* (yield* SavedViews).remove(visit.org.slug, { account: accountOf(visit), mayShare: mayShare(visit) }, id)
  return { to: listPath(visit, list), done: "view-deleted" }
})

/** The pages that save, change and delete views. */
export const layer = pages(({ action, asks, form }) => {
  const path = "/console/o/:org/views" as const
  return [
    action(path, "putView", create),
    ...form(`${path}/:view`, "putView", edit, change),
    ...asks(`${path}/:view/delete`, "deleteView", removePage, remove),
  ]
})
