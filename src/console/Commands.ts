import { reaches, type Role } from "../accounts/Account.ts"
import { english, t, translated } from "../languages/Language.ts"
import { navigation } from "./Navigation.ts"

// Entries of the command bar: pages, and the forms of frequent actions. Templates and people are searched elsewhere.

/** A page or an action with its link. */
export interface ConsoleCommand {
  readonly label: string
  readonly href: string
  readonly kind: "page" | "action"
}

/** Actions by the path of their form below an organization, and the endpoint that one must be allowed to use. */
const actions: ReadonlyArray<readonly [label: string, path: string, endpoint: string]> = [
  [english("Create a template"), "/templates/-/new", "createTemplate"],
  [english("Upload an image"), "/images", "uploadImage"],
  [english("Create a snippet"), "/snippets/-/new", "saveSnippet"],
  [english("Import templates"), "/templates/-/import", "importTemplates"],
  [english("Retry failed messages"), "/deliveries/-/retry", "retryDeliveries"],
  [english("Failed messages"), "/deliveries?state=failed", "listDeliveries"],
  [english("Archived templates"), "/templates?archived=true", "findTemplates"],
  [english("Create New API Key"), "/settings/keys/new", "createKey"],
  [english("Invite people"), "/settings/members/invite", "createInvitation"],
  [english("Create a test group"), "/settings/test-groups/-/new", "putTestGroup"],
  [english("Suppress an address"), "/suppressions#address", "addSuppression"],
  [english("Add a connection"), "/connections/-/new", "putConnection"],
]

/** The endpoints of the actions that the overview links. */
const onOverview = ["createTemplate", "addSuppression", "createKey", "createInvitation", "putConnection"]

/** The actions that the visitor of an overview may use. `base` is the path of the organization. */
export const overviewActions = (
  base: string,
  can: (endpoint: string) => boolean,
): ReadonlyArray<Omit<ConsoleCommand, "kind">> =>
  actions.filter(([, , endpoint]) => onOverview.includes(endpoint) && can(endpoint))
    .map(([label, path]) => ({ label: translated(label), href: `${base}${path}` }))

/** The pages and actions of an organization that its visitor may use. `base` is the path of the organization. */
export const commandsFor = (
  base: string,
  role: Role | undefined,
  can: (endpoint: string) => boolean,
): ReadonlyArray<ConsoleCommand> => [
  ...navigation.flatMap(({ links }) =>
    links.flatMap(({ label, needs, path }): ReadonlyArray<ConsoleCommand> =>
      reaches(role, needs) ? [{ label: translated(label), href: `${base}${path}`, kind: english("page") }] : []
    )
  ),
  ...actions.flatMap(([label, path, endpoint]): ReadonlyArray<ConsoleCommand> =>
    can(endpoint) ? [{ label: translated(label), href: `${base}${path}`, kind: english("action") }] : []
  ),
  { label: t`Your account`, href: "/console/account", kind: english("page") },
]

/** The commands whose label has every word of a text, in upper or lower case. Empty for an empty text. */
export const findCommands = (commands: ReadonlyArray<ConsoleCommand>, text: string): ReadonlyArray<ConsoleCommand> => {
  const words = text.toLowerCase().split(/\s+/).filter((word) => word !== "")
  return words.length === 0
    ? []
    : commands.filter(({ label }) => words.every((word) => label.toLowerCase().includes(word)))
}
