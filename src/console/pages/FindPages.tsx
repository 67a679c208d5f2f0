import { Effect } from "effect"
import { isStorable } from "../../domain/Attributes.ts"
import { t } from "../../languages/Language.ts"
import { isEmpty, Timelines } from "../../people/Timelines.ts"
import { TemplateIndex } from "../../templates/TemplateIndex.ts"
import { commandsFor, findCommands } from "../Commands.ts"
import { findPath } from "../components/CommandBar.tsx"
import { Card } from "../components/Card.tsx"
import { Empty } from "../components/Empty.tsx"
import { pages } from "../Pages.ts"
import { view } from "../View.tsx"
import type { Visit } from "../Routes.tsx"
import { templatePath } from "./templates/Paths.ts"

const shownTemplates = 20
const maxText = 400

/** Links under a title. `isFound`: the command bar adds them to its own links. */
const Links = ({ isFound = false, links, title }: {
  readonly title: string
  readonly isFound?: boolean
  readonly links: ReadonlyArray<{ readonly href: string; readonly label: string; readonly sub?: string }>
}) =>
  links.length === 0 ? null : (
    <Card title={title}>
      <ul class="found-links" {...(isFound ? { "data-found": "" } : {})}>
        {links.map(({ href, label, sub }) => (
          <li>
            <a href={href} dir="auto">{label}</a>
            {sub !== undefined && <span class="small muted mono">{sub}</span>}
          </li>
        ))}
      </ul>
    </Card>
  )

const show = Effect.fnUntraced(function* ({ can, org, query, role }: Visit) {
  const base = `/console/o/${org.slug}`
  const typed = (query.get("q") ?? "").trim().slice(0, maxText)
  const text = isStorable(typed) ? typed : ""
  const commands = findCommands(commandsFor(base, role, can), text)
  const templates = text === ""
    ? []
    : yield* (yield* TemplateIndex).list(org.slug, { search: text, cursor: "", limit: shownTemplates, which: "all" })
  const story = text === "" || !can("findStory")
    ? undefined
    : yield* (yield* Timelines).search(org.slug, text, { cursor: undefined, limit: 1 })
  const person = story === undefined || isEmpty(story.timeline) ? [] : [{
    href: `${base}/people?${new URLSearchParams({ q: text })}`,
    label: `${story.as === "person" ? t`Person` : t`Message`} ${text}`,
  }]
  const isFound = commands.length + templates.length + person.length > 0
  return view(
    { title: t`Search`, lead: t`Pages and actions, templates by name or id, people and messages by their exact id.` },
    <form method="get" action={findPath(base)} role="search" class="search">
      <label for="q" class="visually-hidden">{t`Page, template, person or action`}</label>
      <input
        type="search"
        id="q"
        name="q"
        value={text}
        placeholder={t`Page, template, person or action`}
        autocomplete="off"
        maxLength={maxText}
      />
      <button type="submit" class="button primary">{t`Search`}</button>
    </form>,
    text !== "" && !isFound && (
      <Card kind="flush">
        <Empty title={t`No results for “${text}”`}>
          {t`Check the spelling. People and messages are found by their whole user id, e-mail address or tracking
            id.`}
        </Empty>
      </Card>
    ),
    <Links title={t`People and messages`} links={person} isFound />,
    <Links
      title={t`Templates`}
      isFound
      links={templates.map(({ id, name }) => ({ href: templatePath(org.slug, id), label: name, sub: id }))}
    />,
    <Links title={t`Pages and actions`} links={commands} />,
    text === "" && <Links title={t`Pages and actions`} links={commandsFor(base, role, can)} />,
  )
})

/** The search over an organization. */
export const layer = pages(({ page }) => [page("/console/o/:org/find", "getOrganization", show)])
