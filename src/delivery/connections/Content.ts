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
 * The parts of an e-mail among a message's variables: `subject`; `body`, html or text as its format says; `html`, which is
 * html whatever its format; `text` and `preheader`. Fails with what is missing, to stand after "The message".
 */
export const contentOf = (
  { formats, vars }: Message,
  { body = "body", html = "html", preheader = "preheader", subject = "subject", text = "text" }: typeof Variables.Type =
    {},
): Result.Result<Content, string> => {
  // The names are an administrator's, and `constructor` is a member of every object.
  const valueOf = (name: string) => Object.hasOwn(vars, name) ? vars[name]?.toWellFormed() : undefined
  const stated = valueOf(subject)
  const main = valueOf(body)
  const isHtml = Object.hasOwn(formats, body) && formats[body] === "html"
  const htmlBody = (isHtml ? main : undefined) ?? valueOf(html)
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
