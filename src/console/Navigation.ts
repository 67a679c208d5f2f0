import type { Role } from "../accounts/Account.ts"
import type { IconName } from "./components/Icon.tsx"

/** A link of the sidebar. Pages that are added later add theirs here. */
interface NavigationLink {
  /** Behind `/console/o/:org`. */
  readonly path: string
  readonly label: string
  readonly icon: IconName
  /** Who sees it. */
  readonly needs: Role
}

/** Links under a title. */
export interface NavigationPart {
  readonly title?: string
  readonly links: ReadonlyArray<NavigationLink>
}

/** The sidebar of a sandbox. */
export const sandboxNavigation: ReadonlyArray<NavigationPart> = [
  {
    title: "Sandbox",
    links: [
      { path: "/sandbox", label: "Messages", icon: "sandbox", needs: "viewer" },
      { path: "/people", label: "People & messages", icon: "search", needs: "viewer" },
      { path: "/deliveries", label: "Deliveries", icon: "mail", needs: "viewer" },
      { path: "/suppressions", label: "Suppressions", icon: "list", needs: "viewer" },
      { path: "/sources/events/inbox", label: "Received events", icon: "incoming", needs: "viewer" },
    ],
  },
]

/** The sidebar, in the order in which it is shown. Only what exists is linked. */
export const navigation: ReadonlyArray<NavigationPart> = [
  {
    links: [
      { path: "", label: "Overview", icon: "home", needs: "viewer" },
      { path: "/templates", label: "Templates", icon: "template", needs: "viewer" },
      { path: "/snippets", label: "Snippets", icon: "snippet", needs: "viewer" },
      { path: "/images", label: "Images", icon: "image", needs: "viewer" },
      { path: "/calendar", label: "Calendar", icon: "calendar", needs: "viewer" },
      { path: "/reviews", label: "Reviews", icon: "review", needs: "viewer" },
      { path: "/notifications", label: "Notifications", icon: "bell", needs: "viewer" },
    ],
  },
  {
    title: "Messages",
    links: [
      { path: "/people", label: "People & messages", icon: "search", needs: "viewer" },
      { path: "/deliveries", label: "Deliveries", icon: "mail", needs: "viewer" },
      { path: "/suppressions", label: "Suppressions", icon: "list", needs: "viewer" },
      { path: "/sandbox", label: "Sandbox", icon: "sandbox", needs: "viewer" },
    ],
  },
  {
    title: "Platforms",
    links: [
      { path: "/sources", label: "Webhook sources", icon: "incoming", needs: "viewer" },
      { path: "/connections", label: "Connections", icon: "outgoing", needs: "viewer" },
      { path: "/webhook-endpoints", label: "Webhook endpoints", icon: "announce", needs: "viewer" },
    ],
  },
  {
    title: "Settings",
    links: [
      { path: "/settings", label: "General", icon: "settings", needs: "viewer" },
      { path: "/settings/keys", label: "API Keys", icon: "key", needs: "viewer" },
      { path: "/settings/members", label: "Members", icon: "people", needs: "viewer" },
      { path: "/settings/test-groups", label: "Test groups", icon: "mail", needs: "viewer" },
      { path: "/settings/bucket", label: "Warehouse bucket", icon: "outgoing", needs: "admin" },
      { path: "/settings/suggestions", label: "Suggestions", icon: "template", needs: "admin" },
      { path: "/settings/audit", label: "Audit log", icon: "list", needs: "admin" },
    ],
  },
]
