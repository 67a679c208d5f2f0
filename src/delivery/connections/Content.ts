import { Result } from "effect"
import type { Message } from "../Connection.ts"
import { lineOf } from "../../domain/Email.ts"
import type { Variables } from "./Entry.ts"

/** The parts of an e-mail. */
export interface Content {
  /** One line. */
  readonly subject: string
  /** One of html and text at least. */
  readonly html: string | undefined
  readonly text: string | undefined
  readonly preheader: string | undefined
}

/**
 * Variables of a message whose links lead somewhere: those in HTML, and those sent as plain text. `body` is the HTML part of
 * the e-mail, or the longest HTML variable where a platform makes the e-mail of them.
 */
export const linkParts = (
  { formats, vars }: Pick<Message, "formats" | "vars">,
  { body = "body", html = "html", text = "text" }: typeof Variables.Type = {},
): {
  readonly html: ReadonlyArray<string>
  readonly text: ReadonlyArray<string>
  readonly body: string | undefined
} => {
  const has = (name: string) => Object.hasOwn(vars, name)
  const isHtml = (name: string) => Object.hasOwn(formats, name) && formats[name] === "html"
  const inHtml = Object.keys(vars).filter((name) => isHtml(name) || name === html)
  const [longest] = [...inHtml].sort((a, b) => vars[b]!.length - vars[a]!.length)
  return {
    html: inHtml,
    text: [text, body].filter((name, place, all) => has(name) && !inHtml.includes(name) && all.indexOf(name) === place),
    body: has(body) && isHtml(body) ? body : has(html) ? html : longest,
  }
}

/** Names of the variables that become each part of an e-mail; undefined for a part that has no variable. */
export const partNames = (
  { formats, vars }: Pick<Message, "formats" | "vars">,
  { body = "body", html = "html", preheader = "preheader", subject = "subject", text = "text" }: typeof Variables.Type,
) => {
  // The names are an administrator's, and `constructor` is a member of every object.
  const present = (...names: ReadonlyArray<string>) => names.find((name) => Object.hasOwn(vars, name))
  const isHtml = Object.hasOwn(formats, body) && formats[body] === "html"
  return {
    subject: present(subject),
    html: isHtml ? present(body, html, "body_html") : present(html, "body_html"),
    text: isHtml ? present(text) : present(text, body),
    preheader: present(preheader),
  }
}

/**
 * The parts of an e-mail among a message's variables: `subject`; `body`, html or text as its format says; `html`, which is
 * html whatever its format, and `body_html` in its place; `text` and `preheader`. Fails with words that follow "The message" and name the missing parts.
 */
export const contentOf = (
  message: Pick<Message, "formats" | "vars">,
  variables: typeof Variables.Type = {},
): Result.Result<Content, string> => {
  const names = partNames(message, variables)
  const valueOf = (name: string | undefined) => name === undefined ? undefined : message.vars[name]?.toWellFormed()
  const { body = "body", html = "html", subject = "subject", text = "text" } = variables
  const stated = valueOf(names.subject)
  const htmlBody = valueOf(names.html)
  const textBody = valueOf(names.text)
  const lacking = [
    ...(stated === undefined || lineOf(stated) === "" ? [`no subject (the variable ${JSON.stringify(subject)})`] : []),
    ...(htmlBody === undefined && textBody === undefined
      ? [`no body (none of the variables ${[body, html, text].map((name) => JSON.stringify(name)).join(", ")})`]
      : []),
  ]
  return stated === undefined || lacking.length > 0 ? Result.fail(`has ${lacking.join(" and ")}`) : Result.succeed({
    subject: lineOf(stated),
    html: htmlBody,
    text: textBody,
    preheader: valueOf(names.preheader),
  })
}

/**
 * The parts without which the messages of a variant cannot be sent, judged by its Liquid sources: a variable that is blank
 * or does not exist. A subject that renders as nothing is not noticed here.
 */
export const missingParts = (
  variant: Pick<Message, "formats" | "vars">,
  variables: typeof Variables.Type = {},
): { readonly subject: boolean; readonly body: boolean } => {
  const { html, subject, text } = partNames(variant, variables)
  const isWritten = (name: string | undefined) => name !== undefined && /\S/.test(variant.vars[name]!)
  return {
    subject: subject === undefined || lineOf(variant.vars[subject]!) === "",
    body: !isWritten(html) && !isWritten(text),
  }
}
