import { type Options, type PlatformServer, start } from "./PlatformServer.ts"

// Incoming webhooks of Slack and of Teams Workflows, with the checks and answers that these platforms document.

/**
 * A webhook of Slack: answers `ok`, or 400 `invalid_payload` without a text, with a block it does not know, or with a
 * header of more than 150 characters.
 */
export const startSlack = (options: Options = {}): Promise<PlatformServer> =>
  start(({ headers, json }) => {
    const blocks: ReadonlyArray<
      { readonly type: string; readonly text: { readonly type: string; readonly text: string } }
    > = json?.blocks ?? []
    const isValid = headers["content-type"] === "application/json" && typeof json?.text === "string" &&
      blocks.every(({ text, type }) =>
        type === "header"
          ? text.type === "plain_text" && text.text.length <= 150
          : type === "section" && text.type === "mrkdwn" && text.text.length <= 3_000 &&
            !/[<>]/.test(text.text.replace(/<https?:[^|<>]*\|[^<>]*>/g, ""))
      )
    return isValid ? { status: 200, body: "ok" } : { status: 400, body: "invalid_payload" }
  }, options)

/** A workflow of Teams: answers 202 without a body, or 400 for anything but a message with one Adaptive Card. */
export const startTeams = (options: Options = {}): Promise<PlatformServer> =>
  start(({ headers, json }) => {
    const [card, ...more] = json?.attachments ?? []
    const isValid = headers["content-type"] === "application/json" && json?.type === "message" && more.length === 0 &&
      card?.contentType === "application/vnd.microsoft.card.adaptive" && card.content.type === "AdaptiveCard" &&
      card.content.version === "1.4" && Array.isArray(card.content.body)
    return isValid
      ? { status: 202, body: "" }
      : { status: 400, body: { error: { code: "TriggerInputSchemaMismatch" } } }
  }, options)
