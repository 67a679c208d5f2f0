import { readFileSync } from "node:fs"
import { english } from "../languages/Language.ts"
import type { Draft } from "./VariantForm.ts"

/** A finished message to begin a variant with. The MJML files of `layouts` have the bodies. */
export interface Layout {
  readonly id: string
  readonly name: string
  /** What it is for, in one phrase. */
  readonly description: string
  readonly subject: string
  readonly preheader: string
  /** MJML with Liquid. */
  readonly body: string
}

const list = [
  {
    id: "announcement",
    name: english("Announcement"),
    description: english("One piece of news with a headline, a picture if you send one, and a button"),
    subject: '{{ headline | default: "Something new is here" }}',
    preheader: "See what is new, and why it matters to you",
  },
  {
    id: "newsletter",
    name: english("Newsletter"),
    description: english("Three short stories, each with its own link"),
    subject: '{{ headline | default: "News of the month" }}',
    preheader: "Three stories that we picked for you",
  },
  {
    id: "offer",
    name: english("Product offer"),
    description: english("Up to three products with picture, price and link, and a code"),
    subject: '{{ first_name | default: "For you" }}: {{ headline | default: "20% off, until Sunday" }}',
    preheader: 'Your code is {{ code | default: "WELCOME20" }}',
  },
  {
    id: "letter",
    name: english("Plain letter"),
    description: english("Text alone, as from one person to another"),
    subject: 'A short question, {{ first_name | default: "and one minute" }}',
    preheader: "It takes one minute to read",
  },
  {
    id: "receipt",
    name: english("Receipt"),
    description: english("A transactional message with the lines of an order and their total"),
    subject: 'Your order {{ order_number | default: "1001" }}',
    preheader: "We have received it. Here is what you ordered.",
  },
]

/** All layouts, in the order in which they are offered. */
export const layouts: ReadonlyArray<Layout> = list.map((layout) => ({
  ...layout,
  body: readFileSync(new URL(`./layouts/${layout.id}.mjml`, import.meta.url), "utf8"),
}))

/** Returns the layout of an id. Undefined for another text. */
export const layoutOf = (id: string | null | undefined): Layout | undefined => layouts.find((one) => one.id === id)

/** Whether a draft has no content yet. */
export const isBlank = ({ variables }: Draft): boolean => variables.every(({ source }) => source.trim() === "")

/** Returns a draft with the subject, preheader and body of a layout. Its other variables stay. */
export const withLayout = (draft: Draft, { body, preheader, subject }: Layout): Draft => {
  const parts: Draft["variables"] = [
    { name: "subject", format: "text", source: subject },
    { name: "preheader", format: "text", source: preheader },
    { name: "body", format: "mjml", source: body },
  ]
  const others = draft.variables.filter(({ name }) => parts.every((part) => part.name !== name.trim()))
  return { ...draft, variables: [...parts, ...others] }
}
