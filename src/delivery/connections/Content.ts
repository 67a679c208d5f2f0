import { Result } from "effect"
import type { Message } from "../Connection.ts"
import { lineOf } from "../../text/Email.ts"
import type { Variables } from "./Entry.ts"

/** The parts of an e-mail. */
interface Content {
  /** A single line. */
  readonly subject: string
  /** At least one of `html` and `text` is set. */
  readonly html: string | undefined
  readonly text: string | undefined
  readonly preheader: string | undefined
}

/**
 * Returns the variables of a message whose links recipients can follow: HTML variables, and variables sent as plain
 * text. `body` is the HTML part of the e-mail, or the longest HTML variable if the platform composes the e-mail.
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

/** Returns the name of the variable that becomes each part of an e-mail; undefined for a part without a variable. */
export const partNames = (
  { formats, vars }: Pick<Message, "formats" | "vars">,
  { body = "body", html = "html", preheader = "preheader", subject = "subject", text = "text" }: typeof Variables.Type,
) => {
  // An administrator chooses the names, and every object has a member `constructor`.
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
 * Returns the parts of an e-mail from a message's variables. `subject`, `text` and `preheader` become the parts of
 * these names. `body` is HTML or text according to its format. `html`, or `body_html` instead, is always HTML. Fails
 * with the end of a sentence that begins with "The message" and names the missing parts.
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
 * Returns the parts without which a variant's messages cannot be sent. A part is missing if the Liquid source of its
 * variable is blank or does not exist. A subject that renders to an empty text is not detected.
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
