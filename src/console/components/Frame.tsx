import { roleName } from "../Format.ts"
import type { ComponentChildren } from "preact"
import { reaches, type Role } from "../../accounts/Account.ts"
import type { SignedIn } from "../../accounts/Sessions.ts"
import type { Organization } from "../../domain/Organization.ts"
import { isSandbox, liveOf } from "../../domain/Sandbox.ts"
import { countedUnread } from "../../accounts/notifications/Notifications.ts"
import { english, t, translated } from "../../languages/Language.ts"
import { helpFor } from "../Help.ts"
import { navigation, type NavigationPart, sandboxNavigation } from "../Navigation.ts"
import { sectionOf } from "../Trail.ts"
import { commandsFor } from "../Commands.ts"
import { CommandBar, CommandLink } from "./CommandBar.tsx"
import type { Theme } from "./Document.tsx"
import { Icon, Mark } from "./Icon.tsx"
import { Note } from "./Note.tsx"
import { type PagePlace, PlaceContext } from "./PagePlace.ts"
import { Toast } from "./Toast.tsx"
import { withoutFlash } from "../Flash.ts"
import type { UndoForm } from "../Undo.ts"

const nextTheme: Record<Theme, Theme> = { auto: "dark", dark: "light", light: "auto" }
const themeNames: Record<Theme, string> = { auto: english("system"), dark: english("dark"), light: english("light") }

const Switcher = ({ current, organizations, role, session }: {
  readonly current: Organization | undefined
  readonly organizations: ReadonlyArray<Organization>
  readonly role: Role | undefined
  readonly session: SignedIn
}) => (
  <details class="switcher">
    <summary>
      <span class="name">
        <span class="visually-hidden">{t`Organization:`}</span> {current?.name ?? t`Choose one`}
        {current !== undefined && role !== undefined && <span class="role">{roleName(role)}</span>}
      </span>
    </summary>
    <ul>
      {organizations.map(({ name, slug }) => (
        <li>
          <a href={`/console/o/${slug}`} {...(slug === liveOf(current?.slug ?? "") ? { "aria-current": "true" } : {})}>
            {name}
          </a>
        </li>
      ))}
      <li>
        <a href="/console/organizations">
          {session.account.administrator ? t`All organizations, create one` : t`All organizations`}
        </a>
      </li>
    </ul>
  </details>
)

/** The way to notifications, with the number that is unread. */
const Bell = ({ base, path, unread }: { readonly base: string; readonly path: string; readonly unread: number }) => (
  <a
    class="bell"
    href={`${base}/notifications`}
    {...(path === `${base}/notifications` ? { "aria-current": "page" } : {})}
  >
    <Icon name="bell" />
    <span>{t`Notifications`}</span>
    {unread !== 0 && (
      <span class="bell-count">
        {unread >= countedUnread ? `${countedUnread - 1}+` : unread}
        <span class="visually-hidden">{t`unread`}</span>
      </span>
    )}
  </a>
)

/** Links to the sections of an organization that the role may see. */
const Sections = ({ base, current, parts, role }: {
  readonly base: string
  /** Path of the section that the page belongs to. */
  readonly current: string | undefined
  readonly parts: ReadonlyArray<NavigationPart>
  readonly role: Role | undefined
}) => (
  <nav class="nav" aria-label={t`Main`}>
    {parts.map(({ links, title }) => {
      const shown = links.filter(({ needs }) => reaches(role, needs))
      return shown.length === 0 ? null : (
        <>
          {title !== undefined && <h2>{translated(title)}</h2>}
          <ul>
            {shown.map(({ icon, label, path }) => (
              <li>
                <a
                  href={`${base}${path}`}
                  {...(`${base}${path}` === current ? { "aria-current": "page" } : {})}
                >
                  <Icon name={icon} />
                  {translated(label)}
                </a>
              </li>
            ))}
          </ul>
        </>
      )
    })}
  </nav>
)

