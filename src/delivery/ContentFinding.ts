import type { ShownImages } from "../text/Email.ts"

/** A check of a message's content. */
export interface ContentFinding {
  readonly check:
    | "subject"
    | "size"
    | "links"
    | "images"
    | "unsubscribe"
    | "plain-text"
    | "wording"
    | "placeholders"
  readonly status: "ok" | "warn" | "wrong"
  /** The finding and its remedy, in one to three sentences. */
  readonly detail: string
}

/** The content of a message as it would be sent. */
export interface CheckedContent {
  readonly subject: string
  readonly preheader: string | undefined
  readonly html: string | undefined
  readonly text: string
  /** The distinct `href` values of its links, as written. */
  readonly hrefs: ReadonlyArray<string>
  readonly images: ShownImages
  /** Transactional messages need no way to unsubscribe. */
  readonly isTransactional: boolean
  /** Whether the message has the header `List-Unsubscribe`. */
  readonly isListed: boolean
}
