import { Result } from "effect"
import type { Message } from "../Connection.ts"
import { lineOf } from "../Email.ts"
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

/**
 * The parts of an e-mail among a message's variables: `subject`; `body`, html or text as its format says; `html`, which is
 * html whatever its format, and `body_html` in its place; `text` and `preheader`. Fails with what is missing, to stand after "The message".
 */
export const contentOf = (
  { formats, vars }: Pick<Message, "formats" | "vars">,
  { body = "body", html = "html", preheader = "preheader", subject = "subject", text = "text" }: typeof Variables.Type =
    {},
): Result.Result<Content, string> => {
  // The names are an administrator's, and `constructor` is a member of every object.
  const valueOf = (name: string) => Object.hasOwn(vars, name) ? vars[name]?.toWellFormed() : undefined
  const stated = valueOf(subject)
  const main = valueOf(body)
  const isHtml = Object.hasOwn(formats, body) && formats[body] === "html"
  const htmlBody = (isHtml ? main : undefined) ?? valueOf(html) ?? valueOf("body_html")
  const textBody = valueOf(text) ?? (isHtml ? undefined : main)
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
    preheader: valueOf(preheader),
  })
}