/** The foot of the sidebar: the account, the theme and signing out. */
const Foot = ({ path, session, theme }: {
  readonly path: string
  readonly session: SignedIn
  readonly theme: Theme
}) => (
  <div class="side-foot nav">
    <p class="who">
      <b>{session.account.name}</b>
      <span class="muted">{session.account.email}</span>
    </p>
    <ul>
      <li>
        <a href="/console/account" {...(path === "/console/account" ? { "aria-current": "page" } : {})}>
          {t`Your account`}
        </a>
      </li>
      {session.account.administrator && (
        <li>
          <a
            href="/console/accounts"
            {...(path.startsWith("/console/accounts") ? { "aria-current": "page" } : {})}
          >
            {t`All accounts`}
          </a>
        </li>
      )}
    </ul>
    <form method="post" action="/console/theme">
      <input type="hidden" name="theme" value={nextTheme[theme]} />
      <input type="hidden" name="back" value={path} />
      <button class="quiet" type="submit">{t`Theme: ${translated(themeNames[theme])}`}</button>
    </form>
    <form method="post" action="/console/sign-out">
      <input type="hidden" name="_csrf" value={session.csrfToken} />
      <button class="quiet" type="submit">{t`Sign out`}</button>
    </form>
  </div>
)

/** The page of a signed-in person: sidebar with organization and navigation, then the content. */
export const Frame = (
  { back, can, children, flash, org, organizations, path, query, role, searches, session, theme, undo, unread }:
    & Omit<PagePlace, "csrf" | "account">
    & {
      readonly session: SignedIn
      readonly org: Organization | undefined
      readonly role: Role | undefined
      readonly organizations: ReadonlyArray<Organization>
      readonly query: URLSearchParams
      /** Whether the command bar may request the service. */
      readonly searches: boolean
      /** The page that the page leads back to. */
      readonly back: string | undefined
      readonly theme: Theme
      /** Unread notifications of the person in the organization. */
      readonly unread: number
      readonly flash: string | undefined
      readonly undo: UndoForm | undefined
      readonly children: ComponentChildren
    },
) => {
  const base = `/console/o/${org?.slug}`
  const inSandbox = org !== undefined && isSandbox(org.slug)
  const parts = inSandbox ? sandboxNavigation : navigation
  const current = sectionOf(path, back)?.href
  return (
    <>
      <a class="skip-link" href="#main">{t`Skip to content`}</a>
      <div class="frame">
        <header class="side">
          <a class="brand" href="/console">
            <Mark />Parlance
          </a>
          <details class="menu">
            <summary>
              <span>{org?.name ?? "Parlance"}</span>
              <span class="toggle">{t`Menu`}</span>
            </summary>
            <div class="menu-body">
              <Switcher current={org} organizations={organizations} role={role} session={session} />
              {org !== undefined && <Sections base={base} current={current} parts={parts} role={role} />}
              <Foot path={path} session={session} theme={theme} />
            </div>
          </details>
        </header>
        <div class="content">
          <nav class="top-bar" aria-label={t`Search and help`}>
            {org !== undefined && !inSandbox && <CommandLink base={base} />}
            {org !== undefined && !inSandbox && <Bell base={base} path={path} unread={unread} />}
            <a href={helpFor(path)}>
              {t`Help`} <span class="beyond-phone">{t`with this page`}</span>
            </a>
          </nav>
          {org !== undefined && !inSandbox && (
            <CommandBar base={base} commands={commandsFor(base, role, can)} searches={searches} />
          )}
          <main id="main" tabIndex={-1}>
            {inSandbox && (
              <Note>
                {t`This is the sandbox of ${org.name}. It shows what test keys did; none of it counts in results. ${(
                  <a href={`/console/o/${liveOf(org.slug)}`}>{t`Back to ${org.name}`}</a>
                )}`}
              </Note>
            )}
            <PlaceContext.Provider value={{ path, can, csrf: session.csrfToken, account: session.account.email }}>
              {flash !== undefined && <Toast close={withoutFlash(path, query)} undo={undo}>{flash}</Toast>}
              {children}
            </PlaceContext.Provider>
          </main>
        </div>
      </div>
    </>
  )
}
