import { Schema } from "effect"
import { trackingUrlFault } from "../text/TrackingUrl.ts"
import { described } from "./described.ts"

// Events that the service measures by itself in messages that Deliver sends.

const opens = described(Schema.Boolean, "Whether a pixel in the HTML part reports opens")
const clicks = described(Schema.Boolean, "Whether links lead through this service, which reports clicks")

/** Tracking of an organization. It applies to templates without settings of their own. Default: off. */
export const OrganizationTracking = Schema.Struct({
  opens,
  clicks,
  url: Schema.optionalKey(described(
    Schema.NullOr(Schema.String.check(Schema.makeFilter<string>(trackingUrlFault))),
    "Base address of the tracked links and unsubscribe links of this organization, such as https://links.shop.example, a domain " +
      "that leads to this service. Null: TRACKING_URL",
  )),
}).annotate({ description: "Opens and clicks measured in messages that Deliver sends; off unless changed" })
export type OrganizationTracking = typeof OrganizationTracking.Type

/** Tracking of a template. */
export const TemplateTracking = Schema.Struct({ opens, clicks }).annotate({
  description: "Opens and clicks measured in messages of this template; null: as the organization",
})
export type TemplateTracking = typeof TemplateTracking.Type

const text = (description: string) =>
  described(
    Schema.String.check(
      Schema.makeFilter<string>((value) =>
        // deno-lint-ignore no-control-regex
        value.trim() === "" || value.length > 500 || /[\u0000-\u001f\u007f]/.test(value) || !value.isWellFormed()
          ? "must be 1 to 500 characters on one line"
          : undefined
      ),
    ),
    description,
  )

/** The texts of the page behind an unsubscribe link. `{organization}` stands for the organization's name. */
export const UnsubscribePage = Schema.Struct({
  language: described(
    Schema.String.check(
      Schema.makeFilter<string>((value) =>
        value.length <= 35 && /^[a-z]{2,3}(-[a-z0-9]{2,8})*$/i.test(value)
          ? undefined
          : "must be a language tag such as de or pt-BR"
      ),
    ),
    "The language of the texts, such as de or pt-BR",
  ),
  title: text("The heading before and after unsubscribing"),
  question: text("Asks for the confirmation, such as: Stop receiving e-mails from {organization}?"),
  button: text("The label of the button"),
  done: text("Says that it is done"),
}).annotate({
  description: "Texts of the unsubscribe page, in which {organization} stands for the organization's name. " +
    "Null: texts of the service in the reader's language, or English",
})
export type UnsubscribePage = typeof UnsubscribePage.Type

/** Parses tracked events typed by a person: `opens,clicks`, `opens`, `clicks` or `none`. Checks nothing. */
export const trackingInput = (text: string) => {
  const names = text.split(",").map((name) => name.trim()).filter((name) => name !== "" && name !== "none")
  return Object.fromEntries([
    ...["opens", "clicks"].map((name) => [name, names.includes(name)]),
    ...names.filter((name) => name !== "opens" && name !== "clicks").map((name) => [name, true]),
  ])
}

/** The text of tracked events: `opens,clicks`, `opens`, `clicks` or `none`. */
export const trackingText = ({ clicks, opens }: TemplateTracking): string =>
  [...(opens ? ["opens"] : []), ...(clicks ? ["clicks"] : [])].join(",") || "none"
