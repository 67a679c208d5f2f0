import { Context, Effect, Layer, Result } from "effect"
import type { OrgSlug } from "../domain/Ids.ts"
import { type Mailbox, noImages, validateAddress } from "../text/Email.ts"
import { withoutBlockMarks } from "../rendering/BlockMarks.ts"
import { TemplateCache } from "../templates/TemplateCache.ts"
import { Composer } from "./Composer.ts"
import type { Message } from "./Connection.ts"
import { contentOf, partNames } from "./connections/Content.ts"
import { Connections } from "./Connections.ts"
import type { ContentFinding } from "./ContentFinding.ts"
import { contentFindings } from "./ContentFindings.ts"

/** The e-mail that Deliver would compose from rendered variables. */
export interface MailPreview {
  /** Sender of the active connection. Undefined if the platform sets the sender, or without an active connection. */
  readonly sender: Mailbox | undefined
  readonly subject: string
  readonly preheader: string | undefined
  readonly html: string | undefined
  /** The plain-text part: its own variable, or converted from the HTML. */
  readonly text: string
  readonly findings: ReadonlyArray<ContentFinding>
  /** Names of the variables that are parts of the e-mail. */
  readonly variables: ReadonlyArray<string>
}

/**
 * Why the variables form no e-mail: a sentence that begins with "The message" and names the missing part or the fault.
 */
interface NoMail {
  readonly reason: string
}

/** The sender and recipient of previews. No mail is sent to it. */
const nobody = "preview@example.com"

/** Composes e-mails for display. Sends, records and counts nothing. */
export class MailPreviews extends Context.Service<MailPreviews, {
  /**
   * Composes an e-mail from rendered variables and checks its content. Uses the default names of the variables if the
   * active connection accepts variables of any name, or if no connection is active.
   */
  readonly preview: (
    org: OrgSlug,
    template: string,
    rendered: Pick<Message, "formats" | "vars">,
  ) => Effect.Effect<MailPreview | NoMail>
}>()("parlance/delivery/MailPreviews") {
  static readonly layer = Layer.effect(
    MailPreviews,
    Effect.gen(function* () {
      const { compose } = yield* (yield* Composer).forConnection
      const connections = yield* Connections
      const templateCache = yield* TemplateCache

      /** Settings of the active connection. */
      const settingsOf = Effect.fnUntraced(function* (org: OrgSlug) {
        const active = connections.active(org)
        if (active === undefined) return {}
        const setup = yield* connections.get(org, active.name).pipe(
          Effect.catchTag("ConnectionNotFound", () => Effect.succeed(undefined)),
        )
        return setup?.settings ?? {}
      })

      const preview = Effect.fn("MailPreviews.preview")(function* (
        org: OrgSlug,
        template: string,
        rendered: Pick<Message, "formats" | "vars">,
      ): Effect.fn.Return<MailPreview | NoMail> {
        const names = connections.active(org)?.variables ?? {}
        const content = contentOf(rendered, names)
        if (Result.isFailure(content)) return { reason: `The message ${content.failure}.` }
        const settings = yield* settingsOf(org)
        const { from, from_name, unsubscribe } = settings as Readonly<Record<string, unknown>>
        const sender = typeof from === "string" && validateAddress(from) === undefined
          ? { email: from, name: typeof from_name === "string" ? from_name : undefined }
          : undefined
        const view = templateCache.template(org, template)
        const isListed = view?.listUnsubscribe === true ||
          (unsubscribe !== null && typeof unsubscribe === "object" && Object.keys(unsubscribe).length > 0)
        return yield* compose({
          ...content.success,
          from: sender ?? { email: nobody },
          to: nobody,
          messageId: nobody,
          trackingId: "preview",
          date: new Date(0),
          isShown: true,
        }).pipe(Effect.match({
          onFailure: ({ reason }) => ({ reason: `${reason}.` }),
          onSuccess: ({ shown }) => {
            const { hrefs = [], html, images = noImages, text = "" } = shown ?? {}
            const { preheader, subject } = content.success
            const isTransactional = view?.ignoresUnsubscribes ?? false
            return {
              sender,
              subject,
              preheader,
              html,
              text,
              findings: contentFindings({
                subject,
                preheader,
                html: html === undefined ? undefined : withoutBlockMarks(html),
                text,
                hrefs,
                images,
                isTransactional,
                isListed,
              }),
              variables: Object.values(partNames(rendered, names)).filter((name) => name !== undefined),
            }
          },
        }))
      })
      return MailPreviews.of({ preview })
    }),
  )
}
