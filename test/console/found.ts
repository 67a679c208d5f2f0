// What a plain HTTP client finds on a page of the console: where it leads, and the forms that can be sent from it. Our pages are
// written by one renderer, with every attribute quoted, so that a few expressions read them.

import { navigation } from "../../src/console/Navigation.ts"

/** A control of a form. */
export interface Control {
  readonly name: string
  readonly value: string
  /** Sent unless changed: boxes and buttons are sent only where they are ticked or pressed. */
  readonly sent: boolean
  readonly kind: "text" | "choice" | "hidden" | "button"
}

/** A form, or a button of a form that sends it elsewhere. */
export interface FoundForm {
  readonly method: "get" | "post"
  readonly action: string
  readonly controls: ReadonlyArray<Control>
  /** Whether it is a further action of a form, by one of its buttons. */
  readonly isFurther: boolean
}

/** What a page leads to. */
export interface FoundPage {
  /** `href` of links. */
  readonly links: ReadonlyArray<string>
  /** Documents in frames. */
  readonly frames: ReadonlyArray<string>
  /** Stylesheets, scripts and pictures. */
  readonly assets: ReadonlyArray<string>
  readonly forms: ReadonlyArray<FoundForm>
}

const entities: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"' }

const plain = (text: string) =>
  text.replace(
    /&(?:#(\d+)|#x([0-9a-f]+)|(\w+));/gi,
    (whole, decimal, hex, name) =>
      decimal !== undefined
        ? String.fromCodePoint(Number(decimal))
        : hex !== undefined
        ? String.fromCodePoint(parseInt(hex, 16))
        : entities[name] ?? whole,
  )

type Attributes = Readonly<Record<string, string>>

const attributesOf = (tag: string): Attributes =>
  Object.fromEntries(
    [...tag.matchAll(/\s([a-z][\w-]*)(?:="([^"]*)")?/gi)].map((
      [, name, value],
    ) => [name!.toLowerCase(), plain(value ?? "")]),
  )

/** The attributes of every element of a name. */
const elements = (html: string, name: string): ReadonlyArray<Attributes> =>
  [...html.matchAll(new RegExp(`<${name}(\\s(?:[^>"]|"[^"]*")*)?>`, "gi"))].map(([, tag]) => attributesOf(tag ?? ""))

