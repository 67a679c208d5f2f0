import { createContext } from "preact"

/** The path and the session of a page, for components that depend on them. */
export interface PagePlace {
  /** The path of the page, without its query. */
  readonly path: string
  /** The token that shows that a form came from a page of this session. */
  readonly csrf: string
  /** The e-mail address of the account. */
  readonly account: string
  /** Whether the visitor may use an endpoint here. */
  readonly can: (endpoint: string) => boolean
}

/** The place of the page that is rendered; undefined outside the frame. */
export const PlaceContext = createContext<PagePlace | undefined>(undefined)
