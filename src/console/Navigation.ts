import type { Role } from "../accounts/Account.ts"
import { english } from "../languages/Language.ts"
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
    title: english("Sandbox"),
    links: [
      { path: "/sandbox", label: english("Messages"), icon: "sandbox", needs: "viewer" },
      { path: "/people", label: english("People & messages"), icon: "search", needs: "viewer" },
      { path: "/deliveries", label: english("Deliveries"), icon: "mail", needs: "viewer" },
      { path: "/suppressions", label: english("Suppressions"), icon: "list", needs: "viewer" },
      { path: "/sources/events/inbox", label: english("Received events"), icon: "incoming", needs: "viewer" },
    ],
  },
]

/** The sidebar, in the order in which it is shown. Only what exists is linked. */
export const navigation: ReadonlyArray<NavigationPart> = [
  {
    links: [
      { path: "", label: english("Overview"), icon: "home", needs: "viewer" },
      { path: "/templates", label: english("Templates"), icon: "template", needs: "viewer" },
      { path: "/snippets", label: english("Snippets"), icon: "snippet", needs: "viewer" },
      { path: "/images", label: english("Images"), icon: "image", needs: "viewer" },
      { path: "/calendar", label: english("Calendar"), icon: "calendar", needs: "viewer" },
      { path: "/reviews", label: english("Reviews"), icon: "review", needs: "viewer" },
      { path: "/notifications", label: english("Notifications"), icon: "bell", needs: "viewer" },
    ],
  },
  {
    title: english("Messages"),
    links: [
      { path: "/people", label: english("People & messages"), icon: "search", needs: "viewer" },
      { path: "/deliveries", label: english("Deliveries"), icon: "mail", needs: "viewer" },
      { path: "/suppressions", label: english("Suppressions"), icon: "list", needs: "viewer" },
      { path: "/sandbox", label: english("Sandbox"), icon: "sandbox", needs: "viewer" },
    ],
  },
  {
    title: english("Platforms"),
    links: [
      { path: "/sources", label: english("Webhook sources"), icon: "incoming", needs: "viewer" },
      { path: "/connections", label: english("Connections"), icon: "outgoing", needs: "viewer" },
      { path: "/webhook-endpoints", label: english("Webhook endpoints"), icon: "announce", needs: "viewer" },
    ],
  },
  {
    title: english("Settings"),
    links: [
      { path: "/settings", label: english("General"), icon: "settings", needs: "viewer" },
      { path: "/settings/keys", label: english("API Keys"), icon: "key", needs: "viewer" },
      { path: "/settings/members", label: english("Members"), icon: "people", needs: "viewer" },
      { path: "/settings/test-groups", label: english("Test groups"), icon: "mail", needs: "viewer" },
      { path: "/settings/bucket", label: english("Warehouse bucket"), icon: "outgoing", needs: "admin" },
      { path: "/settings/suggestions", label: english("Suggestions"), icon: "template", needs: "admin" },
      { path: "/settings/audit", label: english("Audit log"), icon: "list", needs: "admin" },
    ],
  },
]