const controlsOf = (form: string): ReadonlyArray<Control> => [
  ...elements(form, "input").flatMap(({ checked, form: other, name, type = "text", value = "" }): Array<Control> => {
    if (name === undefined || name === "" || other !== undefined) return []
    const isBox = type === "checkbox" || type === "radio"
    return [{
      name,
      value: isBox && value === "" ? "on" : value,
      sent: !isBox || checked !== undefined,
      kind: isBox ? "choice" : type === "hidden" ? "hidden" : "text",
    }]
  }),
  ...[...form.matchAll(/<textarea(\s(?:[^>"]|"[^"]*")*)>([^<]*)<\/textarea>/gi)].flatMap(([, tag, text]) => {
    const { name } = attributesOf(tag!)
    return name === undefined
      ? []
      : [{ name, value: plain(text!).replace(/^\n/, ""), sent: true, kind: "text" as const }]
  }),
  ...[...form.matchAll(/<select(\s(?:[^>"]|"[^"]*")*)>([\s\S]*?)<\/select>/gi)].flatMap(([, tag, inside]) => {
    const { name } = attributesOf(tag!)
    const options = elements(inside!, "option")
    const chosen = options.find(({ selected }) => selected !== undefined) ?? options[0]
    return name === undefined
      ? []
      : [{ name, value: chosen?.["value"] ?? "", sent: chosen !== undefined, kind: "choice" as const }]
  }),
  ...elements(form, "button").flatMap(({ name, value = "" }) =>
    name === undefined ? [] : [{ name, value, sent: false, kind: "button" as const }]
  ),
]

/** Reads a page; `path` is where it was, for forms and links without a path of their own. */
export const foundOn = (path: string, html: string): FoundPage => {
  const defined = (values: ReadonlyArray<string | undefined>) =>
    values.flatMap((value) => value === undefined ? [] : [value])
  const resolved = (to: string) => {
    const { pathname, search, origin } = new URL(to, `http://parlance.invalid${path}`)
    return origin === "http://parlance.invalid" ? `${pathname}${search}` : to
  }
  const forms = [...html.matchAll(/<form(\s(?:[^>"]|"[^"]*")*)>([\s\S]*?)<\/form>/gi)].flatMap(([, tag, inside]) => {
    const { action = "", method = "get" } = attributesOf(tag!)
    const controls = controlsOf(inside!)
    const others = elements(inside!, "button").flatMap(({ formaction }) => formaction === undefined ? [] : [formaction])
    return [action, ...others].map((to, at): FoundForm => ({
      isFurther: at > 0,
      method: method.toLowerCase() === "post" ? "post" : "get",
      action: resolved(to),
      controls,
    }))
  })
  return {
    links: defined(elements(html, "a").map(({ href }) => href)).map(resolved),
    frames: defined(elements(html, "iframe").map(({ src }) => src)).map(resolved),
    assets: defined([
      ...elements(html, "link").map(({ href }) => href),
      ...elements(html, "script").map(({ src }) => src),
      ...elements(html, "img").map(({ src }) => src),
    ]).map(resolved),
    forms,
  }
}

/** The path and the fields of the undo that a page offers. Undefined without one. */
export const undoOn = (
  html: string,
): { readonly action: string; readonly fields: Record<string, string> } | undefined => {
  const [form] = foundOn("/", /<div class="toast"[^]*?<\/div>/.exec(html)?.[0] ?? "").forms
  const fields: Record<string, string> = {}
  for (const { name, value } of form?.controls ?? []) {
    fields[name] = fields[name] === undefined ? value : `${fields[name]}\n${value}`
  }
  return form === undefined ? undefined : { action: form.action, fields }
}

/** The cookie for the page after an action, as browsers send it along. Empty without one. */
export const undoCookieOf = ({ headers }: { readonly headers: Headers }): string =>
  headers.getSetCookie().flatMap((text) => text.startsWith("parlance_undo=") ? [`; ${text.split(";")[0]}`] : []).join(
    "",
  )

/** Fields as a form sends them; a hostile value is encoded already. */
export const encoded = (fields: Iterable<readonly [name: string, value: string]>): string =>
  [...fields].map(([name, value]) => `${encodeURIComponent(name)}=${value}`).join("&")

const words = new Set(
  ("console o organizations account accounts sessions templates variants results send-times history " +
    "settings keys new members invitations audit people erase deliveries connections sources inbox events " +
    "dry-run preview message import export archive restore remove revoke delete sign-in sign-out theme " +
    "duplicate off state draft new-variant switch test replay cancel retry enable disable end reset " +
    "password withdraw audience find suppressions webhook-endpoints rotate edit ping actions api " +
    "callback clear columns comments dkim failed first-run groups forgot-password html invitation invite " +
    "notification-mail notifications openid passkey passkeys preferences read receivers reset-second-factor " +
    "resume-learning reviews sandbox second-factor explore share shared-results test-message " +
    "calendar report slack teams report-mail save-person delete-person versions autosave discard-draft publish-draft save-draft signed-in " +
    "check code rename run strings views")
    .split(" ").concat(navigation.flatMap(({ links }) => links.flatMap(({ path }) => path.split("/")))),
)

/** The form of an address, equal for pages about different records: its path without ids, and the names of its query. */
export const shapeOf = (to: string): string => {
  const { pathname, searchParams } = new URL(to, "http://parlance.invalid")
  const path = pathname.split("/").map((part) => part === "" || part === "-" || words.has(part) ? part : ":").join("/")
  const names = [...new Set(searchParams.keys())].sort()
  return names.length === 0 ? path : `${path}?${names.join("&")}`
}
