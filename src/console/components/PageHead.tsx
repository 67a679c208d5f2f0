import type { ComponentChildren } from "preact"
import { useContext } from "preact/hooks"
import { t } from "../../languages/Language.ts"
import { type Crumb, shortTitle, templateTabs, trailOf } from "../Trail.ts"
import { PlaceContext } from "./PagePlace.ts"

const Crumbs = ({ back, path, title }: {
  readonly back: Crumb | undefined
  readonly path: string
  readonly title: string
}) => {
  const trail = trailOf(path, back)
  return trail.length === 0 ? null : (
    <nav class="crumbs" aria-label={t`Breadcrumbs`}>
      <ol>
        {trail.map(({ href, label }) => (
          <li>
            <a href={href} dir="auto">{label}</a>
          </li>
        ))}
        <li>
          <span aria-current="page" dir="auto">{shortTitle(title, back)}</span>
        </li>
      </ol>
    </nav>
  )
}

const Tabs = ({ canEdit, path }: { readonly path: string; readonly canEdit: boolean }) => {
  const tabs = templateTabs(path, canEdit)
  return tabs.length === 0 ? null : (
    <nav class="tabs" aria-label={t`Template`}>
      <ul>
        {tabs.map(({ href, isCurrent, label }) => (
          <li>
            <a
              href={href}
              {...(isCurrent ? { "aria-current": href === path ? "page" as const : "true" as const } : {})}
            >
              {label}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  )
}

/** The head of a page. */
export interface Head {
  readonly title: string
  /** A sentence that explains the page. */
  readonly lead?: ComponentChildren
  /** Buttons and links. */
  readonly actions?: ComponentChildren
  /** The page above this one, if that is not the section of the sidebar. */
  readonly back?: Crumb | undefined
}

/** Breadcrumbs, the tabs of the template that the page belongs to, the title, the lead and the actions. */
export const PageHead = ({ actions, back, lead, title }: Head) => {
  const place = useContext(PlaceContext)
  const path = place?.path ?? ""
  return (
    <div class="page-top">
      <Crumbs back={back} path={path} title={title} />
      <Tabs path={path} canEdit={place?.can("updateTemplate") ?? false} />
      <div class="page-head">
        <div>
          <h1 dir="auto">{title}</h1>
          {lead !== undefined && <p class="lead">{lead}</p>}
        </div>
        {actions !== undefined && <div class="buttons">{actions}</div>}
      </div>
    </div>
  )
}
